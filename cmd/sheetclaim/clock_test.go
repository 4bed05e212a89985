package main

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/sheetsemu"
)

// A schedule and a window without timezone go by the spreadsheet's clock.
func TestTimesOfDayBySpreadsheet(t *testing.T) {
	t.Parallel()
	s := newStage(t, dueRows(2))
	s.emu.Edit(stageSheet, func(b *sheetsemu.Book) { b.SetTimeZone("Asia/Tokyo") }) // nine hours ahead
	config := s.config("tokyo", `schedule: "0 18 * * *"`, `window: "17:30-18:30"`)
	p, code := s.onceDue(config, time.Date(2026, 11, 30, 9, 10, 0, 0, time.UTC))
	if code != exitOK || !strings.Contains(p.out.String(), "test cron-20261130T0900Z: sent: 2 of 2 due rows sent") {
		t.Fatalf("exit %d: %s%s", code, p.out.String(), p.err.String())
	}
	s.wantOneEach(2)
	s.emu.Edit(stageSheet, func(b *sheetsemu.Book) { b.Tab(stageTab).Set("D2", "resend") })
	late := newProgram(nil)
	late.Now = func() time.Time { return time.Date(2026, 11, 30, 17, 45, 0, 0, time.UTC) } // 02:45 there
	if code := late.Run(t.Context(), []string{"--config", config, "run"}); code != exitOK || !strings.Contains(late.out.String(), "closed until 2026-12-01T17:30:00+09:00") {
		t.Errorf("exit %d: %s%s", code, late.out.String(), late.err.String())
	}
	if n := len(s.sink.Messages()); n != 2 {
		t.Errorf("%d messages", n)
	}
}

// A job whose schedule is held back leaves the rows of missed ticks, like any other, when
// somebody asks for a run.
func TestHeldBackLeavesMissedTicks(t *testing.T) {
	t.Parallel()
	s := newStage(t, [][]any{{"key", "email", "due", "status"}, {"k1", "guest1@example.com", "2026-11-30 09:30", ""}})
	config := s.config("one", `schedule: "0 9-20 * * *"`, "catch_up: none")
	at := time.Date(2026, 11, 30, 9, 0, 30, 0, time.UTC)
	if p, code := s.onceDue(config, at); code != exitOK {
		t.Fatalf("exit %d: %s%s", code, p.out.String(), p.err.String())
	}
	s.emu.SetAccess(stageSheet, "", sheetsemu.NoAccess)
	v := s.serveAt(config, func() time.Time { return at.Add(210 * time.Minute) })
	s.emu.SetAccess(stageSheet, "", sheetsemu.CanWrite)
	a := v.must(http.StatusOK, "POST", "/v1/runs", `{"run_id": "asked"}`)
	if a.doc.Counts.Skipped != 1 || len(s.sink.Messages()) != 0 {
		t.Errorf("%s: %s", a.doc.Outcome, a.doc.Detail)
	}
}

// Each time that a schedule is held back anew is an alert.
func TestHeldBackAlertsAnew(t *testing.T) {
	t.Parallel()
	s := newStage(t, dueRows(1))
	config := s.config("one", `schedule: "0 18 * * *"`)
	s.edit(config, "\n  test:\n", "\n  also:\n    spreadsheet: "+stageSheet+"\n    range: "+stageTab+"!A1:Z\n"+
		"    columns: {key: key, email: email, status: status}\n    where: status == 'never'\n    schedule: '0 17 * * *'\n"+
		"    message: {subject: none, text: none}\n  test:\n")
	const no, yes = sheetsemu.NoAccess, sheetsemu.CanWrite
	for day, access := range []sheetsemu.Access{no, no, yes, no} {
		s.emu.SetAccess(stageSheet, "", access)
		s.emu.ResetLog()
		at := time.Date(2026, 12, 1+day, 18, 10, 0, 0, time.UTC)
		p, code := s.onceDue(config, at)
		if held := access == no; held != (code == exitError) || held != strings.Contains(p.out.String(), "test: held back") {
			t.Errorf("day %d: exit %d: %s%s", day, code, p.out.String(), p.err.String())
		}
		if calls := s.emu.Counts(""); access == no && calls.Reads > 1 {
			t.Errorf("day %d: %d reads of one spreadsheet to learn its zone", day, calls.Reads)
		}
	}
	if n := s.heldAlerts(); n != 2 {
		t.Errorf("%d alerts: %q", n, s.events())
	}
}

// heldAlerts counts the alerts about the schedule of the job that was held back.
func (s *stage) heldAlerts() (n int) {
	for _, e := range s.events() {
		if strings.Contains(e, "reported run_failed: not read") {
			n++
		}
	}
	return n
}

// A schedule waits for a spreadsheet that cannot be read when the service starts, with one
// alert, and the service does not: another job goes on, and the schedule runs once the
// spreadsheet can be read.
func TestScheduleHeldBack(t *testing.T) {
	t.Parallel()
	s := newStage(t, dueRows(2))
	s.emu.Edit(stageSheet, func(b *sheetsemu.Book) { b.SetTimeZone("Asia/Tokyo") }) // nine hours ahead
	config := s.config("one", `schedule: "0 18 * * *"`)
	s.edit(config, "\n  test:\n", "\n  hourly:\n    spreadsheet: "+stageSheet+"\n    range: "+stageTab+"!A1:Z\n"+
		"    columns: {key: key, email: email, status: status}\n    where: status == 'never'\n    schedule: '@every 1h'\n"+
		"    message: {subject: none, text: none}\n  test:\n")
	s.emu.SetAccess(stageSheet, "", sheetsemu.NoAccess)
	at := time.Date(2026, 11, 30, 9, 10, 0, 0, time.UTC)
	p, code := s.onceDue(config, at)
	for _, want := range []string{"test: held back: the time zone of its spreadsheet could not be read", "hourly cron-20261130T0900Z: failed"} {
		if !strings.Contains(p.out.String(), want) {
			t.Errorf("%s\ndoes not say %q: %s", p.out.String(), want, p.err.String())
		}
	}
	if code != exitError {
		t.Errorf("exit %d", code)
	}
	began := time.Now()
	v := s.serveAt(config, func() time.Time { return at.Add(-13*time.Minute + time.Since(began)) }) // 08:57
	if a := v.must(http.StatusOK, "GET", "/v1/jobs", ""); strings.Contains(a.body, "18:00") {
		t.Errorf("knows when it will be six in Tokyo: %s", a.body)
	}
	s.emu.SetAccess(stageSheet, "", sheetsemu.CanWrite)
	deadline := time.Now().Add(time.Minute)
	for !strings.Contains(v.must(http.StatusOK, "GET", "/v1/jobs", "").body, "T18:00:00+09:00") {
		if time.Now().After(deadline) {
			t.Fatal("the clock was not learned within a minute")
		}
		time.Sleep(100 * time.Millisecond)
	}
	if n := s.heldAlerts(); n != 1 {
		t.Errorf("%d alerts: %q", n, s.events())
	}
}

// A window goes by the spreadsheet's clock as each run reads it, and a spreadsheet that
// cannot be read is for a run to say.
func TestWindowFollowsSpreadsheet(t *testing.T) {
	t.Parallel()
	s := newStage(t, dueRows(1))
	config := s.config("window", `window: "00:00-12:00"`)
	noon := func() time.Time { return time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC) }
	v := s.serveAt(config, noon)
	s.emu.SetAccess(stageSheet, "", sheetsemu.NoAccess)
	if a := v.must(http.StatusBadGateway, "POST", "/v1/runs", `{"run_id": "unread"}`); a.doc.Outcome != claim.RunFailed {
		t.Errorf("%s: %s", a.doc.Outcome, a.doc.Detail)
	}
	s.emu.SetAccess(stageSheet, "", sheetsemu.CanWrite)
	for _, at := range []struct{ zone, run, says string }{
		{"Asia/Tokyo", "evening", "outside the job's window; closed until 2026-12-01T00:00:00+09:00"},
		{"America/New_York", "morning", "1 of 1 due rows sent"},
	} {
		s.emu.Edit(stageSheet, func(b *sheetsemu.Book) { b.SetTimeZone(at.zone) })
		if a := v.must(http.StatusOK, "POST", "/v1/runs", `{"run_id": "`+at.run+`"}`); !strings.Contains(a.doc.Detail, at.says) {
			t.Errorf("%s: %s", at.zone, a.doc.Detail)
		}
	}
	s.wantOneEach(1)
}

// A tab that somebody renamed, and a header that somebody cleared, are for a run to say,
// with an alert: the service starts, and the other jobs go on.
func TestTimesOfDayOfBrokenTab(t *testing.T) {
	t.Parallel()
	s := newStage(t, dueRows(1))
	config := s.config("broken", `schedule: "0 9 * * *"`, `window: "00:00-24:00"`)
	s.edit(config, stageTab+"!", "Renamed!")
	a := s.serve(config).must(http.StatusBadGateway, "POST", "/v1/runs", `{"run_id": "4711"}`)
	if a.doc.Outcome != claim.RunFailed || !strings.Contains(a.doc.Detail, "Renamed") {
		t.Errorf("answered %s", a.body)
	}
}
