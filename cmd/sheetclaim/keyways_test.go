//go:build unix

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sheetclaim/sheetclaim/api"
	"github.com/sheetclaim/sheetclaim/internal/key"
	"github.com/sheetclaim/sheetclaim/internal/ledger"
)

// keyWay is a way to claim keys that nobody else can know, and to say that they are
// done.
type keyWay interface {
	claim(ctx context.Context, name string) (token string, err error)
	done(ctx context.Context, name, token string) error
}

// errTaken says that a key that nobody else can know was not won.
var errTaken = errors.New("somebody else has it")

// won answers the token of a claim that must be won.
func won(name, token string, err error) (string, error) {
	if err != nil || token == "" {
		return "", fmt.Errorf("%s was not won: %w", name, cmp.Or(err, errTaken))
	}
	return token, nil
}

// inProcess asks the ledger itself.
type inProcess struct{ keys *ledger.Keys }

func (w inProcess) claim(ctx context.Context, name string) (string, error) {
	c, err := key.Claim{Key: name, Owner: "bench"}.Checked()
	if err != nil {
		return "", err
	}
	a, err := w.keys.Claim(ctx, c)
	return won(name, a.Token, err)
}

func (w inProcess) done(ctx context.Context, name, token string) error {
	return w.keys.End(ctx, key.End{Key: name, Token: token, State: key.Done})
}

// overHTTP asks a service.
type overHTTP struct{ *deliverer }

func (w overHTTP) claim(_ context.Context, name string) (string, error) {
	var got api.ClaimedKey
	err := w.post("claim", map[string]string{"key": name}, &got)
	return won(name, got.Token, err)
}

func (w overHTTP) done(_ context.Context, name, token string) error {
	return w.post("done", map[string]string{"key": name, "token": token}, &api.EndedKey{})
}

// byCommand runs the built program.
type byCommand struct{ program, ledger string }

func (w byCommand) run(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, w.program, append([]string{"key"}, args...)...)
	cmd.Env = append(os.Environ(), "SHEETCLAIM_LEDGER="+w.ledger)
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
}

func (w byCommand) claim(ctx context.Context, name string) (string, error) {
	token, err := w.run(ctx, "claim", name)
	return won(name, token, err)
}

func (w byCommand) done(ctx context.Context, name, token string) error {
	_, err := w.run(ctx, "done", name, token)
	return err
}

// rival is the script that the key ledger is measured against.
const rival = "../../testdata/origins/keyledger.py"

// byScript runs it; it has no tokens.
type byScript struct{ file string }

func (w byScript) claim(ctx context.Context, name string) (string, error) {
	return "none", exec.CommandContext(ctx, "python3", rival, w.file, "claim", name).Run()
}

func (w byScript) done(ctx context.Context, name, _ string) error {
	return exec.CommandContext(ctx, "python3", rival, w.file, "done", name).Run()
}

// rivalRate lets the script measure itself on a new file: pairs a second, and how long
// each claim took.
func rivalRate(t *testing.T, dir string, pairs, processes int) (rate float64, took []time.Duration) {
	t.Helper()
	file := fmt.Sprintf("%s/rival%d.db", dir, made.Add(1))
	out, err := exec.CommandContext(t.Context(), "python3", rival, file, "bench", strconv.Itoa(pairs), strconv.Itoa(processes)).Output()
	if err != nil {
		t.Fatal(err)
	}
	for i, word := range strings.Fields(string(out)) {
		v, err := strconv.ParseFloat(word, 64)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			rate = v
		} else {
			took = append(took, time.Duration(v*float64(time.Second)))
		}
	}
	return rate, took
}

// checkAllDone makes sure that every key of a ledger was claimed once and is done.
func checkAllDone(t *testing.T, name string) {
	t.Helper()
	s, err := ledger.OpenURL(t.Context(), name, ledger.Options{})
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
				t.Errorf("%s is %s after %d claims", e.Key, e.State, e.Claims)
			}
		}
		n += len(es)
		if len(es) < page {
			break
		}
		after = es[page-1].Key
	}
	t.Logf("%d keys, each claimed once and done", n)
}
