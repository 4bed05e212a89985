package sheetsemu

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/api/option"
	"google.golang.org/api/sheets/v4"
)

// TestOnAPort repeats the switches over a real connection.
func TestOnAPort(t *testing.T) {
	emu := letters(t, Options{})
	server, err := emu.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	srv, err := sheets.NewService(t.Context(), option.WithEndpoint(server.URL), option.WithoutAuthentication())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := write(ctx, srv, "one"); err != nil {
		t.Errorf("calm: %v", err)
	}
	post(t, server.URL+"/_emu/faults", `{"rules":[{"kind":"batchUpdate","nth":1,"answer":"lost"},{"kind":"batchUpdate","nth":1,"apply":"never","answer":"status:503"},{"kind":"batchUpdate","nth":1,"answer":"cut"}]}`)
	for i, text := range []string{"lost", "refused", "cut"} {
		if err := write(ctx, srv, text); err == nil {
			t.Errorf("fault %d arrived as an answer", i)
		}
	}
	if got, err := read(ctx, srv); got != "cut" || err != nil {
		t.Errorf("shows %q %v", got, err)
	}
	if got := get(t, server.URL+"/_emu/sheets/S1/Letters.html"); !strings.Contains(got, `<tr id="row-2"><th scope="row">2</th><td>k1</td>`) {
		t.Errorf("the tab is shown as\n%s", got)
	}
	if got := get(t, server.URL+"/_emu/sheets/S1/Letters.csv"); !strings.Contains(got, "k1,a@example.org,cut\n") {
		t.Errorf("csv: %s", got)
	}
	if got := get(t, server.URL+"/_emu/health"); got != "ok\n" {
		t.Errorf("health: %q", got)
	}
	if got := get(t, server.URL+"/_emu/log"); strings.Count(got, `"spreadsheets.batchUpdate"`) != 4 {
		t.Errorf("log: %s", got)
	}
	post(t, server.URL+"/_emu/reset", "")
	if n := len(emu.Log()); n != 0 {
		t.Errorf("%d calls after the reset", n)
	}
}

func post(t *testing.T, url, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusNoContent {
		t.Fatalf("%s: %s", url, resp.Status)
	}
}

func get(t *testing.T, url string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestListenOnLoopbackOnly(t *testing.T) {
	for _, addr := range []string{"0.0.0.0:0", ":0", "192.0.2.1:80", "example.org:80", "nonsense"} {
		if _, err := New(Options{}).Listen(addr); err == nil {
			t.Errorf("listens on %s", addr)
		}
	}
}

func TestCSV(t *testing.T) {
	emu := New(Options{TimeZone: "Europe/Rome"})
	const in = "name,phone,code,when\n\"O'Neil, \"\"Bo\"\"\",'+39055,007,2026-11-30\nlast,,,\n"
	if err := emu.LoadCSV("S1", "First", strings.NewReader(in)); err != nil {
		t.Fatal(err)
	}
	if err := emu.LoadCSV("S1", "Second", strings.NewReader("a\n\"b\nc\"\n")); err != nil {
		t.Fatal(err)
	}
	if err := emu.LoadCSV("S1", "Second", strings.NewReader("a\n")); err == nil {
		t.Error("a second tab of the same title was taken")
	}
	if err := emu.LoadCSV("S1", "Marked", strings.NewReader("\ufeffkey,x\r\n\r\n\"p\r\n\r\nq\",r\r\n\n\nend\n\n")); err != nil {
		t.Fatal(err)
	}
	third := emu.Snapshot("S1").Tabs[2].Cells
	if third["A1"].Shown != "key" || third["A3"].Shown != "p\n\nq" || third["B3"].Shown != "r" || third["A6"].Shown != "end" {
		t.Errorf("empty lines and a byte order mark: %+v", third)
	}
	var out bytes.Buffer
	if err := emu.WriteCSV("S1", "First", &out); err != nil {
		t.Fatal(err)
	}
	const want = "name,phone,code,when\n\"O'Neil, \"\"Bo\"\"\",+39055,7,2026-11-30\nlast,,,\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
	s := emu.Snapshot("S1")
	if s.TimeZone != "Europe/Rome" || s.Tabs[0].ID != 0 || s.Tabs[0].Rows != 1000 || s.Tabs[0].Cols != 26 || s.Tabs[1].Cells["A2"].Shown != "b\nc" {
		t.Errorf("snapshot: %+v", s)
	}
	if err := emu.WriteCSV("S1", "Third", &out); err == nil {
		t.Error("wrote a tab that does not exist")
	}
}
