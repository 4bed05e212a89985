package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/sheetclaim/sheetclaim/api"
	"github.com/sheetclaim/sheetclaim/internal/job"
	"github.com/sheetclaim/sheetclaim/internal/key"
	"github.com/sheetclaim/sheetclaim/internal/ledger"
)

// keyCmd is the ledger for any action.
type keyCmd struct {
	ledgerFlag

	Claim   keyClaimCmd   `cmd:"" help:"Claim a key, and print the token."`
	Done    keyDoneCmd    `cmd:"" help:"Say that it was carried out: nobody gets the key again."`
	Release keyReleaseCmd `cmd:"" help:"Say that it was not carried out: the next may have the key."`
	Renew   keyRenewCmd   `cmd:"" help:"Make the lease of a claim begin anew."`
	Show    keyShowCmd    `cmd:"" help:"Show one key and what happened to it."`
	List    keyListCmd    `cmd:"" help:"List keys."`
	Prune   keyPruneCmd   `cmd:"" help:"Forget keys that were done or released long ago."`
}

// Help is the long help of key.
func (keyCmd) Help() string {
	return `Claim a key before you act, and say how it ended:

  token=$(sheetclaim key claim stripe:evt_1) || exit
  book-it && sheetclaim key done stripe:evt_1 $token || sheetclaim key release stripe:evt_1 $token

Exit status: 0 you own the key, or what you said was taken; 1 it is done or somebody is
on it, or your claim is no longer the key's; 2 an error. A blank key is an error.`
}

// ledgerFlag names the ledger of commands that need nothing else.
type ledgerFlag struct {
	Ledger string `help:"The ledger, in place of the one that the configuration names." env:"SHEETCLAIM_LEDGER" placeholder:"sqlite:FILE"`
	JSON   bool   `name:"json" help:"Print one JSON document on stdout, alone."`
}

// openKeys opens the ledger alone.
func (m *Main) openKeys(ctx context.Context, opts *keyCLI, name string) (*ledger.DB, error) {
	if name == "" {
		if _, err := os.Stat(opts.Config); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("there is no configuration file %s: name one with --config, or the ledger alone with --ledger sqlite:keys.db or SHEETCLAIM_LEDGER", opts.Config)
		}
		secret, err := job.Ledger(opts.Config, m.Env)
		if err != nil {
			return nil, err
		}
		name = secret.Reveal()
	}
	return ledger.OpenURL(ctx, name, ledger.Options{})
}

// withKeys opens the ledger for one command.
func (m *Main) withKeys(ctx context.Context, opts *keyCLI, do func(*ledger.Keys) error) (err error) {
	l, err := m.openKeys(ctx, opts, opts.Key.Ledger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	return keyStatus(do(l.Keys()))
}

// keyStatus gives refusals their exit status.
func keyStatus(err error) error {
	if errors.Is(err, key.ErrStale) || errors.Is(err, key.ErrEnded) || errors.Is(err, key.ErrNotUnknown) {
		return &statusError{code: exitSome, text: err.Error()}
	}
	return err
}

// print writes a document with --json, and nothing otherwise.
func (m *Main) print(opts *keyCLI, doc any) error {
	if !opts.Key.JSON {
		return nil
	}
	enc := json.NewEncoder(m.Stdout)
	enc.SetEscapeHTML(false)
	return enc.Encode(doc)
}

// days is a duration that may be written with d, for 24 hours.
type days time.Duration

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *days) UnmarshalText(text []byte) error {
	v, err := job.ParseDuration(string(text))
	*d = days(v)
	return err
}

// claimFlags are what a claim can say.
type claimFlags struct {
	Lease    days   `help:"How long the claim holds without a word from its owner." default:"15m" placeholder:"15m"`
	Takeover string `help:"What becomes of the claim when its lease ends without a word: expired, the next claim gets the key; never, a person decides." enum:"never,expired" default:"${takeover}"`
	Owner    string `help:"Who claims, for people; user, host and process when left out." placeholder:"TEXT"`
	Note     string `help:"What for, for people." placeholder:"TEXT"`

	RequestID string `name:"request-id" help:"Names this request, the same in each try of it and never in another: a try after the answer was lost gets its claim again." placeholder:"ID"`
}

// claim makes the request for a key.
func (f claimFlags) claim(m *Main, name string) (key.Claim, error) {
	if f.Lease == 0 {
		return key.Claim{}, errors.New("--lease must be longer than 0")
	}
	return key.Claim{
		Key: name, Lease: time.Duration(f.Lease), Takeover: key.Takeover(f.Takeover), Owner: cmp.Or(f.Owner, m.process()), Note: f.Note,
		RequestID: f.RequestID,
	}.Checked()
}

// process names this process for people.
func (m *Main) process() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	return fmt.Sprintf("%s@%s/%d", m.user(), host, os.Getpid())
}

type keyClaimCmd struct {
	Key string `arg:"" help:"The key: where it comes from and the id of the event, like stripe:evt_1."`
	claimFlags
}

// Run claims a key. The token is alone on stdout.
func (c *keyClaimCmd) Run(ctx context.Context, m *Main, opts *keyCLI) error {
	want, err := c.claim(m, c.Key)
	if err != nil {
		return err
	}
	return m.withKeys(ctx, opts, func(keys *ledger.Keys) error {
		a, err := keys.Claim(ctx, want)
		if err != nil {
			return err
		}
		doc := api.ViewClaim(a)
		err = m.print(opts, doc)
		if !a.Won && err == nil {
			return &statusError{code: exitSome, text: plain(doc.Key + ": " + doc.Detail)}
		}
		if a.TookOver || a.Repeated {
			fmt.Fprintln(m.Stderr, "sheetclaim: "+doc.Detail)
		}
		if !opts.Key.JSON {
			_, err = fmt.Fprintln(m.Stdout, a.Token)
		}
		if err != nil && a.Won && !a.Repeated { // then the token may have been printed before
			return m.takeBack(ctx, keys, a, err)
		}
		return err
	})
}

// takeBack releases a claim whose token nobody got: nobody could end it.
func (m *Main) takeBack(ctx context.Context, keys *ledger.Keys, a key.Answer, cause error) error {
	err := keys.End(ctx, key.End{Key: a.Key, Token: a.Token, State: key.Released, Who: "cli:" + m.user(), Why: "its token could not be printed"})
	if err != nil {
		return fmt.Errorf("the token could not be printed (%w), and the claim could not be taken back: %w", cause, err)
	}
	return fmt.Errorf("the token could not be printed, so the claim was taken back: %w", cause)
}

// keyEnd is what done and release have in common.
type keyEnd struct {
	Key   string `arg:"" help:"The key."`
	Token string `arg:"" optional:"" help:"What claim printed; left out, you settle a key that is unknown."`
	Why   string `help:"What you saw; kept with the key. Needed without a token." placeholder:"TEXT"`
}

func (c keyEnd) say(ctx context.Context, m *Main, opts *keyCLI, e key.End) error {
	e.Key, e.Token, e.Who, e.Why = c.Key, c.Token, "cli:"+m.user(), c.Why
	e, err := e.Checked()
	if err != nil {
		return err
	}
	return m.withKeys(ctx, opts, func(keys *ledger.Keys) error {
		if err := keys.End(ctx, e); err != nil {
			return err
		}
		return m.print(opts, api.EndedKey{Key: e.Key, State: e.State})
	})
}

type keyDoneCmd struct {
	keyEnd
	Result string `help:"What the next who asks for this key is told: JSON, or else a text." placeholder:"TEXT"`
}

// Run ends a claim as done.
func (c *keyDoneCmd) Run(ctx context.Context, m *Main, opts *keyCLI) error {
	e := key.End{State: key.Done}
	if c.Result != "" {
		e.Result = asResult(c.Result)
	}
	return c.say(ctx, m, opts, e)
}

// asResult is a result as JSON.
func asResult(text string) json.RawMessage {
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	quoted, err := json.Marshal(text)
	if err != nil {
		return nil // a string can always be marshalled
	}
	return quoted
}

type keyReleaseCmd struct {
	keyEnd
	Unknown bool `help:"You cannot tell whether it was carried out: nobody gets the key until a person has looked."`
}

// Run ends a claim as released, or as unknown.
func (c *keyReleaseCmd) Run(ctx context.Context, m *Main, opts *keyCLI) error {
	e := key.End{State: key.Released}
	if c.Unknown {
		e.State = key.Unknown
	}
	return c.say(ctx, m, opts, e)
}

type keyRenewCmd struct {
	Key   string `arg:"" help:"The key."`
	Token string `arg:"" help:"What claim printed."`
	Lease days   `help:"How long the claim holds from now on." default:"15m" placeholder:"15m"`
}

// Run renews a claim.
func (c *keyRenewCmd) Run(ctx context.Context, m *Main, opts *keyCLI) error {
	r, err := key.Renewal{Key: c.Key, Token: c.Token, Lease: time.Duration(c.Lease)}.Checked()
	if err != nil {
		return err
	}
	return m.withKeys(ctx, opts, func(keys *ledger.Keys) error {
		until, err := keys.Renew(ctx, r)
		if err != nil {
			return err
		}
		return m.print(opts, api.EndedKey{Key: r.Key, State: key.Claimed, LeaseUntil: until.UTC()})
	})
}
