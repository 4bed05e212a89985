package sheets

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

const (
	disabled = `{"error":{"code":403,"message":"Google Sheets API has not been used in project 603366585132 before or it is disabled.","status":"PERMISSION_DENIED","details":[
		{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"SERVICE_DISABLED","domain":"googleapis.com","metadata":{"service":"sheets.googleapis.com","consumer":"projects/603366585132","activationUrl":"https://console.example/enable"}}]}}`
	noScope = `{"error":{"code":403,"message":"Request had insufficient authentication scopes.","status":"PERMISSION_DENIED"}}`
	inUse   = "Invalid requests[0].createDeveloperMetadata: Cannot add developer metadata with ID [1620000001] because developer metadata with that ID already exists."
	page    = "<!DOCTYPE html><title>Error 502</title>"
)

// refusals are definite answers: the words for people, and no write behind them.
var refusals = []struct {
	name            string
	answer          answer
	problem, advice string
	setup           bool
}{
	{"GS07 not shared", refuse(403, "PERMISSION_DENIED", "The caller does not have permission"), "may not write", "share the sheet with bot@p.example as editor", true},
	{"GS07 API disabled", reply(403, disabled), "switched off", "enable the Sheets API in project 603366585132 at https://console.example/enable", true},
	{"GS07 no such id", refuse(404, "NOT_FOUND", "Requested entity was not found."), `spreadsheet id not found: "S1"`, "between /d/ and /edit", true},
	{"no scope", reply(403, noScope), "does not cover", "auth/spreadsheets", true},
	{"no login", refuse(401, "UNAUTHENTICATED", "Request had invalid authentication credentials."), "does not accept the login", "key", true},
	{"other 403", reply(403, `{"error":{"code":403,"message":"Blocked.","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_SERVICE_BLOCKED"}]}}`), "Blocked.", "", true},
	{"office file", refuse(400, "FAILED_PRECONDITION", "This operation is not supported for this document"), "Office file", "Save as Google Sheets", true},
	{"protected", refuse(400, "INVALID_ARGUMENT", "Invalid requests[1].updateCells: You are trying to edit a protected cell or object. Please contact the spreadsheet owner to remove protection if you need to edit."), "protected", "let bot@p.example edit it", true},
	{"tab gone", refuse(400, "INVALID_ARGUMENT", "Invalid requests[0].createDeveloperMetadata: No grid with id: 7"), "the tab was deleted", "range", true},
	{"row gone", refuse(400, "INVALID_ARGUMENT", "Invalid requests[1].updateCells: Range (Visits!A5000:B5001) exceeds grid limits. Max rows: 1000, max columns: 26"), "past the end", "", true},
	{"typed column", refuse(400, "INVALID_ARGUMENT", "This operation is not allowed on cells in typed columns."), "typed columns", "", true},
	{"quota", refuse(429, "RESOURCE_EXHAUSTED", "Quota exceeded for quota metric 'Write requests'"), "used up", "wait a minute", false},
	{"quota as a page", reply(429, page), "used up", "wait a minute", false},
	{"proxy page", reply(407, page), "Proxy Authentication Required", "", true},
}

// doubts are answers after which nobody can know.
var doubts = []struct {
	name   string
	answer answer
}{
	{"GS02 503", refuse(503, "UNAVAILABLE", "The service is currently unavailable.")},
	{"500", refuse(500, "INTERNAL", "Internal error encountered.")},
	{"502 page", reply(502, page)},
	{"408", reply(408, "")},
	{"redirect", reply(302, "", "Location", "https://login.example/")},
	{"200 page", reply(200, page)},
	{"200 of somebody else", reply(200, `{"status":"ok"}`)},
	{"200 empty", reply(200, "")},
	{"204", reply(204, "")},
	{"200 cut", reply(200, claimed[:300])},
	{"body breaks", func(r *http.Request) (*http.Response, error) {
		res, err := reply(200, "")(r)
		res.Body = io.NopCloser(io.MultiReader(strings.NewReader(claimed[:300]), errReader{}))
		return res, err
	}},
	{"connection lost", fail(errCut)},
	{"response range refused", refuse(400, "INVALID_ARGUMENT", "Unable to parse range: 'Visits'!A1:H1")},
}

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestWriteIsRefused(t *testing.T) {
	for _, tt := range refusals {
		t.Run(tt.name, func(t *testing.T) {
			for op, write := range writes {
				c, net := with(t, tt.answer)
				c.account = "bot@p.example"
				err := write(c)
				words := sheetError(t, err)
				if isUnclear(err) || errors.Is(err, claim.ErrFenced) {
					t.Errorf("%s: %v", op, err)
				}
				if !strings.Contains(words.Problem, tt.problem) || !strings.Contains(words.Advice, tt.advice) || words.Setup != tt.setup {
					t.Errorf("%s: %q, advice %q, setup %v", op, words.Problem, words.Advice, words.Setup)
				}
				if len(net.log) != 1 {
					t.Errorf("%s: sent %d times", op, len(net.log))
				}
			}
		})
	}
}

func TestWriteIsUnclear(t *testing.T) {
	for _, tt := range doubts {
		t.Run(tt.name, func(t *testing.T) {
			for op, write := range writes {
				c, net := with(t, tt.answer)
				if err := write(c); !isUnclear(err) || len(net.log) != 1 {
					t.Errorf("%s: %v, sent %d times", op, err, len(net.log))
				}
			}
		})
	}
	t.Run("no answer in time", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			for op, write := range writes {
				c, _ := with(t, hang)
				began := time.Now()
				if err := write(c); !isUnclear(err) || !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 30*time.Second {
					t.Errorf("%s: %v after %s", op, err, time.Since(began))
				}
			}
		})
	})
	t.Run("fewer replies than requests", func(t *testing.T) {
		c, _ := with(t, reply(200, `{"spreadsheetId":"S1","replies":[{}]}`))
		if _, err := c.Replace(context.Background(), visits(), make([]claim.Replacement, 2)); !isUnclear(err) {
			t.Error(err)
		}
	})
	t.Run("claim without its rows", func(t *testing.T) {
		for _, body := range []string{`{"spreadsheetId":"S1"}`, `{"spreadsheetId":"S1","updatedSpreadsheet":{"sheets":[{"properties":{"sheetId":4,"title":"Other"}}]}}`} {
			c, _ := with(t, reply(200, body))
			if err := writes["claim"](c); !isUnclear(err) {
				t.Error(err)
			}
		}
	})
}

var writes = map[string]func(*Client) error{
	"claim": func(c *Client) error {
		_, err := c.Claim(context.Background(), visits(), claim.Batch{Stamp: claim.Stamp{N: 1}, Cells: []claim.BatchCell{{Row: 2, Text: "x"}}, Rows: []int{2}})
		return err
	},
	"replace": func(c *Client) error {
		_, err := c.Replace(context.Background(), visits(), []claim.Replacement{{From: "a", To: "b"}})
		return err
	},
	"prune": func(c *Client) error {
		return c.Prune(context.Background(), visits(), []claim.Stamp{{ID: 1}})
	},
}

func TestClaimIsFenced(t *testing.T) {
	c, net := with(t, refuse(400, "INVALID_ARGUMENT", inUse))
	if err := writes["claim"](c); !errors.Is(err, claim.ErrFenced) || isUnclear(err) || len(net.log) != 1 {
		t.Errorf("%v, sent %d times", err, len(net.log))
	}
}

// TestNothingWasSent covers failures before the first byte: they are definite.
func TestNothingWasSent(t *testing.T) {
	t.Run("nobody listens", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		_ = l.Close()
		c := newClient(t, Config{Endpoint: l.Addr().String()})
		for op, write := range writes {
			if err := write(c); isUnclear(err) || sheetError(t, err).Setup {
				t.Errorf("%s: %v", op, err)
			}
		}
	})
	t.Run("the caller has given up", func(t *testing.T) {
		c, net := with(t, fail(errCut))
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_, err := c.Claim(ctx, visits(), claim.Batch{Cells: []claim.BatchCell{{Row: 2, Text: "x"}}, Rows: []int{2}})
		if isUnclear(err) || !errors.Is(err, context.Canceled) || len(net.log) != 0 {
			t.Errorf("%v, %d requests", err, len(net.log))
		}
	})
	t.Run("range that is none", func(t *testing.T) {
		c, net := with(t, fail(errCut))
		_, err := c.Read(context.Background(), claim.Target{Spreadsheet: "S1", Range: "Visits!A1"}, claim.Ask{})
		if words := sheetError(t, err); !words.Setup || len(net.log) != 0 {
			t.Errorf("%v, %d requests", err, len(net.log))
		}
	})
}

func TestIDAdvice(t *testing.T) {
	for id, want := range map[string]string{
		"2PACX-1vQ": "published to the web",
		"https://docs.google.com/spreadsheets/d/abc/edit": "give the id alone",
		"1AbCdEf": "upper and lower case",
	} {
		if got := idAdvice(id); !strings.Contains(got, want) {
			t.Errorf("idAdvice(%q) = %q", id, got)
		}
	}
}
