package sheetsemu

import "slices"

type mergeCellsRequest struct {
	Range     *gridRange `json:"range"`
	MergeType string     `json:"mergeType"`
}

// mergeCells keeps the top-left value of every merge and drops the others (probed).
func (t *txn) mergeCells(req *mergeCellsRequest) (object, error) {
	s, a, err := t.target(req.Range)
	if err != nil {
		return nil, err
	}
	if err := s.unmerge(a); err != nil {
		return nil, err
	}
	for _, part := range split(a, req.MergeType) {
		if part.single() {
			continue
		}
		s.merges = append(s.merges, part)
		s.cellsIn(part, func(r, c int, cl *cell) {
			if (r != part.r0 || c != part.c0) && !cl.blank() {
				_ = t.book.put(s, r, c, value{}) // a blank is never too long
			}
		})
	}
	return nil, nil
}

func split(a area, how string) []area {
	var parts []area
	switch how {
	case "MERGE_ROWS":
		for r := a.r0; r < a.r1; r++ {
			parts = append(parts, area{r, a.c0, r + 1, a.c1})
		}
	case "MERGE_COLUMNS":
		for c := a.c0; c < a.c1; c++ {
			parts = append(parts, area{a.r0, c, a.r1, c + 1})
		}
	default:
		parts = []area{a}
	}
	return parts
}

type unmergeCellsRequest struct {
	Range *gridRange `json:"range"`
}

func (t *txn) unmergeCells(req *unmergeCellsRequest) (object, error) {
	s, a, err := t.target(req.Range)
	if err != nil {
		return nil, err
	}
	return nil, s.unmerge(a)
}

// unmerge takes away the merges inside of an area; one that only crosses its
// edge can be neither merged over nor taken apart.
func (s *sheet) unmerge(a area) error {
	for _, m := range s.merges {
		if m.overlaps(a) && (m.r0 < a.r0 || m.r1 > a.r1 || m.c0 < a.c0 || m.c1 > a.c1) {
			return invalid("You must select all cells in a merged range to merge or unmerge them.")
		}
	}
	s.merges = slices.DeleteFunc(s.merges, func(m area) bool { return m.overlaps(a) })
	return nil
}
