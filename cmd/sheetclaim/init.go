package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/sheetclaim/sheetclaim/internal/job"
)

type initCmd struct{}

// Run writes a commented configuration to start from. It never overwrites one.
func (initCmd) Run(m *Main, opts *cli) error {
	f, err := os.OpenFile(opts.Config, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists already: move it away, or name another file with --config", opts.Config)
	}
	if err != nil {
		return fmt.Errorf("the configuration cannot be written: %w", err)
	}
	_, err = f.Write(job.Example())
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("the configuration cannot be written: %w", err)
	}
	_, err = fmt.Fprintf(m.Stdout, "Wrote %s. Fill it in, then: sheetclaim config check\n", opts.Config)
	return err
}
