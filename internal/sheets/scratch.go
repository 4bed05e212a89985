package sheets

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/api/googleapi"
	api "google.golang.org/api/sheets/v4"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// Scratch is a tab that was made to try things on, in a spreadsheet that belongs to
// somebody. Nothing but this tab is written.
type Scratch struct {
	claim.Target
	Tab claim.Tab
	c   *Client
}

// The scratch tab: a small table for runs on the left, columns for probes beside it,
// and as many rows as make a column long.
const (
	scratchRows   = 10_000
	scratchTable  = "A1:D20"
	probeColumn   = 5 // F
	scratchCols   = 7
	removeTries   = 3
	removePatient = time.Minute
)

// NewScratch makes the tab with a header and rows of texts. After an error the tab may
// be there all the same: Remove says.
func (c *Client) NewScratch(ctx context.Context, spreadsheet string, tab claim.Tab, rows [][]string) (*Scratch, error) {
	s := &Scratch{Target: claim.Target{Spreadsheet: spreadsheet, Range: quoteTab(tab.Title) + "!" + scratchTable}, Tab: tab, c: c}
	grid := &api.GridProperties{RowCount: scratchRows, ColumnCount: scratchCols}
	_, err := s.send(ctx,
		&api.Request{AddSheet: &api.AddSheetRequest{Properties: &api.SheetProperties{SheetId: tab.ID, Title: tab.Title, GridProperties: grid}}},
		s.put(0, 0, rows))
	return s, err
}

// Fill puts texts over the cells from the tab's first row on.
func (s *Scratch) Fill(ctx context.Context, rows [][]string) error {
	_, err := s.send(ctx, s.put(0, 0, rows))
	return err
}

// Remove deletes the tab, whatever has become of ctx. An error means that it may still
// be there.
func (s *Scratch) Remove(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removePatient)
	defer cancel()
	var err error
	for range removeTries {
		_, err = s.send(ctx, &api.Request{DeleteSheet: &api.DeleteSheetRequest{SheetId: s.Tab.ID}})
		if err == nil || !s.there(ctx) {
			return nil
		}
		if sleep(ctx, time.Second) != nil {
			break
		}
	}
	return err
}

// there reports whether the tab is there, as far as can be known.
func (s *Scratch) there(ctx context.Context) bool {
	tabs, f := s.c.tabs(ctx, s.Spreadsheet)
	if f != nil {
		return true
	}
	for _, tab := range tabs {
		if tab.ID == s.Tab.ID {
			return true
		}
	}
	return false
}

// send sends one batch of requests.
func (s *Scratch) send(ctx context.Context, requests ...*api.Request) (*api.BatchUpdateSpreadsheetResponse, error) {
	if err := s.c.quota.write(ctx); err != nil {
		return nil, cancelled(err)
	}
	return s.c.batch(ctx, call{name: "check", spreadsheet: s.Spreadsheet, write: true}, &api.BatchUpdateSpreadsheetRequest{Requests: requests}, "spreadsheetId,replies")
}

// put writes texts from a cell on.
func (s *Scratch) put(row, col int, texts [][]string) *api.Request {
	var rows []*api.RowData
	for _, line := range texts {
		data := &api.RowData{}
		for _, text := range line {
			data.Values = append(data.Values, &api.CellData{UserEnteredValue: &api.ExtendedValue{StringValue: &text}})
		}
		rows = append(rows, data)
	}
	return &api.Request{UpdateCells: &api.UpdateCellsRequest{
		Start: &api.GridCoordinate{
			SheetId: s.Tab.ID, RowIndex: int64(row), ColumnIndex: int64(col), ForceSendFields: []string{"RowIndex", "ColumnIndex"},
		},
		Rows: rows, Fields: "userEnteredValue",
	}}
}

// area is some rows of the probe column.
func (s *Scratch) area(row, endRow int) *api.GridRange {
	return Range{StartRow: row, EndRow: endRow, StartCol: probeColumn, EndCol: probeColumn + 1}.grid(s.Tab.ID)
}

// look reads cells of the probe column, and the tab's metadata, in one answer.
func (s *Scratch) look(ctx context.Context, rows ...int) (cells []string, metadata map[string]string, err error) {
	var ranges []string
	for _, row := range rows {
		ranges = append(ranges, fmt.Sprintf("%s!%s%d", quoteTab(s.Tab.Title), columnName(probeColumn), row+1))
	}
	_, f := s.c.read(ctx, call{name: "check", spreadsheet: s.Spreadsheet, tab: s.Tab.Title}, false, func(ctx context.Context) error {
		book, err := s.c.service.Spreadsheets.Get(s.Spreadsheet).Ranges(ranges...).
			Fields("spreadsheetId,sheets(properties(sheetId,title),data(startRow,startColumn,rowData(values(userEnteredValue,effectiveValue)))" + metadataFields + ")").
			Context(ctx).Do()
		if err != nil {
			return err
		}
		sheet := findSheet(book.Sheets, &s.Tab, s.Tab.Title)
		if sheet == nil {
			return errNoTab
		}
		a := assemble(Range{StartRow: -1, StartCol: probeColumn}, blocksOf(sheet.Data), nil)
		cells, metadata = nil, map[string]string{}
		for _, row := range rows {
			cells = append(cells, a.row(row).Cell(0).Shown)
		}
		for _, m := range sheet.DeveloperMetadata {
			metadata[m.MetadataKey] = m.MetadataValue
		}
		return nil
	})
	if f != nil {
		return nil, nil, f.words
	}
	return cells, metadata, nil
}

// refusal is the answer that refused a request, in Google's own words if there are any.
func refusal(err error) string {
	var answer *googleapi.Error
	if errors.As(err, &answer) && answer.Message != "" {
		return fmt.Sprintf("%d %s", answer.Code, answer.Message)
	}
	return err.Error()
}
