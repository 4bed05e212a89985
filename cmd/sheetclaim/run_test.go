package main

import (
	"context"
	"strings"
	"testing"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/sheetsemu"
	"github.com/sheetclaim/sheetclaim/internal/smtpsink"
)

func TestRunSendsAndExits0(t *testing.T) {
	t.Parallel()
	s := newStage(t, dueRows(3))
	config := s.config("one")
	d, code := s.runJSON(config, "test", "--run-id", "4711")
	if code != exitOK || d.Outcome != claim.RunSent || d.Counts.Sent != 3 {
		t.Errorf("exit %d, %+v", code, d)
	}
	if d.APICalls.Reads > 4 || d.APICalls.Writes > 2 {
		t.Errorf("%+v calls, want at most 4 reads and 2 writes", d.APICalls)
	}
	s.wantOneEach(3)

	// The same name again answers the same result, from the ledger.
	again, code := s.runJSON(config, "test", "--run-id", "4711")
	if code != exitOK || again.Counts.Sent != 3 || !again.StartedAt.Equal(d.StartedAt) {
		t.Errorf("exit %d, %+v", code, again)
	}
	if d, code = s.runJSON(config); code != exitOK || d.Outcome != claim.RunNothingDue {
		t.Errorf("exit %d, %+v", code, d)
	}
	s.wantOneEach(3)
}

func TestRunOnDoubtExits1(t *testing.T) {
	t.Parallel()
	s := newStage(t, dueRows(3))
	s.emu.Before(func(c *sheetsemu.Call) {
		if c.Kind == sheetsemu.KindGet && c.Nth == 3 {
			s.emu.Edit(stageSheet, func(b *sheetsemu.Book) { b.Tab(stageTab).Set("D3", "sending 4712") })
		}
	})
	d, code := s.runJSON(s.config("one"))
	if code != exitSome || d.Outcome != claim.RunStopped || len(d.Doubts) != 1 {
		t.Errorf("exit %d, %+v", code, d)
	}
	if n := len(s.sink.Messages()); n != 0 {
		t.Errorf("%d messages", n)
	}
	for i, want := range []string{"", "sending 4712", ""} {
		row := append(s.emu.Grid(stageSheet, stageTab)[i+1], "")
		if row[3] != want {
			t.Errorf("row %d reads %q, want %q", i+2, row[3], want)
		}
	}
}

func TestRunForPeople(t *testing.T) {
	t.Parallel()
	s := newStage(t, dueRows(2))
	s.sink.SetRules(smtpsink.Rule{Phase: smtpsink.Rcpt, Action: smtpsink.Reply, Text: "550 5.1.1 no such user", Recipient: "guest2@example.com"})
	config := s.config("one")
	p := newProgram(nil)
	if code := p.Run(context.Background(), []string{"--config", config, "run", "--dry-run"}); code != exitOK {
		t.Errorf("exit %d: %s", code, p.err.String())
	}
	if !strings.Contains(p.out.String(), "2 of 2 due rows would be sent") || len(s.sink.Messages()) != 0 {
		t.Errorf("dry run:\n%s", p.out.String())
	}
	p = newProgram(nil)
	if code := p.Run(context.Background(), []string{"--config", config, "run"}); code != exitSome {
		t.Errorf("exit %d: %s", code, p.err.String())
	}
	for _, want := range []string{": partial", "1 of 2 due rows sent, 1 rejected", "k2", "550 5.1.1 no such user"} {
		if !strings.Contains(p.out.String(), want) {
			t.Errorf("the output does not say %q:\n%s", want, p.out.String())
		}
	}
}

func TestRunThatCannotBeTriedExits2(t *testing.T) {
	t.Parallel()
	s := newStage(t, dueRows(2))
	config := s.config("one", "limit: 10")
	s.sink.Close()
	d, code := s.runJSON(config)
	if code != exitError || d.Outcome != claim.RunFailed || !strings.Contains(d.Detail, "refused") {
		t.Errorf("exit %d, %+v", code, d)
	}
	for _, c := range s.emu.Log() {
		if c.Write {
			t.Errorf("something was written: %s", c.Body)
		}
	}
}
