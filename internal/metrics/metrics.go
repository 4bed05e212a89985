// Package metrics is what sheetclaim tells Prometheus.
//
// Counters are fed by what runs, the Sheets client and the mailer tell as it
// happens. What is open now is read from the ledger when somebody scrapes, at most
// every few seconds. Labels take their values from closed lists and from the names
// of jobs: never a key, an address or a run id. A job is job_name, since Prometheus
// keeps job for what it scrapes.
package metrics

import (
	"cmp"
	"context"
	"net/http"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// Config says what is measured.
type Config struct {
	Version, Commit string
	Jobs            []string
	// Standing and Overlap ask the ledger. They are called while somebody scrapes.
	Standing func(ctx context.Context) (claim.Standing, error)
	Overlap  func(ctx context.Context, job string) (claim.Overlap, error)
	Now      func() time.Time
}

// Metrics counts. It is a claim.Tracer.
type Metrics struct {
	registry *prometheus.Registry
	now      func() time.Time

	runs, rows, doubts *prometheus.CounterVec
	running, due, open *prometheus.GaugeVec
	runSeconds         *prometheus.HistogramVec
	stepSeconds        *prometheus.CounterVec
	sheets, smtp       *prometheus.CounterVec
	sheetsSeconds      *prometheus.HistogramVec
	mu                 sync.Mutex
	dueSince           map[string]time.Time // by job; zero: none is left
}

var _ claim.Tracer = (*Metrics)(nil)

// New makes metrics in which every job of the configuration begins at 0.
func New(cfg Config) *Metrics {
	reg := prometheus.NewRegistry()
	auto := promauto.With(reg)
	m := &Metrics{
		registry: reg, now: cfg.Now, dueSince: map[string]time.Time{},
		runs: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "sheetclaim_runs_total", Help: "Runs that ended, by outcome.",
		}, []string{"job_name", "outcome"}),
		rows: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "sheetclaim_rows_total", Help: "Rows that runs reported or callers settled, by outcome; a row that is skipped counts in every run.",
		}, []string{"job_name", "outcome"}),
		doubts: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "sheetclaim_doubts_total", Help: "Doubts that runs reported, by kind; one that stays counts in every run.",
		}, []string{"job_name", "kind"}),
		running: auto.NewGaugeVec(prometheus.GaugeOpts{
			Name: "sheetclaim_runs_in_progress", Help: "Runs of this process that go on.",
		}, []string{"job_name"}),
		due: auto.NewGaugeVec(prometheus.GaugeOpts{
			Name: "sheetclaim_due_rows", Help: "Due rows that the last run found, before its limit.",
		}, []string{"job_name"}),
		open: auto.NewGaugeVec(prometheus.GaugeOpts{
			Name: "sheetclaim_doubts_open", Help: "Doubts of the last run. Messages of unknown fate are sheetclaim_unknown_messages.",
		}, []string{"job_name", "kind"}),
		runSeconds: auto.NewHistogramVec(prometheus.HistogramOpts{
			Name: "sheetclaim_run_duration_seconds", Help: "How long runs took; dry runs are left out.",
			Buckets: []float64{1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600},
		}, []string{"job_name"}),
		stepSeconds: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "sheetclaim_step_seconds_total", Help: "Time that runs spent in each step of the method.",
		}, []string{"job_name", "step"}),
		sheets: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "sheetclaim_sheets_requests_total", Help: "Requests to the Sheets API, by call and result; throttled is Google's 429.",
		}, []string{"call", "result"}),
		sheetsSeconds: auto.NewHistogramVec(prometheus.HistogramOpts{
			Name: "sheetclaim_sheets_request_duration_seconds", Help: "How long the Sheets API took to answer.",
			Buckets: []float64{.05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"call"}),
		smtp: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "sheetclaim_smtp_results_total", Help: "Mail transactions and logins by the step in which they ended, the server's code (empty without a reply) and what it means.",
		}, []string{"step", "code", "verdict"}),
	}
	info := auto.NewGaugeVec(prometheus.GaugeOpts{
		Name: "sheetclaim_build_info", Help: "Always 1; the labels say what was built.",
	}, []string{"version", "commit", "goversion"})
	info.WithLabelValues(cfg.Version, cfg.Commit, runtime.Version()).Set(1)
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		&dueAge{m}, &books{cfg: cfg})
	m.begin(cfg.Jobs)
	return m
}

// begin shows what has not happened yet as 0, so that the first time is an increase.
func (m *Metrics) begin(jobs []string) {
	for _, job := range jobs {
		m.running.WithLabelValues(job)
		m.runSeconds.WithLabelValues(job)
		for _, o := range []claim.RunOutcome{
			claim.RunFailed, claim.RunStopped, claim.RunPartial, claim.RunSent, claim.RunOverlapped, claim.RunNothingDue, claim.RunDry, handedOut,
		} {
			m.runs.WithLabelValues(job, string(o))
		}
		for _, o := range []claim.Outcome{
			claim.Sent, claim.Failed, claim.GaveUp, claim.Rejected, claim.Unknown, claim.Taken, claim.Released, claim.Skipped,
		} {
			m.rows.WithLabelValues(job, string(o))
		}
		for _, k := range claim.DoubtKinds() {
			m.doubts.WithLabelValues(job, string(k))
		}
	}
}

// Handler answers scrapes.
func (m *Metrics) Handler() http.Handler {
	const atOnce, most = 4, 10 * time.Second
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: atOnce, Timeout: most})
}

// handedOut is the outcome of a run whose rows went to a caller, at that moment.
const handedOut claim.RunOutcome = "handed_out"

// Run implements claim.Tracer.
func (m *Metrics) Run(ctx context.Context, r claim.RunRef) (context.Context, func(claim.Document)) {
	began := m.now()
	running := m.running.WithLabelValues(r.Job)
	running.Inc()
	return ctx, func(d claim.Document) {
		running.Dec()
		m.runs.WithLabelValues(r.Job, string(cmp.Or(d.Outcome, handedOut))).Inc()
		if d.Outcome == claim.RunDry {
			return
		}
		m.runSeconds.WithLabelValues(r.Job).Observe(m.now().Sub(began).Seconds())
		for _, row := range d.Rows {
			if row.Outcome != "" { // else it was handed out
				m.rows.WithLabelValues(r.Job, string(row.Outcome)).Inc()
			}
		}
		if d.Outcome != claim.RunFailed { // it may not have seen the sheet
			m.saw(r.Job, d)
		}
	}
}

// Settled is told of a row that was handed out and that its caller has settled.
func (m *Metrics) Settled(job string, o claim.Outcome) {
	m.rows.WithLabelValues(job, string(o)).Inc()
}

// saw keeps what a run saw of its sheet.
func (m *Metrics) saw(job string, d claim.Document) {
	m.due.WithLabelValues(job).Set(float64(d.Counts.Due))
	open := map[claim.DoubtKind]int{}
	for _, doubt := range d.Doubts {
		open[doubt.Kind]++
	}
	for _, k := range claim.DoubtKinds() {
		m.doubts.WithLabelValues(job, string(k)).Add(float64(open[k]))
		m.open.WithLabelValues(job, string(k)).Set(float64(open[k]))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dueSince[job] = d.DueSince
}

// Step implements claim.Tracer.
func (m *Metrics) Step(ctx context.Context, r claim.RunRef, s claim.Step) (context.Context, func(error)) {
	began := m.now()
	return ctx, func(error) {
		m.stepSeconds.WithLabelValues(r.Job, string(s)).Add(max(0, m.now().Sub(began).Seconds()))
	}
}

// Sheets is told of a request to the Sheets API.
func (m *Metrics) Sheets(ctx context.Context, call string) (context.Context, func(result string)) {
	began := m.now()
	return ctx, func(result string) {
		m.sheets.WithLabelValues(call, result).Inc()
		m.sheetsSeconds.WithLabelValues(call).Observe(m.now().Sub(began).Seconds())
	}
}

// SMTP is told of a mail transaction or a login.
func (m *Metrics) SMTP(ctx context.Context) (context.Context, func(claim.Result)) {
	return ctx, func(r claim.Result) {
		code := ""
		if r.Code > 0 {
			code = strconv.Itoa(r.Code)
		}
		m.smtp.WithLabelValues(r.Step, code, string(r.Verdict)).Inc()
	}
}
