package sheets

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	api "google.golang.org/api/sheets/v4"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// Claim implements [claim.Sheet]. A claim with cells does not wait for quota, since
// the read before it held some; a batch that only uses up its number waits.
//
// Whether a held cell was changed needs no reading of the replies: the answer shows
// the cell, and no cell ever held the new text before.
func (c *Client) Claim(ctx context.Context, g *claim.Grid, b claim.Batch) (*claim.Grid, error) {
	area, err := ParseRange(g.Range)
	if err != nil {
		return nil, &claim.SheetError{Problem: err.Error(), Setup: true, Err: err}
	}
	area.Tab = g.Tab.Title
	if b.Stamp.ID == 0 {
		b.Stamp.ID = StampID(g.Tab.ID, b.Stamp.N)
	}
	if len(b.Cells) > 0 {
		c.quota.redeem()
	} else if err := c.quota.write(ctx); err != nil {
		return nil, cancelled(err)
	}

	req := &api.BatchUpdateSpreadsheetRequest{Requests: claimRequests(g, b)}
	ask := claim.Ask{Tab: &g.Tab, Columns: b.Cols, Rows: b.Rows}
	fields := "spreadsheetId"
	if len(b.Rows) > 0 {
		req.IncludeSpreadsheetInResponse = true
		req.ResponseIncludeGridData = true
		req.ResponseRanges = texts(area.asked(ask))
		fields += ",updatedSpreadsheet(properties(timeZone),sheets(" + sheetFields + "))"
	}
	answer, err := c.batch(ctx, call{name: "claim", spreadsheet: g.Spreadsheet, write: true}, req, fields)
	if err != nil {
		if fenced(err) {
			return nil, fmt.Errorf("%w (number %d)", claim.ErrFenced, b.Stamp.N)
		}
		return nil, err
	}
	if len(b.Rows) == 0 {
		return &claim.Grid{Target: g.Target, Tab: g.Tab, Zone: g.Zone, FirstCol: g.FirstCol, FirstRow: g.FirstRow, Header: g.Header}, nil
	}
	after, err := answerOf(answer.UpdatedSpreadsheet).grid(g.Target, area, g.Zone, ask)
	if err != nil {
		return nil, &claim.UnclearError{Err: err}
	}
	return after, nil
}

// claimRequests are the requests of a claim, the fence entry first: they are
// applied in order and together or not at all (documented: spreadsheets.batchUpdate).
func claimRequests(g *claim.Grid, b claim.Batch) []*api.Request {
	list := []*api.Request{stampRequest(g.Tab.ID, b.Stamp)}
	var empty []claim.BatchCell
	for _, cell := range b.Cells {
		if cell.Held == "" {
			empty = append(empty, cell)
		}
	}
	list = append(list, fillRequests(g, empty)...)
	for _, cell := range b.Cells {
		if cell.Held != "" {
			one := Range{StartRow: cell.Row - 1, EndRow: cell.Row, StartCol: g.FirstCol + cell.Column, EndCol: g.FirstCol + cell.Column + 1}
			list = append(list, replaceRequest(one.grid(g.Tab.ID), cell.Held, cell.Text))
		}
	}
	return list
}

// fillRequests write texts into cells, one request for each unbroken stretch of a
// column. They go as stringValue, which is taken as it is and never parsed.
func fillRequests(g *claim.Grid, cells []claim.BatchCell) []*api.Request {
	slices.SortFunc(cells, func(a, b claim.BatchCell) int {
		return cmp.Or(cmp.Compare(a.Column, b.Column), cmp.Compare(a.Row, b.Row))
	})
	var list []*api.Request
	for i, cell := range cells {
		row := &api.RowData{Values: []*api.CellData{{UserEnteredValue: &api.ExtendedValue{StringValue: &cell.Text}}}}
		if i > 0 && cells[i-1].Column == cell.Column && cells[i-1].Row+1 == cell.Row {
			stretch := list[len(list)-1].UpdateCells
			stretch.Rows = append(stretch.Rows, row)
			continue
		}
		list = append(list, &api.Request{UpdateCells: &api.UpdateCellsRequest{
			Start: &api.GridCoordinate{
				SheetId: g.Tab.ID, RowIndex: int64(cell.Row - 1), ColumnIndex: int64(g.FirstCol + cell.Column),
				ForceSendFields: []string{"SheetId", "RowIndex", "ColumnIndex"},
			},
			Rows:   []*api.RowData{row},
			Fields: "userEnteredValue",
		}})
	}
	return list
}
