package sheetsemu

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func long(n int) string { return strings.Repeat("x", n) }

func messageOf(t *testing.T, body string) string {
	t.Helper()
	var e struct{ Error struct{ Message string } }
	if err := json.Unmarshal([]byte(body), &e); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return e.Error.Message
}

// TestErrorFixtures compares refusals with recorded ones.
func TestErrorFixtures(t *testing.T) {
	type fixture struct {
		Source string          `json:"source"`
		URL    []string        `json:"url"`
		Status int             `json:"status"`
		Body   json.RawMessage `json:"response_body"`
	}
	for _, f := range readLines[fixture](t, trafficFile(t, "error-fixtures.jsonl")) {
		t.Run(f.Source[strings.LastIndex(f.Source, "/")+1:], func(t *testing.T) {
			emu := New(Options{})
			emu.Create("1VTJjWoP1nshbyxmL9JqXgdVsimaYty21LGxxs018H2Y", "x")
			switch {
			case strings.Contains(f.Source, "quota"):
				emu.Script(Rule{Fault: Fault{Answer: Status(429, "")}})
			case strings.Contains(f.Source, "not-enabled"):
				emu.Script(Rule{Fault: Fault{Answer: Status(403, ServiceDisabledOldBody("977449744253"))}})
			case strings.Contains(f.Source, "service-disabled"):
				emu.Script(Rule{Fault: Fault{Answer: Status(403, ServiceDisabledBody("1234567890"))}})
			}
			u, err := url.Parse(strings.ReplaceAll(f.URL[0], "{id}", "S1"))
			if err != nil {
				t.Fatal(err)
			}
			status, body := raw(t, emu, "GET", u.EscapedPath()+"?"+u.RawQuery, "")
			if status != f.Status {
				t.Errorf("status %d, want %d", status, f.Status)
			}
			var got, want any
			if err := json.Unmarshal([]byte(body), &got); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(f.Body, &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-recorded +emulated)\n%s", diff)
			}
		})
	}
}

func TestValuesRefusals(t *testing.T) {
	emu := letters(t, Options{})
	const in = "?valueInputOption=RAW"
	tests := []struct {
		name, method, path, body, want string
	}{
		{"no such tab", "GET", "/values/NOPE%21A5:F15", "", "Unable to parse range: NOPE!A5:F15"},
		{"outside", "GET", "/values/Letters%21A5000:B5001", "", "Range (Letters!A5000:B5001) exceeds grid limits. Max rows: 1000, max columns: 26"},
		{
			"too wide", "PUT", "/values/Letters%21A1:B1" + in, `{"values":[[1,2,3]]}`,
			"Requested writing within range [Letters!A1:B1], but tried writing to column [C]",
		},
		{
			"too high", "PUT", "/values/Letters%21A1:B1" + in, `{"values":[[1],[2]]}`,
			"Requested writing within range [Letters!A1:B1], but tried writing to row [2]",
		},
		{
			"other range", "PUT", "/values/Letters%21Z999" + in, `{"range":"Letters!Z998","values":[[1]]}`,
			"Request range[Letters!Z999] does not match value's range[Letters!Z998]",
		},
		{
			"no list", "PUT", "/values/Letters%21A1" + in, `{"values":"X"}`,
			`Invalid value at 'data.values' (type.googleapis.com/google.protobuf.ListValue), "X"`,
		},
		{"no option", "PUT", "/values/Letters%21A1", `{"values":[["x"]]}`, "'valueInputOption' is required but not specified"},
		{
			"long", "POST", "/values:batchUpdate", `{"valueInputOption":"RAW","data":[{"range":"A1","values":[["ok"]]},{"range":"A2","values":[["` + long(50_001) + `"]]}]}`,
			"Invalid data[1]: Your input contains more than the maximum of 50000 characters in a single cell.",
		},
		{
			"clear outside", "POST", "/values:batchClear", `{"ranges":["Letters!A5000"]}`,
			"Invalid range[0]: Range (Letters!A5000) exceeds grid limits. Max rows: 1000, max columns: 26",
		},
		{"mask", "GET", "?fields=sheets.sheetProperties", "", "Request contains an invalid argument."},
	}
	before := emu.Snapshot("S1")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			status, body := raw(t, emu, tt.method, "/v4/spreadsheets/S1"+tt.path, tt.body)
			if got := messageOf(t, body); status != 400 || got != tt.want {
				t.Errorf("got %d %s\nwant 400 %s", status, got, tt.want)
			}
		})
	}
	if diff := cmp.Diff(before, emu.Snapshot("S1")); diff != "" {
		t.Errorf("refused calls changed the sheet:\n%s", diff)
	}
}

func TestAccess(t *testing.T) {
	emu := letters(t, Options{})
	emu.SetAccess("S1", "w1", CanRead)
	if status, _ := raw(t, emu, "GET", "/v4/spreadsheets/S1", ""); status != 200 {
		t.Errorf("a reader reads: %d", status)
	}
	status, body := raw(t, emu, "POST", "/v4/spreadsheets/S1/values/A1:clear", "")
	if status != 403 || body[:1] != "{" || messageOf(t, body) != "The caller does not have permission" {
		t.Errorf("a reader writes: %d %s", status, body)
	}
	if status, body := raw(t, emu, "GET", "/v4/nothing", ""); status != 404 || !strings.HasPrefix(body, "<!DOCTYPE") {
		t.Errorf("an unknown path: %d %s", status, body)
	}
}
