//go:build unix

package claim_test

import (
	"testing"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/pgtest"
)

// servers is a store in a real Postgres: a schema for each ledger, and between it and each
// installation a network of its own. The server lives in real time, its clients in
// simulated time, which stands still while one of them waits for the network. So every
// answer comes at once, and leases are judged by the simulated clock.
type servers struct {
	t       *testing.T
	out     *outside
	proxies []*pgtest.Proxy
}

func onPostgres(t *testing.T, plan simPlan) simStore {
	t.Helper()
	s := &servers{t: t, out: newOutside(t)}
	schemas := map[string]string{}
	for _, name := range plan.ledgers {
		if schemas[name] == "" {
			schemas[name] = pgtest.Address(t)
		}
		s.proxies = append(s.proxies, pgtest.NewProxy(t, schemas[name]))
	}
	return s
}

func (s *servers) address(slot int) string { return s.proxies[slot].Address() }

// Its goroutines, which wait for the network for ever, must not be those of a bubble.
func (s *servers) part(slot int)   { s.out.run(s.proxies[slot].Close) }
func (s *servers) rejoin(slot int) { s.out.run(func() { s.proxies[slot].Open(s.t) }) }

func (s *servers) cutAtCommit(slot int, reached bool) { s.proxies[slot].CutAtCommit(reached) }

// onNetwork is a seed's plan for installations that reach their ledgers over a network.
func onNetwork(seed uint64) simPlan {
	plan := newPlan(seed)
	r := simRand(seed, "networks")
	plan.parts = []time.Duration{0, 2 * time.Minute, 8 * time.Minute}[r.IntN(3)]
	plan.cutOn = []string{"", "take", "open batch", "move to sending", "move to settled"}[r.IntN(5)]
	return plan
}

// TestSimulationOnPostgres plays seeds with ledgers in a real Postgres: installations that
// share one and installations with one each.
func TestSimulationOnPostgres(t *testing.T) {
	t.Parallel()
	if *simSeed != 0 {
		replay(t, onPostgres, onNetwork(*simSeed), nil)
		return
	}
	play(t, onPostgres, onNetwork, simSeeds(t, 8))
}
