package api_test

import (
	"strings"
	"testing"
	"unicode"
)

// FuzzRunRequest sends any body under any key: the answer is as described, never a
// fault of the service, and a run that starts has a name that fits a path.
func FuzzRunRequest(f *testing.F) {
	f.Add(`{"job": "reviews", "run_id": "4711"}`, "")
	f.Add(`{"run_id": 4711, "limit": 7, "dry_run": true}`, "4711")
	f.Add(`{"range": "Archive!A1:H", "spreadsheet": "S2"}`, `"a b"`)
	f.Add(`["job", "reviews"`, "..")
	f.Add(`{"job": "\ud800", "job": nul}`, "\xff")
	f.Add("", `"\"`)
	f.Fuzz(func(t *testing.T, body, key string) {
		b := &book{}
		s := newServer(t, b)
		r := request("POST", "/v1/runs", body)
		if key != "" {
			r.Header.Set("Idempotency-Key", key)
		}
		a := send(t, s, r)
		if a.Status >= 500 {
			t.Fatalf("answered %d %s", a.Status, a.Body)
		}
		if a.Code != "" {
			if b.count() != 0 {
				t.Errorf("a request that was refused started a run: %s", a.Body)
			}
			return
		}
		id := b.last().RunID
		odd := func(r rune) bool {
			return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._:-", r)
		}
		if id == "" || len(id) > 100 || strings.ContainsFunc(id, odd) || strings.Trim(id, ".") == "" {
			t.Errorf("the run is named %q", id)
		}
	})
}
