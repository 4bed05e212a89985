package sheetsemu

import (
	"math"
	"slices"
)

// metadataIn is the DeveloperMetadata message coming in.
type metadataIn struct {
	MetadataID    int64             `json:"metadataId"`
	MetadataKey   string            `json:"metadataKey"`
	MetadataValue string            `json:"metadataValue"`
	Location      *metadataLocation `json:"location"`
	Visibility    string            `json:"visibility"`
}

type createMetadataRequest struct {
	DeveloperMetadata *metadataIn `json:"developerMetadata"`
}

// createDeveloperMetadata refuses an id that is in use (documented; the text
// is probed), which takes the whole batch down.
func (t *txn) createDeveloperMetadata(req *createMetadataRequest) (object, error) {
	in := req.DeveloperMetadata
	switch {
	case in == nil:
		return nil, invalid("DeveloperMetadata must be specified.")
	case in.MetadataKey == "":
		return nil, invalid("Metadata key must be specified.")
	case in.Visibility != "DOCUMENT" && in.Visibility != "PROJECT":
		return nil, invalid("Visibility must be specified.")
	case in.MetadataID < 0 || in.MetadataID > math.MaxInt32:
		return nil, invalid("Metadata ID must be positive.")
	}
	p, err := in.Location.locate(t.book)
	if err != nil {
		return nil, err
	}
	p.metadata = metadata{in.MetadataID, in.MetadataKey, in.MetadataValue, in.Visibility}
	if err := t.freeMetadataID(&p); err != nil {
		return nil, err
	}
	list := p.holder(t.book)
	*list = append(*list, p.metadata)
	if err := t.metadataSize(p); err != nil {
		return nil, err
	}
	return object{"developerMetadata": p.render()}, nil
}

// freeMetadataID refuses a taken id, and finds one when none was chosen.
func (t *txn) freeMetadataID(p *placed) error {
	used := map[int64]bool{}
	for _, other := range t.book.allMetadata() {
		used[other.id] = true
	}
	if used[p.id] {
		return invalid("Cannot add developer metadata with ID [%d] because developer metadata with that ID already exists.", p.id)
	}
	for p.id == 0 || used[p.id] {
		p.id = t.book.nextID()
	}
	return nil
}

// metadataLimit is how many characters keys and values may have together, on
// the spreadsheet itself and on each tab with its rows and columns (documented).
const metadataLimit = 30_000

func (t *txn) metadataSize(added placed) error {
	total := 0
	for _, p := range t.book.allMetadata() {
		if p.sheet == added.sheet {
			total += len([]rune(p.key)) + len([]rune(p.value))
		}
	}
	if total > metadataLimit {
		return invalid("Developer metadata exceeds the limit of %d characters.", metadataLimit)
	}
	return nil
}

type updateMetadataRequest struct {
	DataFilters       []dataFilter `json:"dataFilters"`
	DeveloperMetadata *metadataIn  `json:"developerMetadata"`
	Fields            string       `json:"fields"`
}

// updateDeveloperMetadata changes every entry that a filter selects. None at
// all is an empty reply here (unknown at Google).
func (t *txn) updateDeveloperMetadata(req *updateMetadataRequest) (object, error) {
	m, err := updateMask(req.Fields, metadataSchema)
	if err != nil {
		return nil, err
	}
	if req.DeveloperMetadata == nil {
		return nil, invalid("DeveloperMetadata must be specified.")
	}
	selected, err := t.selected(req.DataFilters)
	if err != nil {
		return nil, err
	}
	var list []any
	for _, p := range selected {
		changed, err := t.changeMetadata(p, req.DeveloperMetadata, m)
		if err != nil {
			return nil, err
		}
		list = append(list, changed.render())
	}
	if list == nil {
		return object{}, nil
	}
	return object{"developerMetadata": list}, nil
}

func (t *txn) changeMetadata(p placed, in *metadataIn, m *mask) (placed, error) {
	p.remove(t.book)
	set := func(field string, to *string, v string) {
		if m.wants(field) {
			*to = v
		}
	}
	set("metadataKey", &p.key, in.MetadataKey)
	set("metadataValue", &p.value, in.MetadataValue)
	set("visibility", &p.visibility, in.Visibility)
	if m.wants("location") && in.Location != nil {
		place, err := in.Location.locate(t.book)
		if err != nil {
			return p, err
		}
		place.metadata = p.metadata
		p = place
	}
	list := p.holder(t.book)
	*list = append(*list, p.metadata)
	return p, t.metadataSize(p)
}

type deleteMetadataRequest struct {
	DataFilter *dataFilter `json:"dataFilter"`
}

// deleteDeveloperMetadata lists what it deleted; nothing is an empty reply
// here (unknown at Google).
func (t *txn) deleteDeveloperMetadata(req *deleteMetadataRequest) (object, error) {
	if req.DataFilter == nil {
		return nil, invalid("DataFilter must be specified.")
	}
	selected, err := t.selected([]dataFilter{*req.DataFilter})
	if err != nil {
		return nil, err
	}
	var list []any
	for _, p := range selected {
		list = append(list, p.render())
		p.remove(t.book)
	}
	if list == nil {
		return object{}, nil
	}
	return object{"deletedDeveloperMetadata": list}, nil
}

func (p placed) remove(b *book) {
	list := p.holder(b)
	*list = slices.DeleteFunc(*list, func(m metadata) bool { return m.id == p.id })
}

// selected is the union of what the filters find.
func (t *txn) selected(filters []dataFilter) ([]placed, error) {
	if len(filters) == 0 {
		return nil, invalid("Must specify at least one data filter.")
	}
	seen := map[int64]bool{}
	var out []placed
	for i := range filters {
		found, err := filters[i].find(t.book)
		if err != nil {
			return nil, err
		}
		for _, p := range found {
			if !seen[p.id] {
				seen[p.id] = true
				out = append(out, p)
			}
		}
	}
	return out, nil
}
