package sheetsemu

import (
	"slices"
	"strconv"
	"strings"
)

// namedRange is a name for cells.
type namedRange struct {
	id, name string
	sheetID  int64
	span     cellSpan
}

func (n *namedRange) render() object {
	return object{"namedRangeId": n.id, "name": n.name, "range": n.span.render(n.sheetID)}
}

func (b *book) namedByName(name string) *namedRange {
	for i := range b.named {
		if strings.EqualFold(b.named[i].name, name) {
			return &b.named[i]
		}
	}
	return nil
}

func (b *book) namedByID(id string) int {
	return slices.IndexFunc(b.named, func(n namedRange) bool { return n.id == id })
}

type namedRangeIn struct {
	NamedRangeID string     `json:"namedRangeId"`
	Name         string     `json:"name"`
	Range        *gridRange `json:"range"`
}

type namedRangeRequest struct {
	NamedRange *namedRangeIn `json:"namedRange"`
	Fields     string        `json:"fields"`
}

var rangeName = lazily(`^[\pL_][\pL\pN_.]*$`)

// checkName refuses what is no name (probed) and what is in use (claimed, the
// wording by two independent users).
func (t *txn) checkName(name, verb, own string) error {
	_, cells := parseCells(name)
	if !rangeName().MatchString(name) || cells {
		return invalid("The name given to this range is invalid.")
	}
	if other := t.book.namedByName(name); other != nil && other.id != own {
		return invalid("Cannot %s named range with name: %s, a named range with that name already exists.", verb, name)
	}
	return nil
}

func (t *txn) addNamedRange(req *namedRangeRequest) (object, error) {
	in := req.NamedRange
	if in == nil || in.Range == nil {
		return nil, invalid("The named range must be specified with a range.")
	}
	if err := t.checkName(in.Name, "add", ""); err != nil {
		return nil, err
	}
	s, _, err := in.Range.resolve(t.book)
	if err != nil {
		return nil, err
	}
	n := namedRange{in.NamedRangeID, in.Name, s.id, in.Range.span()}
	if n.id == "" {
		n.id = strconv.FormatInt(t.book.nextID(), 10)
	}
	if t.book.namedByID(n.id) >= 0 {
		return nil, invalid("Cannot add named range with ID: %s, a named range with that ID already exists.", n.id)
	}
	t.book.named = append(t.book.named, n)
	return object{"namedRange": n.render()}, nil
}

func (t *txn) updateNamedRange(req *namedRangeRequest) (object, error) {
	m, err := updateMask(req.Fields, anySchema)
	if err != nil {
		return nil, err
	}
	in := req.NamedRange
	if in == nil {
		return nil, invalid("The named range must be specified.")
	}
	i := t.book.namedByID(in.NamedRangeID)
	if i < 0 {
		return nil, invalid("No named range with id: %s", in.NamedRangeID)
	}
	n := &t.book.named[i]
	if m.wants("name") {
		if err := t.checkName(in.Name, "update", n.id); err != nil {
			return nil, err
		}
		n.name = in.Name
	}
	if m.wants("range") && in.Range != nil {
		s, _, err := in.Range.resolve(t.book)
		if err != nil {
			return nil, err
		}
		n.sheetID, n.span = s.id, in.Range.span()
	}
	return nil, nil
}

type deleteNamedRangeRequest struct {
	NamedRangeID string `json:"namedRangeId"`
}

func (t *txn) deleteNamedRange(req *deleteNamedRangeRequest) (object, error) {
	i := t.book.namedByID(req.NamedRangeID)
	if i < 0 {
		return nil, invalid("No named range with id: %s", req.NamedRangeID)
	}
	t.book.named = slices.Delete(t.book.named, i, i+1)
	return nil, nil
}
