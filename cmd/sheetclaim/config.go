package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sheetclaim/sheetclaim/internal/job"
	"github.com/sheetclaim/sheetclaim/internal/sheets"
)

type cfgCmd struct {
	Check cfgCheckCmd `cmd:"" help:"Read the configuration without touching anything."`
}

type cfgCheckCmd struct{}

// Run reads the configuration, and the files that it names, and says what is wrong
// in it, or what it holds.
func (cfgCheckCmd) Run(ctx context.Context, m *Main, opts *cli) error {
	cfg, err := m.load(opts.Config)
	if err != nil {
		return err
	}
	client, err := sheets.New(ctx, sheets.Config{CredentialsFile: cfg.Google.CredentialsFile, Endpoint: cfg.Google.Endpoint})
	if err != nil && cfg.Google.CredentialsFile != "" {
		return job.Problems{cfg.Problem("google.credentials_file", err)}
	}
	path, isFile := strings.CutPrefix(cfg.Ledger.Reveal(), "sqlite:")
	if folder := filepath.Dir(path); isFile && !isFolder(folder) {
		return job.Problems{cfg.Problem("ledger", fmt.Errorf("the folder %s does not exist: create it, or name another file", folder))}
	}
	fmt.Fprintf(m.Stdout, "%s is in order.\n", cfg.File())
	for _, line := range m.summary(cfg, client) {
		fmt.Fprintln(m.Stdout, "  "+line)
	}
	for _, w := range cfg.Warnings() {
		fmt.Fprintln(m.Stdout, "  warning: "+w)
	}
	return nil
}

// summary says what the configuration comes to.
func (m *Main) summary(cfg *job.Config, client *sheets.Client) []string {
	lines := []string{"ledger: " + cfg.LedgerName()}
	switch {
	case cfg.Google.Endpoint != "":
		lines = append(lines, "google: the emulator at "+cfg.Google.Endpoint)
	case client != nil && client.Account() != "":
		lines = append(lines, "google: "+client.Account()+" (share the sheets with this address, as editor)")
	default:
		lines = append(lines, "google: the credentials of this machine")
	}
	if s := cfg.SMTP; s != nil {
		lines = append(lines, fmt.Sprintf("smtp: %s:%d, tls %s, from %s", s.Host, s.Port, s.TLS, s.From))
	}
	switch a := cfg.Alerts; {
	case len(a.Email) == 0 && a.Webhook == nil:
		lines = append(lines, "alerts: go nowhere! Add alerts.email or alerts.webhook; until then they are kept in the ledger")
	default:
		to := slices.Clone(a.Email)
		if a.Webhook != nil {
			to = append(to, "the webhook")
		}
		lines = append(lines, "alerts: to "+strings.Join(to, ", "))
	}
	for _, name := range cfg.JobNames() {
		lines = append(lines, describe(name, cfg.Jobs[name]))
	}
	return lines
}

// isFolder reports whether a path is a folder.
func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
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
