package sheetsemu

import (
	"fmt"
	"sync"
	"time"
)

// DefaultQuota is how many reads, and how many writes, Google grants one user
// in a minute (documented).
const DefaultQuota = 60

// The grid of a new tab (recorded).
const (
	defaultRows = 1000
	defaultCols = 26
)

// Options configure an [Emulator]. The zero value works: no faults, the
// documented quota, the machine's clock.
type Options struct {
	Seed     uint64            // decides every fault that is drawn by chance
	Faults   Faults            // what goes wrong by chance; Calm is the zero value
	Now      func() time.Time  // the clock; waiting always uses the timers of package time
	Quota    int               // reads, and writes, per minute and user; 0 is DefaultQuota, below 0 no limit
	Users    map[string]string // the address behind a caller; callers with one address share one quota
	TimeZone string            // of new spreadsheets, else Etc/GMT
	Locale   string            // of new spreadsheets, else en_US
	History  time.Duration     // how far back a stale read can look, else ten minutes
}

// Emulator holds spreadsheets and answers calls. Its methods may be used by
// several goroutines at once.
type Emulator struct {
	opts Options

	mu      sync.Mutex // never held while waiting
	files   map[string]*file
	quotas  map[string]*quota
	nth     map[string]int
	log     []*Call
	rules   []*Rule
	faults  Faults
	before  map[int]func(*Call)
	after   map[int]func(*Call)
	hooks   int
	created uint64

	late sync.WaitGroup // applications that come after their answer
}

// file is a spreadsheet through time.
type file struct {
	current *book
	past    []version // oldest first; the last one is current
	access  map[string]Access
}

type version struct {
	at   time.Time
	book *book
}

// New returns an emulator without spreadsheets.
func New(opts Options) *Emulator {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Quota == 0 {
		opts.Quota = DefaultQuota
	}
	if opts.TimeZone == "" {
		opts.TimeZone = "Etc/GMT"
	}
	if opts.Locale == "" {
		opts.Locale = "en_US"
	}
	if opts.History == 0 {
		opts.History = 10 * time.Minute
	}
	return &Emulator{
		opts:   opts,
		files:  map[string]*file{},
		quotas: map[string]*quota{},
		nth:    map[string]int{},
		faults: opts.Faults,
		before: map[int]func(*Call){},
		after:  map[int]func(*Call){},
	}
}

// Create adds a spreadsheet with one empty tab Sheet1 of 1000 x 26, as Google
// does. It panics when the id is taken.
func (e *Emulator) Create(id, title string) {
	b := e.newBook(id, title)
	b.sheets = []*sheet{newSheet(b.own, 0, "Sheet1", defaultRows, defaultCols)}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.files[id] != nil {
		panic(fmt.Sprintf("sheetsemu: spreadsheet %q exists", id))
	}
	e.publish(b)
}

func (e *Emulator) newBook(id, title string) *book {
	return &book{
		id: id, title: title, locale: e.opts.Locale, timeZone: e.opts.TimeZone,
		autoRecalc: "ON_CHANGE", creator: "owner@example.invalid", own: new(owner),
	}
}

// publish makes a state the current one and forgets what is too old to be
// shown by any stale read. The caller holds the lock.
func (e *Emulator) publish(b *book) {
	f := e.files[b.id]
	if f == nil {
		f = &file{access: map[string]Access{}}
		e.files[b.id] = f
	}
	now := e.opts.Now()
	f.current = b
	f.past = append(f.past, version{now, b})
	drop := 0
	for drop+1 < len(f.past) && (now.Sub(f.past[drop+1].at) > e.opts.History || len(f.past)-drop > maxVersions) {
		drop++
	}
	f.past = f.past[drop:]
}

const maxVersions = 512

// asOf is the state at a moment, or the oldest one remembered.
func (f *file) asOf(t time.Time) *book {
	for i := len(f.past) - 1; i >= 0; i-- {
		if !f.past[i].at.After(t) {
			return f.past[i].book
		}
	}
	return f.past[0].book
}

// Access is what a caller may do with a spreadsheet.
type Access int

// A spreadsheet is writable for everybody until [Emulator.SetAccess] says otherwise.
const (
	CanWrite Access = iota
	CanRead
	NoAccess
)

// SetAccess shares a spreadsheet with a caller, or takes it away; a caller
// who may not is answered 403.
func (e *Emulator) SetAccess(id, caller string, a Access) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.mustFile(id).access[caller] = a
}

func (e *Emulator) mustFile(id string) *file {
	f := e.files[id]
	if f == nil {
		panic(fmt.Sprintf("sheetsemu: no spreadsheet %q", id))
	}
	return f
}

// Wait returns when every application that was to come after its answer is done.
func (e *Emulator) Wait() { e.late.Wait() }

// user is the address behind a caller.
func (e *Emulator) user(caller string) string {
	if u, ok := e.opts.Users[caller]; ok {
		return u
	}
	for _, r := range caller {
		if r == '@' {
			return caller
		}
	}
	if caller == "" {
		caller = "user"
	}
	return caller + "@example.invalid"
}

// quota holds the moments of one user's latest calls.
type quota struct{ reads, writes []time.Time }

// charge counts a call and says whether the minute before it was full. A
// refused call is not counted. The caller holds the lock.
func (e *Emulator) charge(c *Call) (ok bool) {
	if e.opts.Quota < 0 {
		return true
	}
	user := e.user(c.Caller)
	q := e.quotas[user]
	if q == nil {
		q = &quota{}
		e.quotas[user] = q
	}
	list := &q.reads
	if c.Write {
		list = &q.writes
	}
	now := e.opts.Now()
	drop := 0
	for drop < len(*list) && now.Sub((*list)[drop]) >= time.Minute {
		drop++
	}
	*list = (*list)[drop:]
	if len(*list) >= e.opts.Quota {
		return false
	}
	*list = append(*list, now)
	return true
}
