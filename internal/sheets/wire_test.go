package sheets

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// visits is a grid on the first tab of a spreadsheet, where every zero counts.
func visits() *claim.Grid {
	return &claim.Grid{Target: claim.Target{Spreadsheet: "S1", Range: "Visits!A1:D"}, Tab: claim.Tab{Title: "Visits"}, Zone: "Etc/GMT", FirstRow: 1}
}

// sameJSON compares bodies key by key, so that a zero that is missing shows.
func sameJSON(t *testing.T, want, got string) {
	t.Helper()
	var w, g any
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(got), &g); err != nil {
		t.Fatalf("%v in %s", err, got)
	}
	if diff := cmp.Diff(w, g); diff != "" {
		t.Errorf("%s\nin %s", diff, got)
	}
}

const claimed = `{"spreadsheetId":"S1","updatedSpreadsheet":{"properties":{"timeZone":"Etc/GMT"},"sheets":[{"properties":{"sheetId":0,"title":"Visits"},"data":[
	{"rowData":[{"values":[{"userEnteredValue":{"stringValue":"key"},"effectiveValue":{"stringValue":"key"},"formattedValue":"key"}]}]},
	{"startRow":1,"rowData":[{"values":[{"userEnteredValue":{"stringValue":"t2"},"effectiveValue":{"stringValue":"t2"},"formattedValue":"t2"}]}]}]}]}}`

func TestClaimOnTheWire(t *testing.T) {
	c, net := with(t, reply(200, claimed))
	g, err := c.Claim(context.Background(), visits(), claim.Batch{
		Stamp: claim.Stamp{N: 3, Mark: "m", Ledger: "l", Count: 4},
		Cells: []claim.BatchCell{
			{Row: 3, Column: 0, Text: "t3"},
			{Row: 5, Column: 0, Text: "t5"},
			{Row: 2, Column: 0, Text: "t2"},
			{Row: 2, Column: 3, Text: "n2"},
			{Row: 4, Column: 0, Text: "t4", Held: "resend"},
		},
		Rows: []int{2, 3, 4, 5},
		Cols: []int{0, 3},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(net.log) != 1 {
		t.Fatalf("%d requests", len(net.log))
	}
	r := net.log[0]
	if r.method != http.MethodPost || !strings.HasPrefix(r.url, "https://sheets.googleapis.com/v4/spreadsheets/S1:batchUpdate?") {
		t.Errorf("%s %s", r.method, r.url)
	}
	if want := "spreadsheetId,updatedSpreadsheet(properties(timeZone),sheets(" + sheetFields + "))"; r.query(t).Get("fields") != want {
		t.Errorf("fields = %s", r.query(t).Get("fields"))
	}
	if r.again || r.header.Get("Idempotency-Key") != "" || r.header.Get("X-Idempotency-Key") != "" {
		t.Error("net/http could send it again")
	}
	sameJSON(t, `{
		"requests": [
			{"createDeveloperMetadata": {"developerMetadata": {"metadataId": 1235059750, "metadataKey": "sheetclaim.fence", "metadataValue": "1 3 m l 4", "visibility": "DOCUMENT", "location": {"sheetId": 0}}}},
			{"updateCells": {"start": {"sheetId": 0, "rowIndex": 1, "columnIndex": 0}, "fields": "userEnteredValue",
				"rows": [{"values": [{"userEnteredValue": {"stringValue": "t2"}}]}, {"values": [{"userEnteredValue": {"stringValue": "t3"}}]}]}},
			{"updateCells": {"start": {"sheetId": 0, "rowIndex": 4, "columnIndex": 0}, "fields": "userEnteredValue", "rows": [{"values": [{"userEnteredValue": {"stringValue": "t5"}}]}]}},
			{"updateCells": {"start": {"sheetId": 0, "rowIndex": 1, "columnIndex": 3}, "fields": "userEnteredValue", "rows": [{"values": [{"userEnteredValue": {"stringValue": "n2"}}]}]}},
			{"findReplace": {"find": "resend", "replacement": "t4", "matchCase": true, "matchEntireCell": true,
				"range": {"sheetId": 0, "startRowIndex": 3, "endRowIndex": 4, "startColumnIndex": 0, "endColumnIndex": 1}}}
		],
		"includeSpreadsheetInResponse": true,
		"responseIncludeGridData": true,
		"responseRanges": ["'Visits'!A1:D1", "'Visits'!A2:A5", "'Visits'!D2:D5"]
	}`, r.body)

	if len(g.Rows) != 4 || g.Rows[0].Number != 2 || g.Rows[0].Cell(0).Shown != "t2" || !g.Rows[3].IsBlank() {
		t.Errorf("answer: %+v", g)
	}
	if g.Zone != "Etc/GMT" || g.Tab.Title != "Visits" || len(g.Header) != 1 {
		t.Errorf("answer: %+v", g)
	}
}

func TestEmptyClaimOnTheWire(t *testing.T) {
	c, net := with(t, reply(200, `{"spreadsheetId":"S1"}`))
	if _, err := c.Claim(context.Background(), visits(), claim.Batch{Stamp: claim.Stamp{N: 3, Mark: "m", Ledger: "l"}}); err != nil {
		t.Fatal(err)
	}
	sameJSON(t, `{"requests": [{"createDeveloperMetadata": {"developerMetadata": {"metadataId": 1235059750, "metadataKey": "sheetclaim.fence",
		"metadataValue": "1 3 m l 0", "visibility": "DOCUMENT", "location": {"sheetId": 0}}}}]}`, net.log[0].body)
}

func TestReplaceOnTheWire(t *testing.T) {
	for name, replies := range map[string]string{
		"counted":   `[{"findReplace":{"valuesChanged":1,"occurrencesChanged":1}},{"findReplace":{"occurrencesChanged":2}}]`,
		"left out":  `[{},{}]`,
		"no values": `[{"findReplace":{}},null]`,
	} {
		t.Run(name, func(t *testing.T) {
			c, net := with(t, reply(200, `{"spreadsheetId":"S1","replies":`+replies+`}`))
			counts, err := c.Replace(context.Background(), visits(), []claim.Replacement{{Column: 0, From: "sending 1/a.1", To: "sent"}, {Column: 3, From: "sending 1/a.2", To: ""}})
			if err != nil {
				t.Fatal(err)
			}
			want := []int{0, 0}
			if name == "counted" {
				want = []int{1, 2}
			}
			if diff := cmp.Diff(want, counts); diff != "" {
				t.Error(diff)
			}
			sameJSON(t, `{"requests": [
				{"findReplace": {"find": "sending 1/a.1", "replacement": "sent", "matchCase": true, "matchEntireCell": true, "range": {"sheetId": 0, "startRowIndex": 0, "startColumnIndex": 0, "endColumnIndex": 1}}},
				{"findReplace": {"find": "sending 1/a.2", "replacement": "", "matchCase": true, "matchEntireCell": true, "range": {"sheetId": 0, "startRowIndex": 0, "startColumnIndex": 3, "endColumnIndex": 4}}}
			]}`, net.log[0].body)
		})
	}
	t.Run("nothing to do", func(t *testing.T) {
		c, net := with(t, reply(500, ""))
		if counts, err := c.Replace(context.Background(), visits(), nil); counts != nil || err != nil || len(net.log) != 0 {
			t.Errorf("%v, %v, %d requests", counts, err, len(net.log))
		}
	})
}

func TestPruneOnTheWire(t *testing.T) {
	c, net := with(t, reply(200, `{"spreadsheetId":"S1"}`))
	if err := c.Prune(context.Background(), visits(), []claim.Stamp{{ID: 11, N: 3}, {ID: 12, N: 4}}); err != nil {
		t.Fatal(err)
	}
	sameJSON(t, `{"requests": [
		{"deleteDeveloperMetadata": {"dataFilter": {"developerMetadataLookup": {"metadataId": 11, "metadataKey": "sheetclaim.fence"}}}},
		{"deleteDeveloperMetadata": {"dataFilter": {"developerMetadataLookup": {"metadataId": 12, "metadataKey": "sheetclaim.fence"}}}}
	]}`, net.log[0].body)
}

func TestReadOnTheWire(t *testing.T) {
	const title = "O'Brien / Kunden 📬 é"
	answer := reply(200, `{"spreadsheetId":"S1","properties":{"timeZone":"Etc/GMT"},"sheets":[{"properties":{"sheetId":0,"title":`+quote(title)+`},
		"data":[{"rowData":[{"values":[{"userEnteredValue":{"stringValue":"key"},"effectiveValue":{"stringValue":"key"}}]}]}]}]}`)
	target := claim.Target{Spreadsheet: "S1", Range: "'O''Brien / Kunden 📬 é'!A1:H"}
	ctx := context.Background()

	t.Run("by ranges", func(t *testing.T) {
		c, net := with(t, answer)
		if _, err := c.Read(ctx, target, claim.Ask{Columns: []int{0}, Fence: true}); err != nil {
			t.Fatal(err)
		}
		r := net.log[0]
		if !strings.Contains(r.url, "ranges=%27O%27%27Brien+%2F+Kunden+%F0%9F%93%AC+%C3%A9%27%21A1%3AH1&") {
			t.Errorf("url %s", r.url)
		}
		if diff := cmp.Diff([]string{"'O''Brien / Kunden 📬 é'!A1:H1", "'O''Brien / Kunden 📬 é'!A:A"}, r.query(t)["ranges"]); diff != "" {
			t.Error(diff)
		}
		if got := r.query(t).Get("fields"); got != "spreadsheetId,properties(timeZone),sheets("+sheetFields+metadataFields+")" {
			t.Errorf("fields = %s", got)
		}
	})
	t.Run("by data filters when the ranges do not fit", func(t *testing.T) {
		c, net := with(t, answer)
		var rows []int
		for n := 2; n < 200; n += 2 {
			rows = append(rows, n)
		}
		g, err := c.Read(ctx, target, claim.Ask{Tab: &claim.Tab{ID: 0, Title: title}, Columns: []int{0, 7}, Rows: rows})
		if err != nil {
			t.Fatal(err)
		}
		r := net.log[0]
		if r.method != http.MethodPost || !strings.Contains(r.url, "/S1:getByDataFilter?") || r.again {
			t.Errorf("%s %s, again %v", r.method, r.url, r.again)
		}
		if !strings.Contains(r.body, `{"gridRange":{"endColumnIndex":8,"endRowIndex":1,"sheetId":0,"startColumnIndex":0,"startRowIndex":0}}`) ||
			!strings.Contains(r.body, `{"gridRange":{"endColumnIndex":1,"endRowIndex":2,"sheetId":0,"startColumnIndex":0,"startRowIndex":1}}`) {
			t.Errorf("body %s", r.body)
		}
		if len(g.Rows) != len(rows) {
			t.Errorf("%d rows", len(g.Rows))
		}
	})
	t.Run("the whole range when the tab is not known yet", func(t *testing.T) {
		c, net := with(t, answer)
		var cols []int
		for n := 0; n < 200; n += 2 {
			cols = append(cols, n)
		}
		if _, err := c.Read(ctx, claim.Target{Spreadsheet: "S1", Range: "'O''Brien / Kunden 📬 é'"}, claim.Ask{Columns: cols}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"'O''Brien / Kunden 📬 é'"}, net.log[0].query(t)["ranges"]); diff != "" {
			t.Error(diff)
		}
	})
}

// TestNeverResent sends over sockets what net/http is tempted to send again.
func TestNeverResent(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/again", http.StatusTemporaryRedirect)
		},
		"a kept connection dies before the first byte": func(http.ResponseWriter, *http.Request) {
			panic(http.ErrAbortHandler)
		},
	} {
		t.Run(name, func(t *testing.T) {
			var posts atomic.Int32
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet {
					_, _ = w.Write([]byte(headerOnly))
					return
				}
				posts.Add(1)
				answer(w, r)
			}))
			defer srv.Close()
			c := newClient(t, Config{Endpoint: srv.URL})
			if _, err := c.Read(context.Background(), visits().Target, claim.Ask{}); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Replace(context.Background(), visits(), []claim.Replacement{{From: "a", To: "b"}}); !isUnclear(err) {
				t.Error(err)
			}
			if posts.Load() != 1 {
				t.Errorf("sent %d times", posts.Load())
			}
		})
	}
}

// headerOnly is the answer of a tab that holds a header and nothing else.
const headerOnly = `{"spreadsheetId":"S1","properties":{"timeZone":"Europe/Berlin"},"sheets":[{"properties":{"sheetId":0,"title":"Visits"},
	"data":[{"rowData":[{"values":[{"userEnteredValue":{"stringValue":"key"},"effectiveValue":{"stringValue":"key"},"formattedValue":"key"}]}]}]}]}`
