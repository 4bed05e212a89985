package main

import (
	"fmt"
	"strings"

	"github.com/sheetclaim/sheetclaim/internal/job"
)

type cfgCmd struct {
	Check cfgCheckCmd `cmd:"" help:"Read the configuration without touching anything."`
}

type cfgCheckCmd struct{}

// Run reads the configuration and says what is wrong in it, or what it holds.
func (cfgCheckCmd) Run(m *Main, opts *cli) error {
	cfg, err := m.load(opts.Config)
	if err != nil {
		return err
	}
	for _, name := range cfg.JobNames() {
		if _, err := cfg.Job(name); err != nil {
			return err
		}
	}
	fmt.Fprintf(m.Stdout, "%s is in order.\n", cfg.File())
	for _, name := range cfg.JobNames() {
		fmt.Fprintln(m.Stdout, "  "+describe(name, cfg.Jobs[name]))
	}
	return nil
}

// describe says in one line what a job does.
func describe(name string, s *job.Spec) string {
	parts := []string{fmt.Sprintf("job %s: %s in %s, key %s, up to %d rows a run", name, s.Range, s.Spreadsheet, strings.Join(s.Columns.Key, "+"), s.Limit)}
	if s.Columns.Due != "" {
		due := fmt.Sprintf("due at %q", s.Columns.Due)
		if s.Delay > 0 {
			due = fmt.Sprintf("due %s after %q", strings.TrimSuffix(strings.TrimSuffix(s.Delay.String(), "0s"), "0m"), s.Columns.Due)
		}
		parts = append(parts, due)
	}
	if s.Schedule != "" {
		parts = append(parts, "schedule "+s.Schedule)
	}
	return strings.Join(parts, ", ")
}
