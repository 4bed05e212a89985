package sheetsemu

import "slices"

// protectedRange keeps everybody but its editors out.
type protectedRange struct {
	id          int64
	sheetID     int64
	span        cellSpan
	name        string // of the named range that it covers, by id
	description string
	warningOnly bool
	users       []string // as given; the one who made it comes on top
	creator     string
	groups      []string
}

func (p *protectedRange) allows(user string) bool {
	return user == p.creator || slices.Contains(p.users, user)
}

func (p *protectedRange) covers(b *book, s *sheet, a area) bool {
	span := p.span
	if i := b.namedByID(p.name); p.name != "" && i >= 0 {
		span = b.named[i].span
	}
	return span.resolve(s.rowCount(), s.colCount()).overlaps(a)
}

// render shows the one who made the range among its editors, though not in the
// reply to the making itself (recorded).
func (p *protectedRange) render(user string, withCreator bool) object {
	o := object{"protectedRangeId": p.id, "range": p.span.render(p.sheetID)}
	if p.name != "" {
		o["namedRangeId"] = p.name
	}
	if p.description != "" {
		o["description"] = p.description
	}
	if p.warningOnly {
		o["warningOnly"] = true
	}
	if p.warningOnly || p.allows(user) {
		o["requestingUserCanEdit"] = true
	}
	if p.warningOnly || !p.allows(user) {
		return o // editors are shown to editors only (documented)
	}
	users := slices.Clone(p.users)
	if withCreator && p.creator != "" && !slices.Contains(users, p.creator) {
		users = append(users, p.creator)
	}
	editors := object{}
	if len(users) > 0 {
		editors["users"] = users
	}
	if len(p.groups) > 0 {
		editors["groups"] = p.groups
	}
	o["editors"] = editors
	return o
}

type protectedRangeIn struct {
	ProtectedRangeID      int64      `json:"protectedRangeId"`
	Range                 *gridRange `json:"range"`
	NamedRangeID          string     `json:"namedRangeId"`
	Description           string     `json:"description"`
	WarningOnly           bool       `json:"warningOnly"`
	RequestingUserCanEdit bool       `json:"requestingUserCanEdit"`
	Unprotected           []any      `json:"unprotectedRanges"`
	Editors               *struct {
		Users              []string `json:"users"`
		Groups             []string `json:"groups"`
		DomainUsersCanEdit bool     `json:"domainUsersCanEdit"`
	} `json:"editors"`
}

type protectedRangeRequest struct {
	ProtectedRange *protectedRangeIn `json:"protectedRange"`
	Fields         string            `json:"fields"`
}

func (t *txn) addProtectedRange(req *protectedRangeRequest) (object, error) {
	in := req.ProtectedRange
	if in == nil {
		return nil, invalid("The protected range must be specified.")
	}
	p := protectedRange{id: in.ProtectedRangeID, creator: t.user}
	if _, i := t.protectedByID(p.id); i >= 0 {
		return nil, invalid("A protected range with ID %d already exists.", p.id)
	}
	if p.id == 0 {
		p.id = t.book.nextID()
	}
	s, err := t.setProtected(&p, in, nil)
	if err != nil {
		return nil, err
	}
	s.protected = append(s.protected, p)
	return object{"protectedRange": p.render(t.user, false)}, nil
}

// setProtected takes the wanted fields over and finds the tab.
func (t *txn) setProtected(p *protectedRange, in *protectedRangeIn, m *mask) (*sheet, error) {
	if m.wants("description") {
		p.description = in.Description
	}
	if m.wants("warningOnly") {
		p.warningOnly = in.WarningOnly
	}
	if m.wants("editors") && in.Editors != nil {
		p.users, p.groups = in.Editors.Users, in.Editors.Groups
	}
	if p.warningOnly && len(p.users)+len(p.groups) > 0 {
		return nil, invalid("ProtectedRange is warningOnly. Editors cannot be set on it.")
	}
	if m.wants("range") && in.Range != nil {
		s, _, err := in.Range.resolve(t.book)
		if err != nil {
			return nil, err
		}
		p.sheetID, p.span = s.id, in.Range.span()
	}
	if m.wants("namedRangeId") && in.NamedRangeID != "" {
		i := t.book.namedByID(in.NamedRangeID)
		if i < 0 {
			return nil, invalid("No named range with id: %s", in.NamedRangeID)
		}
		p.name, p.sheetID, p.span = in.NamedRangeID, t.book.named[i].sheetID, t.book.named[i].span
	}
	s := t.book.sheetByID(p.sheetID)
	if s == nil {
		return nil, invalid("No grid with id: %d", p.sheetID)
	}
	return s, nil
}

func (t *txn) protectedByID(id int64) (*sheet, int) {
	for _, s := range t.book.sheets {
		if i := slices.IndexFunc(s.protected, func(p protectedRange) bool { return p.id == id }); i >= 0 {
			return s, i
		}
	}
	return nil, -1
}

func (t *txn) updateProtectedRange(req *protectedRangeRequest) (object, error) {
	m, err := updateMask(req.Fields, anySchema)
	if err != nil {
		return nil, err
	}
	if req.ProtectedRange == nil {
		return nil, invalid("The protected range must be specified.")
	}
	s, i := t.protectedByID(req.ProtectedRange.ProtectedRangeID)
	if i < 0 {
		return nil, invalid("No protected range with id: %d", req.ProtectedRange.ProtectedRangeID)
	}
	p := s.protected[i]
	to, err := t.setProtected(&p, req.ProtectedRange, m)
	if err != nil {
		return nil, err
	}
	s.protected = slices.Delete(s.protected, i, i+1)
	to.protected = append(to.protected, p)
	return nil, nil
}

type deleteProtectedRangeRequest struct {
	ProtectedRangeID int64 `json:"protectedRangeId"`
}

func (t *txn) deleteProtectedRange(req *deleteProtectedRangeRequest) (object, error) {
	s, i := t.protectedByID(req.ProtectedRangeID)
	if i < 0 {
		return nil, invalid("No protected range with id: %d", req.ProtectedRangeID)
	}
	s.protected = slices.Delete(s.protected, i, i+1)
	return nil, nil
}
