package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/sheetclaim/sheetclaim/api"
	"github.com/sheetclaim/sheetclaim/internal/key"
	"github.com/sheetclaim/sheetclaim/internal/ledger"
)

// Exit statuses of once beside the command's own.
const (
	exitBusy = 75  // EX_TEMPFAIL of sysexits.h: somebody is on it, or nobody knows how it went
	exitOwn  = 125 // an error of once itself, as with env and timeout
)

type onceCmd struct {
	Key              string   `arg:"" help:"The key: where it comes from and an id, like invoice:2026-117."`
	Command          []string `arg:"" passthrough:"" help:"The command and its arguments, after --."`
	Lease            days     `help:"How long the claim holds when this process dies; it is renewed while the command runs." default:"15m" placeholder:"15m"`
	Takeover         string   `help:"What becomes of the key when this process dies: never, a person decides; expired, the next one runs the command again." enum:"never,expired" default:"never"`
	UnknownOnFailure bool     `help:"A command that fails may have acted all the same: nobody gets the key until a person has looked."`
	Owner            string   `help:"Who claims, for people; user, host and process when left out." placeholder:"TEXT"`
	Note             string   `help:"What for, for people; the command when left out." placeholder:"TEXT"`
	Ledger           string   `help:"The ledger, in place of the one that the configuration names." env:"SHEETCLAIM_LEDGER" placeholder:"sqlite:FILE"`
}

// Help is the long help of once.
func (onceCmd) Help() string {
	return `Runs the command if nobody has the key, and writes down how it ended: exit status 0 is
done, any other releases the key for the next (or makes it unknown, with
--unknown-on-failure). Signals are passed on to the command; its input and output are its
own.

Exit status: the command's own when it ran, 128 and the signal's number when a signal
ended it; 0 when it was done before; 75 when somebody is on it, or nobody knows how it
went; 125 an error of once itself.`
}

// Run runs a command at most once per key.
func (c *onceCmd) Run(ctx context.Context, m *Main, opts *keyCLI) error {
	err := c.run(ctx, m, opts)
	var end *statusError
	if err == nil || errors.As(err, &end) {
		return err
	}
	return &statusError{code: exitOwn, text: err.Error()}
}

func (c *onceCmd) run(ctx context.Context, m *Main, opts *keyCLI) (err error) {
	command := c.Command
	if len(command) > 0 && command[0] == "--" {
		command = command[1:]
	}
	if len(command) == 0 {
		return errors.New("expected a command after the key and --, found none")
	}
	flags := claimFlags{Lease: c.Lease, Takeover: c.Takeover, Owner: c.Owner, Note: cmp.Or(c.Note, shorten(strings.Join(command, " ")))}
	want, err := flags.claim(m, c.Key)
	if err != nil {
		return err
	}
	l, err := m.openKeys(ctx, opts, c.Ledger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	keys := l.Keys()
	a, err := keys.Claim(ctx, want)
	switch {
	case err != nil:
		return err
	case a.State == key.Done:
		return nil
	case !a.Won:
		return &statusError{code: exitBusy, text: plain(a.Key + ": " + api.ViewClaim(a).Detail)}
	}
	if err := ctx.Err(); err != nil { // a signal came before there was a command to pass it on to
		return errors.Join(err, keys.End(context.WithoutCancel(ctx), key.End{Key: a.Key, Token: a.Token, State: key.Released}))
	}
	return c.carryOut(ctx, m, keys, claimed{Answer: a, lease: want.Lease}, command)
}

// shorten keeps a command line that becomes a note within bounds.
func shorten(s string) string {
	const most = 200
	s = plain(strings.ToValidUTF8(s, "?"))
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

// claimed is a claim that this process holds.
type claimed struct {
	key.Answer
	lease time.Duration
}

// carryOut runs the command under a claim and writes down how it ended.
func (c *onceCmd) carryOut(ctx context.Context, m *Main, keys *ledger.Keys, mine claimed, command []string) error {
	// A signal is the command's to answer, until its end is written down.
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, passedOn()...)
	defer signal.Stop(signals)
	m.ignore()
	asked := ctx.Err() != nil
	ctx = context.WithoutCancel(ctx)
	end := key.End{Key: mine.Key, Token: mine.Token, State: key.Done}
	code, failure := 0, errors.New("asked to stop before the command was started")
	if !asked {
		code, failure = c.start(ctx, m, keys, mine, command, signals)
	}
	switch {
	case failure != nil: // it never ran
		end.State, end.Why = key.Released, failure.Error()
	case code != 0 && c.UnknownOnFailure:
		end.State, end.Why = key.Unknown, fmt.Sprintf("the command ended with status %d", code)
	case code != 0:
		end.State, end.Why = key.Released, fmt.Sprintf("the command ended with status %d", code)
	}
	if err := keys.End(ctx, end); err != nil {
		return errors.Join(failure, fmt.Errorf("the command ended with status %d, and that the key %s is %s could not be written down: %w", code, mine.Key, end.State, err))
	}
	if failure != nil {
		return failure
	}
	if code != 0 {
		return &statusError{code: code}
	}
	return nil
}

// start runs the command to its end, passes signals on and keeps the claim alive. An
// error says that it could not be started.
func (c *onceCmd) start(ctx context.Context, m *Main, keys *ledger.Keys, mine claimed, command []string, signals <-chan os.Signal) (int, error) {
	//nolint:gosec // running the caller's command is what this is for
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = m.Stdin, m.Stdout, m.Stderr
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("the command cannot be started: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	alive := time.NewTicker(max(mine.lease/3, time.Millisecond))
	defer alive.Stop()
	for {
		select {
		case sig := <-signals:
			if !fromKeyboard(sig) {
				_ = cmd.Process.Signal(sig) // it may have ended in this moment
			}
		case <-alive.C:
			if _, err := keys.Renew(ctx, key.Renewal{Key: mine.Key, Token: mine.Token, Lease: mine.lease}); err != nil {
				fmt.Fprintf(m.Stderr, "sheetclaim: the claim of %s could not be renewed: %v\n", plain(mine.Key), err)
			}
		case err := <-ended:
			return statusOf(cmd.ProcessState, err), nil
		}
	}
}

// statusOf is the exit status of a command, as shells have it.
func statusOf(state *os.ProcessState, err error) int {
	if state == nil {
		return exitOwn
	}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return signalled(status.Signal())
	}
	if code := state.ExitCode(); code != 0 || err == nil {
		return code
	}
	return exitOwn // it ended well, and copying its output did not
}
