package claim

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"
)

// pass is one run under way.
type pass struct {
	*Worker
	job    *Job
	order  Order
	log    *slog.Logger
	doc    Document
	fit    *fitted
	grid   *Grid       // the newest read of the whole range
	due    []candidate // what pick found due and without fault
	chosen []*held     // what pick chose
	held   []*held     // what the run holds or has settled, in sheet order
	chunk  []*held     // what send, mark and verify are at

	batchMark string    // the mark of this claim batch
	claimedAt time.Time // when the claim was answered
	tries     int       // picks so far
	young     bool      // pick doubts a status that the read may only show late
	reread    bool      // and has read it twice
	skipTo    uint64    // fence numbers up to here are used by something else
	seen      map[string]Before
	astray    *Grid // where the texts of a claim stand that landed beside its rows; nil: on them
	ending    error // set when nothing more is to be sent
	streak    []*held
	unknowns  int    // unknown outcomes in a row
	reported  int    // doubts that pick has reported
	pausing   string // why the job rests, once it does
	warning   string // what a dry run adds to its sentence
	passedBy  passedBy
	later     int        // due rows that the limit leaves for the next run
	show      *show      // of a preview; nil in every run
	downtimes []Downtime // whose rows are left
	backlog   int        // ticks that were missed and are made up for
	looked    bool       // for ticks that were missed
}

// held is one row that the run took.
type held struct {
	Message
	row      Row       // as the last read showed it
	email    string    // the address that was claimed
	readAt   time.Time // when the read began that last confirmed it
	cand     candidate
	from     string // the text in the sheet that the mark replaces
	counted  bool   // the mark was seen to replace the claim text
	unsent   bool   // its transaction ended surely before the final dot
	doubtful bool
	report   *RowReport
}

func newPass(w *Worker, job *Job, o Order) *pass {
	p := &pass{Worker: w, job: job, order: o}
	p.log = w.Log.With("job", job.Name, "run", o.Run.ID)
	if p.order.Target == (Target{}) {
		p.order.Target = job.Target
	}
	if p.order.Limit <= 0 || p.order.Limit > job.Limit {
		p.order.Limit = job.Limit
	}
	p.doc = Document{
		Job: job.Name, RunID: o.Run.ID, State: RunRunning, StartedAt: w.Now(),
		Rows: []RowReport{}, Doubts: []Doubt{},
	}
	return p
}

// enter notes the step that begins.
func (p *pass) enter(step Step) {
	p.doc.Step = step
	p.doc.Steps = append(p.doc.Steps, StepTime{Step: step, At: p.Now()})
	p.log.Debug("step", "step", step, "rows", len(p.held))
	p.observe()
}

// observe shows the document as it is now to whoever watches.
func (p *pass) observe() {
	if p.Observe == nil {
		return
	}
	d := p.doc
	d.APICalls = p.Calls()
	d.Rows = make([]RowReport, 0, len(p.chosen))
	for _, h := range p.chosen {
		d.Rows = append(d.Rows, *h.report)
	}
	p.Observe(d)
}

// book is the memory that this run writes to.
func (p *pass) book() Book { return Book{Job: p.job.Name, Spreadsheet: p.order.Target.Spreadsheet} }

// lasting is a context for what must be finished even when the run is cancelled: a
// stop must not manufacture doubts. Once a stop was asked for, it is short.
func lasting(ctx context.Context) (context.Context, context.CancelFunc) {
	const usual, stopping = 5 * time.Minute, 20 * time.Second
	enough := usual
	if ctx.Err() != nil {
		enough = stopping
	}
	return context.WithTimeout(context.WithoutCancel(ctx), enough)
}

// note settles what is reported of a row.
func (p *pass) note(h *held, o Outcome, reason string) {
	if h.report.Outcome == Sent {
		return // nothing that comes later can take that back
	}
	h.report.Outcome, h.report.Reason = o, reason
	p.log.Info("row", "key", h.Key, "row", h.Row, "outcome", o) // the reason may hold a cell's text
}

// doubt records a doubt about a row (h may be nil).
func (p *pass) doubt(kind DoubtKind, h *held, detail string) {
	d := Doubt{Kind: kind, Detail: detail, Advice: kind.Advice()}
	if h != nil {
		d.Row, d.Key = h.row.Number, h.Key
		h.doubtful = true
	}
	p.doc.Doubts = append(p.doc.Doubts, d)
	p.log.Warn("doubt", "kind", kind, "key", d.Key, "row", d.Row) // the detail may hold a cell's text
}

// messageID is stable for a message key, so that every attempt carries the same
// Message-ID and a receiver can fold copies.
func messageID(k MessageKey) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{k.Job, k.Spreadsheet, k.Key, fmt.Sprint(k.Generation)}, "\x00")))
	return "sc." + hex.EncodeToString(sum[:16])
}

// rowAt finds a row of a read by its number; the rows of a read are in order.
func rowAt(g *Grid, number int) (Row, bool) {
	i, ok := slices.BinarySearchFunc(g.Rows, number, func(r Row, n int) int { return r.Number - n })
	if !ok {
		return Row{}, false
	}
	return g.Rows[i], true
}
