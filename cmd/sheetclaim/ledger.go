package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/sheetclaim/sheetclaim/internal/job"
	"github.com/sheetclaim/sheetclaim/internal/ledger"
)

type ledgerCmd struct {
	Migrate ledgerMigrateCmd `cmd:"" help:"Bring the ledger's tables up to date, as any start does: for a user of the database who may."`
	Export  ledgerExportCmd  `cmd:"" help:"Write all that the ledger knows as lines of JSON."`
	Import  ledgerImportCmd  `cmd:"" help:"Fill an empty ledger with what export wrote."`
}

// onLedger opens the configured ledger for f.
func (m *Main) onLedger(ctx context.Context, config string, f func(*ledger.DB) error) (err error) {
	cfg, err := job.Load(config, m.Env)
	if err != nil {
		return err
	}
	l, err := ledger.OpenURL(ctx, cfg.Ledger.Reveal(), ledger.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	return f(l)
}

type ledgerMigrateCmd struct{}

// Run says which version the schema has now; opening made it the newest.
func (c *ledgerMigrateCmd) Run(ctx context.Context, m *Main, opts *cli) error {
	return m.onLedger(ctx, opts.Config, func(l *ledger.DB) error {
		n, err := l.Schema(ctx)
		if err != nil {
			return err
		}
		id, err := l.ID(ctx)
		fmt.Fprintf(m.Stdout, "ledger %s is up to date: schema %d\n", id, n)
		return err
	})
}

type ledgerExportCmd struct {
	File string `arg:"" optional:"" default:"-" help:"Where to; standard output when left out or -. A file must not exist." placeholder:"FILE"`
	Live bool   `help:"Also while a run is under way. Such a copy is for reading: what happens after it is not in it."`
}

// Run exports. A file that was not finished is removed.
func (c *ledgerExportCmd) Run(ctx context.Context, m *Main, opts *cli) error {
	return m.onLedger(ctx, opts.Config, func(l *ledger.DB) (err error) {
		to := m.Stdout
		if c.File != "-" {
			f, err := os.OpenFile(c.File, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) // it holds addresses
			if errors.Is(err, fs.ErrExist) {
				return fmt.Errorf("%s exists already: move it away, or name another file", c.File)
			}
			if err != nil {
				return fmt.Errorf("the copy cannot be written: %w", err)
			}
			to = f
			defer func() {
				if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
					err = errors.Join(err, os.Remove(c.File))
				}
			}()
		}
		rows, err := l.Export(ctx, to, c.Live)
		if errors.Is(err, ledger.ErrRunning) {
			return fmt.Errorf("%w: stop every sheetclaim that uses the ledger first, or add --live for a copy to read", err)
		}
		if err == nil {
			fmt.Fprintf(m.Stderr, "exported %d rows; from now on use one of the two ledgers, never both\n", rows)
		}
		return err
	})
}

type ledgerImportCmd struct {
	File string `arg:"" help:"What export wrote; - for standard input." placeholder:"FILE"`
}

// Run imports.
func (c *ledgerImportCmd) Run(ctx context.Context, m *Main, opts *cli) error {
	return m.onLedger(ctx, opts.Config, func(l *ledger.DB) error {
		from := m.Stdin
		if c.File != "-" {
			f, err := os.Open(c.File)
			if err != nil {
				return fmt.Errorf("the copy cannot be read: %w", err)
			}
			defer f.Close()
			from = f
		}
		rows, err := l.Import(ctx, from)
		if err != nil {
			return err
		}
		id, err := l.ID(ctx)
		fmt.Fprintf(m.Stderr, "imported %d rows; this is ledger %s now\n", rows, id)
		return err
	})
}
