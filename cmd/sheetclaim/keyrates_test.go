//go:build unix

package main

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/key"
	"github.com/sheetclaim/sheetclaim/internal/ledger"
)

// rival is the script that the key ledger is measured against.
const rival = "../../testdata/origins/keyledger.py"

// TestKeyRates measures claim-and-done pairs a second beside the script of the guide,
// both on disk before they answer, in turns on the same machine (make bench). Every
// pair must have been won, and every key be done in the end.
func TestKeyRates(t *testing.T) {
	if os.Getenv("SHEETCLAIM_BENCH") == "" {
		t.Skip("a measurement: make bench")
	}
	dir := t.TempDir()
	built := filepath.Join(dir, "sheetclaim")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", built, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	s, err := ledger.Open(t.Context(), filepath.Join(dir, "keys.db"), ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	keys := s.Keys()
	served := "sqlite:" + filepath.Join(dir, "served.db")
	address := serveKeys(t, served)
	http.DefaultTransport.(*http.Transport).MaxIdleConnsPerHost = 64
	commands := "sqlite:" + filepath.Join(dir, "commands.db")
	t.Setenv("SHEETCLAIM_LEDGER", commands)
	inProcess := func(ctx context.Context, name string) error { return pairInProcess(ctx, keys, name) }
	overHTTP := (&deliverer{ledger: address}).pair
	command := func(_ context.Context, name string) error { return pairByCommand(built, name) }
	script := func(_ context.Context, name string) error { return pairByScript(filepath.Join(dir, "script.db"), name) }

	measures := []*measure{
		{name: "script, in process, 1", pairs: 2000, whole: func(n int) float64 { return rivalRate(t, dir, n, 1) }},
		{name: "script, in process, 8", pairs: 2000, whole: func(n int) float64 { return rivalRate(t, dir, n, 8) }},
		{name: "ledger, in process, 1", pairs: 2000, callers: 1, do: inProcess, against: 0},
		{name: "ledger, in process, 8", pairs: 8000, callers: 8, do: inProcess, against: 0},
		{name: "ledger, in process, 64", pairs: 30000, callers: 64, do: inProcess, against: 0},
		{name: "ledger, HTTP, 1", pairs: 1000, callers: 1, do: overHTTP, against: 0},
		{name: "ledger, HTTP, 8", pairs: 4000, callers: 8, do: overHTTP, against: 0},
		{name: "ledger, HTTP, 64", pairs: 8000, callers: 64, do: overHTTP, against: 0},
		{name: "script, command, 1", pairs: 20, callers: 1, do: script},
		{name: "script, command, 8", pairs: 40, callers: 8, do: script},
		{name: "ledger, command, 1", pairs: 100, callers: 1, do: command, against: 8},
		{name: "ledger, command, 8", pairs: 200, callers: 8, do: command, against: 9},
	}
	const rounds = 3
	for range rounds {
		for _, m := range measures {
			m.run(t)
		}
	}
	t.Log("| claim and done | pairs a second | times the script |")
	for _, m := range measures {
		times := ""
		if strings.HasPrefix(m.name, "ledger") {
			times = fmt.Sprintf("%.1f", m.rate()/measures[m.against].rate())
		}
		t.Logf("| %s | %.0f | %s |", m.name, m.rate(), times)
	}
	for _, ledger := range []string{"keys.db", "served.db", "commands.db"} {
		checkAllDone(t, filepath.Join(dir, ledger))
	}
}

// measure is one way to claim keys and say that they are done.
type measure struct {
	name    string
	pairs   int // in one round
	callers int
	do      func(ctx context.Context, name string) error
	whole   func(pairs int) float64 // measures itself, in pairs a second
	against int                     // the measure that it is compared with

	done, seconds float64
}

// made counts all pairs, so that no key comes twice.
var made atomic.Int64

func (m *measure) rate() float64 { return m.done / m.seconds }

func (m *measure) run(t *testing.T) {
	t.Helper()
	if m.whole != nil {
		rate := m.whole(m.pairs)
		m.done += float64(m.pairs)
		m.seconds += float64(m.pairs) / rate
		return
	}
	var left atomic.Int64
	left.Store(int64(m.pairs))
	var all sync.WaitGroup
	began := time.Now()
	for range m.callers {
		all.Go(func() {
			for left.Add(-1) >= 0 {
				if err := m.do(t.Context(), fmt.Sprintf("stripe:evt_%d", made.Add(1))); err != nil {
					t.Errorf("%s: %v", m.name, err)
					return
				}
			}
		})
	}
	all.Wait()
	m.done += float64(m.pairs)
	m.seconds += time.Since(began).Seconds()
}

func pairInProcess(ctx context.Context, keys *ledger.Keys, name string) error {
	c, err := key.Claim{Key: name, Owner: "bench"}.Checked()
	if err != nil {
		return err
	}
	a, err := keys.Claim(ctx, c)
	if err != nil || !a.Won {
		return fmt.Errorf("%s was not won: %w", name, cmp.Or(err, errTaken))
	}
	return keys.End(ctx, key.End{Key: name, Token: a.Token, State: key.Done})
}

func pairByCommand(program, name string) error {
	token, err := exec.Command(program, "key", "claim", name).Output()
	if err != nil {
		return err
	}
	return exec.Command(program, "key", "done", name, strings.TrimSpace(string(token))).Run()
}

func pairByScript(file, name string) error {
	if err := exec.Command("python3", rival, file, "claim", name).Run(); err != nil {
		return err
	}
	return exec.Command("python3", rival, file, "done", name).Run()
}

// rivalRate lets the script measure itself, on a new file.
func rivalRate(t *testing.T, dir string, pairs, processes int) float64 {
	t.Helper()
	file := filepath.Join(dir, fmt.Sprintf("rival%d.db", made.Add(1)))
	out, err := exec.Command("python3", rival, file, "bench", strconv.Itoa(pairs), strconv.Itoa(processes)).Output()
	if err != nil {
		t.Fatal(err)
	}
	rate, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
	if err != nil {
		t.Fatal(err)
	}
	return rate
}

// checkAllDone makes sure that every key of a ledger was claimed once and is done.
func checkAllDone(t *testing.T, file string) {
	t.Helper()
	s, err := ledger.Open(t.Context(), file, ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	n, after := 0, ""
	for {
		const page = 1000
		es, err := s.Keys().List(t.Context(), key.Filter{After: after, Limit: page})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range es {
			if e.State != key.Done || e.Claims != 1 {
				t.Errorf("%s: %s is %s after %d claims", file, e.Key, e.State, e.Claims)
			}
		}
		n += len(es)
		if len(es) < page {
			break
		}
		after = es[page-1].Key
	}
	t.Logf("%s: %d keys, each claimed once and done", filepath.Base(file), n)
}
