package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// rounds is how often each race of real processes is run: a few times by default,
// SHEETCLAIM_ROUNDS times when that is set (make rounds).
func rounds(t *testing.T) int {
	t.Helper()
	text := os.Getenv("SHEETCLAIM_ROUNDS")
	if text == "" {
		return 2
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// process is a run in a process of its own.
type process struct {
	cmd      *exec.Cmd
	out, err bytes.Buffer
}

func startRun(t *testing.T, config, id string) *process {
	t.Helper()
	p := &process{cmd: exec.Command("sheetclaim", "--config", config, "run", "--json", "--run-id", id)}
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.err
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return p
}

// wait answers the document and the exit status.
func (p *process) wait(t *testing.T) (d claim.Document, code int) {
	t.Helper()
	err := p.cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(p.out.Bytes(), &d); err != nil {
		t.Errorf("exit %d, no document: %v\n%s", code, err, p.err.String())
	}
	return d, code
}

// Three processes at once, with one ledger and with a ledger each: one message per
// row every time.
func TestThreeProcesses(t *testing.T) {
	t.Parallel()
	const rows = 5
	for name, ledgers := range map[string][]string{
		"one ledger": {"one", "one", "one"}, "a ledger each": {"a", "b", "c"},
	} {
		for round := range rounds(t) {
			t.Run(fmt.Sprintf("%s/%d", name, round), func(t *testing.T) {
				t.Parallel()
				s := newStage(t, dueRows(rows))
				ps := make([]*process, len(ledgers))
				for i, l := range ledgers {
					ps[i] = startRun(t, s.config(l), fmt.Sprintf("p%d", i))
				}
				var leftover int
				for _, p := range ps {
					d, code := p.wait(t)
					if code != exitOK && code != exitSome {
						t.Errorf("exit %d: %s", code, d.Detail)
					}
					if len(d.Doubts) > 0 {
						t.Logf("round %d of %s: run %s stopped on %s", round, name, d.RunID, d.Doubts[0].Kind)
						leftover++
					}
				}
				if leftover > 0 { // a slow machine may make a run give back; the next one sends
					s.runJSON(s.config(ledgers[0]))
				}
				s.wantOneEach(rows)
			})
		}
	}
}
