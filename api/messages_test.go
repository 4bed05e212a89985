package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sheetclaim/sheetclaim/api"
	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// desk is an api.Desk in memory.
type desk struct {
	waiting []claim.Message
	err     error // of every call
	refuses error // of Settle
	said    []claim.Settlement
	marked  []string // jobs that the hook was told
}

func (d *desk) Waiting(_ context.Context, b claim.Book) ([]claim.Message, error) {
	return slices.DeleteFunc(slices.Clone(d.waiting), func(m claim.Message) bool { return m.Job != b.Job }), d.err
}

func (d *desk) Settle(_ context.Context, s claim.Settlement) error {
	if d.err != nil || d.refuses != nil {
		return errors.Join(d.err, d.refuses)
	}
	d.said = append(d.said, s)
	return nil
}

func (d *desk) in(c *api.Config) {
	c.Desk = d
	c.Settled = func(job string) { d.marked = append(d.marked, job) }
}

// noon is when the messages of the tests were settled; later ones come after it.
var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// doubt is a message of unknown fate, settled some minutes after noon.
func doubt(job, key string, minutes int) claim.Message {
	return claim.Message{
		MessageKey: claim.MessageKey{Book: claim.Book{Job: job, Spreadsheet: "S1"}, Key: key, Generation: 1},
		State:      claim.Verified, Outcome: claim.Unknown, Attempts: 1, Run: claim.RunRef{Job: job, ID: "4711", Seq: 1},
		Tab: claim.Tab{ID: 7, Title: "Visits"}, Row: 3, Reason: "dot: connection closed", MessageID: "<" + key + "@example.com>",
		SettledAt: noon.Add(time.Duration(minutes) * time.Minute),
	}
}

// wish is one that a person wants sent again.
func wish(job, key string, minutes int) claim.Message {
	m := doubt(job, key, minutes)
	m.Outcome, m.Wish = claim.Sent, true
	return m
}

// listed answers the messages of a list, as job/key/state.
func listed(t *testing.T, a answer) []string {
	t.Helper()
	a.want(t, 200, "")
	var list struct {
		Messages []struct{ Job, Key, State string }
	}
	if err := json.Unmarshal([]byte(a.Body), &list); err != nil {
		t.Fatal(err)
	}
	got := []string{}
	for _, m := range list.Messages {
		got = append(got, m.Job+"/"+m.Key+"/"+m.State)
	}
	return got
}

func TestListOfMessages(t *testing.T) {
	d := &desk{}
	s := newServer(t, &book{}, withJobs("reviews", "invoices"), d.in)
	if a := do(t, s, "GET", "/v1/messages?state=unknown", ""); a.Body != "{\"messages\":[]}\n" {
		t.Errorf("an empty list is %s", a.Body)
	}
	d.waiting = []claim.Message{doubt("reviews", "B-1", 2), wish("reviews", "B-2", 0), doubt("invoices", "R-1", 1), doubt("gone", "G-1", 0)}
	for query, want := range map[string][]string{
		"":                              {"reviews/B-2/resend", "invoices/R-1/unknown", "reviews/B-1/unknown"},
		"?state=unknown":                {"invoices/R-1/unknown", "reviews/B-1/unknown"},
		"?state=resend":                 {"reviews/B-2/resend"},
		"?job=invoices":                 {"invoices/R-1/unknown"},
		"?job=invoices&state=resend":    {},
		"?state=unknown&job=reviews":    {"reviews/B-1/unknown"},
		"?state=unknown&something=else": {"invoices/R-1/unknown", "reviews/B-1/unknown"},
	} {
		if diff := cmp.Diff(want, listed(t, do(t, s, "GET", "/v1/messages"+query, ""))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", query, diff)
		}
	}
	for _, state := range []string{"", "sent", "Unknown", "unknown,resend"} {
		a := do(t, s, "GET", "/v1/messages?state="+state, "")
		if a.want(t, 400, "query_invalid"); a.Field != "state" || !slices.Equal(a.Allowed, []string{"unknown", "resend"}) {
			t.Errorf("state %q: %s", state, a.Body)
		}
	}
	do(t, s, "GET", "/v1/messages?job=gone", "").want(t, 404, "job_unknown")
	d.err = errors.New("disk I/O error: /var/lib/sheetclaim.db")
	if a := do(t, s, "GET", "/v1/messages", ""); a.Status != 503 || a.Code != "ledger_unavailable" || contains(a.Body, "/var/lib") {
		t.Errorf("a ledger that fails: %s", a.Body)
	}
}

func TestMessageThatIsListed(t *testing.T) {
	bare := claim.Message{MessageKey: claim.MessageKey{Book: claim.Book{Job: "reviews", Spreadsheet: "S1"}, Key: "B-2", Generation: 2}, Row: 4, Wish: true}
	d := &desk{waiting: []claim.Message{doubt("reviews", "B-1", 0), bare}}
	a := do(t, newServer(t, &book{}, d.in), "GET", "/v1/messages", "")
	a.want(t, 200, "")
	var list struct{ Messages []map[string]any }
	if err := json.Unmarshal([]byte(a.Body), &list); err != nil || len(list.Messages) != 2 {
		t.Fatalf("%v: %s", err, a.Body)
	}
	wished, got := list.Messages[0], list.Messages[1]
	if advice, ok := got["advice"].(string); !ok || !contains(advice, "/v1/messages/settle") || !contains(advice, "Message-ID") {
		t.Errorf("advice %v", got["advice"])
	}
	handed := doubt("reviews", "B-3", 0)
	handed.MessageID = "" // a caller did the work
	if advice := api.ListMessages([]claim.Message{handed}).Messages[0].Advice; contains(advice, "mail server") || !contains(advice, "n8n: the execution") {
		t.Errorf("advice for a row that was handed out: %s", advice)
	}
	delete(got, "advice")
	want := map[string]any{
		"job": "reviews", "spreadsheet": "S1", "tab": "Visits", "row": 3.0, "key": "B-1", "generation": 1.0, "state": "unknown", "run_id": "4711",
		"attempts": 1.0, "message_id": "<B-1@example.com>", "reason": "dot: connection closed", "settled_at": "2026-11-30T12:00:00Z",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("an unknown (-want +got):\n%s", diff)
	}
	for _, absent := range []string{"message_id", "reason", "settled_at"} {
		if v, ok := wished[absent]; ok {
			t.Errorf("%s is %v, want it left out", absent, v)
		}
	}
}

func TestSettle(t *testing.T) {
	for _, tt := range []struct {
		body string
		want claim.Settlement
	}{
		{
			`{"job": "reviews", "key": "B-1", "outcome": "sent", "why": "in the Sent folder"}`,
			claim.Settlement{Book: claim.Book{Job: "reviews"}, Key: "B-1", Word: claim.WordSent, Who: "api", Why: "in the Sent folder"},
		},
		{
			`{"key": "B-1", "spreadsheet": "S2", "outcome": "resend", "why": "not there"}`,
			claim.Settlement{Book: claim.Book{Job: "reviews", Spreadsheet: "S2"}, Key: "B-1", Word: claim.WordResend, Who: "api", Why: "not there"},
		},
		{
			`{"key": 1001, "outcome": "resend", "why": "not there"}`,
			claim.Settlement{Book: claim.Book{Job: "reviews"}, Key: "1001", Word: claim.WordResend, Who: "api", Why: "not there"},
		},
	} {
		d := &desk{}
		a := do(t, newServer(t, &book{}, d.in), "POST", "/v1/messages/settle", tt.body)
		a.want(t, 200, "")
		if diff := cmp.Diff([]claim.Settlement{tt.want}, d.said); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.body, diff)
		}
		var got struct {
			Settled                   bool
			Job, Key, Outcome, Detail string
		}
		if err := json.Unmarshal([]byte(a.Body), &got); err != nil || !got.Settled || got.Job != "reviews" || got.Key != tt.want.Key ||
			got.Outcome != string(tt.want.Word) || got.Detail == "" {
			t.Errorf("%v: answered %s", err, a.Body)
		}
		// Only what was sent is to be marked.
		if marks := len(d.marked); (marks == 1) != (tt.want.Word == claim.WordSent) {
			t.Errorf("%s: the hook was told %q", tt.body, d.marked)
		}
	}
}

func TestSettlementsThatAreRefused(t *testing.T) {
	tests := []struct{ body, code, field, says string }{
		{``, "field_required", "key", "as key"},
		{`{}`, "field_required", "key", "as key"},
		{`{"key": " ", "outcome": "sent", "why": "x"}`, "field_required", "key", ""},
		{`{"key": "k", "why": "x"}`, "field_required", "outcome", "sent or resend"},
		{`{"key": "k", "outcome": "", "why": "x"}`, "field_required", "outcome", ""},
		{`{"key": "k", "outcome": "Sent", "why": "x"}`, "field_invalid", "outcome", `found "Sent"`},
		{`{"key": "k", "outcome": "failed", "why": "x"}`, "field_invalid", "outcome", "sent or resend"},
		{`{"key": "k", "outcome": "sent"}`, "field_required", "why", "say why"},
		{`{"key": "k", "outcome": "sent", "why": " \n"}`, "field_required", "why", ""},
		{`{"key": "k", "outcome": "sent", "why": null}`, "field_invalid", "why", "found null"},
		{`{"key": 1.5, "outcome": "sent", "why": "x"}`, "field_invalid", "key", "found the number 1.5"},
		{`{"key": ["k"], "outcome": "sent", "why": "x"}`, "field_invalid", "key", "found a list"},
		{`{"key": "k", "key": "l", "outcome": "sent", "why": "x"}`, "field_invalid", "key", "twice"},
		{`{"key": "k", "outcome": "sent", "why": "x", "who": "me"}`, "field_unknown", "who", "job, key, spreadsheet, outcome, why"},
		{`{"spreadsheet": 5}`, "field_invalid", "spreadsheet", ""},
		{`["k"]`, "body_invalid", "", "found a list"},
		{`{"key": `, "body_invalid", "", ""},
	}
	d := &desk{}
	s := newServer(t, &book{}, d.in)
	for _, tt := range tests {
		a := do(t, s, "POST", "/v1/messages/settle", tt.body)
		if a.Status != 400 || a.Code != tt.code || a.Field != tt.field || !contains(a.Detail, tt.says) {
			t.Errorf("%s answered %d %s", tt.body, a.Status, a.Body)
		}
	}
	do(t, s, "POST", "/v1/messages/settle", `{"job": "gone"}`).want(t, 404, "job_unknown")
	do(t, s, "POST", "/v1/messages/settle", "key=k", "Content-Type: application/x-www-form-urlencoded").want(t, 415, "media_type_unsupported")
	do(t, s, "POST", "/v1/messages/settle", `{"why": "`+strings.Repeat("x", 1<<20)+`"}`).want(t, 413, "body_too_large")
	do(t, newServer(t, &book{}, d.in, withJobs("reviews", "invoices")), "POST", "/v1/messages/settle", `{"key": "k"}`).want(t, 400, "job_required")
	if len(d.said) != 0 || len(d.marked) != 0 {
		t.Errorf("settled all the same: %+v, %q", d.said, d.marked)
	}
}

func TestWordsThatTheLedgerRefuses(t *testing.T) {
	for _, tt := range []struct {
		err    error
		more   string // members of the body
		status int
		code   string
		says   string
	}{
		{fmt.Errorf("%w among those", claim.ErrNoMessage), "", 404, "message_unknown", "name the spreadsheet"},
		{claim.ErrNoMessage, `, "spreadsheet": "S7"`, 404, "message_unknown", `"S7"`},
		{fmt.Errorf("%w; it is sent", claim.ErrNotUnknown), "", 409, "message_not_unknown", "settled before"},
		{claim.ErrNotEnded, "", 409, "message_under_way", "wait for the end of its run"},
		{claim.ErrNoReason, "", 400, "field_required", "say why"},
		{&api.SeveralError{Key: "B-1", Spreadsheets: []string{"S1", "S2"}}, "", 400, "spreadsheet_required", "S1, S2"},
		{errors.New("disk I/O error: /var/lib/sheetclaim.db"), "", 503, "ledger_unavailable", "try again"},
	} {
		d := &desk{err: tt.err}
		a := do(t, newServer(t, &book{}, d.in), "POST", "/v1/messages/settle", `{"key": "B-1", "outcome": "sent", "why": "seen"`+tt.more+`}`)
		if a.want(t, tt.status, tt.code); !contains(a.Detail, tt.says) || contains(a.Body, "/var/lib") {
			t.Errorf("%v: %s", tt.err, a.Body)
		}
		if tt.code == "spreadsheet_required" && !slices.Equal(a.Allowed, []string{"S1", "S2"}) {
			t.Errorf("allowed %q", a.Allowed)
		}
		if len(d.marked) != 0 {
			t.Errorf("%v: the hook was told %q", tt.err, d.marked)
		}
	}
}

// A token sees and settles the messages of its jobs, under its own name.
func TestMessagesOfABoundToken(t *testing.T) {
	d := &desk{waiting: []claim.Message{doubt("reviews", "B-1", 0), doubt("invoices", "R-1", 0)}}
	s := newServer(t, &book{}, withJobs("reviews", "invoices"), d.in, func(c *api.Config) {
		c.Tokens = []api.Token{{Name: "all", Token: "all"}, {Name: "one", Token: "one", Jobs: []string{"invoices"}}}
	})
	as := func(who, method, path, body string) answer {
		t.Helper()
		return do(t, s, method, path, body, "Authorization: Bearer "+who)
	}
	do(t, s, "GET", "/v1/messages", "").want(t, 401, "unauthorized")
	do(t, s, "POST", "/v1/messages/settle", "{").want(t, 401, "unauthorized")
	if got := listed(t, as("all", "GET", "/v1/messages", "")); len(got) != 2 {
		t.Errorf("an unbound token sees %q", got)
	}
	if got := listed(t, as("one", "GET", "/v1/messages", "")); !slices.Equal(got, []string{"invoices/R-1/unknown"}) {
		t.Errorf("a bound token sees %q", got)
	}
	as("one", "GET", "/v1/messages?job=reviews", "").want(t, 404, "job_unknown")
	as("one", "POST", "/v1/messages/settle", `{"job": "reviews", "key": "B-1", "outcome": "sent", "why": "x"}`).want(t, 403, "job_not_allowed")
	if len(d.said) != 0 {
		t.Fatalf("settled %+v", d.said)
	}
	as("one", "POST", "/v1/messages/settle", `{"key": "R-1", "outcome": "sent", "why": "x"}`).want(t, 200, "") // its only job
	if len(d.said) != 1 || d.said[0].Job != "invoices" || d.said[0].Who != "one" || !slices.Equal(d.marked, []string{"invoices"}) {
		t.Errorf("settled %+v, told %q", d.said, d.marked)
	}
}

// A service without a desk has nothing that waits.
func TestNoDesk(t *testing.T) {
	s := newServer(t, &book{})
	if got := listed(t, do(t, s, "GET", "/v1/messages", "")); len(got) != 0 {
		t.Errorf("listed %q", got)
	}
	do(t, s, "POST", "/v1/messages/settle", `{"key": "k", "outcome": "sent", "why": "x"}`).want(t, 404, "message_unknown")
}

// A row that a caller was handed has no Message-ID to look for.
func TestPageSaysWhereToLook(t *testing.T) {
	handed := doubt("reviews", "B-1", 0)
	handed.MessageID = ""
	v := visit(t, twoTenants(t, &desk{waiting: []claim.Message{handed}}))
	v.login(secret)
	if _, page := v.get("/doubts"); !contains(page, "in n8n, the execution") || contains(page, "<dt>Message-ID") {
		t.Errorf("the page says %s", page)
	}
}
