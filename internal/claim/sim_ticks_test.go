//go:build unix

package claim_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/schedule"
	"github.com/sheetclaim/sheetclaim/internal/sheetsemu"
	"github.com/sheetclaim/sheetclaim/internal/smtpsink"
)

// Instances with a schedule of every minute on one Postgres, in simulated time.

var nineSharp = time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)

// tickers are instances that run a schedule.
type tickers struct {
	*sim
	mu     sync.Mutex
	procs  []*proc // by slot
	gens   []int
	leader string // who made the newest claim
}

// start starts a process of an instance, as serve does.
func (k *tickers) start(slot int) {
	p := k.boot(slot, k.gens[slot], nil)
	k.gens[slot]++
	k.mu.Lock()
	k.procs[slot] = p
	k.mu.Unlock()
	k.wg.Go(func() { k.recoveries(p) })
	k.wg.Go(func() {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		k.wg.Go(func() {
			select {
			case <-p.died:
			case <-k.over:
			}
			cancel()
		})
		var last time.Time
		recs, err := p.led.LastTicks(ctx, "test", claim.TickID(time.Now()), 1)
		if err != nil {
			k.t.Error(err)
		}
		if len(recs) > 0 {
			last, _ = schedule.Ran(recs[0].ID)
		}
		never := k.plan.more["catch_up"] == string(claim.CatchNone)
		s := schedule.Scheduler{
			Entries: []schedule.Entry{{Job: "test", Spec: "* * * * *", Last: last, Never: never}},
			Now:     time.Now, Wait: p.wait, Log: slog.New(slog.DiscardHandler),
			Start: func(_ context.Context, _, id string) { k.tick(p, id) },
		}
		if err := s.Run(ctx); err != nil && !p.isDead() {
			k.t.Error(err)
		}
	})
}

func (k *tickers) tick(p *proc, id string) {
	t, err := p.svc.Start(context.Background(), claim.Request{Job: "test", RunID: id, Tick: true})
	if err != nil {
		return
	}
	select {
	case <-t.Done():
		k.ended(p, id, t)
	case <-p.died:
	}
}

// killLeader kills the instance that made the newest claim, and starts it again after a
// time; 0: at once.
func (k *tickers) killLeader(why string, after time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for slot, p := range k.procs {
		if p.name != k.leader {
			continue
		}
		p.kill(why)
		k.wg.Go(func() {
			p.end()
			time.Sleep(after)
			k.start(slot)
		})
	}
}

// killAll ends all instances.
func (k *tickers) killAll() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, p := range k.procs {
		p.kill("with all others")
		k.wg.Go(p.end)
	}
}

// strikes are ways to kill the leader in the ticks of the third and the sixth minute.
var strikes = map[string]func(k *tickers, minute int){
	"between ticks": func(k *tickers, minute int) {
		sleepUntil(nineSharp.Add(time.Duration(minute)*time.Minute - 7*time.Second))
		k.killLeader("between ticks", 100*time.Second)
	},
	"its claim is applied": func(k *tickers, minute int) {
		sleepUntil(nineSharp.Add(time.Duration(minute)*time.Minute - 7*time.Second))
		var once sync.Once
		k.emu.After(func(c *sheetsemu.Call) {
			if c.Kind == sheetsemu.KindBatchUpdate && time.Now().After(nineSharp.Add(time.Duration(minute)*time.Minute)) {
				once.Do(func() { k.killLeader("when its claim is applied", 100*time.Second) })
			}
		})
	},
	"its message is queued": func(k *tickers, minute int) {
		sleepUntil(nineSharp.Add(time.Duration(minute)*time.Minute - 7*time.Second))
		var once sync.Once
		k.sink.OnMessage(func(smtpsink.Message) {
			once.Do(func() { k.killLeader("when its message is queued", 100*time.Second) })
		})
	},
}

// Ten ticks of two and of three instances, of which the leader is killed twice: each tick
// makes one run, and each row gets one message. Then all of them are down for twenty-five
// minutes, and catch_up says what becomes of the rows of that time.
func TestLG08TenTicks(t *testing.T) {
	t.Parallel()
	for strike, kill := range strikes {
		for policy, tt := range map[string]struct{ instances, left int }{"all": {2, 0}, "newest": {3, 14}, "none": {2, 15}} {
			t.Run(strike+"/"+policy, func(t *testing.T) {
				t.Parallel()
				tenTicks(t, tt.instances, policy, tt.left, kill)
			})
		}
	}
}

func tenTicks(t *testing.T, instances int, policy string, left int, kill func(k *tickers, minute int)) {
	plan := simPlan{seed: uint64(instances), procs: instances, shared: true, limit: 50, more: settings{
		"schedule": `"* * * * *"`, "timezone": "UTC", "catch_up": policy, "lease": "40s",
	}}
	for range instances {
		plan.ledgers = append(plan.ledgers, "one")
	}
	store := onPostgres(t, plan)
	synctest.Test(t, func(t *testing.T) {
		sleepUntil(nineSharp.Add(-20 * time.Second))
		k := &tickers{sim: newSim(t, plan, store), procs: make([]*proc, instances), gens: make([]int, instances)}
		const rows = 36 // one comes due with each tick
		grid := [][]any{{"key", "email", "due", "status"}}
		for i := 1; i <= rows; i++ {
			grid = append(grid, []any{fmt.Sprintf("k%d", i), fmt.Sprintf("guest%d@example.com", i), nineSharp.Add(time.Duration(i) * time.Minute).Format("2006-01-02 15:04"), ""})
		}
		if err := k.emu.Put(spreadsheet, tabTitle, grid); err != nil {
			t.Fatal(err)
		}
		k.emu.SetFaults(sheetsemu.Faults{Latency: 100 * time.Millisecond})
		k.emu.After(func(c *sheetsemu.Call) {
			if c.Kind == sheetsemu.KindBatchUpdate {
				k.mu.Lock()
				defer k.mu.Unlock()
				k.leader = c.Caller
			}
		})
		for slot := range instances {
			k.start(slot)
			time.Sleep(time.Second + time.Duration(slot)) // their clocks agree, and they are not alike
		}
		k.wg.Go(func() { kill(k, 3); kill(k, 6) })
		sleepUntil(nineSharp.Add(10*time.Minute + 50*time.Second))
		k.wantTicks(10)
		k.wantRows(10, 0)
		k.killAll()
		sleepUntil(nineSharp.Add(35*time.Minute + 30*time.Second))
		for slot := range instances {
			k.start(slot)
		}
		sleepUntil(nineSharp.Add(37*time.Minute + 50*time.Second))
		k.wantTicks(10, 35, 36, 37)
		k.wantRows(rows, left)
		close(k.over)
		time.Sleep(time.Minute) // runs end
		for _, p := range k.procs {
			p.end()
		}
		k.wg.Wait()
		k.sink.Close()
		k.emu.Wait()
		if t.Failed() {
			t.Log(k.dump(""))
		}
	})
}

// wantTicks fails unless the first ticks, and those of further minutes, made one run each
// and no other did.
func (k *tickers) wantTicks(first int, more ...int) {
	k.t.Helper()
	recs, err := k.procs[0].led.Recent(context.Background(), "test", 100)
	if err != nil {
		k.t.Error(err)
	}
	got := map[string]int{}
	for _, r := range recs {
		got[r.ID]++
	}
	for i := 1; i <= first; i++ {
		more = append(more, i)
	}
	more = append(more, 0) // the one at nine, which finds nothing due
	for _, minute := range more {
		id := claim.TickID(nineSharp.Add(time.Duration(minute) * time.Minute))
		if got[id] != 1 {
			k.t.Errorf("%s made %d runs", id, got[id])
		}
		delete(got, id)
	}
	if len(got) > 0 {
		k.t.Errorf("further runs: %v", got)
	}
}

// wantRows fails unless the first n rows got one message each, or are left and got none.
func (k *tickers) wantRows(n, left int) {
	k.t.Helper()
	sent := map[string]int{}
	for _, m := range k.sink.Messages() {
		sent[strings.Join(m.To, ",")]++
	}
	none := 0
	for i, row := range k.emu.Grid(spreadsheet, tabTitle)[1 : n+1] {
		status := append(row, "")[3]
		switch got := sent[row[1]]; {
		case got == 0 && status == "" && i >= 10:
			none++
		case got != 1 || status != "sent" && !strings.HasPrefix(status, "unknown cron-"):
			k.t.Errorf("%s got %d messages and reads %q", row[0], got, status)
		}
	}
	if none != left {
		k.t.Errorf("%d rows were left, want %d", none, left)
	}
}
