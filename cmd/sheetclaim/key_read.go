package main

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/sheetclaim/sheetclaim/api"
	"github.com/sheetclaim/sheetclaim/internal/key"
	"github.com/sheetclaim/sheetclaim/internal/ledger"
)

type keyShowCmd struct {
	Key string `arg:"" help:"The key."`
}

// Run shows one key.
func (c *keyShowCmd) Run(ctx context.Context, m *Main, opts *keyCLI) error {
	name, err := key.Clean(c.Key)
	if err != nil {
		return err
	}
	return m.withKeys(ctx, opts, func(keys *ledger.Keys) error {
		e, events, err := keys.Find(ctx, name)
		if errors.Is(err, key.ErrNoKey) {
			return key.ErrNoKey
		}
		if err != nil {
			return err
		}
		doc := api.ViewKey(e, events)
		if opts.Key.JSON {
			return m.print(opts, doc)
		}
		fmt.Fprintf(m.Stdout, "%s  %s\n  %s\n", plain(doc.Key), doc.State, plain(doc.Detail))
		for _, line := range [][2]string{{"note", doc.Note}, {"why", doc.Why}, {"result", string(doc.Result)}} {
			if line[1] != "" {
				fmt.Fprintf(m.Stdout, "  %s: %s\n", line[0], plain(line[1]))
			}
		}
		for _, event := range doc.Events {
			fmt.Fprintf(m.Stdout, "  %s  %s: %s\n", event.At.Local().Format(time.RFC3339), plain(event.Who), plain(event.Text))
		}
		return nil
	})
}

type keyListCmd struct {
	State  string `help:"Only keys in this state: claimed, done, released or unknown." enum:",claimed,done,released,unknown" default:""`
	Prefix string `help:"Only keys that begin with this." placeholder:"TEXT"`
	After  string `help:"Go on after this key." placeholder:"KEY"`
	Limit  int    `help:"At most so many." default:"100"`
}

// Run lists keys in their order.
func (c *keyListCmd) Run(ctx context.Context, m *Main, opts *keyCLI) error {
	if c.Limit < 1 {
		return errors.New("--limit must be at least 1")
	}
	f := key.Filter{State: key.State(c.State), Prefix: c.Prefix, After: c.After, Limit: c.Limit}
	return m.withKeys(ctx, opts, func(keys *ledger.Keys) error {
		entries, err := keys.List(ctx, f)
		if err != nil {
			return err
		}
		list := api.ListKeys(entries, c.Limit)
		if opts.Key.JSON {
			return m.print(opts, list)
		}
		w := tabwriter.NewWriter(m.Stdout, 2, 8, 2, ' ', 0)
		for _, v := range list.Keys {
			fmt.Fprintf(w, "%s\t%s\t%s\n", plain(v.Key), v.State, plain(v.Detail))
		}
		if list.Next != "" {
			fmt.Fprintf(m.Stderr, "There may be more: --after %s\n", quoted(list.Next))
		}
		return w.Flush()
	})
}

type keyPruneCmd struct {
	Days   int  `arg:"" help:"How many days ago a key must have ended."`
	DryRun bool `help:"Only count them."`
	Force  bool `help:"Also when nearly every key that has ended is that old."`
}

// Run forgets old keys.
func (c *keyPruneCmd) Run(ctx context.Context, m *Main, opts *keyCLI) error {
	p := key.Prune{Days: c.Days, Count: c.DryRun, Force: c.Force}
	if err := p.Check(); err != nil {
		return err
	}
	return m.withKeys(ctx, opts, func(keys *ledger.Keys) error {
		n, err := keys.Prune(ctx, p)
		var greedy *key.GreedyError
		if errors.As(err, &greedy) {
			return fmt.Errorf("%w with --force", err)
		}
		if err != nil {
			return err
		}
		doc := api.PrunedKeys{Days: c.Days, Old: n, Removed: n}
		if c.DryRun {
			doc.Removed = 0
		}
		if opts.Key.JSON {
			return m.print(opts, doc)
		}
		fmt.Fprintf(m.Stdout, "%d keys ended %d or more days ago, %d were removed\n", doc.Old, doc.Days, doc.Removed)
		return nil
	})
}
