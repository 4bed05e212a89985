//go:build unix

package ledger_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/key"
	"github.com/sheetclaim/sheetclaim/internal/ledger"
	"github.com/sheetclaim/sheetclaim/internal/pgtest"
)

// fill writes something into every table of the method's.
func fill(t *testing.T, s *ledger.DB) {
	t.Helper()
	ctx := t.Context()
	run := begin(ctx, t, s, "1")
	k := take(run, "B-1 'é\n{}")
	k.Tab, k.Row = claim.Tab{ID: 7, Title: "Visits"}, 2
	other := take(run, "B-2")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := s.Take(ctx, run, []claim.Take{k, other})
	must(err)
	target := claim.Target{Spreadsheet: "S1", Range: "Visits!A1:H"}
	_, _, err = s.OpenBatch(ctx, run, claim.OpenBatch{
		Mark: "m", Run: run, Target: target, Tab: k.Tab, N: 1 << 62, Claims: []claim.MessageKey{k.MessageKey},
		Before: map[string]claim.Before{k.Key: {"status": "resend"}},
	})
	must(err)
	must(s.CloseBatch(ctx, "m", true))
	alert := claim.Alert{Kind: claim.AlertUnknown, Job: "reviews", Cause: "c", Rows: []claim.AlertRow{{Row: 2, Key: "B-1"}}}
	for _, way := range [][2]claim.State{{claim.Claimed, claim.Confirmed}, {claim.Confirmed, claim.Sending}, {claim.Sending, claim.Settled}} {
		_, err = s.Move(ctx, run, []claim.Move{{
			MessageKey: k.MessageKey, Claim: k.Claim, From: way[:1], To: way[1], Attempt: &claim.Attempt{Number: 1, At: time.Now()},
			Set:    func(m *claim.Message) { m.Wish, m.Outcome = true, claim.Unknown },
			Alerts: []claim.Alert{alert},
		}})
		must(err)
	}
	must(s.Report(ctx, run, []claim.Report{{Alert: alert, Once: "o", Text: "t"}}))
	must(s.Delivered(ctx, "email", []int64{1}, time.Now()))
	_, _, err = s.Strays(ctx, k.Book, []claim.Stray{{Key: "B-9", Text: "sending x/y.1", Mark: "y"}})
	must(err)
	keys := s.Keys()
	_, err = keys.Claim(ctx, key.Claim{Key: "evt_1", Owner: "ada", Lease: time.Nanosecond, Takeover: key.TakeExpired})
	must(err)
	_, err = keys.Claim(ctx, key.Claim{Key: "evt_1", Owner: "bob", Lease: time.Hour, Takeover: key.TakeExpired}) // a take-over is an event
	must(err)
	must(s.Pause(ctx, "reviews", time.Now().Add(time.Hour)))
	must(s.Finish(ctx, run, claim.Document{Job: "reviews", RunID: "1"}, true))
	_, err = s.Rewound(ctx, id(t, s), 4711)
	must(err)
}

func id(t *testing.T, s *ledger.DB) string {
	t.Helper()
	id, err := s.ID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// copied answers the lines of an export without its header, which holds the time.
func copied(t *testing.T, s *ledger.DB) (whole string, rows string) {
	t.Helper()
	var b bytes.Buffer
	if _, err := s.Export(t.Context(), &b, false); err != nil {
		t.Fatal(err)
	}
	_, rows, _ = strings.Cut(b.String(), "\n")
	return b.String(), rows
}

// TestCopy moves a ledger from SQLite to Postgres and back: every row of every table
// is there each time, the id goes along, and the ledger goes on where it was.
func TestCopy(t *testing.T) {
	first := open(t, newPath(t), ledger.Options{Routes: []string{"email"}})
	defer first.Close()
	fill(t, first)
	text, want := copied(t, first)
	for _, table := range []string{
		"meta", "runs", "messages", "attempts", "batches", "events", "alerts", "deliveries", "reports", "sightings", "pauses", "keys", "key_events",
	} {
		if !strings.Contains(want, `{"table":"`+table+`"`) {
			t.Errorf("the test writes nothing into %s", table)
		}
	}
	for name, next := range map[string]*ledger.DB{
		"Postgres": openPostgres(t, pgtest.Address(t), ledger.Options{}),
		"SQLite":   open(t, newPath(t), ledger.Options{}),
	} {
		defer next.Close()
		if _, err := next.Import(t.Context(), strings.NewReader(text)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if id(t, next) != id(t, first) {
			t.Errorf("%s: another id", name)
		}
		if text, got := copied(t, next); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, text, want)
		}
		ms, err := next.Waiting(t.Context(), claim.Book{Job: "reviews"})
		if err != nil || len(ms) != 1 || !ms[0].Wish {
			t.Errorf("%s: waiting: %+v, %v", name, ms, err)
		}
		fill2(t, next)
	}
}

// fill2 goes on in a ledger that was imported: numbers that it gives out are new.
func fill2(t *testing.T, s *ledger.DB) {
	t.Helper()
	run := begin(t.Context(), t, s, "2")
	if run.Seq != 2 {
		t.Errorf("the next run has number %d, want 2", run.Seq)
	}
	if got, err := s.Take(t.Context(), run, []claim.Take{take(run, "B-2"), take(run, "B-3")}); err != nil || got[0] || !got[1] {
		t.Errorf("a key that was held and a new one: %v, %v", got, err)
	}
	if err := s.Report(t.Context(), run, []claim.Report{{Alert: claim.Alert{Kind: claim.AlertDoubt}}}); err != nil {
		t.Error(err)
	}
	if _, err := s.Export(t.Context(), &bytes.Buffer{}, false); !errors.Is(err, ledger.ErrRunning) {
		t.Errorf("exported while a run lives: %v", err)
	}
	if _, err := s.Export(t.Context(), &bytes.Buffer{}, true); err != nil {
		t.Error(err)
	}
}

// TestImportFaults: what is not a whole copy, or would be mixed with another memory,
// changes nothing.
func TestImportFaults(t *testing.T) {
	full := open(t, newPath(t), ledger.Options{})
	defer full.Close()
	fill(t, full)
	text, _ := copied(t, full)
	lines := strings.SplitAfter(text, "\n")
	for name, to := range map[string]*ledger.DB{
		"Postgres": openPostgres(t, pgtest.Address(t), ledger.Options{}),
		"SQLite":   open(t, newPath(t), ledger.Options{}),
	} {
		defer to.Close()
		before := id(t, to)
		for want, text := range map[string]string{
			"expected a file that sheetclaim ledger export wrote": "key,email\nB-1,ada@example.com\n",
			"the file was cut off":                                strings.Join(lines[:len(lines)-3], ""),
			"the file was cut or changed":                         strings.Join(append(lines[:3:3], lines[4:]...), ""),
			"export and import with the same":                     strings.Replace(text, `"sheetclaim_ledger":1`, `"sheetclaim_ledger":2`, 1),
			`there is no table "songs"`:                           strings.Replace(text, `"table":"runs"`, `"table":"songs"`, 1),
			"column instance is missing":                          strings.Replace(text, `"instance":`, `"instances":`, 1),
			"table messages":                                      strings.ReplaceAll(text, `"state":"settled"`, `"state":"lost"`),
		} {
			if _, err := to.Import(t.Context(), strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %q", name, err, want)
			}
		}
		if _, rows := copied(t, to); strings.Count(rows, "\n") != 2 || id(t, to) != before {
			t.Errorf("%s: a refused import left rows:\n%s", name, rows)
		}
		begin(t.Context(), t, to, "1")
		if _, err := to.Import(t.Context(), strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), "expected an empty ledger") {
			t.Errorf("%s: imported into a ledger in use: %v", name, err)
		}
	}
}
