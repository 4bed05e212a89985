package sheetsemu

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// notEmulated names the recorded pairs that the replay passes over, by
// cassette and place, each with its reason.
var notEmulated = map[string]string{}

// pair is a recorded request with its response.
type pair struct {
	Cassette     string          `json:"cassette"`
	I            int             `json:"i"`
	Method       string          `json:"method"`
	Path         string          `json:"path"`
	Query        [][2]string     `json:"query"`
	RequestBody  json.RawMessage `json:"request_body"`
	Status       int             `json:"status"`
	ResponseBody json.RawMessage `json:"response_body"`
}

// trafficFile opens a file of recorded traffic. Without the folder the test is
// skipped on a developer's machine and fails in CI.
func trafficFile(t *testing.T, name string) *os.File {
	t.Helper()
	dir := os.Getenv("SHEETS_TRAFFIC")
	if dir == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("SHEETS_TRAFFIC names no folder with recorded traffic, and this is CI")
		}
		t.Skip("SHEETS_TRAFFIC names no folder with recorded traffic")
	}
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func readLines[T any](t *testing.T, r io.Reader) []T {
	t.Helper()
	var out []T
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, 16<<20)
	for sc.Scan() {
		var v T
		if err := json.Unmarshal(sc.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		out = append(out, v)
	}
	if err := sc.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

func (p *pair) spreadsheet() string {
	id, _, _ := strings.Cut(strings.TrimPrefix(p.Path, "/v4/spreadsheets/"), "/")
	id, _, _ = strings.Cut(id, ":")
	return id
}

// TestReplay plays every recorded session against a spreadsheet of its own and
// compares the answers.
func TestReplay(t *testing.T) {
	pairs := readLines[pair](t, trafficFile(t, "gspread-pairs.jsonl"))
	type key struct{ cassette, id string }
	sessions := map[key]*session{}
	played, passed, skipped := 0, 0, 0
	for i := range pairs {
		p := &pairs[i]
		if reason, ok := notEmulated[p.Cassette+"#"+strconv.Itoa(p.I)]; ok {
			t.Logf("%s %d not emulated: %s", p.Cassette, p.I, reason)
			skipped++
			continue
		}
		k := key{p.Cassette, p.spreadsheet()}
		if sessions[k] == nil {
			sessions[k] = newSession(p)
		}
		played++
		if diff := sessions[k].play(t, p); diff != "" {
			t.Errorf("%s %d: %s %s (-recorded +emulated)\n%s", p.Cassette, p.I, p.Method, p.Path, diff)
			continue
		}
		passed++
	}
	t.Logf("%d pairs in %d sessions: %d played, %d as recorded, %d not emulated", len(pairs), len(sessions), played, passed, skipped)
}

// session is one recorded spreadsheet and the emulated one in its place.
type session struct {
	emu *Emulator
	ids map[string]string // ids that the server chose: recorded to emulated
}

func newSession(p *pair) *session {
	s := &session{emu: New(Options{Quota: -1}), ids: map[string]string{}}
	var first struct{ Properties struct{ Title string } }
	_ = json.Unmarshal(p.ResponseBody, &first)
	if p.Status != http.StatusNotFound {
		s.emu.Create(p.spreadsheet(), first.Properties.Title)
	}
	return s
}

func (s *session) play(t *testing.T, p *pair) (diff string) {
	t.Helper()
	s.driveImport(p)
	query := url.Values{}
	for _, kv := range p.Query {
		query.Add(kv[0], kv[1])
	}
	body := p.RequestBody
	if string(body) == "null" {
		body = nil
	}
	for was, is := range s.ids {
		body = bytes.ReplaceAll(body, []byte(was), []byte(is))
	}
	req, err := http.NewRequestWithContext(t.Context(), p.Method,
		"https://sheets.googleapis.com"+p.Path+"?"+query.Encode(), bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := s.emu.Transport("user@example.invalid").RoundTrip(req)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = resp.Body.Close() }()
	var want, got any
	if err := json.Unmarshal(p.ResponseBody, &want); err != nil {
		t.Fatal(err)
	}
	if err := json.NewDecoder(resp.Body).Decode(&got); err != nil {
		return err.Error()
	}
	s.learn(want, got)
	return cmp.Diff(s.translate(want), got) + cmp.Diff(p.Status, resp.StatusCode)
}

// driveImport does what a session did through Drive, which was not recorded: a
// CSV upload renamed the tab, changed the zone and filled 4 x 4 cells.
func (s *session) driveImport(p *pair) {
	const title = "Test ClientTest test_import_csv"
	if p.Cassette != "ClientTest.test_import_csv.json" || !strings.Contains(string(p.ResponseBody), "America/Los_Angeles") {
		return
	}
	s.emu.Edit(p.spreadsheet(), func(b *Book) {
		if b.Tabs()[0] == title {
			return
		}
		b.RenameTab("Sheet1", title)
		b.SetTimeZone("America/Los_Angeles")
		for n := range 16 {
			b.Tab(title).Set(columnName(n%4)+strconv.Itoa(n/4+1), "test_import_csv "+strconv.Itoa(n+1))
		}
	})
}

// chosen are the fields in which the server's own choice shows.
var chosen = map[string]bool{"sheetId": true, "namedRangeId": true, "protectedRangeId": true}

func idText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return ""
}

// learn pairs the recorded ids with the emulated ones.
func (s *session) learn(want, got any) {
	switch want := want.(type) {
	case map[string]any:
		g, _ := got.(map[string]any)
		for k, v := range want {
			if was, is := idText(v), idText(g[k]); chosen[k] && len(was) > 4 && is != "" {
				s.ids[was] = is
				continue
			}
			s.learn(v, g[k])
		}
	case []any:
		g, _ := got.([]any)
		for i := range min(len(want), len(g)) {
			s.learn(want[i], g[i])
		}
	}
}

func (s *session) translate(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			if is, ok := s.ids[idText(e)]; ok && chosen[k] {
				v[k] = is
				if _, number := e.(float64); number {
					v[k], _ = strconv.ParseFloat(is, 64)
				}
				continue
			}
			v[k] = s.translate(e)
		}
	case []any:
		for i := range v {
			v[i] = s.translate(v[i])
		}
	}
	return v
}
