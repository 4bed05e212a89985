package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/job"
	"github.com/sheetclaim/sheetclaim/internal/metrics"
	"github.com/sheetclaim/sheetclaim/internal/tracing"
)

// observer is told what runs, the Sheets client and the mailer do.
type observer interface {
	claim.Tracer
	Sheets(ctx context.Context, call string) (context.Context, func(result string))
	SMTP(ctx context.Context) (context.Context, func(claim.Result))
}

// observers tells all of them, and of ends in the opposite order.
type observers []observer

func (os observers) Run(ctx context.Context, r claim.RunRef) (context.Context, func(claim.Document)) {
	return tell(ctx, os, func(ctx context.Context, o observer) (context.Context, func(claim.Document)) { return o.Run(ctx, r) })
}

func (os observers) Step(ctx context.Context, r claim.RunRef, s claim.Step) (context.Context, func(error)) {
	return tell(ctx, os, func(ctx context.Context, o observer) (context.Context, func(error)) { return o.Step(ctx, r, s) })
}

func (os observers) Sheets(ctx context.Context, call string) (context.Context, func(string)) {
	return tell(ctx, os, func(ctx context.Context, o observer) (context.Context, func(string)) { return o.Sheets(ctx, call) })
}

func (os observers) SMTP(ctx context.Context) (context.Context, func(claim.Result)) {
	return tell(ctx, os, func(ctx context.Context, o observer) (context.Context, func(claim.Result)) { return o.SMTP(ctx) })
}

func tell[End any](ctx context.Context, os observers, begin func(context.Context, observer) (context.Context, func(End))) (context.Context, func(End)) {
	ends := make([]func(End), len(os))
	for i, o := range os {
		ctx, ends[i] = begin(ctx, o)
	}
	return ctx, func(e End) {
		for _, end := range slices.Backward(ends) {
			end(e)
		}
	}
}

// observe makes the metrics and, where the environment names a collector, traces.
func (m *Main) observe(ctx context.Context, p *parts) error {
	p.metrics = metrics.New(metrics.Config{
		Version: version, Commit: commit(), Jobs: p.cfg.JobNames(), Now: m.Now,
		Standing: func(ctx context.Context) (claim.Standing, error) { return p.ledger.Standing(ctx) },
		Overlap:  func(ctx context.Context, name string) (claim.Overlap, error) { return m.overlap(ctx, p, name) },
	})
	p.observers = observers{p.metrics}
	endpoint := tracing.Endpoint(m.Env)
	if endpoint == "" {
		return nil
	}
	var err error
	if p.traces, err = tracing.New(ctx, endpoint, version, m.log); err != nil {
		return err
	}
	p.observers = append(p.observers, p.traces)
	return nil
}

// metricsBeside is the handler for the API's own listener; nil: not there.
func (p *parts) metricsBeside() http.Handler {
	if p.cfg.API.MetricsListen != "" {
		return nil
	}
	return p.metrics.Handler()
}

// listenMetrics opens the listener that is for metrics alone; nil: there is none.
func (p *parts) listenMetrics(ctx context.Context) (net.Listener, error) {
	addr := p.cfg.API.MetricsListen
	if addr == "" || addr == job.MetricsOff {
		return nil, nil
	}
	return listen(ctx, addr)
}

// serveMetrics answers scrapes on a listener of their own until ctx ends.
func (p *parts) serveMetrics(ctx context.Context, l net.Listener) error {
	const most, idle = 15 * time.Second, 2 * time.Minute
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", p.metrics.Handler())
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: most, ReadTimeout: most, WriteTimeout: most, IdleTimeout: idle}
	defer context.AfterFunc(ctx, func() { _ = srv.Close() })()
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("metrics: %w", err)
	}
	return nil
}
