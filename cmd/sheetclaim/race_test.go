package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/check"
	"github.com/sheetclaim/sheetclaim/internal/sheetsemu"
)

// tabs are the titles of the spreadsheet's tabs.
func (s *stage) tabs() (titles []string) {
	s.emu.Edit(stageSheet, func(b *sheetsemu.Book) { titles = b.Tabs() })
	return titles
}

// wantNoTrace fails unless the spreadsheet is what it was.
func (s *stage) wantNoTrace(rows [][]any) {
	s.t.Helper()
	if got := s.tabs(); len(got) != 1 || got[0] != stageTab {
		s.t.Errorf("tabs %q", got)
	}
	for _, row := range s.emu.Grid(stageSheet, stageTab)[1:len(rows)] {
		if len(row) > 3 && row[3] != "" {
			s.t.Errorf("the job's own row reads %q", row)
		}
	}
	if n := len(s.sink.Messages()); n != 0 {
		s.t.Errorf("%d messages left", n)
	}
}

func TestLiveRace(t *testing.T) {
	rows := dueRows(2)
	s := newStage(t, rows)
	c := s.check(s.config("race"), "--live-race", "--yes")
	c.exits(0)
	c.want("endpoint", check.Warn, "the emulator", "proves nothing about Google")
	c.want("race", check.OK, "one ledger: 6 rows, 6 messages, one each")
	c.want("race", check.OK, "a ledger each", "6 rows, 6 messages, one each", "overlapped")
	c.want("scratch tab", check.OK, "was removed")
	for _, text := range []string{
		"get with ranges shows the fence: yes", "getByDataFilter shows the fence: yes", "used up is refused: yes",
		"one answer shows one state: yes", "lag behind writes by: nothing", "empties the cell: yes", "^$ on blank cells changes: 0 of 5",
		"long column takes: ", "hidden by hand: yes", "updating metadata that is not there: is taken", "deleting metadata that is not there: is taken",
	} {
		c.want("google", check.OK, text)
	}
	s.wantNoTrace(rows)
}

func TestLiveRaceTellsWhatDoesNotHold(t *testing.T) {
	t.Run("the fence cannot be read", func(t *testing.T) {
		// The answer to a mask without it is what such a Google would answer.
		rows := dueRows(2)
		s := newStage(t, rows)
		remove := s.emu.Before(func(c *sheetsemu.Call) {
			if c.Kind == sheetsemu.KindGet {
				c.Query.Set("fields", strings.Replace(c.Query.Get("fields"), ",developerMetadata(metadataId,metadataKey,metadataValue)", "", 1))
			}
		})
		t.Cleanup(remove)
		c := s.check(s.config("fenceless"), "--live-race", "--yes")
		c.exits(1)
		c.want("google", check.Fail, "get with ranges shows the fence", "THE FENCE CANNOT BE READ")
		c.want("google", check.OK, "developerMetadata:search shows the fence: 1 entries")
		if strings.Contains(c.String(), "runs at once") {
			t.Error("the race was run without a fence")
		}
		c.want("scratch tab", check.OK, "was removed")
		s.wantNoTrace(rows)
	})
	t.Run("reads lag", func(t *testing.T) {
		s := newStage(t, dueRows(2))
		s.emu.Script(sheetsemu.Rule{Match: sheetsemu.Match{Kind: sheetsemu.KindGet, Func: func(c *sheetsemu.Call) bool {
			return strings.Contains(c.Query.Get("ranges"), "!F2")
		}}, Fault: sheetsemu.Fault{Stale: 700 * time.Millisecond}})
		s.check(s.config("lag"), "--live-race", "--yes").want("google", check.OK, "reads lag behind writes by: up to ", "old answers")
	})
}

func TestLiveRaceRefuses(t *testing.T) {
	rows := dueRows(2)
	t.Run("an account that may not write", func(t *testing.T) {
		s := newStage(t, rows)
		s.emu.SetAccess(stageSheet, "", sheetsemu.CanRead)
		c := s.check(s.config("read"), "--live-race", "--yes")
		c.exits(1)
		c.want("writing", check.Fail, "may not write")
		s.wantNoTrace(rows)
	})
	t.Run("without consent", func(t *testing.T) {
		s := newStage(t, rows)
		p := newProgram(nil)
		p.Stdin = strings.NewReader("no\n")
		if code := p.Run(context.Background(), []string{"--config", s.config("ask"), "check", "--live-race"}); code != exitError {
			t.Errorf("exit %d", code)
		}
		if got := p.err.String(); !strings.Contains(got, "Go on? [y/N]") || !strings.Contains(got, "nothing was made") {
			t.Errorf("%q", got)
		}
		s.wantNoTrace(rows)
	})
}

func TestLiveRaceRemovesItsTabWhenItIsStopped(t *testing.T) {
	rows := dueRows(2)
	s := newStage(t, rows)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	// Once a claim stands, a person presses Ctrl-C.
	remove := s.emu.After(func(c *sheetsemu.Call) {
		if c.Kind == sheetsemu.KindBatchUpdate && strings.Contains(string(c.Body), "sending race-") {
			cancel()
		}
	})
	t.Cleanup(remove)
	p := newProgram(nil)
	if code := p.Run(ctx, []string{"--config", s.config("stop"), "check", "--live-race", "--yes"}); code != exitError {
		t.Errorf("exit %d", code)
	}
	if !strings.Contains(p.out.String(), "scratch tab: was removed") {
		t.Errorf("%s", p.out.String())
	}
	s.wantNoTrace(rows)
}

func TestLiveRaceSaysThatItsTabIsLeft(t *testing.T) {
	s := newStage(t, dueRows(2))
	s.emu.Script(sheetsemu.Rule{Match: sheetsemu.Match{Writes: true, Func: func(c *sheetsemu.Call) bool {
		return strings.Contains(string(c.Body), "deleteSheet")
	}}, Fault: sheetsemu.Fault{Apply: sheetsemu.Never, Answer: sheetsemu.Status(500, "")}})
	c := s.check(s.config("left"), "--live-race", "--yes")
	c.exits(1)
	c.want("scratch tab", check.Fail, "could not be removed", "delete the tab sheetclaim-race-")
	if len(s.tabs()) != 2 {
		t.Errorf("tabs %q", s.tabs())
	}
}
