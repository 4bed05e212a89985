package sheets

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"

	api "google.golang.org/api/sheets/v4"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// A large tab answers hundreds of megabytes. They are read as they come, row by row,
// and only the cells that are asked for are kept: the structs of the generated
// client would take more than a kilobyte for each.

// tabAnswer is one tab of an answer: what is small of it, and its blocks of cells.
type tabAnswer struct {
	api.Sheet // its Data is empty
	blocks    []block
}

// block is the cells of one range that was asked for. Trailing blank cells and rows
// are left out (observed).
type block struct {
	startRow, startCol int            // counted from 0
	rows               [][]claim.Cell // nil for a row without any
	keep               []int          // the columns that rows after the first have; nil: all
	hidden             []int          // of rows
	dropped            []int          // of rows: cells that were not kept hold something
}

// bookAnswer is the part of a Spreadsheet that a read asks for.
type bookAnswer struct {
	zone string
	tabs []*tabAnswer
	// keep answers, by the header, which of its columns to keep; nil: all. The header is
	// then the first row of the only block.
	keep func(header []string) []int
}

// decode reads an answer as it comes.
func (a *bookAnswer) decode(r io.Reader) error {
	dec := json.NewDecoder(r)
	return object(dec, map[string]func() error{
		"properties": func() error {
			var p struct{ TimeZone string }
			err := dec.Decode(&p)
			a.zone = p.TimeZone
			return err
		},
		"sheets": func() error {
			return list(dec, func(int) error {
				t := &tabAnswer{}
				a.tabs = append(a.tabs, t)
				return a.tab(dec, t)
			})
		},
	})
}

func (a *bookAnswer) tab(dec *json.Decoder, t *tabAnswer) error {
	return object(dec, map[string]func() error{
		"properties":        func() error { return dec.Decode(&t.Properties) },
		"developerMetadata": func() error { return dec.Decode(&t.DeveloperMetadata) },
		"data": func() error {
			return list(dec, func(int) error {
				b, err := a.block(dec)
				t.blocks = append(t.blocks, b)
				t.Data = append(t.Data, nil) // tells findSheet that there is some
				return err
			})
		},
	})
}

func (a *bookAnswer) block(dec *json.Decoder) (block, error) {
	var b block
	var width int // of the header: what stands past it belongs to no row
	err := object(dec, map[string]func() error{
		"startRow":    func() error { return dec.Decode(&b.startRow) },
		"startColumn": func() error { return dec.Decode(&b.startCol) },
		"rowMetadata": func() error {
			return list(dec, func(i int) error {
				var m api.DimensionProperties
				err := dec.Decode(&m)
				if m.HiddenByUser || m.HiddenByFilter {
					b.hidden = append(b.hidden, i)
				}
				return err
			})
		},
		"rowData": func() error {
			return list(dec, func(i int) error {
				var row api.RowData
				if err := dec.Decode(&row); err != nil {
					return err
				}
				if b.keep == nil {
					b.rows = append(b.rows, toCells(row.Values))
					if i == 0 && a.keep != nil {
						b.keep, width = a.keep(textsOf(b.rows[0])), widthOf(b.rows[0])
					}
					return nil
				}
				cells, dropped := keptCells(row.Values, b.keep, width)
				b.rows = append(b.rows, cells)
				if dropped {
					b.dropped = append(b.dropped, i)
				}
				return nil
			})
		},
	})
	return b, err
}

// toCells reads the cells of one row.
func toCells(values []*api.CellData) []claim.Cell {
	var cells []claim.Cell
	for i, d := range values {
		if c := toCell(d); c != (claim.Cell{}) {
			if cells == nil {
				cells = make([]claim.Cell, len(values))
			}
			cells[i] = c
		}
	}
	return cells
}

// keptCells reads the cells of some columns, in their order, and tells whether
// another, up to a width, holds something.
func keptCells(values []*api.CellData, keep []int, width int) (cells []claim.Cell, dropped bool) {
	for i, d := range values {
		c := toCell(d)
		at, kept := slices.BinarySearch(keep, i)
		switch {
		case !kept:
			dropped = dropped || i < width && !c.IsBlank()
		case c != claim.Cell{}:
			if cells == nil {
				cells = make([]claim.Cell, len(keep))
			}
			cells[at] = c
		}
	}
	return cells, dropped
}

// widthOf counts the cells of a header up to the last that is not blank.
func widthOf(cells []claim.Cell) int {
	n := len(cells)
	for n > 0 && cells[n-1].IsBlank() {
		n--
	}
	return n
}

func textsOf(cells []claim.Cell) []string {
	texts := make([]string, len(cells))
	for i, c := range cells {
		texts[i] = c.Shown
	}
	return texts
}

// blocksOf are the blocks of a tab that the generated client has read.
func blocksOf(data []*api.GridData) []block {
	blocks := make([]block, len(data))
	for i, d := range data {
		b := &blocks[i]
		b.startRow, b.startCol = int(d.StartRow), int(d.StartColumn)
		for r, row := range d.RowData {
			b.rows = append(b.rows, nil)
			if row != nil {
				b.rows[r] = toCells(row.Values)
			}
			if r < len(d.RowMetadata) && d.RowMetadata[r] != nil && (d.RowMetadata[r].HiddenByUser || d.RowMetadata[r].HiddenByFilter) {
				b.hidden = append(b.hidden, r)
			}
		}
	}
	return blocks
}

// object reads an object member by member; those without a function are skipped.
func object(dec *json.Decoder, members map[string]func() error) error {
	opened, err := open(dec, '{')
	if err != nil || !opened {
		return err
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return err
		}
		text, _ := name.(string) // a name is always a string
		read, known := members[text]
		if !known {
			read = func() error { return dec.Decode(new(json.RawMessage)) }
		}
		if err := read(); err != nil {
			return err
		}
	}
	_, err = dec.Token()
	return err
}

// list reads an array element by element.
func list(dec *json.Decoder, element func(i int) error) error {
	opened, err := open(dec, '[')
	if err != nil || !opened {
		return err
	}
	for i := 0; dec.More(); i++ {
		if err := element(i); err != nil {
			return err
		}
	}
	_, err = dec.Token()
	return err
}

// open reads the beginning of an object or array; null is none.
func open(dec *json.Decoder, want json.Delim) (bool, error) {
	token, err := dec.Token()
	switch {
	case err != nil:
		return false, err
	case token == nil:
		return false, nil
	case token != want:
		return false, fmt.Errorf("the answer of Google Sheets has %v where %v was expected", token, want)
	}
	return true, nil
}
