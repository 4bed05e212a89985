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

// What cannot say what time it is there is an error, not a guess.
func TestTimesOfDayOfUnknownSpreadsheet(t *testing.T) {
	t.Parallel()
	s := newStage(t, dueRows(1))
	config := s.config("nowhere", `window: "17:30-18:30"`)
	s.edit(config, "spreadsheet: "+stageSheet, "spreadsheet: gone")
	for _, args := range [][]string{{"run"}, {"serve"}, {"preview"}} {
		p := newProgram(nil)
		code := p.Run(t.Context(), append([]string{"--config", config}, args...))
		if said := p.err.String(); code != exitError || !strings.Contains(said, "set timezone in the job") || !strings.Contains(said, `"gone"`) {
			t.Errorf("%v: exit %d: %s%s", args, code, p.out.String(), said)
		}
	}
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
