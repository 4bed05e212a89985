package api_test

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/sheetclaim/sheetclaim/api"
	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// book starts and remembers runs in memory. A run ends after takes, with outcome;
// with takes 0 at once.
type book struct {
	takes   time.Duration
	outcome claim.RunOutcome // "": sent
	err     error            // of every call

	mu   sync.Mutex
	runs []*entry // oldest first
}

// entry is one run of a book.
type entry struct {
	req  claim.Request
	mu   sync.Mutex
	doc  claim.Document
	done chan struct{}
}

func (b *book) Start(_ context.Context, r claim.Request) (api.Run, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return nil, b.err
	}
	if e := b.newest(r.Job, r.RunID); e != nil {
		if !sameRun(e.req, r) {
			return nil, claim.ErrReused
		}
		return grip{e, e.Document().State == claim.RunFinished}, nil
	}
	e := &entry{req: r, done: make(chan struct{}), doc: claim.Document{
		Job: r.Job, RunID: r.RunID, State: claim.RunRunning, Step: claim.StepWait, Detail: "3 rows claimed", StartedAt: time.Now().UTC(),
	}}
	b.runs = append(b.runs, e)
	if b.takes == 0 {
		e.finish(b.outcome)
	} else {
		time.AfterFunc(b.takes, func() { e.finish(b.outcome) })
	}
	return grip{e, false}, nil
}

// sameRun compares what makes a request another one.
func sameRun(a, b claim.Request) bool {
	return a.Target == b.Target && a.Limit == b.Limit && a.DryRun == b.DryRun
}

func (b *book) newest(job, id string) *entry {
	for _, e := range slices.Backward(b.runs) {
		if e.req.Job == job && e.req.RunID == id {
			return e
		}
	}
	return nil
}

func (b *book) Find(_ context.Context, job, id string) (claim.RunRecord, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return claim.RunRecord{}, b.err
	}
	if e := b.newest(job, id); e != nil {
		return e.record(), nil
	}
	return claim.RunRecord{}, claim.ErrNoRun
}

func (b *book) Recent(_ context.Context, job string, limit int) ([]claim.RunRecord, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return nil, b.err
	}
	var recs []claim.RunRecord
	for _, e := range slices.Backward(b.runs) {
		if (job == "" || e.req.Job == job) && len(recs) < limit {
			recs = append(recs, e.record())
		}
	}
	return recs, nil
}

// last is the request of the newest run.
func (b *book) last() claim.Request {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.runs[len(b.runs)-1].req
}

// count is how many runs were started.
func (b *book) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.runs)
}

func (e *entry) record() claim.RunRecord {
	return claim.RunRecord{RunRef: claim.RunRef{Job: e.req.Job, ID: e.req.RunID}, Document: e.Document()}
}

func (e *entry) Document() claim.Document {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.doc
}

func (e *entry) Done() <-chan struct{} { return e.done }

func (e *entry) finish(o claim.RunOutcome) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := time.Now().UTC()
	e.doc.State, e.doc.Step, e.doc.Outcome, e.doc.FinishedAt = claim.RunFinished, "", cmp.Or(o, claim.RunSent), &now
	e.doc.Detail = "1 of 1 due rows sent"
	e.doc.Counts = claim.Counts{Due: 1, Claimed: 1, Confirmed: 1, Sent: 1}
	e.doc.Rows = []claim.RowReport{{
		Row: 2, Key: "B-1001", Email: "ada@example.com", Outcome: claim.Sent, Attempt: 1,
		MessageID: "<b1001@example.com>", SMTPReply: "250 taken", Status: "sent", At: &now,
	}}
	e.doc.Doubts = []claim.Doubt{{Kind: claim.RowGone, Row: 3, Key: "B-1002", Detail: "gone", Advice: claim.RowGone.Advice()}}
	close(e.done)
}

// grip is a hold on an entry.
type grip struct {
	*entry
	replayed bool
}

func (h grip) Replayed() bool { return h.replayed }

// Collect gives the rows of a claim to its first caller.
func (h grip) Collect(ctx context.Context) []claim.Handed {
	select {
	case <-h.done:
	case <-ctx.Done():
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.doc.HandedOutAt != nil {
		return nil
	}
	now := time.Now().UTC()
	h.doc.State, h.doc.Outcome, h.doc.FinishedAt, h.doc.Step = claim.RunRunning, "", nil, claim.StepHandOut
	h.doc.HandedOutAt, h.doc.LeaseUntil, h.doc.HandedOut = &now, &now, 1
	return []claim.Handed{{Row: 2, Key: "B-1001", Email: "ada@example.com", Attempt: 1, Status: "sending 1/m.1", Cells: map[string]string{"Name": "Ada"}}}
}

// Receive knows one row, of the newest run.
func (b *book) Receive(_ context.Context, r claim.Receipt) (claim.Message, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	m := claim.Message{MessageKey: claim.MessageKey{Key: r.Key}, Row: 2, Attempts: 1, Outcome: r.Outcome, State: claim.Verified, Status: string(r.Outcome)}
	switch e := b.newest(r.Job, r.RunID); {
	case b.err != nil:
		return m, b.err
	case e == nil:
		return m, claim.ErrNoRun
	case r.Key != "B-1001":
		return m, claim.ErrNoClaim
	}
	return m, nil
}
