package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/sheetsemu"
)

type emulatorCmd struct {
	Listen   string   `help:"Loopback address (${default})." default:"127.0.0.1:9410" placeholder:"HOST:PORT"`
	Load     []string `help:"Load a CSV file as a tab of spreadsheet ID; the tab is named after the file, or as given: ID/TAB=FILE." placeholder:"ID=FILE.csv" sep:"none"`
	Faults   string   `help:"calm, or realistic: latency, lost answers, stale reads." enum:"calm,realistic" default:"calm"`
	Seed     uint64   `help:"Decides which calls meet a fault." default:"1"`
	Timezone string   `help:"Time zone of the spreadsheets (${default})." default:"Etc/GMT" placeholder:"ZONE"`
}

// Run serves the emulator until a signal comes.
func (c *emulatorCmd) Run(ctx context.Context, m *Main) error {
	if _, err := time.LoadLocation(c.Timezone); err != nil {
		return fmt.Errorf("--timezone %s is not known: use a name like Europe/Berlin", c.Timezone)
	}
	o := sheetsemu.Options{Seed: c.Seed, Now: m.Now, TimeZone: c.Timezone}
	if c.Faults == "realistic" {
		o.Faults = sheetsemu.Realistic
	}
	emu := sheetsemu.New(o)
	for _, load := range c.Load {
		if err := loadSheet(emu, load); err != nil {
			return err
		}
	}
	server, err := emu.Listen(c.Listen)
	if err != nil {
		return fmt.Errorf("--listen %s: %w%s", c.Listen, err, listenAdvice(err))
	}
	addr := strings.TrimPrefix(server.URL, "http://")
	fmt.Fprintf(m.Stderr, "The Google Sheets API, in memory, on %s (faults %s, seed %d).\nUse it with SHEETS_EMULATOR_HOST=%s; what it holds is lost at exit.\n", server.URL, c.Faults, c.Seed, addr)
	if m.Ready != nil {
		m.Ready(map[string]string{"emulator": server.URL})
	}
	<-ctx.Done()
	return server.Close()
}

// loadSheet loads ID=FILE.csv or ID/TAB=FILE.csv.
func loadSheet(emu *sheetsemu.Emulator, load string) error {
	name, path, ok := strings.Cut(load, "=")
	id, tab, named := strings.Cut(name, "/")
	if !ok || id == "" || path == "" || named && tab == "" {
		return fmt.Errorf("--load takes ID=FILE.csv or ID/TAB=FILE.csv, not %q", load)
	}
	if !named {
		tab = strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	}
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("--load %s: %w", load, err)
	}
	defer f.Close()
	if err := emu.LoadCSV(id, tab, f); err != nil {
		return fmt.Errorf("--load %s: %w", load, err)
	}
	return nil
}
