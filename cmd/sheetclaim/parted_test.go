//go:build unix

package main

import (
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/pgtest"
	"github.com/sheetclaim/sheetclaim/internal/sheetsemu"
	"github.com/sheetclaim/sheetclaim/internal/smtpsink"
)

// moments at which an instance loses touch with the others.
var moments = []kill{
	{name: "claim: before the batch is applied", arm: atCall(sheetsemu.KindBatchUpdate, 1, false)},
	{name: "confirm: after the read", arm: atCall(sheetsemu.KindGet, 3, true)},
	{name: "send: at RCPT", arm: atPhase(smtpsink.Rcpt)},
	{name: "send: dot read, not queued", arm: atPhase(smtpsink.Dot)},
	{name: "send: queued, not answered", arm: afterQueued},
	{name: "mark: before the batch is applied", arm: atCall(sheetsemu.KindBatchUpdate, 2, false)},
}

// An instance stands still past its lease and wakes: another has settled its rows
// meanwhile, and it sends nothing more.
func TestPausedInstance(t *testing.T) {
	t.Parallel()
	for _, m := range moments {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, dueRows(4))
			config := s.onPostgres("one", pgtest.Address(t))
			a, b := s.instance(config), s.instance(config)
			stopped := make(chan struct{})
			var once sync.Once
			m.arm(s, func() {
				once.Do(func() { a.signal(syscall.SIGSTOP); close(stopped) })
			})
			a.run("4711", "Prefer", "respond-async")
			<-stopped
			time.Sleep(shortLease + time.Second)
			b.runAll()
			a.signal(syscall.SIGCONT)
			s.settle(a, b)
			s.wantEach(4, 1, "unknown 4711: ")
		})
	}
}

// An instance loses its ledger in mid-run: for moments it waits, for longer than its
// lease others settle its rows; when the ledger is back it sends nothing that was
// settled.
func TestPartedInstance(t *testing.T) {
	t.Parallel()
	for name, away := range map[string]time.Duration{"moments": time.Second, "past the lease": shortLease + 2*time.Second} {
		for _, m := range moments {
			t.Run(name+"/"+m.name, func(t *testing.T) {
				t.Parallel()
				s := newStage(t, dueRows(4))
				address := pgtest.Address(t)
				proxy := pgtest.NewProxy(t, address)
				a, b := s.instance(s.onPostgres("parted", proxy.Address())), s.instance(s.onPostgres("there", address))
				parted := make(chan struct{})
				var once sync.Once
				m.arm(s, func() {
					once.Do(func() { proxy.Close(); close(parted) })
				})
				a.run("4711", "Prefer", "respond-async")
				<-parted
				time.Sleep(away)
				if away > shortLease {
					b.runAll()
				}
				proxy.Open(t)
				s.settle(a, b)
				s.wantEach(4, 1, "unknown 4711: ")
			})
		}
	}
}

// The connection of an instance comes back right when its commit record is next, after its
// lease has ended and before it can learn that: the ledger refuses the record, whether
// another instance has its rows by then or nobody has.
func TestPartedInstanceIsRefusedTheRecord(t *testing.T) {
	t.Parallel()
	for name, taken := range map[string]bool{"the lease has ended": false, "another has taken over": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const tries = 5
			for range tries {
				if refusedTheRecord(t, taken) {
					return
				}
			}
			t.Errorf("%d times the machine was too busy to see it", tries)
		})
	}
}

// refusedTheRecord answers whether the ledger was seen to be asked for the record; on a
// machine that is very busy the instance may have given up waiting for it, or have ended
// its run before it was asked how that goes.
func refusedTheRecord(t *testing.T, taken bool) (seen bool) {
	s := newStage(t, dueRows(4))
	address := pgtest.Address(t)
	proxy := pgtest.NewProxy(t, address)
	a := s.instance(s.onPostgres("parted", proxy.Address()))
	parted := make(chan struct{})
	atPhase(smtpsink.Rcpt)(s, sync.OnceFunc(func() { proxy.Close(); close(parted) })) // of the second message
	a.run("4711", "Prefer", "respond-async")
	<-parted
	time.Sleep(shortLease + time.Second)
	b := a
	if taken {
		b = s.instance(s.onPostgres("there", address))
		b.runAll()
	}
	release := proxy.Hold("lease_until = CASE") // the renewal of the lease would tell it
	defer release()
	proxy.Open(t)
	var d claim.Document
	if taken {
		d, _ = a.run("4711") // attaches: for the ledger the run has ended
	} else {
		d = a.ended("4711")
	}
	if strings.Contains(d.Detail, "could not record the intent") || taken && strings.Contains(d.Detail, "settled by recovery") {
		return false
	}
	if d.Outcome != claim.RunStopped || d.Counts.Sent != 1 || !strings.Contains(d.Detail, "refused the commit record") {
		t.Errorf("%s, %+v: %s", d.Outcome, d.Counts, d.Detail)
	}
	release()
	time.Sleep(shortLease)
	b.runAll()
	s.wantEach(4, 0, "")
	return true
}

// settle waits for the end of the run that lost touch, and runs what is left.
func (s *stage) settle(a, b *instance) {
	s.t.Helper()
	a.run("4711") // attaches to what is left of it
	time.Sleep(shortLease)
	b.runAll()
}
