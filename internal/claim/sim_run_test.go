package claim_test

import (
	"context"
	"flag"
	"fmt"
	"hash/fnv"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/sheetsemu"
	"github.com/sheetclaim/sheetclaim/internal/smtpsink"
)

var (
	simSeed    = flag.Uint64("sim.seed", 0, "replay one seed of the simulation, with its trace")
	simN       = flag.Int("sim.n", 0, "number of seeds of the simulation; 0: SHEETCLAIM_SEEDS, or a few")
	simWithout = flag.String("sim.without", "", "with -sim.seed: take this safeguard away (a name from TestSimulationHasTeeth)")
	simLike    = flag.String("sim.like", "", "with -sim.seed: only change the plan as for this safeguard")
	simBase    = flag.Uint64("sim.base", 1, "first seed of the simulation")
)

// simSeeds is how many seeds to run.
func simSeeds(t *testing.T, usual int) int {
	if *simN > 0 {
		return *simN
	}
	if text := os.Getenv("SHEETCLAIM_SEEDS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("SHEETCLAIM_SEEDS=%q is no number", text)
		}
		return n
	}
	return usual
}

// result is what became of one seed.
type simResult struct {
	violations []string
	excused    map[string]int
	counts     map[string]int
	simulated  time.Duration
	hash       uint64 // of the trace
	trace      string
}

// simulate plays one plan.
func simulate(t *testing.T, in makeStore, plan simPlan, weak *weakness, keep bool) simResult {
	t.Helper()
	store := in(t, plan)
	var res simResult
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)))
		began := time.Now()
		s := newSim(t, plan, store)
		s.weak = weak
		s.put()
		s.eager() // before watch, which is to see the sheet as the call finds it
		s.watch()
		for slot := range plan.procs {
			s.wg.Go(func() { s.installation(slot) })
			if plan.parts > 0 {
				s.wg.Go(func() { s.network(slot) })
			}
		}
		s.wg.Go(s.people)
		if plan.foreign {
			s.wg.Go(s.tool)
		}
		time.Sleep(plan.chaos)
		s.log("the chaos ends")
		close(s.over)
		s.calm()
		s.wg.Wait()
		s.emu.Wait()
		procs := s.quiet()
		s.check(procs)
		for _, p := range procs {
			p.end()
		}
		s.sink.Close()
		for _, v := range s.sink.Violations() {
			if !strings.Contains(v, "ended within a line") {
				s.violate("mail server: %s", v)
			}
		}
		res = simResult{violations: s.violations, excused: s.excused, counts: s.counts, simulated: time.Since(began)}
		if keep || len(s.violations) > 0 {
			res.trace = s.dump("")
			// What happens at one instant, within one process, has no order.
			lines := strings.Split(res.trace, "\n")
			slices.Sort(lines)
			h := fnv.New64a()
			h.Write([]byte(strings.Join(lines, "\n")))
			res.hash = h.Sum64()
		}
	})
	return res
}

func newSim(t *testing.T, plan simPlan, store simStore) *sim {
	s := &sim{
		t: t, plan: plan, store: store, title: tabTitle, over: make(chan struct{}), byTag: map[string]*shadow{},
		before: map[int]sighted{}, staked: map[string]staked{}, lost: map[string]overwritten{},
		excused: map[string]int{}, counts: map[string]int{},
	}
	s.world()
	return s
}

// world makes the sheet's server and the mail server, with their faults.
func (s *sim) world() {
	users := map[string]string{}
	for slot := range s.plan.procs {
		for gen := range 100 {
			user := fmt.Sprintf("acct%d@example.invalid", slot)
			if s.plan.account {
				user = "acct@example.invalid"
			}
			users[fmt.Sprintf("p%d.%d", slot, gen)] = user
		}
	}
	s.emu = sheetsemu.New(sheetsemu.Options{Seed: s.plan.seed, Users: users})
	f, k := sheetsemu.Realistic, s.plan.faults
	for _, rate := range []*float64{
		&f.LostApplied, &f.LostUnapplied, &f.ErrorApplied, &f.ErrorUnapplied, &f.LateLost, &f.SilentApplied,
		&f.Garbled, &f.LostRead, &f.ErrorRead, &f.StaleRead,
	} {
		*rate *= k
	}
	f.LateBy, f.StaleBy = s.plan.lateBy, readLag
	s.emu.SetFaults(f)
	rule := func(name string, perMill int, fault sheetsemu.Fault) {
		if perMill == 0 {
			return
		}
		s.emu.Script(sheetsemu.Rule{Fault: fault, Match: sheetsemu.Match{Func: func(c *sheetsemu.Call) bool {
			r := simRand(s.plan.seed, fmt.Sprint(name, " ", c.Caller, " ", c.Kind, " ", c.Nth))
			return r.IntN(1000) < perMill
		}}})
	}
	rule("throttled", s.plan.throttle, sheetsemu.Fault{Delay: 211 * time.Millisecond, Apply: sheetsemu.Never, Answer: sheetsemu.Status(429, "")})
	rule("slow way", s.plan.slow, sheetsemu.Fault{Delay: 6203 * time.Millisecond})
	rule("slow answer", s.plan.slow, sheetsemu.Fault{Delay: 307 * time.Millisecond, Answer: sheetsemu.Slow(7501 * time.Millisecond)})
	rule("very slow way", s.plan.slow/2, sheetsemu.Fault{Delay: 41713 * time.Millisecond})
	mean := append(smtpsink.Mean(),
		smtpsink.Rule{Phase: smtpsink.Dot, Action: smtpsink.Slow, Delay: 47 * time.Second},
		smtpsink.Rule{Phase: smtpsink.Dot, Action: smtpsink.Hang, Accept: true},
		smtpsink.Rule{Phase: smtpsink.Dot, Action: smtpsink.Hang},
		smtpsink.Rule{Phase: smtpsink.Dot, Action: smtpsink.Reply, Text: "250 2.0.0 ok", Cut: true, Accept: true},
		smtpsink.Rule{Phase: smtpsink.Data, Action: smtpsink.Slow, Delay: 9 * time.Second},
	)
	var err error
	s.sink, err = smtpsink.New(smtpsink.Options{UTF8: true, Chance: &smtpsink.Chance{Seed: s.plan.seed, PerMill: s.plan.mail, Faults: mean}})
	if err != nil {
		s.t.Fatal(err)
	}
}

// calm ends all faults.
func (s *sim) calm() {
	s.emu.SetFaults(sheetsemu.Faults{Latency: 100 * time.Millisecond, Jitter: 100 * time.Millisecond})
	var rules []smtpsink.Rule
	for _, p := range []smtpsink.Phase{
		smtpsink.Connect, smtpsink.EHLO, smtpsink.Auth, smtpsink.Mail, smtpsink.Rcpt, smtpsink.Data,
		smtpsink.MidData, smtpsink.Dot, smtpsink.AfterOK, smtpsink.Noop, smtpsink.ResetVerb,
	} {
		rules = append(rules, smtpsink.Rule{Phase: p, Action: smtpsink.Slow})
	}
	s.sink.SetRules(rules...)
	if s.title != tabTitle {
		s.rename()
	}
}

// quiet lets every installation recover and run until nothing changes any more.
func (s *sim) quiet() []*proc {
	time.Sleep(6 * time.Minute) // leases end
	var procs []*proc
	for slot, led := range s.plan.ledgers {
		if slices.Index(s.plan.ledgers, led) == slot {
			procs = append(procs, s.boot(slot, 99, nil))
		}
	}
	last := ""
	for round := range 40 {
		busy := false
		for i, p := range procs {
			if err := p.svc.RecoverAll(context.Background()); err != nil {
				s.log("%s: recovery: %v", p.name, err)
				busy = true
			}
			id := fmt.Sprintf("quiet-%d-%d", i, round)
			t, err := p.svc.Start(context.Background(), claim.Request{Job: "test", RunID: id, Confirmed: true})
			if err != nil {
				s.log("%s: %v", p.name, err)
				busy = true
				continue
			}
			<-t.Done()
			s.ended(p, id, t)
			busy = busy || t.Document().Counts.Claimed > 0 || t.Document().Outcome == claim.RunFailed
			ms, bs, err := p.led.Orphans(context.Background(), "test")
			busy = busy || err != nil || len(ms)+len(bs) > 0
		}
		now := fmt.Sprint(s.grid())
		if !busy && now == last {
			return procs
		}
		last = now
		time.Sleep(11 * time.Minute) // more than retry_after
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.violate("promise 2: the sheet does not come to rest")
	return procs
}

// TestSimulation plays seeds and checks the promise after each.
func TestSimulation(t *testing.T) {
	t.Parallel()
	if *simSeed != 0 {
		replay(t, inFiles, find(*simWithout+*simLike).planFor(*simSeed), find(*simWithout))
		return
	}
	play(t, inFiles, newPlan, simSeeds(t, 24))
}

// replay plays one plan and tells all of it.
func replay(t *testing.T, in makeStore, plan simPlan, weak *weakness) {
	t.Helper()
	res := simulate(t, in, plan, weak, true)
	t.Logf("%s\nplan %+v\ncounts %v\nexcused %v\ntrace hash %x", res.trace, plan, res.counts, res.excused, res.hash)
	for _, v := range res.violations {
		t.Error(v)
	}
}

// play plays n seeds.
func play(t *testing.T, in makeStore, plan func(seed uint64) simPlan, n int) {
	t.Helper()
	var mu sync.Mutex
	total := simResult{excused: map[string]int{}, counts: map[string]int{}}
	began := time.Now()
	bad := map[uint64]string{}
	name := t.Name()
	t.Run("seeds", func(t *testing.T) {
		for i := range n {
			seed := *simBase + uint64(i)
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				res := simulate(t, in, plan(seed), nil, false)
				mu.Lock()
				defer mu.Unlock()
				add(total.excused, res.excused)
				add(total.counts, res.counts)
				total.simulated += res.simulated
				if len(res.violations) > 0 {
					bad[seed] = res.violations[0]
					t.Errorf("seed %d: %s\nreplay: go test ./internal/claim -run '%s$' -sim.seed %d -v", seed, strings.Join(res.violations, "\n"), name, seed)
				}
			})
		}
	})
	took := time.Since(began).Minutes()
	t.Logf("%d seeds, %.0f a minute; %.0f simulated hours, %.0f a minute", n, float64(n)/took, total.simulated.Hours(), total.simulated.Hours()/took)
	t.Logf("what happened: %s", listed(total.counts))
	t.Logf("limits that were met: %s", listed(total.excused))
	for _, seed := range slices.Sorted(maps.Keys(bad)) {
		t.Logf("seed %d: %s", seed, bad[seed])
	}
}

func add(to, from map[string]int) {
	for k, n := range from {
		to[k] += n
	}
}

func listed(m map[string]int) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%s: %d", k, m[k]))
	}
	return strings.Join(parts, ", ")
}
