//go:build unix

package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/pgtest"
)

// The tests of the guides that the key ledger comes from: quick here, in full with
// make origins, which prints the tables of docs/KEYS.md.

// inFull reports whether the tests of the guides run as they were published.
func inFull() bool { return os.Getenv("SHEETCLAIM_ORIGINS") != "" }

// deliveries are events as senders deliver them: of ten about seven come once, 2.5
// twice and 0.5 three times. In full they are 500 events in 678 deliveries. Copies
// come back to back, or scattered.
func deliveries(full, scattered bool) (events int, queue []string) {
	once, twice, thrice := 42, 15, 3
	if full {
		once, twice, thrice = 347, 128, 25
	}
	copies := []int{}
	for i, n := range []int{once, twice, thrice} {
		for range n {
			copies = append(copies, i+1)
		}
	}
	dice := rand.New(rand.NewPCG(1, 2)) // the same order each time
	dice.Shuffle(len(copies), func(i, j int) { copies[i], copies[j] = copies[j], copies[i] })
	for event, n := range copies {
		for range n {
			queue = append(queue, fmt.Sprintf("stripe:evt_%d", event))
		}
	}
	if scattered {
		dice.Shuffle(len(queue), func(i, j int) { queue[i], queue[j] = queue[j], queue[i] })
	}
	return len(copies), queue
}

// tally is what became of the deliveries.
type tally struct {
	Won, Refused     int // as the workers were told
	Duplicates, Lost int // as the effects show
	Took             time.Duration
}

// deliver hands deliveries to eight worker processes, each to the first that is free,
// and counts what they did.
func deliver(t *testing.T, way, ledger string, queue []string, events int) (sum tally) {
	t.Helper()
	const workers = 8
	dir := t.TempDir()
	next := make(chan string)
	var all sync.WaitGroup
	var mu sync.Mutex
	began := time.Now()
	for range workers {
		w := startWorker(t, way, ledger, dir)
		all.Go(func() {
			for event := range next {
				answer := w.handle(event)
				mu.Lock()
				switch answer {
				case "won":
					sum.Won++
				case "refused":
					sum.Refused++
				default:
					t.Errorf("%s answered %q", event, answer)
				}
				mu.Unlock()
			}
			w.stop(t)
		})
	}
	for _, event := range queue {
		next <- event
	}
	close(next)
	all.Wait()
	sum.Took = time.Since(began)
	acted := map[string]int{}
	for line := range strings.FieldsSeq(fileText(t, filepath.Join(dir, "effects"))) {
		acted[line]++
		if acted[line] > 1 {
			sum.Duplicates++
		}
	}
	sum.Lost = events - len(acted)
	return sum
}

func fileText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// worker is a process that handles one delivery after the other.
type worker struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func startWorker(t *testing.T, way, ledger, dir string) *worker {
	t.Helper()
	w := &worker{cmd: exec.Command("delivery-worker", way, ledger, dir)}
	w.cmd.Stderr = os.Stderr
	var err error
	if w.in, err = w.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	w.out = bufio.NewReader(out)
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *worker) handle(event string) string {
	fmt.Fprintln(w.in, event)
	answer, err := w.out.ReadString('\n')
	return cmp.Or(strings.TrimSpace(answer), fmt.Sprint(err))
}

func (w *worker) stop(t *testing.T) {
	w.in.Close()
	if err := w.cmd.Wait(); err != nil {
		t.Errorf("a worker: %v", err)
	}
}

// serveKeys starts the built service on a ledger, and answers its address.
func serveKeys(t *testing.T, ledger string) string {
	t.Helper()
	dir := t.TempDir()
	config := filepath.Join(dir, "sheetclaim.yaml")
	text := fmt.Sprintf(`ledger: %q
google: {endpoint: "http://127.0.0.1:1"}
smtp: {host: 127.0.0.1, port: 1, tls: none, from: hello@example.com}
api: {listen: "127.0.0.1:0"}
jobs:
  idle: {spreadsheet: S1, range: "Visits!A1:H", columns: {key: k, email: e, status: s}, message: {subject: Hello, text: Hello}}
`, ledger)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := newProgram(nil)
	ready := make(chan string, 1)
	p.Ready = func(addrs map[string]string) { ready <- addrs["api"] }
	ended := make(chan int, 1)
	ctx, stop := context.WithCancel(context.Background())
	go func() { ended <- p.Run(ctx, []string{"--config", config, "--log-level", "error", "serve"}) }()
	t.Cleanup(func() { stop(); <-ended })
	select {
	case address := <-ready:
		return address
	case code := <-ended:
		ended <- code
		t.Fatalf("serve ended with %d: %s", code, p.err.String())
	}
	return ""
}

// place is where a ledger can be kept.
type place struct {
	name string
	open func(t *testing.T) string // answers what names it
}

// engines are the places in which a way is tried: a file, and Postgres too, by command
// only in the full test.
func engines(t *testing.T, way string) []place {
	t.Helper()
	places := []place{{"SQLite", func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "keys.db") }}}
	if way == "HTTP" || inFull() && (way == "once" || way == "key claim and done") {
		places = append(places, place{"Postgres", func(t *testing.T) string { return pgtest.Address(t) }})
	}
	return places
}

// LG01, and the first table of the guide: 0 duplicates and 0 lost through the ledger,
// and what the usual ways let through.
func TestLG01Deliveries(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		way   string
		leaky bool // lets duplicates through when copies come back to back
		net   bool // spoken to over HTTP
	}{
		{"no check", true, false},
		{"look up first", true, false},
		{"unique column", false, false},
		{"key claim and done", false, false},
		{"once", false, false},
		{"HTTP", false, true},
	} {
		t.Run(tt.way, func(t *testing.T) {
			if tt.way != "no check" && tt.way != "look up first" && tt.way != "unique column" {
				t.Parallel()
			}
			for _, engine := range engines(t, tt.way) {
				for _, scattered := range []bool{false, true} {
					ledger := engine.open(t)
					if tt.net {
						ledger = serveKeys(t, ledger)
					}
					events, queue := deliveries(inFull(), scattered)
					got := deliver(t, tt.way, ledger, queue, events)
					order := map[bool]string{false: "back to back", true: "scattered"}[scattered]
					t.Logf("| %s | %s | %s | %d | %d | %d | %.1f s |", tt.way, engine.name, order, got.Won, got.Duplicates, got.Lost, got.Took.Seconds())
					if got.Lost != 0 {
						t.Errorf("%s: %d events were lost", order, got.Lost)
					}
					leaks := tt.leaky && !scattered
					if got.Duplicates > 0 != leaks && (leaks || !tt.leaky) {
						t.Errorf("%s: %d duplicates", order, got.Duplicates)
					}
					if !tt.leaky && (got.Won != events || got.Refused != len(queue)-events) {
						t.Errorf("%s: %d won and %d refused, of %d deliveries of %d events", order, got.Won, got.Refused, len(queue), events)
					}
				}
			}
		})
	}
}
