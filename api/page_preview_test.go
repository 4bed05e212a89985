package api_test

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/sheetclaim/sheetclaim/api"
	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// hostileCell is what a cell can hold at its worst.
const hostileCell = `"><script>alert(1)</script><img src=x onerror=alert(2)>'{{.}}` + "\u202e"

// harmless fails when a page holds the hostile cell as anything but text.
func harmless(t *testing.T, path, page string) {
	t.Helper()
	if !strings.Contains(page, "&lt;script&gt;") {
		t.Errorf("%s does not show the cell", path)
	}
	for _, bad := range []string{"<script>alert", "<img src=x"} {
		if strings.Contains(page, bad) {
			t.Errorf("%s holds %s:\n%s", path, bad, page)
		}
	}
}

func TestPagePreview(t *testing.T) {
	g := &glass{view: fullView()}
	g.view.Rows[0].Message.PartsOut = false
	s := newServer(t, &book{}, g.in)
	v := visit(t, s)
	if status, to := v.get("/preview"); status != 303 || to != "/preview/reviews" {
		t.Errorf("with one job: %d %s", status, to)
	}
	page := v.want(200, "/preview/reviews", "1 of 2 due rows would be sent now.", "Outside the job&#39;s window.", `<iframe sandbox srcdoc="&lt;p&gt;h"`,
		`>t</pre>`, "a@x.test", "https://u.test/", "hidden in the sheet", "no address", "Mend it", "1 more row is not listed", "cleared")
	v.want(200, "/preview/reviews?row=+B-1+")
	if r := g.asked[len(g.asked)-1]; r.Key != "B-1" || r.Job != "reviews" || r.To != "" || r.Parts == 0 {
		t.Errorf("asked for %+v", r)
	}
	v.want(404, "/preview/other")

	form := url.Values{"row": {"B-1"}, "to": {" me@x.test "}}
	asked := len(g.asked)
	if status, _ := v.post("/preview/reviews/test", form); status != 403 || len(g.asked) != asked {
		t.Errorf("a test without the form's token: %d", status)
	}
	form.Set("form", v.form(page))
	status, page := v.post("/preview/reviews/test", form)
	if r := g.asked[len(g.asked)-1]; status != 200 || r.Key != "B-1" || r.To != "me@x.test" || !strings.Contains(page, "250 ok") {
		t.Errorf("a test: %d, asked for %+v\n%s", status, r, page)
	}
	asked = len(g.asked)
	form.Set("to", " ")
	if status, page := v.post("/preview/reviews/test", form); status != 400 || len(g.asked) != asked || !strings.Contains(page, "an address to go to") {
		t.Errorf("a test to nobody: %d\n%s", status, page)
	}
	form.Set("to", "me@x.test")
	for fault, want := range map[claim.PreviewFault]int{
		claim.PreviewNoSheet: 502, claim.PreviewNoLedger: 503, claim.PreviewNoRow: 404, claim.PreviewRowFault: 422, claim.PreviewBadTo: 422, claim.PreviewNotSent: 502,
	} {
		g.err = &claim.PreviewError{Fault: fault, Text: "it is so", Err: errors.New("cause")}
		v.want(want, "/preview/reviews")
		if status, page := v.post("/preview/reviews/test", form); status != want || strings.Contains(page, "cause") {
			t.Errorf("%s: a test answers %d\n%s", fault, status, page)
		}
	}
	g.err = claim.ErrClosing
	v.want(503, "/preview/reviews", "The service stops")
}

// Nobody previews or runs a job that the token is not for, or that sends no mail.
func TestPagePreviewRights(t *testing.T) {
	g := &glass{view: fullView()}
	v := visit(t, twoTenants(t, &desk{}, g.in))
	v.login(secret)
	page := v.want(200, "/preview/reviews")
	form := url.Values{"form": {v.form(page)}, "row": {"B-1"}, "to": {"me@x.test"}, "run_id": {"stolen"}}
	asked := len(g.asked)
	for _, path := range []string{"/preview/invoices", "/preview/invoices/run"} {
		v.want(404, path)
	}
	for _, path := range []string{"/preview/invoices/test", "/preview/invoices/run"} {
		if status, _ := v.post(path, form); status != 404 {
			t.Errorf("POST %s: %d", path, status)
		}
	}
	if len(g.asked) != asked {
		t.Errorf("asked for %+v", g.asked[asked:])
	}
	v.want(404, "/runs/invoices/stolen")

	idle := visit(t, newServer(t, &book{}, g.in, func(c *api.Config) { c.Jobs[0].ClaimOnly = true }))
	idle.want(404, "/preview/reviews")
	idle.want(404, "/preview")
	if page := idle.want(200, "/"); strings.Contains(page, `href="/preview"`) {
		t.Error("the navigation leads to previews that there are not")
	}
}

// Where a preview shows cells, they are text; its frames run nothing.
func TestPagePreviewEscapes(t *testing.T) {
	g := &glass{view: fullView()}
	p := &g.view
	p.Job, p.Spreadsheet, p.Range, p.Tab, p.Detail, p.Holds = "reviews", hostileCell, hostileCell, hostileCell, hostileCell, []string{hostileCell}
	p.Doubts = []claim.Doubt{{Kind: claim.RowGone, Row: 2, Key: hostileCell, Detail: hostileCell, Advice: hostileCell}}
	p.Test = &claim.TestReport{To: hostileCell, MessageID: hostileCell, SMTPReply: hostileCell}
	for i := range p.Rows {
		r := &p.Rows[i]
		r.Key, r.Email, r.Subject, r.Status, r.Reason, r.Advice = hostileCell, hostileCell, hostileCell, hostileCell, hostileCell, hostileCell
	}
	p.Rows[0].Message = &claim.PreviewMessage{
		To: hostileCell, Cc: hostileCell, Bcc: hostileCell, ReplyTo: hostileCell, Subject: hostileCell, Text: hostileCell, HTML: hostileCell, Unsubscribe: hostileCell,
	}
	v := visit(t, newServer(t, &book{}, g.in))
	page := ""
	for _, path := range []string{"/preview/reviews", "/preview/reviews?row=" + url.QueryEscape(hostileCell), "/preview/reviews/run"} {
		page = v.want(200, path)
		harmless(t, path, page)
		if strings.Count(page, "<iframe ") != strings.Count(page, "<iframe sandbox srcdoc=") {
			t.Errorf("%s has a frame that is not shut in", path)
		}
	}
	status, page := v.post("/preview/reviews/test", url.Values{"form": {v.form(page)}, "row": {hostileCell}, "to": {hostileCell}})
	if status != 200 {
		t.Errorf("test: %d", status)
	}
	harmless(t, "test", page)
}

// A run is started once, under a name that the service made, after it was asked for
// twice; a large first run needs a word of its own.
func TestPageRunNow(t *testing.T) {
	g := &glass{view: fullView()}
	b := &book{}
	v := visit(t, newServer(t, b, g.in))
	v.want(200, "/preview/reviews", `href="/preview/reviews/run"`)
	g.view.Holds = nil
	page := v.want(200, "/preview/reviews/run", "2 rows are due", "would send 1 message", `name="run_id" value="made-up"`)
	if strings.Contains(page, "confirm") || b.count() != 0 {
		t.Errorf("asked for more than it needs, or ran:\n%s", page)
	}
	form := url.Values{"run_id": {"made-up"}}
	if status, _ := v.post("/preview/reviews/run", form); status != 403 || b.count() != 0 {
		t.Errorf("without the form's token: %d", status)
	}
	form.Set("form", v.form(page))
	for range 2 {
		if status, to := v.post("/preview/reviews/run", form); status != 303 || to != "/runs/reviews/made-up" || b.count() != 1 {
			t.Errorf("%d %s, %d runs", status, to, b.count())
		}
	}
	if r := b.last(); r.Confirmed || r.DryRun || r.Limit != 0 || r.Target != (claim.Target{}) {
		t.Errorf("started %+v", r)
	}
	v.want(200, "/runs/reviews/made-up")
	for _, bad := range []string{"", "..", "a b", "../x", strings.Repeat("x", 101)} {
		form.Set("run_id", bad)
		if status, _ := v.post("/preview/reviews/run", form); status != 404 || b.count() != 1 {
			t.Errorf("run id %q: %d, %d runs", bad, status, b.count())
		}
	}

	b = &book{}
	v = visit(t, newServer(t, b, g.in))
	g.view.Counts.Due, g.view.Holds = 201, []string{"201 rows are due, and the first run asks"}
	page = v.want(200, "/preview/reviews/run", "201 rows are due", "all 201 due rows are meant to be mailed", `type="checkbox" name="confirm" value="yes" required`)
	v.post("/preview/reviews/run", url.Values{"form": {v.form(page)}, "run_id": {"first"}})
	if r := b.last(); r.Confirmed {
		t.Error("a large first run was confirmed by nobody")
	}
	v.post("/preview/reviews/run", url.Values{"form": {v.form(page)}, "run_id": {"second"}, "confirm": {"yes"}})
	if r := b.last(); !r.Confirmed || r.RunID != "second" {
		t.Errorf("the word was not passed on: %+v", r)
	}
	b.err = claim.ErrClosing
	if status, page := v.post("/preview/reviews/run", url.Values{"form": {v.form(page)}, "run_id": {"third"}}); status != 503 || !strings.Contains(page, "Nothing was started") {
		t.Errorf("while the service stops: %d", status)
	}
}
