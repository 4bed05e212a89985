package claim_test

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/sheetsemu"
	"github.com/sheetclaim/sheetclaim/internal/smtpsink"
)

// The simulation: installations, people and a foreign tool work on one sheet while
// everything fails that can fail, and afterwards the promise is checked. One seed
// decides all of it.

// simPlan is what a seed stands for.
type simPlan struct {
	seed      uint64
	procs     int
	ledgers   []string // by installation
	shared    bool     // one ledger for all
	account   bool     // one Google account, and so one quota, for all
	rows      int
	foreign   bool
	chaos     time.Duration // how long things go wrong
	faults    float64       // rates of Sheets faults, as a multiple of what users report
	lateBy    time.Duration
	slow      int           // of a thousand calls to the Sheets API, answered slowly
	throttle  int           // of a thousand, answered 429
	mail      int           // of a thousand moments in mail sessions, faults
	edits     time.Duration // mean time between two edits by people; 0: nobody edits
	statuses  int           // of a thousand edits, those of status cells
	crashes   bool
	pauses    bool
	moves     bool // people sort, move, insert and delete rows
	renames   bool
	eager     int  // of a thousand calls, those right before which a person edits
	note      bool // an optional column is mapped
	skip      bool // on_doubt: skip
	limit     int
	every     time.Duration // mean time between two runs of an installation
	sameNames bool          // run ids repeat
	flows     int           // of a hundred runs, those that only claim, for a flow that does the work

	parts time.Duration // mean time between two times that a ledger is out of reach; 0: never
	cutOn string        // the call whose commit most often gets no answer

	more settings // of the job

	dieOn, freezeOn string // calls at which processes like to die, or to stand still past their lease
}

// newPlan draws a plan.
func newPlan(seed uint64) simPlan {
	r := rand.New(rand.NewPCG(seed, 0x5eed))
	one := func(of int) bool { return r.IntN(of) == 0 }
	p := simPlan{
		seed: seed, procs: 2 + r.IntN(2), shared: !one(3), account: one(4), rows: 4 + r.IntN(9), foreign: one(3),
		chaos:  time.Duration(15+r.IntN(30)) * time.Minute,
		faults: []float64{0, 1, 4, 8}[r.IntN(4)], lateBy: []time.Duration{5 * time.Second, 20 * time.Second, 90 * time.Second}[r.IntN(3)],
		slow: []int{0, 10, 50}[r.IntN(3)], throttle: []int{0, 0, 20}[r.IntN(3)], mail: []int{0, 20, 80}[r.IntN(3)],
		edits: []time.Duration{0, 5 * time.Second, 20 * time.Second, time.Minute}[r.IntN(4)], statuses: []int{100, 400}[r.IntN(2)],
		crashes: !one(3), pauses: one(2), moves: !one(3), renames: one(6), note: one(2), skip: one(2),
		limit: []int{2, 5, 50}[r.IntN(3)], every: []time.Duration{30 * time.Second, 2 * time.Minute, 5 * time.Minute}[r.IntN(3)],
		sameNames: one(2),
	}
	p.eager = []int{0, 30, 150}[r.IntN(3)]
	for i := range p.procs {
		name := "one"
		if !p.shared {
			name = fmt.Sprintf("led%d", i)
		}
		p.ledgers = append(p.ledgers, name)
	}
	if !p.shared && p.procs == 3 && one(2) {
		p.ledgers[1] = p.ledgers[0]
	}
	switch r.IntN(6) {
	case 0:
		p.dieOn = []string{"replace", "mail write", "claim", "close batch", "move to settled", "move to returned", "send"}[r.IntN(7)]
	case 1:
		p.freezeOn = []string{"move to sending", "mail write", "claim", "replace", "open batch"}[r.IntN(5)]
	}
	p.flows = []int{0, 0, 30, 100}[r.IntN(4)]
	return p
}

// shadow is what people and the foreign tool did to one row. It is found by a tag in
// a column that the job does not use.
type shadow struct {
	tag, key, email, due, remark string

	emails  []string // every address it ever had
	gone    bool     // deleted by a person
	typed   []typed  // into the status cell, the first at the start
	resends int      // wishes for another message
	cleared []time.Time
	foreign []time.Time // messages by the foreign tool
	late    []time.Time // texts that a claim took the place of that was applied later than it may be old
}

type typed struct {
	at   time.Time
	text string
	by   string
}

type simEvent struct {
	at   time.Time
	text string
}

// sim is one simulation under way.
type sim struct {
	t     *testing.T
	plan  simPlan
	weak  *weakness // a safeguard that is taken away; nil: none
	emu   *sheetsemu.Emulator
	sink  *smtpsink.Sink
	store simStore
	over  chan struct{} // closed when the chaos ends
	wg    sync.WaitGroup

	mu         sync.Mutex
	title      string // of the tab, now
	events     []simEvent
	rows       []*shadow
	byTag      map[string]*shadow
	tags       int
	edits      int               // by people and the foreign tool, so far
	before     map[int]sighted   // the sheet before a call, by the call's number
	staked     map[string]staked // by claim text
	lost       map[string]overwritten
	violations []string
	excused    map[string]int
	counts     map[string]int
	foreignIDs int
	alerts     map[string]map[claim.AlertKind][]string // at the end: causes by key and kind
	worked     []taken                                 // what flows did with rows that were handed to them
}

// sighted is the sheet at a moment.
type sighted struct {
	grid  [][]string
	edits int
}

// staked is what a run knew when it wrote a claim text.
type staked struct {
	key   string
	began time.Time // of the second read
	at    time.Time // when the batch was sent
	mark  string
	read  map[string]string // status by key, as the second read showed it
	saw   string            // what the second read showed in the cell
	held  string            // the text that the cell was to hold; "": none
}

// overwritten is a text of others that a claim took the place of.
type overwritten struct {
	text, claim string
	moved       bool   // the row was not the one that was meant
	read        string // what the second read showed on this row
	known       bool   // it did
	typed       bool   // the text came after the last read
}

func simRand(seed uint64, actor string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(actor))
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

func (s *sim) rng(actor string) *rand.Rand { return simRand(s.plan.seed, actor) }

// upTo draws a duration; all of them end in odd nanoseconds, so that no two actors
// act at one instant.
func upTo(r *rand.Rand, d time.Duration) time.Duration {
	return time.Duration(r.Int64N(int64(d))) + 1
}

func (s *sim) log(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note(format, args...)
}

// note is log for callers that hold the lock.
func (s *sim) note(format string, args ...any) {
	s.events = append(s.events, simEvent{time.Now(), fmt.Sprintf(format, args...)})
}

// violate notes that the promise is broken. The caller holds the lock.
func (s *sim) violate(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	s.violations = append(s.violations, text)
	s.note("VIOLATION %s", text)
}

// excuse counts a limit that design.md admits. The caller holds the lock.
func (s *sim) excuse(name, format string, args ...any) {
	s.excused[name]++
	s.note("EXCUSED (%s) %s", name, fmt.Sprintf(format, args...))
}

// Columns of the sheet. The job knows the first four, and perhaps the last.
const (
	simKey, simEmail, simDue, simStatus, simTag, simRemark, simNote = 0, 1, 2, 3, 4, 5, 6
	simWidth                                                        = 7
)

const duePast, dueFuture = "2026-11-01", "2027-11-01"

// put makes the sheet.
func (s *sim) put() {
	r := s.rng("sheet")
	grid := [][]any{{"key", "email", "due", "status", "tag", "remark", "note"}}
	for range s.plan.rows {
		sh := s.newRow(r)
		status := ""
		switch n := r.IntN(20); {
		case n == 0:
			status = "sent"
		case n == 1:
			status = "resend"
			sh.resends++
		case n == 2:
			status = "failed 1/3: 451 later"
		case n == 3:
			status = "ask Anna first"
		case n == 4:
			sh.due = dueFuture
		case n == 5:
			sh.email = "no address"
		}
		sh.typed = []typed{{time.Now(), status, "start"}}
		grid = append(grid, []any{sh.key, sh.email, sh.due, status, sh.tag, sh.remark, ""})
	}
	if err := s.emu.Put(spreadsheet, s.title, grid); err != nil {
		s.t.Fatal(err)
	}
}

// newRow makes a row. The caller holds the lock, or is alone.
func (s *sim) newRow(r *rand.Rand) *shadow {
	s.tags++
	sh := &shadow{
		tag: fmt.Sprintf("t%02d", s.tags), key: fmt.Sprintf("k%02d", s.tags), email: fmt.Sprintf("g%02d@example.com", s.tags),
		due: duePast, remark: fmt.Sprintf("remark %d", r.IntN(1000)),
	}
	sh.emails = []string{sh.email}
	s.rows = append(s.rows, sh)
	s.byTag[sh.tag] = sh
	return sh
}

// grid is the sheet now, each row in full width.
func (s *sim) grid() [][]string {
	s.mu.Lock()
	title := s.title
	s.mu.Unlock()
	return wide(s.emu.Grid(spreadsheet, title))
}

func wide(grid [][]string) [][]string {
	for i, row := range grid {
		grid[i] = append(slices.Clone(row), make([]string, simWidth)...)[:max(simWidth, len(row))]
	}
	return grid
}

// edit lets a person change the sheet; f runs under the emulator's lock and ours.
func (s *sim) edit(f func(tab *sheetsemu.Tab)) {
	s.emu.Edit(spreadsheet, func(b *sheetsemu.Book) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.edits++
		f(b.Tab(s.title))
	})
}

// rowOf finds a row's number by its tag; 0 when it is gone.
func rowOf(tab *sheetsemu.Tab, tag string) int { return tab.FindRow("E", tag) }

// setStatus types a status. The caller holds the lock.
func (s *sim) setStatus(tab *sheetsemu.Tab, sh *shadow, text, by string) {
	n := rowOf(tab, sh.tag)
	if n == 0 {
		return
	}
	cell := fmt.Sprintf("D%d", n)
	was := tab.Get(cell)
	tab.SetRaw(cell, text)
	if text == "" {
		tab.ClearRange(cell)
		if was != "" {
			sh.cleared = append(sh.cleared, time.Now())
		}
	}
	if strings.EqualFold(strings.TrimSpace(text), "resend") {
		sh.resends++
	}
	sh.typed = append(sh.typed, typed{time.Now(), text, by})
	delete(s.lost, sh.tag)
	s.note("%s: status of %s: %q -> %q", by, sh.key, was, text)
}
