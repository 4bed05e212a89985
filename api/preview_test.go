package api_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sheetclaim/sheetclaim/api"
	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// Preview makes a book the Previewer of servers whose tests do not ask for one.
func (b *book) Preview(context.Context, claim.PreviewRequest) (claim.Preview, error) {
	return claim.Preview{}, errors.New("a book has no previews")
}

// glass is an api.Previewer that answers what it is told to.
type glass struct {
	view  claim.Preview
	err   error
	asked []claim.PreviewRequest
}

func (g *glass) Preview(_ context.Context, r claim.PreviewRequest) (claim.Preview, error) {
	g.asked = append(g.asked, r)
	return g.view, g.err
}

func (g *glass) in(c *api.Config) { c.Preview = g }

// fullView is a preview that has every member.
func fullView() claim.Preview {
	next := noon.Add(time.Hour)
	row := claim.RowReport{Row: 2, Key: "B-1", Email: "ada@x.test", Hidden: true, Subject: "Hi", Outcome: claim.Would, Status: "resend"}
	return claim.Preview{
		Job: "reviews", Spreadsheet: "S1", Range: "Visits!A1:H", Tab: "Visits", At: noon, Detail: "1 of 2 due rows would be sent now",
		Holds:  []string{"outside the job's window"},
		Counts: claim.PreviewCounts{Rows: 9, Due: 2, WouldSend: 1, Skipped: 1},
		Rows: []claim.PreviewRow{
			{RowReport: row, Message: &claim.PreviewMessage{To: "a@x.test", Cc: "b@x.test", Bcc: "c@x.test", ReplyTo: "d@x.test", Subject: "Hi", Text: "t", HTML: "<p>h", Unsubscribe: "https://u.test/", PartsOut: true}},
			{RowReport: claim.RowReport{Row: 3, Key: "B-2", Outcome: claim.Skipped, Reason: "no address"}, Advice: "mend it"},
		},
		Doubts:  []claim.Doubt{{Kind: claim.ClearedAfterEnd, Row: 3, Key: "B-2", Detail: "cleared", Advice: "resend"}},
		NextDue: &next, LeftOut: claim.LeftOut{Rows: 1, Parts: 1},
		Test: &claim.TestReport{To: "me@x.test", MessageID: "<t@x.test>", SMTPReply: "250 ok", At: noon},
	}
}

func TestPreview(t *testing.T) {
	g := &glass{view: fullView()}
	s := newServer(t, &book{}, g.in)
	for body, want := range map[string]claim.PreviewRequest{
		"":   {},
		"{}": {},
		`{"range": "Archive!A1:H", "spreadsheet": "S2", "limit": 3}`: {Target: claim.Target{Spreadsheet: "S2", Range: "Archive!A1:H"}, Limit: 3},
		`{"row": 4711, "to": " me@x.test "}`:                         {Key: "4711", To: "me@x.test"},
	} {
		g.asked = nil
		a := do(t, s, "POST", "/v1/jobs/reviews/preview", body)
		a.want(t, http.StatusOK, "")
		want.Job, want.Parts = "reviews", 4<<20
		if diff := cmp.Diff([]claim.PreviewRequest{want}, g.asked); diff != "" {
			t.Errorf("%s: %s", body, diff)
		}
		if !strings.Contains(a.Body, `"html":"<p>h"`) {
			t.Errorf("the message is not as it was: %s", a.Body)
		}
	}
}

func TestPreviewRefusals(t *testing.T) {
	g := &glass{}
	s := newServer(t, &book{}, g.in)
	for body, want := range map[string]struct {
		status int
		code   string
		field  string
	}{
		`[]`:                   {400, "body_invalid", ""},
		`{"dry_run": true}`:    {400, "field_unknown", "dry_run"},
		`{"row": ["a"]}`:       {400, "field_invalid", "row"},
		`{"row": " "}`:         {400, "field_invalid", "row"},
		`{"to": "me@x.test"}`:  {400, "field_required", "row"},
		`{"limit": 51}`:        {422, "limit_not_allowed", "limit"},
		`{"range": "Other!A"}`: {422, "range_not_allowed", "range"},
		`{"spreadsheet": "X"}`: {422, "spreadsheet_not_allowed", "spreadsheet"},
	} {
		a := do(t, s, "POST", "/v1/jobs/reviews/preview", body)
		if a.want(t, want.status, want.code); a.Field != want.field {
			t.Errorf("%s: the field is %q", body, a.Field)
		}
	}
	do(t, s, "POST", "/v1/jobs/nothing/preview", "").want(t, 404, "job_unknown")
	do(t, s, "GET", "/v1/jobs/reviews/preview", "").want(t, 405, "method_not_allowed")
	if len(g.asked) != 0 {
		t.Errorf("%d refused requests were carried out", len(g.asked))
	}
}

func TestPreviewOfBoundToken(t *testing.T) {
	g := &glass{view: fullView()}
	s := newServer(t, &book{}, withJobs("reviews", "invoices"), g.in, func(c *api.Config) {
		c.Tokens = []api.Token{{Name: "n8n", Token: secret, Jobs: []string{"reviews"}}}
	})
	auth := "Authorization: Bearer " + secret
	do(t, s, "POST", "/v1/jobs/reviews/preview", "").want(t, 401, "unauthorized")
	do(t, s, "POST", "/v1/jobs/invoices/preview", "", auth).want(t, 403, "job_not_allowed")
	do(t, s, "POST", "/v1/jobs/nothing/preview", "", auth).want(t, 403, "job_not_allowed")
	if len(g.asked) != 0 {
		t.Error("a foreign job was previewed")
	}
	do(t, s, "POST", "/v1/jobs/reviews/preview", "", auth).want(t, 200, "")
}

func TestPreviewProblems(t *testing.T) {
	g := &glass{}
	s := newServer(t, &book{}, g.in)
	for _, tc := range []struct {
		err    error
		status int
		code   string
	}{
		{&claim.PreviewError{Fault: claim.PreviewNoSheet, Text: "share the sheet"}, 502, "sheet_unavailable"},
		{&claim.PreviewError{Fault: claim.PreviewNoLedger, Text: "/var/lib/secret.db", Err: errors.New("disk")}, 503, "ledger_unavailable"},
		{&claim.PreviewError{Fault: claim.PreviewNoRow, Text: "no row"}, 404, "row_unknown"},
		{&claim.PreviewError{Fault: claim.PreviewRowFault, Text: "no address"}, 422, "row_fault"},
		{&claim.PreviewError{Fault: claim.PreviewBadTo, Text: "no @"}, 400, "field_invalid"},
		{&claim.PreviewError{Fault: claim.PreviewNotSent, Text: "550"}, 502, "test_not_sent"},
		{claim.ErrClosing, 503, "stopping"},
		{claim.ErrNoMail, 422, "claim_only"},
		{context.DeadlineExceeded, 502, "sheet_unavailable"},
		{errors.New("inside"), 500, "internal"},
	} {
		g.err = tc.err
		a := do(t, s, "POST", "/v1/jobs/reviews/preview", `{"row": "k", "to": "me@x.test"}`)
		a.want(t, tc.status, tc.code)
		if strings.Contains(a.Body, "secret.db") || strings.Contains(a.Body, "inside") {
			t.Errorf("the answer shows the inside: %s", a.Body)
		}
	}
}
