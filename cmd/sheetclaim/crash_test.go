package main

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/sheetsemu"
	"github.com/sheetclaim/sheetclaim/internal/smtpsink"
)

// A kill is a moment at which the process gets SIGKILL, and what the row in hand
// must have become when another process has settled it.
type kill struct {
	name string
	arm  func(s *stage, strike func())
	// unknown is true when the final dot may have been written: then one row may end
	// unknown, and whether its message went out is the sink's to say.
	unknown bool
}

// atCall strikes around the n-th call of a kind to the emulator.
func atCall(kind string, nth int, after bool) func(*stage, func()) {
	return func(s *stage, strike func()) {
		hook := s.emu.Before
		if after {
			hook = s.emu.After
		}
		hook(func(c *sheetsemu.Call) {
			if c.Kind == kind && c.Nth == nth {
				strike()
			}
		})
	}
}

// atPhase strikes when the second message reaches a phase of its transaction.
func atPhase(phase smtpsink.Phase) func(*stage, func()) {
	return func(s *stage, strike func()) {
		n := 0
		s.sink.SetRules(smtpsink.Rule{Phase: phase, Match: func(smtpsink.Envelope) bool {
			if n++; n == 2 {
				strike()
			}
			return false
		}})
	}
}

// afterQueued strikes when the second message is queued and not answered yet.
func afterQueued(s *stage, strike func()) {
	n := 0
	s.sink.OnMessage(func(smtpsink.Message) {
		if n++; n == 2 {
			strike()
		}
	})
}

var kills = []kill{
	{name: "pick: before the first read", arm: atCall(sheetsemu.KindGet, 1, false)},
	{name: "claim: before the second read", arm: atCall(sheetsemu.KindGet, 2, false)},
	{name: "claim: before the batch is applied", arm: atCall(sheetsemu.KindBatchUpdate, 1, false)},
	{name: "claim: after the batch was applied", arm: atCall(sheetsemu.KindBatchUpdate, 1, true)},
	{name: "confirm: before the read", arm: atCall(sheetsemu.KindGet, 3, false)},
	{name: "confirm: after the read", arm: atCall(sheetsemu.KindGet, 3, true)},
	{name: "send: at MAIL", arm: atPhase(smtpsink.Mail)},
	{name: "send: at RCPT", arm: atPhase(smtpsink.Rcpt)},
	{name: "send: at DATA", arm: atPhase(smtpsink.Data)},
	{name: "send: dot read, not queued", arm: atPhase(smtpsink.Dot), unknown: true},
	{name: "send: queued, not answered", arm: afterQueued, unknown: true},
	{name: "mark: before the batch is applied", arm: atCall(sheetsemu.KindBatchUpdate, 2, false)},
	{name: "mark: after the batch was applied", arm: atCall(sheetsemu.KindBatchUpdate, 2, true)},
	{name: "verify: before the read", arm: atCall(sheetsemu.KindGet, 4, false)},
	{name: "verify: after the read", arm: atCall(sheetsemu.KindGet, 4, true)},
}

// The crash table: the built program is killed at each step, and started again on
// the same files, port and mail server.
func TestKilledProcesses(t *testing.T) {
	t.Parallel()
	for _, k := range kills {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, dueRows(3))
			config := s.config("one", "lease: 4s")
			p := startRun(t, config, "4711")
			var once sync.Once
			k.arm(s, func() {
				once.Do(func() {
					if err := p.cmd.Process.Kill(); err != nil {
						t.Error(err)
					}
					// The call in hand is still answered; the dead do not hear it.
					_, _ = p.cmd.Process.Wait()
				})
			})
			_ = p.cmd.Wait()
			if p.out.Len() > 0 {
				t.Fatalf("the process was not killed: %s", p.out.String())
			}
			s.sink.SetRules()
			time.Sleep(4500 * time.Millisecond)
			for i := range 3 {
				if d, _ := s.runJSON(config, "--run-id", fmt.Sprintf("after-%d", i)); d.Outcome == "nothing_due" {
					break
				}
			}
			s.wantSettled(k.unknown)
		})
	}
}

// wantSettled fails unless each row has one message and reads sent, or, where that
// is allowed, one row is unknown.
func (s *stage) wantSettled(mayBeUnknown bool) {
	s.t.Helper()
	got := map[string]int{}
	for _, m := range s.sink.Messages() {
		got[strings.Join(m.To, ",")]++
	}
	unknown := 0
	for _, row := range s.emu.Grid(stageSheet, stageTab)[1:4] {
		status := slices.Concat(row, []string{"", ""})[3]
		switch n := got[row[1]]; {
		case n > 1:
			s.t.Errorf("%s got %d messages", row[1], n)
		case strings.HasPrefix(status, "unknown 4711: "):
			unknown++
		case status != "sent" || n != 1:
			s.t.Errorf("%s got %d messages, its status reads %q", row[1], n, status)
		}
	}
	want := 0
	if mayBeUnknown {
		want = 1
	}
	if unknown != want {
		s.t.Errorf("%d rows are unknown, want %d", unknown, want)
	}
}

// Killed right after the fourth message was queued: three rows are sent, the one in
// hand is unknown, and the six others are sent by a later run.
func TestOV08KilledInMidBatch(t *testing.T) {
	t.Parallel()
	s := newStage(t, dueRows(10))
	config := s.config("one", "lease: 4s")
	p := startRun(t, config, "4711")
	n := 0
	s.sink.OnMessage(func(smtpsink.Message) {
		if n++; n == 4 {
			if err := p.cmd.Process.Kill(); err != nil {
				t.Error(err)
			}
			_, _ = p.cmd.Process.Wait()
		}
	})
	_ = p.cmd.Wait()
	time.Sleep(4500 * time.Millisecond)
	for _, id := range []string{"again", "and again"} {
		s.runJSON(config, "--run-id", strings.ReplaceAll(id, " ", "-"))
	}
	got := map[string]int{}
	for _, m := range s.sink.Messages() {
		got[strings.Join(m.To, ",")]++
	}
	for i, row := range s.emu.Grid(stageSheet, stageTab)[1:11] {
		want := "sent"
		if i == 3 {
			want = "unknown 4711: "
		}
		if got[row[1]] != 1 || !strings.HasPrefix(row[3], want) {
			t.Errorf("%s: %d messages, status %q, want %q", row[1], got[row[1]], row[3], want)
		}
	}
}
