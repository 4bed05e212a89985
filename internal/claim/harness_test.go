package claim_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	_ "time/tzdata"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/job"
	"github.com/sheetclaim/sheetclaim/internal/ledger"
	"github.com/sheetclaim/sheetclaim/internal/mailer"
	"github.com/sheetclaim/sheetclaim/internal/sheets"
	"github.com/sheetclaim/sheetclaim/internal/sheetsemu"
	"github.com/sheetclaim/sheetclaim/internal/smtpsink"
)

// These tests carry real parts: the Sheets client over the emulator's transport,
// SQLite on disk, the mailer over a sink, all inside simulated time.

const (
	spreadsheet = "S1"
	tabTitle    = "Visits"
)

// world is a sheet, a mail server and a folder, which installations share.
type world struct {
	t    *testing.T
	emu  *sheetsemu.Emulator
	sink *smtpsink.Sink
	dir  string
	n    atomic.Int64
}

// inWorld runs a test in simulated time, on a sheet with these rows.
func inWorld(t *testing.T, rows [][]any, f func(w *world)) {
	t.Helper()
	inWorldWith(t, rows, sheetsemu.Options{}, smtpsink.Options{UTF8: true}, f)
}

func inWorldWith(t *testing.T, rows [][]any, eo sheetsemu.Options, so smtpsink.Options, f func(w *world)) {
	t.Helper()
	inWorldAt(t, time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC), rows, eo, so, f)
}

func inWorldAt(t *testing.T, start time.Time, rows [][]any, eo sheetsemu.Options, so smtpsink.Options, f func(w *world)) {
	t.Helper()
	dir := scratch(t)
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(start))
		sink, err := smtpsink.New(so)
		if err != nil {
			t.Fatal(err)
		}
		w := &world{t: t, emu: sheetsemu.New(eo), sink: sink, dir: dir}
		if err := w.emu.Put(spreadsheet, tabTitle, rows); err != nil {
			t.Fatal(err)
		}
		f(w)
		w.emu.Wait()
		sink.Close()
		if v := sink.Violations(); len(v) > 0 {
			t.Errorf("the mail server saw commands out of order: %v", v)
		}
	})
}

// scratch is a folder in memory where the system has one: these tests write thousands
// of transactions to disk, and none of them pulls a plug.
func scratch(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "sheetclaim-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// dueRows is a header and n rows that are due.
func dueRows(n int) [][]any {
	rows := [][]any{{"key", "email", "due", "status"}}
	for i := 1; i <= n; i++ {
		rows = append(rows, []any{fmt.Sprintf("k%d", i), fmt.Sprintf("guest%d@example.com", i), "2026-11-01", ""})
	}
	return rows
}

// install is one installation: a process with a ledger.
type install struct {
	w      *world
	name   string
	svc    *claim.Service
	ledger *ledger.DB
	mail   *mailer.SMTP
	job    *claim.Job
	sheet  func(claim.Sheet) claim.Sheet // wraps the client of each run; nil: as it is
	log    strings.Builder
}

// settings are lines of the job's YAML that replace or join the defaults, by key;
// "" takes one out.
type settings map[string]string

// jobYAML is the job that tests run.
func jobYAML(s settings) string {
	all := settings{
		"spreadsheet": spreadsheet, "range": tabTitle + "!A1:Z",
		"columns": "{key: key, email: email, status: status, due: due}",
		"message": `{subject: "About {{key}}", text: "Hello {{key}}"}`,
	}
	maps.Copy(all, s)
	var b strings.Builder
	b.WriteString("google: {endpoint: 'http://127.0.0.1:9'}\nsmtp: {host: 127.0.0.1, port: 25, tls: none, from: 'Acme <hello@acme.test>'}\njobs:\n  test:\n")
	for _, k := range slices.Sorted(maps.Keys(all)) {
		if all[k] != "" {
			fmt.Fprintf(&b, "    %s: %s\n", k, all[k])
		}
	}
	return b.String()
}

// install starts an installation. Those with one ledger name share a ledger.
func (w *world) install(name, ledgerName string, s settings) *install {
	w.t.Helper()
	in := &install{w: w, name: name}
	cfg, err := job.Parse(filepath.Join(w.dir, "sheetclaim.yaml"), []byte(jobYAML(s)), os.LookupEnv)
	if err != nil {
		w.t.Fatal(err)
	}
	if in.job, err = cfg.Job("test"); err != nil {
		w.t.Fatal(err)
	}
	in.ledger, err = ledger.Open(context.Background(), filepath.Join(w.dir, ledgerName+".db"), ledger.Options{Now: time.Now, Routes: []string{"email"}})
	if err != nil {
		w.t.Fatal(err)
	}
	in.mail, err = mailer.New(mailer.Config{
		Host: "127.0.0.1", Port: 25, TLS: mailer.NoTLS, From: "Acme <hello@acme.test>", HELO: "acme.test",
		DialContext: in.dial, Now: time.Now,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	client, err := sheets.New(context.Background(), sheets.Config{Transport: w.emu.Transport(name), Now: time.Now, Rand: func() float64 { return 0.5 }})
	if err != nil {
		w.t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(&in.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	in.svc = &claim.Service{
		Jobs: map[string]*claim.Job{"test": in.job}, Ledger: in.ledger, Runs: in.ledger,
		Instance: name, Memory: 24 * time.Hour, Now: time.Now, Wait: wait, Log: log,
		Worker: func() *claim.Worker {
			view, calls := client.Counting()
			var sheet claim.Sheet = view
			if in.sheet != nil {
				sheet = in.sheet(sheet)
			}
			return &claim.Worker{
				Sheet: sheet, Ledger: in.ledger, Mailer: in.mail, Now: time.Now, Wait: wait, Calls: calls, Log: log,
				NewMark: func() string { return fmt.Sprintf("m%07d", w.n.Add(1)) },
			}
		},
	}
	in.svc.Open()
	w.t.Cleanup(func() {
		if w.t.Failed() {
			w.t.Logf("log of %s:\n%s", name, in.log.String())
		}
	})
	return in
}

// close stops an installation in good order.
func (in *install) close() {
	in.svc.Close()
	if err := in.mail.Close(); err != nil {
		in.w.t.Error(err)
	}
	if err := in.ledger.Close(); err != nil {
		in.w.t.Error(err)
	}
}

// alone runs f with one installation and closes it.
func (w *world) alone(s settings, f func(in *install)) {
	w.t.Helper()
	in := w.install("one", "one", s)
	defer in.close()
	f(in)
}

// start asks for a run.
func (in *install) start(id string, change ...func(*claim.Request)) *claim.Ticket {
	in.w.t.Helper()
	r := claim.Request{Job: "test", RunID: id}
	for _, c := range change {
		c(&r)
	}
	t, err := in.svc.Start(context.Background(), r)
	if err != nil {
		in.w.t.Fatal(err)
	}
	return t
}

// run asks for a run and waits for its end.
func (in *install) run(id string, change ...func(*claim.Request)) claim.Document {
	in.w.t.Helper()
	t := in.start(id, change...)
	<-t.Done()
	return t.Document()
}

// wait is the Wait of every part.
func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// sent counts the accepted messages by recipient.
func (w *world) sent() map[string]int {
	got := map[string]int{}
	for _, m := range w.sink.Messages() {
		got[strings.Join(m.To, ",")]++
	}
	return got
}

// wantSent fails unless exactly these got a message, one each.
func (w *world) wantSent(to ...string) {
	w.t.Helper()
	want := map[string]int{}
	for _, a := range to {
		want[a]++
	}
	if got := w.sent(); !maps.Equal(got, want) {
		w.t.Errorf("messages by recipient: got %v, want %v", got, want)
	}
}

// guests are the addresses of dueRows.
func guests(n int) []string {
	var all []string
	for i := 1; i <= n; i++ {
		all = append(all, fmt.Sprintf("guest%d@example.com", i))
	}
	return all
}

// status answers the status cell of a key, by the header "status" and "key".
func (w *world) status(key string) string { return w.cell(key, "status") }

// cell answers the cell of a key under a header.
func (w *world) cell(key, header string) string {
	w.t.Helper()
	grid := w.emu.Grid(spreadsheet, tabTitle)
	col, keyCol := slices.Index(grid[0], header), slices.Index(grid[0], "key")
	for _, row := range grid[1:] {
		if keyCol < len(row) && row[keyCol] == key {
			if col < len(row) {
				return row[col]
			}
			return ""
		}
	}
	w.t.Fatalf("no row has key %q", key)
	return ""
}

// wantStatus fails unless the status cells read so.
func (w *world) wantStatus(want map[string]string) {
	w.t.Helper()
	for key, text := range want {
		if got := w.status(key); got != text {
			w.t.Errorf("status of %s: got %q, want %q", key, got, text)
		}
	}
}

// alerts answers the queued alerts by kind.
func (in *install) alerts() map[claim.AlertKind]int {
	in.w.t.Helper()
	all, err := in.ledger.Alerts(context.Background())
	if err != nil {
		in.w.t.Fatal(err)
	}
	kinds := map[claim.AlertKind]int{}
	for _, a := range all {
		kinds[a.Kind]++
	}
	return kinds
}

// wantRun fails unless a run ended so.
func wantRun(t *testing.T, d claim.Document, outcome claim.RunOutcome, sent int) {
	t.Helper()
	if d.Outcome != outcome || d.Counts.Sent != sent {
		t.Errorf("run %s: %s with %d sent (%s), want %s with %d\n%+v", d.RunID, d.Outcome, d.Counts.Sent, d.Detail, outcome, sent, d.Rows)
	}
}

// dial connects to the sink through memory.
func (in *install) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	return in.w.sink.Dial(ctx)
}
