package claim_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/sheetsemu"
)

// sleep waits for d or the end of the chaos; false at the end.
func (s *sim) sleep(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-s.over:
		return false
	case <-t.C:
		return true
	}
}

// installation keeps one installation running: processes die and are started again.
func (s *sim) installation(slot int) {
	r := s.rng(fmt.Sprint("installation ", slot))
	s.sleep(upTo(r, 30*time.Second))
	for gen := 0; ; gen++ {
		p := s.boot(slot, gen, r)
		s.wg.Go(func() { s.recoveries(p) })
		dead := s.operate(p, r)
		if !dead && s.plan.crashes && r.IntN(2) == 0 {
			p.kill("at the end")
		}
		s.wg.Go(func() {
			p.end() // of a dead process nothing has an effect
			s.log("%s: is gone", p.name)
		})
		if !dead || !s.sleep(upTo(r, []time.Duration{2 * time.Second, 40 * time.Second, 6 * time.Minute}[r.IntN(3)])) {
			return
		}
	}
}

// recoveries settles what dead runs left, at the start and once a minute.
func (s *sim) recoveries(p *proc) {
	for {
		if err := p.svc.RecoverAll(context.Background()); err != nil && !p.isDead() {
			s.log("%s: recovery: %v", p.name, err)
		}
		select {
		case <-s.over:
			return
		case <-p.died:
			return
		case <-time.After(time.Minute):
		}
	}
}

// operate starts runs until the process dies (true) or the chaos ends.
func (s *sim) operate(p *proc, r *rand.Rand) (died bool) {
	for n := 0; ; n++ {
		timer := time.NewTimer(upTo(r, 2*s.plan.every))
		select {
		case <-s.over:
			timer.Stop()
			return false
		case <-p.died:
			timer.Stop()
			return true
		case <-timer.C:
		}
		id := fmt.Sprintf("%s-%d", p.name, n)
		if s.plan.sameNames {
			id = fmt.Sprint("n", r.IntN(6))
		}
		carry := s.run
		if r.IntN(100) < s.plan.flows {
			carry = s.flow
		}
		for range 1 + r.IntN(8)/7 {
			s.wg.Go(func() { carry(p, id) })
		}
	}
}

func (s *sim) run(p *proc, id string) {
	t, err := p.svc.Start(context.Background(), claim.Request{Job: "test", RunID: id})
	if err != nil {
		if !p.isDead() {
			s.log("%s: run %s: %v", p.name, id, err)
		}
		return
	}
	select {
	case <-t.Done():
		s.ended(p, id, t)
	case <-p.died:
	}
}

// flow claims rows, does the work itself and settles each, or forgets to.
func (s *sim) flow(p *proc, id string) {
	t, err := p.svc.Start(context.Background(), claim.Request{Job: "test", RunID: id, ClaimOnly: true})
	if err != nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s.wg.Go(func() {
		select {
		case <-p.died:
			cancel()
		case <-ctx.Done():
		}
	})
	rows := t.Collect(ctx)
	if len(rows) == 0 {
		return
	}
	held, err := p.led.Held(context.Background(), t.Run)
	for err != nil && !p.isDead() { // the ledger is out of reach; only the simulation asks here
		s.log("%s: flow %s: %v", p.name, id, err)
		time.Sleep(time.Second)
		held, err = p.led.Held(context.Background(), t.Run)
	}
	r := s.rng("flow " + p.name + id)
	for _, row := range rows {
		s.work(p, id, row, held, r)
	}
}

// work does what a flow does with one row.
func (s *sim) work(p *proc, id string, row claim.Handed, held []claim.Message, r *rand.Rand) {
	time.Sleep(upTo(r, []time.Duration{2 * time.Second, 20 * time.Second, 2 * time.Minute}[r.IntN(3)]))
	outcome, does := claim.Sent, true
	switch r.IntN(10) {
	case 0:
		outcome, does = claim.Failed, false
	case 1:
		outcome, does = claim.Released, false
	case 2:
		outcome, does = claim.Unknown, r.IntN(2) == 0
	case 3:
		outcome = "" // it forgets to settle
	}
	s.mu.Lock()
	if does {
		i := slices.IndexFunc(held, func(m claim.Message) bool { return m.Key == row.Key })
		tk := taken{key: row.Key, gen: held[i].Generation}
		tk.To, tk.At = []string{row.Email}, time.Now()
		s.worked = append(s.worked, tk)
	}
	s.counts["rows handed to flows"]++
	s.note("flow %s: row %s: works %t, says %q", id, row.Key, does, outcome)
	s.mu.Unlock()
	if outcome == "" {
		return
	}
	if _, err := p.svc.Receive(context.Background(), claim.Receipt{Job: "test", RunID: id, Key: row.Key, Outcome: outcome}); err != nil && !p.isDead() {
		s.log("flow %s: row %s: %v", id, row.Key, err)
	}
}

func (s *sim) ended(p *proc, id string, t *claim.Ticket) {
	d := t.Document()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note("%s: run %s (replayed %t): %s, %s %+v", p.name, id, t.Replayed, d.Outcome, d.Detail, d.Counts)
	if t.Replayed || p.isDead() {
		return
	}
	s.counts["runs "+string(d.Outcome)]++
	for _, doubt := range d.Doubts {
		s.counts["doubt "+string(doubt.Kind)]++
	}
}

// people edit the sheet.
func (s *sim) people() {
	if s.plan.edits == 0 {
		return
	}
	r := s.rng("people")
	for s.sleep(upTo(r, 2*s.plan.edits)) {
		s.person(r)
	}
}

// eager makes people edit right between a call's arrival and its application, where
// the method's gaps are.
func (s *sim) eager() {
	s.emu.Before(func(c *sheetsemu.Call) {
		select {
		case <-s.over:
			return
		default:
		}
		r := simRand(s.plan.seed, fmt.Sprint("eager ", c.Caller, " ", c.Kind, " ", c.Nth))
		if r.IntN(1000) < s.plan.eager {
			s.person(r)
		}
	})
}

func (s *sim) person(r *rand.Rand) {
	if r.IntN(1000) < s.plan.statuses {
		s.edit(func(tab *sheetsemu.Tab) {
			if sh := s.anyRow(r); sh != nil {
				text := []string{"resend", "sent", "ask Anna first", "", "", "Resend "}[r.IntN(6)]
				s.setStatus(tab, sh, text, "person")
			}
		})
		return
	}
	if s.plan.renames && r.IntN(30) == 0 {
		s.rename()
		return
	}
	s.edit(func(tab *sheetsemu.Tab) {
		last := len(tab.Rows())
		switch n := r.IntN(12); {
		case n < 6 && s.plan.moves:
			s.move(tab, r, last)
		case n < 8:
			if sh := s.anyRow(r); sh != nil {
				sh.remark = fmt.Sprintf("remark %d", r.IntN(1000))
				tab.SetRaw(fmt.Sprintf("F%d", rowOf(tab, sh.tag)), sh.remark)
			}
		case n == 8:
			if sh := s.anyRow(r); sh != nil {
				sh.email = fmt.Sprintf("g%s.%d@example.com", sh.tag[1:], r.IntN(100))
				sh.emails = append(sh.emails, sh.email)
				tab.SetRaw(fmt.Sprintf("B%d", rowOf(tab, sh.tag)), sh.email)
				s.note("person: address of %s is %s", sh.key, sh.email)
			}
		case n == 9:
			if sh := s.anyRow(r); sh != nil {
				sh.due = []string{duePast, dueFuture}[r.IntN(2)]
				tab.SetRaw(fmt.Sprintf("C%d", rowOf(tab, sh.tag)), sh.due)
				s.note("person: %s is due %s", sh.key, sh.due)
			}
		case n == 10 && len(s.rows) < 2*s.plan.rows:
			sh := s.newRow(r)
			sh.typed = []typed{{time.Now(), "", "start"}}
			tab.InsertRows(last+1, 1)
			for col, text := range []string{sh.key, sh.email, sh.due, "", sh.tag, sh.remark} {
				if text != "" {
					tab.SetRaw(fmt.Sprintf("%c%d", 'A'+col, last+1), text)
				}
			}
			s.note("person: adds %s", sh.key)
		}
	})
}

// anyRow draws a row that is still there. The caller holds the lock.
func (s *sim) anyRow(r *rand.Rand) *shadow {
	sh := s.rows[r.IntN(len(s.rows))]
	if sh.gone {
		return nil
	}
	return sh
}

// move sorts, inserts, moves or deletes rows. The caller holds the lock.
func (s *sim) move(tab *sheetsemu.Tab, r *rand.Rand, last int) {
	switch r.IntN(5) {
	case 0, 1:
		column, up := string("ABDEF"[r.IntN(5)]), r.IntN(2) == 0
		tab.SortBy(column, up, 2)
		s.note("person: sorts by %s (%t)", column, up)
	case 2:
		at, n := 2+r.IntN(last), 1+r.IntN(2)
		if last > 40 {
			return
		}
		tab.InsertRows(at, n)
		s.note("person: inserts %d rows above %d", n, at)
	case 3:
		if last < 5 {
			return
		}
		from, n := 2+r.IntN(last-3), 1+r.IntN(2)
		to := 2 + r.IntN(last)
		if to >= from && to <= from+n {
			return
		}
		tab.MoveRows(from, n, to)
		s.note("person: moves %d rows from %d to %d", n, from, to)
	case 4:
		if sh := s.anyRow(r); sh != nil && r.IntN(3) == 0 {
			tab.DeleteRows(rowOf(tab, sh.tag), 1)
			sh.gone = true
			delete(s.lost, sh.tag)
			s.note("person: deletes %s", sh.key)
		}
	}
}

// rename gives the tab another name, for as long as a minute or two.
func (s *sim) rename() {
	s.emu.Edit(spreadsheet, func(b *sheetsemu.Book) {
		s.mu.Lock()
		defer s.mu.Unlock()
		to := "Renamed"
		if s.title == to {
			to = tabTitle
		}
		b.RenameTab(s.title, to)
		s.title = to
		s.note("person: renames the tab to %s", to)
	})
}

// The foreign tool's own bounds: it claims without the fence, by plain writes, and
// keeps within its own wait less twice the lag of reads.
const (
	foreignWait = 15 * time.Second
	readLag     = 5 * time.Second
)

// tool is a foreign tool as n8n guides describe it.
func (s *sim) tool() {
	r := s.rng("tool")
	for s.sleep(upTo(r, 6*time.Minute)) {
		s.toolRun(r)
	}
}

func (s *sim) toolRun(r *rand.Rand) {
	s.mu.Lock()
	s.foreignIDs++
	text := fmt.Sprintf("sending n8n-%d", s.foreignIDs)
	s.mu.Unlock()
	seen := s.grid()
	time.Sleep(upTo(r, readLag)) // what it sees may be as old as that
	end := time.Now().Add(foreignWait - 2*readLag)
	var mine []*shadow
	n := 1 + r.IntN(4)
	for _, row := range seen[1:] {
		if row[simStatus] != "" || row[simDue] != duePast || len(mine) == n {
			continue
		}
		time.Sleep(upTo(r, time.Second))
		if time.Now().After(end) {
			break
		}
		s.edit(func(tab *sheetsemu.Tab) {
			if sh := s.byTag[row[simTag]]; sh != nil && !sh.gone {
				s.setStatus(tab, sh, text, "tool")
				mine = append(mine, sh)
			}
		})
	}
	lag := upTo(r, readLag)
	time.Sleep(foreignWait - lag)
	now := s.grid()
	time.Sleep(lag)
	for _, row := range now[1:] {
		if row[simStatus] != text {
			continue
		}
		time.Sleep(upTo(r, time.Second))
		s.edit(func(tab *sheetsemu.Tab) {
			sh := s.byTag[row[simTag]]
			sh.foreign = append(sh.foreign, time.Now())
			s.note("tool: sends %s", sh.key)
			s.setStatus(tab, sh, "sent", "tool")
		})
	}
}
