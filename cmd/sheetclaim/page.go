package main

import (
	"fmt"
	"net/url"

	"github.com/sheetclaim/sheetclaim/api/dashboard"
	"github.com/sheetclaim/sheetclaim/internal/job"
)

// sheetURL says where the page's links to sheets lead: nil to Google, or to what the
// emulator shows of a tab.
func sheetURL(g job.Google) func(dashboard.Place) string {
	if g.Endpoint == "" {
		return nil
	}
	return func(p dashboard.Place) string {
		if p.Tab == "" {
			return ""
		}
		u := g.Endpoint + "/_emu/sheets/" + url.PathEscape(p.Spreadsheet) + "/" + url.PathEscape(p.Tab) + ".html"
		if p.Row > 0 {
			u += fmt.Sprintf("#row-%d", p.Row)
		}
		return u
	}
}
