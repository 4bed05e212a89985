package sheets

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	api "google.golang.org/api/sheets/v4"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// Inspection is what a tab says about writing into some of its columns.
type Inspection struct {
	Columns map[int]ColumnRules // by column of the header
}

// ColumnRules is what stands in the way of a text that is written into a column.
type ColumnRules struct {
	Strict    int    // cells whose data validation refuses what does not fit it
	StrictRow int    // number of the first of them
	Rule      string // what it asks for: "one of a, b"
	Protected string // what protects cells from this account, in words; "": nothing does
	Typed     string // name of the table in which the column has a type; "": none
}

const inspectFields = "spreadsheetId,sheets(properties(sheetId,title)," +
	"protectedRanges(description,range,warningOnly,requestingUserCanEdit,unprotectedRanges)," +
	"tables(name,range,columnProperties(columnIndex,columnType))," +
	"data(startRow,startColumn,rowData(values(dataValidation(condition,strict)))))"

// Inspect reads what keeps this account from writing into columns of a grid that was
// read before. Its errors are *claim.SheetError.
func (c *Client) Inspect(ctx context.Context, g *claim.Grid, columns []int) (*Inspection, error) {
	area, err := ParseRange(g.Range)
	if err != nil {
		return nil, &claim.SheetError{Problem: err.Error(), Setup: true, Err: err}
	}
	area.Tab = g.Tab.Title
	var list []Range
	for _, r := range area.asked(claim.Ask{Columns: columns}) {
		if r != area.header() {
			list = append(list, r)
		}
	}
	var found *Inspection
	_, f := c.read(ctx, call{name: "check", spreadsheet: g.Spreadsheet, tab: area.Tab}, false, func(ctx context.Context) error {
		book, err := c.service.Spreadsheets.Get(g.Spreadsheet).Ranges(texts(list)...).Fields(inspectFields).Context(ctx).Do()
		if err != nil {
			return err
		}
		s := findSheet(book.Sheets, &g.Tab, g.Tab.Title)
		if s == nil {
			return errNoTab
		}
		found = inspect(s, g, columns)
		return nil
	})
	if f != nil {
		return nil, f.words
	}
	return found, nil
}

// inspect reads the rules of the columns out of one tab's answer.
func inspect(s *api.Sheet, g *claim.Grid, columns []int) *Inspection {
	in := &Inspection{Columns: map[int]ColumnRules{}}
	for _, column := range columns {
		rules := ColumnRules{}
		rules.addValidation(s.Data, g.FirstCol+column, g.FirstRow)
		rules.addProtection(s.ProtectedRanges, int64(g.FirstCol+column), int64(g.FirstRow))
		for _, t := range s.Tables {
			for _, p := range t.ColumnProperties {
				if t.Range != nil && t.Range.StartColumnIndex+p.ColumnIndex == int64(g.FirstCol+column) && !plainType(p.ColumnType) {
					rules.Typed = t.Name
				}
			}
		}
		in.Columns[column] = rules
	}
	return in
}

// plainType reports a column of a table that takes any text.
func plainType(t string) bool { return t == "" || t == "TEXT" || t == "COLUMN_TYPE_UNSPECIFIED" }

// addValidation counts cells below the header with a strict rule.
func (r *ColumnRules) addValidation(blocks []*api.GridData, column, header int) {
	for _, b := range blocks {
		at := column - int(b.StartColumn)
		for i, row := range b.RowData {
			number := int(b.StartRow) + i + 1
			if row == nil || at < 0 || at >= len(row.Values) || number <= header {
				continue
			}
			v := row.Values[at].DataValidation
			if v == nil || !v.Strict {
				continue
			}
			if r.Strict++; r.Strict == 1 {
				r.StrictRow, r.Rule = number, ruleText(v.Condition)
			}
		}
	}
}

// ruleText says what a rule asks for.
func ruleText(c *api.BooleanCondition) string {
	if c == nil {
		return "its rule"
	}
	var values []string
	for _, v := range c.Values {
		values = append(values, cmp.Or(v.UserEnteredValue, v.RelativeDate))
	}
	list := strings.Join(values, ", ")
	switch c.Type {
	case "ONE_OF_LIST", "ONE_OF_RANGE":
		return "one of " + list
	case "BOOLEAN":
		return "a tick box"
	}
	return strings.TrimSpace(strings.ToLower(strings.ReplaceAll(c.Type, "_", " ")) + " " + list)
}

// addProtection looks for a protection that covers cells of the column below the
// header and that this account may not pass.
func (r *ColumnRules) addProtection(list []*api.ProtectedRange, column, header int64) {
	for _, p := range list {
		if p.WarningOnly || p.RequestingUserCanEdit || !touches(p.Range, column, header) {
			continue
		}
		free := false
		for _, u := range p.UnprotectedRanges {
			free = free || touches(u, column, header)
		}
		if !free {
			r.Protected = cmp.Or(p.Description, "a protected range")
		}
	}
}

// touches reports whether a range reaches into a column below the header. An end of 0
// is open, and without a range the whole tab is meant (documented: GridRange).
func touches(g *api.GridRange, column, header int64) bool {
	if g == nil {
		return true
	}
	return g.StartColumnIndex <= column && (g.EndColumnIndex == 0 || column < g.EndColumnIndex) &&
		(g.EndRowIndex == 0 || g.EndRowIndex > header)
}

// IsLogin reports whether a call failed because no token could be had.
func IsLogin(err error) bool {
	var login *loginError
	return errors.As(err, &login)
}

// Clock compares this machine's clock with the one that Google's answers carry.
type Clock struct {
	Theirs time.Time // of the last answer, to the second
	Ours   time.Time // when that answer came
}

// Clock answers what the last answer said; false before there was one.
func (c *Client) Clock() (Clock, bool) {
	seen := c.clock.Load()
	if seen == nil {
		return Clock{}, false
	}
	return *seen, true
}
