package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/sheetclaim/sheetclaim/api"
	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/job"
	"github.com/sheetclaim/sheetclaim/internal/schedule"
)

type serveCmd struct {
	Listen  string `help:"Address of the API, in place of api.listen." placeholder:"HOST:PORT"`
	OnceDue bool   `name:"once-due" help:"No API: run every job whose tick has come since its last one, wait for the ends, and exit as run does. For cron and systemd timers."`
}

// Run serves until a signal comes, and then stops in good order: the message in
// flight is finished, what was sent is marked, the rest is given back.
func (c *serveCmd) Run(ctx context.Context, m *Main, opts *cli) error {
	cfg, err := m.load(opts.Config)
	if err != nil {
		return err
	}
	switch {
	case c.OnceDue && c.Listen != "":
		return errors.New("--once-due serves nothing: leave --listen out")
	case c.OnceDue:
		return m.onceDue(ctx, cfg)
	case c.Listen != "":
		if _, _, err := net.SplitHostPort(c.Listen); err != nil {
			return fmt.Errorf("--listen takes HOST:PORT, not %q", c.Listen)
		}
		cfg.API.Listen = c.Listen
	}
	return m.serve(ctx, cfg)
}

// serve runs the service of a configuration until ctx ends.
func (m *Main) serve(ctx context.Context, cfg *job.Config) (err error) {
	p, err := m.open(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	if p.held = m.holdBackSoon(ctx, p); ctx.Err() != nil {
		return nil
	}
	settled := make(chan struct{}, 1) // one is enough for all that was settled meanwhile
	c := m.apiConfig(p, settled)
	scheme := "http"
	if t := cfg.API.TLS; t != nil {
		scheme = "https"
		if c.TLS, err = serverTLS(t); err != nil {
			return err
		}
	}
	server, err := api.New(c)
	if err != nil {
		return err
	}
	ticks, err := m.scheduler(ctx, p, cfg.JobNames()...)
	if err != nil {
		return err
	}
	l, err := listen(ctx, cfg.API.Listen)
	if err != nil {
		return err
	}
	if p.scrapes, err = p.listenMetrics(ctx); err != nil {
		return errors.Join(err, l.Close())
	}
	if m.Ready != nil {
		m.Ready(addresses(scheme, l, p.scrapes))
	}
	m.log.Info("serving", "address", l.Addr().String(), "scheme", scheme, "jobs", cfg.JobNames(), "version", version)
	return m.parts(ctx, p, server, l, ticks, settled)
}

// addresses are those that the program listens on, by what answers there.
func addresses(scheme string, l, scrapes net.Listener) map[string]string {
	addrs := map[string]string{"api": scheme + "://" + l.Addr().String()}
	if scrapes != nil {
		addrs["metrics"] = "http://" + scrapes.Addr().String()
	}
	return addrs
}

// serverTLS loads the certificate of the API. Versions before TLS 1.2 are refused
// (RFC 8996).
func serverTLS(t *job.ServerTLS) (*tls.Config, error) {
	cert, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("api.tls: %w", err)
	}
	return &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}, nil
}

// parts runs what serves side by side; the first that ends, or ctx, ends all.
func (m *Main) parts(ctx context.Context, p *parts, server *api.Server, l net.Listener, ticks *schedule.Scheduler, settled <-chan struct{}) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	alerts, stopAlerts := context.WithCancel(context.WithoutCancel(ctx))
	defer stopAlerts()
	var all, last sync.WaitGroup
	errs := make(chan error, 3)
	last.Go(func() { p.alerts.Run(alerts) })
	last.Go(func() { p.callbacks.Run(alerts) })
	all.Go(func() { defer stop(); errs <- server.Serve(ctx, l) })
	if p.scrapes != nil {
		all.Go(func() { defer stop(); errs <- p.serveMetrics(ctx, p.scrapes) })
	}
	all.Go(func() { m.recoverOften(ctx, p, settled) })
	all.Go(func() { defer stop(); errs <- ticks.Run(ctx) })
	all.Go(func() { m.scheduleLate(ctx, p) })
	<-ctx.Done()
	p.service.Close() // runs stop; callers that wait for them get their answer
	all.Wait()
	m.deliver(ctx, p)
	if err := p.callBack(ctx); err != nil {
		m.log.Warn("callbacks could not be carried out; they are kept for the next start", "error", err)
	}
	stopAlerts()
	last.Wait()
	m.log.Info("stopped")
	close(errs)
	var failed []error
	for err := range errs {
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// callBack tries once to tell of the runs that ended as the service stopped.
func (p *parts) callBack(ctx context.Context) error {
	const patience = 20 * time.Second
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	return p.callbacks.Flush(ctx)
}

// recoverOften settles what dead runs left, and marks what people settled: at once,
// then every minute and whenever somebody settled a message. It also reports the keys
// that became unknown.
func (m *Main) recoverOften(ctx context.Context, p *parts, settled <-chan struct{}) {
	const often = time.Minute
	for {
		unknown, err := p.ledger.Keys().Expire(ctx)
		if unknown > 0 {
			m.log.Warn("keys became unknown: their leases ended and nobody said how it went", "keys", unknown)
			p.alerts.Kick()
		}
		if err := errors.Join(err, p.service.RecoverAll(ctx)); err != nil && ctx.Err() == nil {
			m.log.Warn("recovery is not complete; it goes on in a minute", "error", err)
		}
		tick := time.NewTimer(often)
		select {
		case <-tick.C:
		case <-settled:
		case <-ctx.Done():
		}
		if tick.Stop(); ctx.Err() != nil {
			return
		}
	}
}

// apiConfig translates the api section. What is settled through the API is told to
// settled.
func (m *Main) apiConfig(p *parts, settled chan<- struct{}) api.Config {
	c := api.Config{
		Listen: p.cfg.API.Listen, Start: api.Service(p.service), Runs: p.ledger, Preview: p.service, Ready: p.ledger.Ping,
		Desk: newDesk(p.ledger, p.cfg), MaxWait: p.cfg.API.MaxWait, CallbackHosts: p.cfg.API.CallbackHosts, Log: m.log,
		Keys: p.ledger.Keys(),
	}
	c.Live, c.Record, c.SheetURL = p.service, p.ledger, sheetURL(p.cfg.Google)
	c.Settled = func(string) {
		select {
		case settled <- struct{}{}:
		default: // a recovery that has not begun yet does for both
		}
	}
	c.TrustedProxies = p.cfg.API.Proxies()
	for _, t := range p.cfg.API.Tokens {
		c.Tokens = append(c.Tokens, api.Token{Name: t.Name, Token: t.Token.Reveal(), Jobs: t.Jobs, ReadOnly: t.ReadOnly})
	}
	for _, name := range p.cfg.JobNames() {
		s := p.cfg.Jobs[name]
		c.Jobs = append(c.Jobs, api.JobInfo{
			Job: p.service.Jobs[name], AllowSpreadsheets: s.AllowSpreadsheets, AllowRanges: s.AllowRanges,
			Schedule: s.Schedule, Timezone: s.Timezone,
		})
	}
	c.Next = func(name string) []time.Time {
		s := p.cfg.Jobs[name]
		if s.Schedule == "" || s.NeedsClock() {
			return nil
		}
		const some = 3
		next, err := schedule.Next(s.Schedule, s.Clock(), m.Now(), some)
		if err != nil {
			m.log.Warn("next ticks", "job", name, "error", err)
		}
		return next
	}
	c.Metrics = p.metricsBeside()
	c.History = p.ledger.History
	c.Overlap = func(ctx context.Context, name string) (claim.Overlap, error) { return m.overlap(ctx, p, name) }
	return c
}
