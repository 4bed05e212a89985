package sheetsemu

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
)

// LoadCSV puts a CSV file into a new tab of a spreadsheet, which is made when
// it does not exist. Cells are taken as typed, as Google's import does: 007
// becomes the number 7 and +39055 loses its sign; 'text keeps what follows the
// apostrophe. An empty line is an empty row, and a byte order mark is no text. The
// tab has at least 1000 x 26 cells.
func (e *Emulator) LoadCSV(id, tabTitle string, r io.Reader) error {
	rows, err := readCSV(r)
	if err != nil {
		return fmt.Errorf("csv for tab %q: %w", tabTitle, err)
	}
	return e.Put(id, tabTitle, rows)
}

// readCSV reads rows. encoding/csv leaves out empty lines: the lines on which records
// begin tell of them.
func readCSV(r io.Reader) ([][]any, error) {
	text := bufio.NewReader(r)
	if mark, _, err := text.ReadRune(); err == nil && mark != '\ufeff' {
		if err := text.UnreadRune(); err != nil {
			return nil, err
		}
	}
	in := csv.NewReader(text)
	in.FieldsPerRecord = -1
	var rows [][]any
	for next := 1; ; { // the line on which the next record begins if none is empty
		rec, err := in.Read()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return nil, err
		}
		line, _ := in.FieldPos(0)
		for range line - next {
			rows = append(rows, nil)
		}
		var row []any
		for _, cell := range rec {
			row = append(row, cell)
		}
		rows = append(rows, row)
		last := len(rec) - 1
		line, _ = in.FieldPos(last)
		next = line + strings.Count(rec[last], "\n") + 1
	}
}

// Put puts values into a new tab of a spreadsheet, which is made when it does
// not exist. Strings are taken as typed; numbers, booleans and nil are allowed.
func (e *Emulator) Put(id, tabTitle string, rows [][]any) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	t := &txn{call: &Call{}, now: e.opts.Now()}
	if f := e.files[id]; f != nil {
		t.book = f.current.draft()
	} else {
		t.book = e.newBook(id, tabTitle)
	}
	props := &sheetProperties{Title: tabTitle}
	if len(t.book.sheets) == 0 {
		first := int64(0)
		props.SheetID = &first
	}
	s, err := t.newTab(props)
	if err != nil {
		return err
	}
	h, w := size(rows)
	s.grow(h, w)
	for r, cells := range rows {
		for c, v := range cells {
			if text, ok := v.(string); ok {
				err = t.book.putTyped(t.parser(), s, r, c, text)
			} else {
				err = t.book.put(s, r, c, plainValue(v))
			}
			if err != nil {
				return fmt.Errorf("%s: %w", rangeText(s, area{r, c, r + 1, c + 1}), err)
			}
		}
	}
	t.book.recalc(t.now)
	e.publish(t.book)
	return nil
}

// WriteCSV writes what a tab shows.
func (e *Emulator) WriteCSV(id, tab string, w io.Writer) error {
	rows, err := e.texts(id, tab)
	if err != nil {
		return err
	}
	out := csv.NewWriter(w)
	for _, r := range rows {
		if err := out.Write(r); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// texts is what a tab shows, in rows of one length.
func (e *Emulator) texts(id, tab string) ([][]string, error) {
	e.mu.Lock()
	f := e.files[id]
	e.mu.Unlock()
	if f == nil {
		return nil, fmt.Errorf("no spreadsheet %q", id)
	}
	s := f.current.sheetByTitle(tab)
	if s == nil {
		return nil, fmt.Errorf("no tab %q in spreadsheet %q", tab, id)
	}
	rows := f.current.grid(s)
	width := 0
	for _, r := range rows {
		width = max(width, len(r))
	}
	for i, r := range rows {
		rows[i] = append(r, make([]string, width-len(r))...)
	}
	return rows, nil
}
