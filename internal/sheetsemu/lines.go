package sheetsemu

import (
	"slices"
	"strconv"
)

func itoa(n int) string { return strconv.Itoa(n) }

// The three operations on rows and columns, each given as what becomes of a
// position, so that merges, names, protection and formulas can follow.

// insertLines puts n blank rows or columns before at.
func (b *book) insertLines(s *sheet, rows bool, at, n int) {
	if rows {
		s.rows = slices.Insert(s.rows, at, make([]*row, n)...)
	} else {
		s.cols = slices.Insert(s.cols, at, make([]*column, n)...)
		s.eachRow(func(r *row) {
			if at < len(r.cells) {
				r.cells = slices.Insert(r.cells, at, make([]cell, n)...)
			}
		})
	}
	b.follow(s, rows, func(i int) (int, bool) {
		if i >= at {
			return i + n, true
		}
		return i, true
	})
}

// deleteLines takes rows or columns from start to end away, with their
// metadata (documented).
func (b *book) deleteLines(s *sheet, rows bool, start, end int) {
	if rows {
		s.rows = slices.Delete(s.rows, start, end)
	} else {
		s.cols = slices.Delete(s.cols, start, end)
		s.eachRow(func(r *row) {
			if start < len(r.cells) {
				r.cells = slices.Delete(r.cells, start, min(end, len(r.cells)))
			}
		})
	}
	b.follow(s, rows, func(i int) (int, bool) {
		switch {
		case i >= end:
			return i - (end - start), true
		case i >= start:
			return start, false
		}
		return i, true
	})
}

// moveLines moves start to end before dest; dest counts before the move (documented).
func (b *book) moveLines(s *sheet, rows bool, start, end, dest int) {
	if dest >= start && dest <= end {
		return
	}
	count := s.colCount()
	if rows {
		count = s.rowCount()
	}
	order := make([]int, 0, count)
	for i := range count {
		if i == dest {
			order = appendRange(order, start, end)
		}
		if i < start || i >= end {
			order = append(order, i)
		}
	}
	if dest >= count {
		order = appendRange(order, start, end)
	}
	to := make([]int, count)
	for now, was := range order {
		to[was] = now
	}
	if rows {
		s.rows = permuted(s.rows, order)
	} else {
		s.cols = permuted(s.cols, order)
		s.eachRow(func(r *row) {
			wide := make([]cell, count)
			copy(wide, r.cells)
			r.cells = permuted(wide, order)
		})
	}
	b.follow(s, rows, func(i int) (int, bool) {
		if i < 0 || i >= count {
			return i, true
		}
		return to[i], true
	})
}

func appendRange(list []int, start, end int) []int {
	for i := start; i < end; i++ {
		list = append(list, i)
	}
	return list
}

func permuted[T any](list []T, order []int) []T {
	out := make([]T, len(order))
	for i, was := range order {
		out[i] = list[was]
	}
	return out
}

// eachRow visits the rows that hold something, ready to be changed.
func (s *sheet) eachRow(change func(*row)) {
	for i, r := range s.rows {
		if r != nil {
			change(s.editRow(i))
		}
	}
}

// follow moves everything that stands on positions of a tab. to gives the new
// position, and false for one that was deleted.
func (b *book) follow(s *sheet, rows bool, to func(int) (int, bool)) {
	merges := s.merges[:0]
	for _, a := range s.merges {
		if moved, ok := a.follow(rows, to); ok && !moved.single() {
			merges = append(merges, moved)
		}
	}
	s.merges = merges
	named := b.named[:0]
	for _, n := range b.named {
		if n.sheetID == s.id {
			var ok bool
			if n.span, ok = n.span.follow(rows, to); !ok {
				continue
			}
		}
		named = append(named, n)
	}
	b.named = named
	protected := s.protected[:0]
	for _, p := range s.protected {
		var ok bool
		if p.span, ok = p.span.follow(rows, to); ok {
			protected = append(protected, p)
		}
	}
	s.protected = protected
	b.followFormulas(s, rows, to)
}

func (a area) follow(rows bool, to func(int) (int, bool)) (area, bool) {
	p, ok := cellSpan(a).follow(rows, to)
	return area(p), ok
}

// follow gives the new bounds, and false when nothing is left.
func (p cellSpan) follow(rows bool, to func(int) (int, bool)) (cellSpan, bool) {
	start, end := &p.c0, &p.c1
	if rows {
		start, end = &p.r0, &p.r1
	}
	s, e := *start, *end
	if s != open {
		*start, _ = to(s)
	}
	if e != open {
		last, kept := to(e - 1)
		if kept {
			last++
		}
		*end = last
	}
	if s != open && e != open && *start > *end {
		*start, *end = *end-1, *start+1
	}
	return p, s == open || e == open || *start < *end
}
