package api

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/sheetclaim/sheetclaim/api/dashboard"
	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/key"
)

// Config is what the service needs. Listen, Tokens and Jobs are the configuration
// file's; Start, Runs and Preview have to be there, everything else has a default.
type Config struct {
	// Listen is the address that the listener given to Serve was made from. Without
	// tokens it has to be on loopback.
	Listen string
	Tokens []Token
	Jobs   []JobInfo
	// TLS has the certificate to serve with; nil: the API is served in the clear.
	TLS *tls.Config
	// TrustedProxies are believed when they say in X-Forwarded-For who asked.
	TrustedProxies []netip.Prefix

	Start   Starter
	Runs    Finder
	Preview Previewer
	// Desk has the messages that wait for a person; nil: none do.
	Desk Desk
	// Keys is the ledger of keys for any action; nil: there is none.
	Keys key.Book
	// Live has the runs of this process while they go on, for the page; nil: the page looks
	// into Runs.
	Live dashboard.Live
	// Record is what the page shows of alerts and of what people settled; nil: nothing.
	Record dashboard.Record
	// SheetURL is where the page's links lead that show a place in a sheet; nil: to Google.
	SheetURL func(dashboard.Place) string
	// Settled is told the job of a message that was settled as sent, so that the sheet is
	// marked soon; nil: nobody asks. It must not block.
	Settled func(job string)
	// Ready says why the service cannot work now; nil: it always can. The reason goes
	// to the log and not to the caller, since /readyz is open.
	Ready func(ctx context.Context) error
	// Next answers when a job's schedule starts it next, soonest first; nil: unknown.
	Next func(job string) []time.Time
	// Overlap answers how a job's runs fit into the time between their starts; nil:
	// unknown.
	Overlap func(ctx context.Context, job string) (claim.Overlap, error)
	// History answers how a job's runs lay in time, for the page; nil: the page does not
	// show it.
	History func(ctx context.Context, job string, since time.Time) (claim.History, error)
	// Metrics answers /metrics; nil: there is none here.
	Metrics http.Handler
	// NewRunID names a run whose caller did not; nil: random letters and digits.
	NewRunID func() string

	// CallbackHosts are the hosts, or host:port, that a callback_url may name.
	CallbackHosts []string

	MaxWait     time.Duration // a request waits no longer for its run; 0: 240s
	ReadTimeout time.Duration // in which a request has to arrive, with its body; 0: 30s
	Grace       time.Duration // for runs to end when the service stops; 0: 20s
	Log         *slog.Logger  // nil: slog.Default
}

// Token lets a caller in.
type Token struct {
	Name  string // for the log
	Token string
	Jobs  []string // the jobs that it is bound to; nil: all of them

	ReadOnly bool // it looks and previews, and changes nothing
}

// JobInfo is a job as callers see it.
type JobInfo struct {
	*claim.Job
	AllowSpreadsheets []string // that a call may name beside the job's own
	AllowRanges       []string // that a call may name beside the job's own
	Schedule          string   // as configured; "": none
	Timezone          string   // as configured; "": the spreadsheet's own
}

// complete fills the defaults in.
func (c Config) complete() Config {
	c.Jobs = slices.SortedFunc(slices.Values(c.Jobs), func(a, b JobInfo) int { return cmp.Compare(a.Name, b.Name) })
	c.MaxWait = cmp.Or(c.MaxWait, 240*time.Second)
	c.ReadTimeout = cmp.Or(c.ReadTimeout, 30*time.Second)
	c.Grace = cmp.Or(c.Grace, 20*time.Second)
	c.Log = cmp.Or(c.Log, slog.Default())
	if c.Ready == nil {
		c.Ready = func(context.Context) error { return nil }
	}
	if c.Next == nil {
		c.Next = func(string) []time.Time { return nil }
	}
	if c.Desk == nil {
		c.Desk = emptyDesk{}
	}
	if c.Settled == nil {
		c.Settled = func(string) {}
	}
	if c.NewRunID == nil {
		c.NewRunID = func() string { return strings.ToLower(rand.Text()) }
	}
	return c
}

// check refuses what would leave the service open, or a token without use.
func (c Config) check() error {
	if c.Start == nil || c.Runs == nil || c.Preview == nil {
		return errors.New("api: Start, Runs and Preview are needed")
	}
	if host, _, err := net.SplitHostPort(c.Listen); len(c.Tokens) == 0 && (err != nil || !isLoopback(host)) {
		return openError(c.Listen)
	}
	names, values := map[string]bool{}, map[string]bool{}
	for _, t := range c.Tokens {
		switch {
		case t.Name == "" || t.Token == "":
			return fmt.Errorf("api: the token named %q has no name or no value: give both", t.Name)
		case names[t.Name]:
			return fmt.Errorf("api: two tokens are named %q: give each a name of its own", t.Name)
		case values[t.Token]:
			return fmt.Errorf("api: the token named %q has the value of another: give each its own", t.Name)
		}
		names[t.Name], values[t.Token] = true, true
		for _, name := range t.Jobs {
			if !slices.ContainsFunc(c.Jobs, func(j JobInfo) bool { return j.Name == name }) {
				return fmt.Errorf("api: the token named %q is bound to the job %q, which does not exist", t.Name, name)
			}
		}
	}
	return nil
}

// openError says why an address without tokens is refused.
func openError(address string) error {
	return fmt.Errorf("api: %q can be reached from other machines and there is no token: add one, or listen on 127.0.0.1", address)
}

// isLoopback reports whether only this machine can mean itself by that host. Names
// under localhost can be nobody else's (RFC 6761, section 6.3).
func isLoopback(host string) bool {
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.IsLoopback()
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}
