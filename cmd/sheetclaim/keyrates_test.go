//go:build unix

package main

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/ledger"
	"github.com/sheetclaim/sheetclaim/internal/pgtest"
)

// TestKeyRates measures claim-and-done pairs a second, and how long a claim takes,
// beside the script of the guide: all on disk before they answer, in turns on the same
// machine (make bench). Every pair must have been won, and every key be done in the end.
func TestKeyRates(t *testing.T) {
	if os.Getenv("SHEETCLAIM_BENCH") == "" {
		t.Skip("a measurement: make bench")
	}
	dir := t.TempDir()
	http.DefaultTransport.(*http.Transport).MaxIdleConnsPerHost = 64
	measures := []*measure{
		{name: "script, in process", callers: 1, pairs: 1000, whole: dir},
		{name: "script, in process", callers: 8, pairs: 1000, whole: dir},
		{name: "script, command", callers: 1, pairs: 10, way: byScript{dir + "/script.db"}},
		{name: "script, command", callers: 8, pairs: 40, way: byScript{dir + "/script.db"}},
	}
	program := buildProgram(t, dir)
	var ledgers []string
	for _, engine := range []struct {
		name string
		open func() string
	}{
		{"SQLite", func() string { return fmt.Sprintf("sqlite:%s/%d.db", dir, made.Add(1)) }},
		{"Postgres", durablePostgres(t)},
	} {
		own, served, commands := engine.open(), engine.open(), engine.open()
		ledgers = append(ledgers, own, served, commands)
		s, err := ledger.OpenURL(t.Context(), own, ledger.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		process, net := inProcess{s.Keys()}, overHTTP{&deliverer{ledger: serveKeys(t, served)}}
		command := byCommand{program, commands}
		in, over, by := engine.name+", in process", engine.name+", HTTP", engine.name+", command"
		measures = append(
			measures,
			&measure{name: in, callers: 1, pairs: 1000, way: process, against: measures[0]},
			&measure{name: in, callers: 8, pairs: 4000, way: process, against: measures[0]},
			&measure{name: in, callers: 64, pairs: 15000, way: process, against: measures[0]},
			&measure{name: over, callers: 1, pairs: 500, way: net, against: measures[0]},
			&measure{name: over, callers: 8, pairs: 2000, way: net, against: measures[0]},
			&measure{name: over, callers: 64, pairs: 5000, way: net, against: measures[0]},
			&measure{name: by, callers: 1, pairs: 40, way: command, against: measures[2]},
			&measure{name: by, callers: 8, pairs: 80, way: command, against: measures[3]},
		)
	}
	const rounds = 3
	for range rounds {
		for _, m := range measures {
			m.run(t)
		}
	}
	t.Log("| claim and done | callers | pairs a second | times the script | a claim: median | 99 % |")
	t.Log("|---|---|---|---|---|---|")
	for _, m := range measures {
		t.Log(m)
	}
	for _, name := range ledgers {
		checkAllDone(t, name)
	}
}

// measure is one way to claim keys and say that they are done, by so many callers at
// once.
type measure struct {
	name    string
	callers int
	pairs   int // in one round
	way     keyWay
	whole   string   // the folder of a script that measures itself; "": way counts
	against *measure // that it is compared with; nil: none

	done, seconds float64
	took          []time.Duration // by each claim
}

// made counts what has to have a name of its own: keys, files.
var made atomic.Int64

func (m *measure) rate() float64 { return m.done / m.seconds }

// String is the measure's line of the table.
func (m *measure) String() string {
	times := ""
	if m.against != nil {
		times = fmt.Sprintf("%.1f", m.rate()/m.against.rate())
	}
	return fmt.Sprintf("| %s | %d | %.0f | %s | %s | %s |", m.name, m.callers, m.rate(), times, share(m.took, 50), share(m.took, 99))
}

func (m *measure) run(t *testing.T) {
	t.Helper()
	m.done += float64(m.pairs)
	if m.whole != "" {
		rate, took := rivalRate(t, m.whole, m.pairs, m.callers)
		m.seconds += float64(m.pairs) / rate
		m.took = append(m.took, took...)
		return
	}
	var left atomic.Int64
	left.Store(int64(m.pairs))
	took := make([][]time.Duration, m.callers)
	var all sync.WaitGroup
	began := time.Now()
	for i := range m.callers {
		all.Go(func() {
			for left.Add(-1) >= 0 {
				name, began := fmt.Sprintf("stripe:evt_%d", made.Add(1)), time.Now()
				token, err := m.way.claim(t.Context(), name)
				took[i] = append(took[i], time.Since(began))
				if err == nil {
					err = m.way.done(t.Context(), name, token)
				}
				if err != nil {
					t.Errorf("%s: %v", m.name, err)
					return
				}
			}
		})
	}
	all.Wait()
	m.seconds += time.Since(began).Seconds()
	m.took = append(m.took, slices.Concat(took...)...)
}

// buildProgram builds the program as it is released.
func buildProgram(t *testing.T, dir string) string {
	t.Helper()
	built := filepath.Join(dir, "sheetclaim")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", built, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return built
}

// durablePostgres starts a server that waits for its disk, and answers what makes an
// empty ledger there.
func durablePostgres(t *testing.T) func() string {
	t.Helper()
	server, err := pgtest.Start("fsync=on")
	pgtest.Need(t, err)
	return func() string {
		return pgtest.With(server.Address(), "search_path", fmt.Sprintf("ledger_%d", made.Add(1)))
	}
}
