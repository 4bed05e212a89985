package sheets

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"

	"google.golang.org/api/googleapi"
	api "google.golang.org/api/sheets/v4"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

var _ claim.Sheet = (*Client)(nil)

// Read implements [claim.Sheet].
func (c *Client) Read(ctx context.Context, t claim.Target, ask claim.Ask) (*claim.Grid, error) {
	area, err := ParseRange(t.Range)
	if err != nil {
		return nil, &claim.SheetError{Problem: err.Error(), Setup: true, Err: err}
	}
	if ask.Tab != nil {
		area.Tab = ask.Tab.Title
	}
	g, f := c.grid(ctx, t, area, ask, area.asked(ask))
	if f != nil && pastEnd(f) && (ask.Rows != nil || ask.Columns != nil) {
		// Rows or columns that were there are gone, and a range that begins past the
		// end is refused (probed). The whole range shows what is left.
		g, f = c.grid(ctx, t, area, ask, []Range{area})
	}
	if ask.Tab != nil && (f != nil && unknownTab(f) || f == nil && g.Tab.ID != ask.Tab.ID) {
		return c.follow(ctx, t, ask)
	}
	switch {
	case f != nil:
		return nil, c.withTabs(ctx, t, area, f)
	case len(g.Header) == 0:
		return nil, noHeader(g.Tab, area)
	}
	return g, nil
}

// follow reads a tab that an earlier read found and that has another title by now.
// Its id stays (documented: SheetProperties.sheetId).
func (c *Client) follow(ctx context.Context, t claim.Target, ask claim.Ask) (*claim.Grid, error) {
	tabs, f := c.tabs(ctx, t.Spreadsheet)
	if f != nil {
		return nil, f.words
	}
	i := slices.IndexFunc(tabs, func(tab claim.Tab) bool { return tab.ID == ask.Tab.ID })
	if i < 0 || tabs[i].Title == ask.Tab.Title {
		return nil, goneTab(ask.Tab.Title)
	}
	ask.Tab = &tabs[i]
	return c.Read(ctx, t, ask)
}

// tabs lists the tabs of a spreadsheet.
func (c *Client) tabs(ctx context.Context, spreadsheet string) ([]claim.Tab, *failure) {
	var tabs []claim.Tab
	_, f := c.read(ctx, call{name: "tabs", spreadsheet: spreadsheet}, false, func(ctx context.Context) error {
		book, err := c.service.Spreadsheets.Get(spreadsheet).Fields("sheets(properties(sheetId,title))").Context(ctx).Do()
		if err != nil {
			return err
		}
		tabs = nil
		for _, s := range book.Sheets {
			if s.Properties != nil {
				tabs = append(tabs, claim.Tab{ID: s.Properties.SheetId, Title: s.Properties.Title})
			}
		}
		return nil
	})
	return tabs, f
}

// Zone answers the time zone of a spreadsheet, by Google's name for it, whatever has
// become of its tabs.
func (c *Client) Zone(ctx context.Context, spreadsheet string) (name string, err error) {
	_, f := c.read(ctx, call{name: "zone", spreadsheet: spreadsheet}, false, func(ctx context.Context) error {
		book, err := c.service.Spreadsheets.Get(spreadsheet).Fields("properties(timeZone)").Context(ctx).Do()
		if err == nil && book.Properties != nil {
			name = book.Properties.TimeZone
		}
		return err
	})
	if f != nil {
		return "", f.words
	}
	return name, nil
}

// grid reads a list of ranges in one response.
func (c *Client) grid(ctx context.Context, t claim.Target, area Range, ask claim.Ask, list []Range) (*claim.Grid, *failure) {
	byURL := queryLength(texts(list)) <= maxQuery
	if !byURL && ask.Tab == nil {
		// Data filters take the tab by its id, which is not known yet.
		list, byURL = []Range{area}, true
	}
	fields := readFields(ask.Fence)
	var g *claim.Grid
	began, f := c.read(ctx, call{name: "read", spreadsheet: t.Spreadsheet, tab: area.Tab}, ask.Fence, func(ctx context.Context) error {
		a := &bookAnswer{}
		if ask.Columns == nil && ask.Rows == nil {
			a.keep = ask.Keep
		}
		var err error
		if byURL {
			err = c.get(ctx, t.Spreadsheet, texts(list), fields, a.decode)
		} else {
			req := &api.GetSpreadsheetByDataFilterRequest{DataFilters: filters(ask.Tab.ID, list)}
			var book *api.Spreadsheet
			if book, err = c.service.Spreadsheets.GetByDataFilter(t.Spreadsheet, req).Fields(googleapi.Field(fields)).Context(ctx).Do(); err == nil {
				a = answerOf(book)
			}
		}
		if err == nil {
			g, err = a.grid(t, area, "", ask)
		}
		return err
	})
	if f != nil {
		return nil, f
	}
	g.Began = began
	return g, nil
}

// readFields is the mask of a read. A mask that names data makes includeGridData
// needless (documented), and without one the answer is ten times as long.
func readFields(fence bool) string {
	sheet := sheetFields
	if fence {
		sheet += metadataFields
	}
	return "spreadsheetId,properties(timeZone),sheets(" + sheet + ")"
}

// errNoTab is an answer without the tab that it must hold: an error of the way, as
// a body cut short is.
var errNoTab = errors.New("the answer of Google Sheets does not hold the tab")

// gridPatience is how many times the limit of a call a grid may take to begin: Google
// gathers the whole answer first, and gives up itself after 180 s (documented: usage
// limits).
const gridPatience = 3

// get asks for ranges of a spreadsheet, as the generated client does, and hands the
// body over as it comes. Its errors are those of that client.
func (c *Client) get(ctx context.Context, spreadsheet string, ranges []string, fields string, decode func(io.Reader) error) error {
	query := url.Values{"ranges": ranges, "fields": {fields}, "alt": {"json"}, "prettyPrint": {"false"}}
	address := googleapi.ResolveRelative(c.service.BasePath, "v4/spreadsheets/{spreadsheetId}") + "?" + query.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return err
	}
	if c.service.UserAgent != "" {
		req.Header.Set("User-Agent", c.service.UserAgent)
	}
	googleapi.Expand(req.URL, map[string]string{"spreadsheetId": spreadsheet})
	limit := limitOf(ctx)
	limit.Reset(gridPatience * c.timeout)
	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // read to its end, or given up
	if err := googleapi.CheckResponse(resp); err != nil {
		return err
	}
	return decode(arriving{resp.Body, limit, c.timeout})
}

// answerOf is an answer that the generated client has read.
func answerOf(book *api.Spreadsheet) *bookAnswer {
	a := &bookAnswer{}
	if book == nil {
		return a
	}
	if book.Properties != nil {
		a.zone = book.Properties.TimeZone
	}
	for _, s := range book.Sheets {
		a.tabs = append(a.tabs, &tabAnswer{Sheet: *s, blocks: blocksOf(s.Data)})
	}
	return a
}

// grid makes the grid of an answer; zone is for one that does not name its own.
func (a *bookAnswer) grid(t claim.Target, area Range, zone string, ask claim.Ask) (*claim.Grid, error) {
	sheets := make([]*api.Sheet, len(a.tabs))
	for i, tab := range a.tabs {
		sheets[i] = &tab.Sheet
	}
	i := slices.Index(sheets, findSheet(sheets, ask.Tab, area.Tab))
	if i < 0 {
		return nil, errNoTab
	}
	return newGrid(t, area, cmp.Or(a.zone, zone), a.tabs[i], ask), nil
}

// withTabs adds the tabs that there are to a failure over a tab that there is not.
// The second call is worth it: the answer is mostly a typing error away.
func (c *Client) withTabs(ctx context.Context, t claim.Target, area Range, f *failure) *claim.SheetError {
	if area.Tab == "" || !unknownTab(f) {
		return f.words
	}
	tabs, failed := c.tabs(ctx, t.Spreadsheet)
	if failed != nil || len(tabs) == 0 {
		return f.words
	}
	titles := make([]string, len(tabs))
	for i, tab := range tabs {
		titles[i] = tab.Title
	}
	return listTabs(f.words, titles)
}
