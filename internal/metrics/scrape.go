package metrics

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// A scrape must neither load the ledger nor wait long for it.
const (
	askEvery = 15 * time.Second
	askMost  = 3 * time.Second
)

// gauge is a number that is made when somebody asks.
type gauge struct{ *prometheus.Desc }

func newGauge(name, help string, labels ...string) gauge {
	return gauge{prometheus.NewDesc(name, help, labels, nil)}
}

func (g gauge) is(value float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(g.Desc, prometheus.GaugeValue, value, labels...)
}

// dueAge shows how long the oldest due row has been waiting.
type dueAge struct{ m *Metrics }

func (d *dueAge) gauge() gauge {
	return newGauge("sheetclaim_oldest_due_row_age_seconds",
		"How long ago the oldest row fell due that the last run left to a later one; 0: none. Rows with faults are left out.", "job_name")
}

// Describe implements prometheus.Collector.
func (d *dueAge) Describe(ch chan<- *prometheus.Desc) { ch <- d.gauge().Desc }

// Collect implements prometheus.Collector.
func (d *dueAge) Collect(ch chan<- prometheus.Metric) {
	d.m.mu.Lock()
	defer d.m.mu.Unlock()
	for job, since := range d.m.dueSince {
		age := 0.0
		if !since.IsZero() {
			age = max(0, d.m.now().Sub(since).Seconds())
		}
		ch <- d.gauge().is(age, job)
	}
}

// books shows what the ledger says.
type books struct {
	cfg Config

	mu    sync.Mutex
	asked time.Time
	said  []prometheus.Metric
}

// bookGauges are the gauges of what the ledger says.
type bookGauges struct {
	up, unknown, resend, open, stuck, alerts            gauge
	last, runTime, interval, ratio, overlapped, foreign gauge
}

func (*books) gauges() bookGauges {
	return bookGauges{
		up:       newGauge("sheetclaim_ledger_up", "1: the ledger answered; 0: it did not, and what it knows is not shown."),
		unknown:  newGauge("sheetclaim_unknown_messages", "Messages of unknown fate that wait for a person.", "job_name"),
		resend:   newGauge("sheetclaim_resend_messages", "Messages that a person wants sent again and that wait for a run.", "job_name"),
		open:     newGauge("sheetclaim_open_claims", "Claims that have not ended.", "job_name"),
		stuck:    newGauge("sheetclaim_stuck_claims", "Claims of runs that no longer live, not settled yet.", "job_name"),
		alerts:   newGauge("sheetclaim_alerts_waiting", "Alerts that have not been delivered yet.", "route"),
		last:     newGauge("sheetclaim_last_run_timestamp_seconds", "When the last run ended, of those begun in the last days.", "job_name"),
		runTime:  newGauge("sheetclaim_run_time_p95_seconds", "95 of 100 runs of the last days that claimed rows took no longer.", "job_name"),
		interval: newGauge("sheetclaim_run_interval_seconds", "The time between two starts, by the schedule, else as it was seen.", "job_name"),
		ratio: newGauge("sheetclaim_overlap_ratio",
			"sheetclaim_run_time_p95_seconds by sheetclaim_run_interval_seconds: over 0.5 runs overlap regularly, over 1 always.", "job_name"),
		overlapped: newGauge("sheetclaim_overlapped_runs", "Runs of the last days that began before an earlier one had ended.", "job_name"),
		foreign:    newGauge("sheetclaim_foreign_claims", "Rows that other tools claimed in the last days while the job wanted them.", "job_name"),
	}
}

// Describe implements prometheus.Collector.
func (b *books) Describe(ch chan<- *prometheus.Desc) {
	g := b.gauges()
	for _, one := range []gauge{
		g.up, g.unknown, g.resend, g.open, g.stuck, g.alerts, g.last, g.runTime, g.interval, g.ratio, g.overlapped, g.foreign,
	} {
		ch <- one.Desc
	}
}

// Collect implements prometheus.Collector. What the ledger said is said again for a
// while, also that it did not answer.
func (b *books) Collect(ch chan<- prometheus.Metric) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now := b.cfg.Now(); b.asked.IsZero() || now.Sub(b.asked) >= askEvery {
		b.asked, b.said = now, b.ask()
	}
	for _, m := range b.said {
		ch <- m
	}
}

func (b *books) ask() []prometheus.Metric {
	ctx, cancel := context.WithTimeout(context.Background(), askMost)
	defer cancel()
	g := b.gauges()
	st, err := b.cfg.Standing(ctx)
	if err != nil {
		return []prometheus.Metric{g.up.is(0)}
	}
	ms := []prometheus.Metric{g.up.is(1)}
	for route, n := range st.Alerts {
		ms = append(ms, g.alerts.is(float64(n), route))
	}
	for _, job := range b.cfg.Jobs {
		o, err := b.cfg.Overlap(ctx, job)
		if err != nil {
			return []prometheus.Metric{g.up.is(0)}
		}
		ms = append(ms, g.overlap(job, o)...)
		ms = append(ms, g.standing(job, st.Jobs[job])...)
	}
	for job, s := range st.Jobs {
		if !slices.Contains(b.cfg.Jobs, job) { // what is open of a job that is no longer configured
			ms = append(ms, g.standing(job, s)...)
		}
	}
	return ms
}

func (g bookGauges) standing(job string, s claim.JobStanding) []prometheus.Metric {
	return []prometheus.Metric{
		g.unknown.is(float64(s.Unknown), job), g.resend.is(float64(s.Resend), job),
		g.open.is(float64(s.Open), job), g.stuck.is(float64(s.Stuck), job),
	}
}

// overlap leaves out what is not known.
func (g bookGauges) overlap(job string, o claim.Overlap) []prometheus.Metric {
	ms := []prometheus.Metric{g.overlapped.is(float64(o.Overlapped), job), g.foreign.is(float64(o.Foreign), job)}
	if !o.LastEnd.IsZero() {
		ms = append(ms, g.last.is(float64(o.LastEnd.UnixMilli())/1000, job))
	}
	if o.RunTime > 0 {
		ms = append(ms, g.runTime.is(o.RunTime.Seconds(), job))
	}
	if o.Interval > 0 {
		ms = append(ms, g.interval.is(o.Interval.Seconds(), job))
	}
	if o.Verdict() != claim.OverlapUnknown {
		ms = append(ms, g.ratio.is(o.Ratio(), job))
	}
	return ms
}
