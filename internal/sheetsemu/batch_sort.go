package sheetsemu

import (
	"slices"
)

type sortSpec struct {
	DimensionIndex int    `json:"dimensionIndex"`
	SortOrder      string `json:"sortOrder"`
	Foreground     object `json:"foregroundColor"`
	Background     object `json:"backgroundColor"`
}

type sortRangeRequest struct {
	Range     *gridRange `json:"range"`
	SortSpecs []sortSpec `json:"sortSpecs"`
}

func (t *txn) sortRange(req *sortRangeRequest) (object, error) {
	s, a, err := t.target(req.Range)
	if err != nil {
		return nil, err
	}
	for _, m := range s.merges {
		if m.overlaps(a) && m.r1-m.r0 > 1 {
			return nil, invalid("You can't sort a range containing vertical merges. There is a vertical merge at %s", m.a1())
		}
	}
	t.book.sortRows(s, a, req.SortSpecs)
	return nil, nil
}

// sortRows sorts the visible rows of an area; hidden ones keep their place,
// and the metadata of a row goes with its values (both probed). Blank cells
// come last in either order.
func (b *book) sortRows(s *sheet, a area, specs []sortSpec) {
	var places []int
	for r := a.r0; r < a.r1; r++ {
		if rw := s.rows[r]; rw == nil || !rw.hiddenByUser && !rw.hiddenByFilter {
			places = append(places, r)
		}
	}
	from := slices.Clone(places)
	slices.SortStableFunc(from, func(x, y int) int {
		for _, spec := range specs {
			p, q := s.at(x, spec.DimensionIndex).effective, s.at(y, spec.DimensionIndex).effective
			order := compareOrder(p, q)
			if spec.SortOrder == "DESCENDING" && p.kind != kindEmpty && q.kind != kindEmpty {
				order = -order
			}
			if order != 0 {
				return order
			}
		}
		return 0
	})
	type taken struct {
		cells []cell
		meta  []metadata
	}
	rows := map[int]taken{}
	for _, r := range from {
		cells := make([]cell, a.c1-a.c0)
		for i := range cells {
			cells[i] = *s.at(r, a.c0+i)
		}
		var meta []metadata
		if s.rows[r] != nil {
			meta = s.rows[r].meta
		}
		rows[r] = taken{cells, meta}
	}
	for i, r := range places {
		if from[i] == r {
			continue
		}
		src := rows[from[i]]
		s.editRow(r).meta = slices.Clone(src.meta)
		for j, c := range src.cells {
			if c.entered.kind == kindFormula {
				c.entered.text = shiftFormula(c.entered.text, r-from[i])
			}
			if !c.bare() || !s.at(r, a.c0+j).bare() {
				*s.edit(r, a.c0+j) = c
			}
		}
	}
}
