package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"golang.org/x/time/rate"

	"github.com/sheetclaim/sheetclaim/api"
	"github.com/sheetclaim/sheetclaim/internal/alert"
	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/job"
	"github.com/sheetclaim/sheetclaim/internal/ledger"
	"github.com/sheetclaim/sheetclaim/internal/mailer"
	"github.com/sheetclaim/sheetclaim/internal/metrics"
	"github.com/sheetclaim/sheetclaim/internal/sheets"
	"github.com/sheetclaim/sheetclaim/internal/tracing"
)

// googleQuota is the reads, and the writes, that Google allows one account in a minute
// (developers.google.com/workspace/sheets/api/limits). Instances divide it.
const googleQuota = 60

// parts is the wired program: what serve and run have in common.
type parts struct {
	cfg       *job.Config
	ledger    *ledger.DB
	sheets    *sheets.Client
	mailer    *mailer.SMTP
	alerts    *alert.Deliverer
	callbacks *alert.Caller
	service   *claim.Service
	held      []string // jobs whose schedules wait for the time zones of their spreadsheets

	metrics   *metrics.Metrics
	scrapes   net.Listener     // for metrics alone; nil: none
	traces    *tracing.Tracing // nil: none are sent
	observers observers        // both
}

// load reads the configuration.
func (m *Main) load(path string) (*job.Config, error) {
	cfg, err := job.Load(path, m.Env)
	if err != nil {
		return nil, err
	}
	if len(cfg.Jobs) == 0 {
		return nil, fmt.Errorf("%s: no job is configured: add one under jobs", path)
	}
	if problems := badRanges(cfg); len(problems) > 0 {
		return nil, problems
	}
	return cfg, nil
}

// badRanges answers the ranges that are none.
func badRanges(cfg *job.Config) job.Problems {
	var problems job.Problems
	check := func(path, a1 string) {
		if _, err := sheets.ParseRange(a1); err != nil {
			problems = append(problems, cfg.Problem(path, err))
		}
	}
	for _, name := range cfg.JobNames() {
		s, at := cfg.Jobs[name], "jobs."+name
		check(at+".range", s.Range)
		for i, a1 := range s.AllowRanges {
			check(fmt.Sprintf("%s.allow_ranges[%d]", at, i), a1)
		}
	}
	return problems
}

// open wires the parts of a configuration. Nothing is asked of Google or the mail
// server yet.
func (m *Main) open(ctx context.Context, cfg *job.Config) (*parts, error) {
	return m.openWith(ctx, cfg, nil)
}

// openWith is open with a client that is there already; nil: one is made.
func (m *Main) openWith(ctx context.Context, cfg *job.Config, client *sheets.Client) (_ *parts, err error) {
	p := &parts{cfg: cfg}
	for _, w := range cfg.Warnings() {
		m.log.Warn(w)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close())
		}
	}()
	if err := m.observe(ctx, p); err != nil {
		return nil, err
	}
	if p.mailer, err = openMailer(cfg.SMTP, cfg.Instances, p.observers, m.log); err != nil {
		return nil, err
	}
	routes, err := alertRoutes(cfg.Alerts, p.mailer, m)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(routes))
	for i, r := range routes {
		names[i] = r.Name()
	}
	if p.ledger, err = ledger.OpenURL(ctx, cfg.Ledger.Reveal(), ledger.Options{Routes: names}); err != nil {
		return nil, err
	}
	p.alerts = &alert.Deliverer{Outbox: p.ledger, Routes: routes, RepeatAfter: cfg.Alerts.RepeatAfter, Now: m.Now, Wait: wait, Log: m.log}
	p.callbacks = &alert.Caller{
		Book: p.ledger, Report: p.ledger.Report, Secret: cfg.API.CallbackSecret.Reveal(),
		Client: alert.NewPoster(http.DefaultTransport), Now: m.Now, Wait: wait, Log: m.log,
		Allowed: func(address string) bool { return api.CallbackAllowed(address, cfg.API.CallbackHosts) },
	}
	if client == nil {
		if client, err = m.newClient(ctx, cfg, p.observers); err != nil {
			return nil, err
		}
	}
	jobs := map[string]*claim.Job{}
	for _, name := range cfg.JobNames() {
		if jobs[name], err = cfg.Job(name); err != nil {
			return nil, err
		}
	}
	p.sheets = client
	p.service = m.newService(p, client, jobs)
	return p, nil
}

// newClient makes the client of Google Sheets. It logs in at its first call.
func (m *Main) newClient(ctx context.Context, cfg *job.Config, seen observers) (*sheets.Client, error) {
	return sheets.New(ctx, sheets.Config{
		CredentialsFile: cfg.Google.CredentialsFile, Endpoint: cfg.Google.Endpoint, UserAgent: "sheetclaim/" + version, Now: m.Now, Log: m.log,
		ReadsPerMinute: googleQuota / max(1, cfg.Instances), WritesPerMinute: googleQuota / max(1, cfg.Instances),
		Observe: seen.Sheets,
	})
}

// newService makes the service that carries runs.
func (m *Main) newService(p *parts, client *sheets.Client, jobs map[string]*claim.Job) *claim.Service {
	s := &claim.Service{
		Jobs: jobs, Ledger: p.ledger, Runs: p.ledger, Instance: randomText(12), Memory: p.cfg.RunMemory,
		Now: m.Now, Wait: wait, Log: m.log, Callbacks: p.ledger,
		Ended: func() { p.alerts.Kick(); p.callbacks.Kick() }, Settled: p.metrics.Settled,
		Worker: func() *claim.Worker {
			sheet, calls := client.Counting()
			return &claim.Worker{
				Sheet: sheet, Ledger: p.ledger, Mailer: p.mailer, Now: m.Now, Wait: wait,
				NewMark: func() string { return randomText(8) }, Calls: calls, Trace: p.observers, Log: m.log,
			}
		},
	}
	s.Open()
	return s
}

// close stops what was opened, in the order that loses nothing.
func (p *parts) close() error {
	var errs []error
	if p.service != nil {
		p.service.Close()
	}
	if p.mailer != nil {
		errs = append(errs, p.mailer.Close())
	}
	if p.ledger != nil {
		errs = append(errs, p.ledger.Close())
	}
	if p.traces != nil {
		p.traces.Close()
	}
	return errors.Join(errs...)
}

// openMailer translates the smtp section for one of several instances. Without one nothing
// is mailed: all jobs are claim_only, and the mailer only judges whether what stands in a
// cell is an address.
func openMailer(c *job.SMTP, instances int, seen observers, log *slog.Logger) (*mailer.SMTP, error) {
	if c == nil {
		return mailer.New(mailer.Config{Host: "localhost", From: "nobody@sheetclaim.invalid", Now: time.Now, Log: log})
	}
	cfg := mailer.Config{
		Host: c.Host, Port: c.Port, TLS: mailer.TLSMode(c.TLS), CAFile: c.CAFile, SkipVerify: c.SkipVerify,
		Username: c.Username, Password: c.Password.Reveal(), HELO: c.Helo, From: c.From,
		Connections: c.Connections, MessagesPerConnection: c.MessagesPerConnection,
		Timeout: c.Timeout, DotTimeout: c.DotTimeout, Now: time.Now, Observe: seen.SMTP, Log: log,
	}
	if c.Rate.Count > 0 {
		cfg.Rate = rate.Limit(float64(c.Rate.Count) / c.Rate.Per.Seconds() / float64(max(1, instances)))
	}
	if o := c.OAuth; o != nil {
		tokens, err := mailer.OAuth{
			TokenURL: o.TokenURL, ClientID: o.ClientID, ClientSecret: o.ClientSecret.Reveal(),
			RefreshTokenFile: o.RefreshTokenFile, RefreshToken: o.RefreshToken.Reveal(), Scope: o.Scope, Log: log,
		}.Tokens()
		if err != nil {
			return nil, err
		}
		cfg.Token = tokens
	}
	return mailer.New(cfg)
}

// alertRoutes translates the alerts section.
func alertRoutes(c job.Alerts, m claim.Mailer, main *Main) ([]alert.Route, error) {
	var routes []alert.Route
	if len(c.Email) > 0 {
		routes = append(routes, &alert.Email{Mailer: m, To: c.Email, Log: main.log})
	}
	if c.Webhook != nil {
		w, err := alert.NewWebhook(c.Webhook.URL, c.Webhook.Secret.Reveal(), http.DefaultTransport, main.Now)
		if err != nil {
			return nil, err
		}
		routes = append(routes, w)
	}
	return routes, nil
}

// wait is the Wait of every part.
func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// randomText answers n random lower-case letters and digits.
func randomText(n int) string { return strings.ToLower(rand.Text())[:n] }

// listen opens a TCP listener and says what stands in the way if it cannot.
func listen(ctx context.Context, addr string) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w%s", addr, err, listenAdvice(err))
	}
	return l, nil
}

// listenAdvice says what to do about an address that cannot be had.
func listenAdvice(err error) string {
	if errors.Is(err, syscall.EADDRINUSE) {
		return ": another program, perhaps another sheetclaim, has the port"
	}
	return ": give an address of this machine, like 127.0.0.1:8080"
}
