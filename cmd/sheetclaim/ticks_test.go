package main

import (
	"strings"
	"testing"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/sheetsemu"
	"github.com/sheetclaim/sheetclaim/internal/smtpsink"
)

// onceDue runs serve --once-due at a time by its own clock, which goes on from there.
func (s *stage) onceDue(config string, at time.Time) (*program, int) {
	s.t.Helper()
	p, began := newProgram(nil), time.Now()
	p.Now = func() time.Time { return at.Add(time.Since(began)) }
	code := p.Run(s.t.Context(), []string{"--config", config, "serve", "--once-due"})
	return p, code
}

func TestOnceDue(t *testing.T) {
	t.Parallel()
	s := newStage(t, dueRows(3))
	config := s.config("timer", `schedule: "0 * * * *"`, "timezone: UTC")
	nine := time.Date(2026, 11, 30, 9, 0, 30, 0, time.UTC)
	want := func(at time.Time, code int, said string) {
		t.Helper()
		if p, got := s.onceDue(config, at); got != code || !strings.Contains(p.out.String(), said) {
			t.Errorf("exit %d, want %d with %q: %s%s", got, code, said, p.out.String(), p.err.String())
		}
	}
	if p, code := s.onceDue(config, nine); code != exitOK || !strings.Contains(p.out.String(), "test cron-20261130T0900Z: sent: 3 of 3 due rows sent") || strings.Contains(p.err.String(), "missed=") {
		t.Errorf("the job never ran, so it missed nothing: exit %d: %s%s", code, p.out.String(), p.err.String())
	}
	want(nine.Add(20*time.Minute), exitOK, "no tick has come")
	s.wantOneEach(3)

	s.emu.Edit(stageSheet, func(b *sheetsemu.Book) { b.Tab(stageTab).Set("D2", "resend") })
	s.sink.SetRules(smtpsink.Rule{Phase: smtpsink.Rcpt, Action: smtpsink.Reply, Text: "550 5.1.1 no such user"})
	want(nine.Add(5*time.Hour+20*time.Minute), exitSome, "test cron-20261130T1400Z: partial") // of the missed ticks the latest

	s.edit(config, s.smtp[strings.LastIndexByte(s.smtp, ':')+1:]+",", "1,")
	s.emu.Edit(stageSheet, func(b *sheetsemu.Book) { b.Tab(stageTab).Set("D2", "resend") })
	want(nine.Add(6*time.Hour), exitError, "test cron-20261130T1500Z: failed")
	if p, code := s.onceDue(s.config("unscheduled"), nine); code != exitError || !strings.Contains(p.err.String(), "no job has a schedule") {
		t.Errorf("exit %d: %s", code, p.err.String())
	}
}

// A service that was down over a tick runs it when it starts again.
func TestServeMakesUpForATick(t *testing.T) {
	t.Parallel()
	s := newStage(t, dueRows(2))
	config := s.config("restart", `schedule: "@every 24h"`)
	midnight := time.Now().UTC().Truncate(24 * time.Hour)
	if _, code := s.onceDue(config, midnight.Add(-24*time.Hour+time.Minute)); code != exitOK {
		t.Fatalf("exit %d", code)
	}
	s.wantOneEach(2)
	s.runJSON(config, "--run-id", "cron-20991231T2359Z") // a caller's name from the future holds up no schedule
	s.emu.Edit(stageSheet, func(b *sheetsemu.Book) { b.Tab(stageTab).Set("D2", "resend") })
	s.serve(config)
	for deadline := time.Now().Add(time.Minute); len(s.sink.Messages()) < 3; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the tick of this midnight was not made up for")
		}
	}
}
