//go:build unix

package main

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/pgtest"
	"github.com/sheetclaim/sheetclaim/internal/sheetsemu"
	"github.com/sheetclaim/sheetclaim/internal/smtpsink"
)

// barrier is where runs wait for one another, at a step of each.
type barrier struct {
	there sync.WaitGroup
	open  chan struct{}
}

func newBarrier(n int) *barrier {
	g := &barrier{open: make(chan struct{})}
	g.there.Add(n)
	return g
}

// pass is a strike that waits until the gate opens.
func (g *barrier) pass() func() {
	return sync.OnceFunc(func() { g.there.Done(); <-g.open })
}

// all waits until everyone has come, does something and opens it.
func (g *barrier) all(t *testing.T, do func() error) {
	t.Helper()
	come := make(chan struct{})
	go func() { g.there.Wait(); close(come) }()
	select {
	case <-come:
	case <-time.After(time.Minute):
		t.Error("not every run came to its step")
	}
	if err := do(); err != nil {
		t.Error(err)
	}
	close(g.open)
}

// pair starts a primary and its standby.
func pair(t *testing.T, synchronous bool) (primary, standby *pgtest.Server) {
	t.Helper()
	primary, err := pgtest.Start()
	pgtest.Need(t, err)
	if standby, err = primary.Standby(synchronous); err != nil {
		t.Fatal(err)
	}
	return primary, standby
}

// The primary dies while runs stand at each of their steps, and its synchronous standby
// takes over: instances go on there, and nothing is mailed twice or lost.
func TestFailoverToASynchronousStandby(t *testing.T) {
	t.Parallel()
	primary, standby := pair(t, true)
	failover := newBarrier(len(moments))
	var all sync.WaitGroup
	for i, m := range moments {
		all.Go(func() {
			s := newStage(t, dueRows(4))
			config := s.onPostgres("one", pgtest.Either(primary, standby, fmt.Sprintf("m%d", i)))
			a, b := s.instance(config), s.instance(config)
			m.arm(s, failover.pass())
			a.run("4711", "Prefer", "respond-async")
			<-failover.open
			s.settle(a, b)
			s.wantEach(4, 1, "unknown 4711: ")
		})
	}
	failover.all(t, func() error { return errors.Join(primary.Down(), standby.Promote()) })
	all.Wait()
}

// A standby that lags takes over: the ledger has gone back in time. Commits that are lost
// with the claim are seen at the fence, and nothing is mailed again. Those that came after
// it cannot be seen: when the instance dies, too, a row that was sent since is mailed
// again, as docs/OPERATIONS.md says.
func TestFailoverToALaggingStandby(t *testing.T) {
	t.Parallel()
	primary, standby := pair(t, false)
	cases := []struct {
		read        int // of the run, after which commits are lost
		dies, again bool
	}{{1, false, false}, {1, true, false}, {3, false, false}, {3, true, true}}
	lag, failover := newBarrier(len(cases)), newBarrier(len(cases))
	var all sync.WaitGroup
	for i, tc := range cases {
		all.Go(func() {
			name := fmt.Sprintf("lost after read %d, the instance dies: %t", tc.read, tc.dies)
			s := newStage(t, dueRows(4))
			config := s.onPostgres("one", pgtest.Either(primary, standby, fmt.Sprintf("m%d", i)))
			a, b := s.instance(config), s.instance(config)
			atCall(sheetsemu.KindGet, tc.read, true)(s, lag.pass())
			n, pass := 0, failover.pass()
			s.sink.OnMessage(func(smtpsink.Message) {
				if n++; n == 3 {
					pass()
				}
			})
			a.run("4711", "Prefer", "respond-async")
			<-failover.open
			if tc.dies {
				a.signal(syscall.SIGKILL)
			}
			time.Sleep(2 * shortLease)
			s.emu.Edit(stageSheet, func(b *sheetsemu.Book) {
				for cell, text := range map[string]string{"A6": "k5", "B6": "guest5@example.com", "C6": "2026-01-01"} {
					b.Tab(stageTab).Set(cell, text)
				}
			})
			d, _ := b.run("after-0")
			if seen := strings.Contains(d.Detail, "the fence shows claims of this ledger that the ledger does not know"); seen != (tc.read == 1) {
				t.Errorf("%s: %s: %s", name, d.Outcome, d.Detail)
			}
			b.run("after-1")
			got := map[string]int{}
			for _, m := range s.sink.Messages() {
				if got[m.To[0]]++; !tc.again && got[m.To[0]] > 1 {
					t.Errorf("%s: %s got two messages", name, m.To[0])
				}
			}
			t.Logf("%s: %d messages to %d of 5 rows", name, len(s.sink.Messages()), len(got))
			for _, row := range s.emu.Grid(stageSheet, stageTab)[1:] {
				if status := append(row, "")[3]; got[row[1]] == 0 && !strings.HasPrefix(status, "sending 4711/") {
					t.Errorf("%s: %s got no message and reads %q", name, row[0], status)
				}
			}
		})
	}
	lag.all(t, standby.Down)
	failover.all(t, func() error { return errors.Join(primary.Down(), standby.Up(), standby.Promote()) })
	all.Wait()
}
