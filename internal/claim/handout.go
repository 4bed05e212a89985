package claim

import (
	"context"
	"fmt"
	"time"
)

// Handed is a confirmed row that a caller was given, to do the work itself.
type Handed struct {
	Row     int               `json:"row"`
	Key     string            `json:"key"`
	Email   string            `json:"email"`
	Attempt int               `json:"attempt"` // this one, counted from 1
	Status  string            `json:"status"`  // the claim text that the cell carries
	Cells   map[string]string `json:"cells"`   // every cell as the sheet shows it, by its header
}

// Pickup is where a caller that wants rows leaves a channel for them. The run closes
// it: after the rows, or without any when there are none for this caller.
type Pickup chan chan<- []Handed

// handOut gives the confirmed rows to a caller that waits for them. They leave the
// run once: the ledger says so on disk before the caller gets them, and when the
// answer is lost they become unknown like a message whose answer was lost. Rows that
// nobody fetches are given back.
func (p *pass) handOut(ctx context.Context) (Step, error) {
	patience, cancel := context.WithTimeout(ctx, p.job.Lease)
	defer cancel()
	select {
	case caller := <-p.order.Pickup:
		defer close(caller)
		rows, err := p.handOver(ctx)
		if err != nil {
			return "", err
		}
		p.observe()
		caller <- rows
		return "", nil
	case <-patience.Done():
		if err := p.askedToStop(ctx); err != nil {
			return "", err
		}
		return "", p.stopped("nobody fetched the claimed rows within the lease; they were given back")
	}
}

// handOver moves the rows to the caller in the ledger.
func (p *pass) handOver(ctx context.Context) ([]Handed, error) {
	if p.age(p.held[0].readAt) >= readAgeMost { // fetched late: they may have changed
		if err := p.refresh(ctx, p.held); err != nil {
			return nil, err
		}
	}
	now := p.Now()
	var rows []*held
	var moves []Move
	for _, h := range p.held {
		if h.State != Confirmed || h.doubtful {
			continue
		}
		rows = append(rows, h)
		moves = append(moves, Move{
			MessageKey: h.MessageKey, Claim: h.Claim, From: []State{Confirmed}, To: HandedOut, Lease: true,
			Attempt: &Attempt{Number: h.Attempts + 1, Step: string(StepHandOut), At: now},
			Event:   "handed out to the caller",
		})
	}
	moved, err := p.Ledger.Move(ctx, p.order.Run, moves)
	if err != nil {
		return nil, p.stopped("the ledger could not note that the rows are handed out, so they were not: " + err.Error())
	}
	var out []Handed
	for i, h := range rows {
		if !moved[i] {
			continue
		}
		h.State = HandedOut
		h.report.Attempt, h.report.Status = h.Attempts+1, h.Claim
		out = append(out, Handed{
			Row: h.row.Number, Key: h.Key, Email: h.row.Cell(p.fit.cols.Email).Shown,
			Attempt: h.Attempts + 1, Status: h.Claim, Cells: p.byHeader(h.row),
		})
	}
	if len(out) == 0 {
		return nil, p.stopped(errLeaseLost.Error())
	}
	p.noteHandOver(ctx, now, len(out))
	return out, nil
}

// noteHandOver begins the lease within which the rows are to be settled.
func (p *pass) noteHandOver(ctx context.Context, now time.Time, rows int) {
	if _, err := p.Ledger.Renew(ctx, p.order.Run, p.job.Lease); err != nil {
		p.log.Warn("the lease of rows that were handed out could not be prolonged; what is left of it counts", "error", err)
	}
	until := now.Add(p.job.Lease)
	d := &p.doc
	d.HandedOutAt, d.HandedOut, d.LeaseUntil = &now, rows, &until
	p.count()
	d.Detail = fmt.Sprintf("%d of %d due rows handed out, to be settled until %s", d.HandedOut, d.Counts.Due, p.stamp(*d.LeaseUntil))
	p.log.Info("handed out", "rows", rows, "lease_until", until)
}

// byHeader answers a row's cells by their headers. A header that stands there again gets a
// number, so that no cell is lost.
func (p *pass) byHeader(row Row) map[string]string {
	cells := map[string]string{}
	for i, c := range p.grid.Header {
		name := c.Shown
		for n := 2; ; n++ {
			if _, used := cells[name]; !used {
				break
			}
			name = fmt.Sprintf("%s (%d)", c.Shown, n)
		}
		if name != "" {
			cells[name] = row.Cell(i).Shown
		}
	}
	return cells
}

// leaveToCaller shows the document of a run whose rows are with a caller: it goes on
// until they are settled.
func (p *pass) leaveToCaller(ctx context.Context) {
	p.count()
	d := &p.doc
	if p.Calls != nil {
		d.APICalls = p.Calls()
	}
	p.queue(ctx, p.endAlerts(nil)...)
	p.log.Info("run goes on with its caller", "detail", d.Detail)
}
