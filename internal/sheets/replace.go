package sheets

import (
	"context"
	"fmt"

	api "google.golang.org/api/sheets/v4"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// Replace implements [claim.Sheet].
func (c *Client) Replace(ctx context.Context, g *claim.Grid, rs []claim.Replacement) ([]int, error) {
	if len(rs) == 0 {
		return nil, nil
	}
	req := &api.BatchUpdateSpreadsheetRequest{}
	for _, r := range rs {
		column := Range{StartCol: g.FirstCol + r.Column, EndCol: g.FirstCol + r.Column + 1}
		req.Requests = append(req.Requests, replaceRequest(column.grid(g.Tab.ID), r.From, r.To))
	}
	if err := c.quota.write(ctx); err != nil {
		return nil, cancelled(err)
	}
	answer, err := c.batch(ctx, call{name: "replace", spreadsheet: g.Spreadsheet, write: true}, req, "spreadsheetId,replies")
	if err != nil {
		return nil, err
	}
	if len(answer.Replies) != len(rs) {
		return nil, &claim.UnclearError{Err: fmt.Errorf("%d replies to %d requests", len(answer.Replies), len(rs))}
	}
	counts := make([]int, len(rs))
	for i, reply := range answer.Replies {
		// A count of 0 is left out, and so is the whole reply with it (reported by users).
		if reply != nil && reply.FindReplace != nil {
			counts[i] = int(reply.FindReplace.OccurrencesChanged)
		}
	}
	return counts, nil
}

// Prune implements [claim.Sheet].
func (c *Client) Prune(ctx context.Context, g *claim.Grid, old []claim.Stamp) error {
	if len(old) == 0 {
		return nil
	}
	req := &api.BatchUpdateSpreadsheetRequest{}
	for _, s := range old {
		req.Requests = append(req.Requests, unstampRequest(s))
	}
	if err := c.quota.write(ctx); err != nil {
		return cancelled(err)
	}
	_, err := c.batch(ctx, call{name: "prune", spreadsheet: g.Spreadsheet, write: true}, req, "spreadsheetId")
	return err
}

// replaceRequest changes the cells of an area whose whole text is from into to.
// Cells with formulas are passed over (documented). An empty replacement is sent in
// words, for whether a missing one means the same is unknown.
func replaceRequest(area *api.GridRange, from, to string) *api.Request {
	return &api.Request{FindReplace: &api.FindReplaceRequest{
		Find:            from,
		Replacement:     to,
		MatchCase:       true,
		MatchEntireCell: true,
		Range:           area,
		ForceSendFields: []string{"Replacement"},
	}}
}
