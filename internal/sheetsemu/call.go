package sheetsemu

import (
	"net/url"
	"slices"
	"time"
)

// The kinds of calls, named as Google's discovery document names the methods.
const (
	KindCreate            = "spreadsheets.create"
	KindGet               = "spreadsheets.get"
	KindGetByDataFilter   = "spreadsheets.getByDataFilter"
	KindBatchUpdate       = "spreadsheets.batchUpdate"
	KindValuesGet         = "values.get"
	KindValuesUpdate      = "values.update"
	KindValuesAppend      = "values.append"
	KindValuesClear       = "values.clear"
	KindValuesBatchGet    = "values.batchGet"
	KindValuesBatchUpdate = "values.batchUpdate"
	KindValuesBatchClear  = "values.batchClear"
	KindMetadataGet       = "developerMetadata.get"
	KindMetadataSearch    = "developerMetadata.search"
)

// Call is one request and what became of it.
type Call struct {
	N           int       // place in the log, from 1
	Nth         int       // the caller's n-th call of this kind, from 1
	Time        time.Time // when it came in
	Caller      string
	Kind        string
	Spreadsheet string
	Arg         string // the range or the metadata id of the path
	Write       bool   // counts against the write quota
	Query       url.Values
	Body        []byte

	Applied   bool      // the write changed the state, or the read was answered from it
	AppliedAt time.Time // later than the answer for a late application
	Status    int       // 0 when no answer arrived
	Message   string    // of a refusal
	Fault     Fault     // what was done to it
}

// Counts are one caller's calls so far.
type Counts struct{ Reads, Writes int }

// Log returns every call so far, in the order of arrival.
func (e *Emulator) Log() []Call {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := make([]Call, len(e.log))
	for i, c := range e.log {
		out[i] = *c
	}
	return out
}

// ResetLog empties the log; the numbers of later calls begin again.
func (e *Emulator) ResetLog() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.log = nil
	clear(e.nth)
}

// Counts counts a caller's calls in the log, or everybody's for "".
func (e *Emulator) Counts(caller string) Counts {
	e.mu.Lock()
	defer e.mu.Unlock()
	var n Counts
	for _, c := range e.log {
		switch {
		case caller != "" && c.Caller != caller:
		case c.Write:
			n.Writes++
		default:
			n.Reads++
		}
	}
	return n
}

// Before has f called right before a call is applied, outside of the lock, so
// that f can play a person with [Emulator.Edit]. The call is a copy. The
// function that is returned takes the hook away.
func (e *Emulator) Before(f func(*Call)) (remove func()) { return e.hook(e.before, f) }

// After has f called right after a call was applied, or definitely not, and
// before its answer.
func (e *Emulator) After(f func(*Call)) (remove func()) { return e.hook(e.after, f) }

func (e *Emulator) hook(hooks map[int]func(*Call), f func(*Call)) func() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.hooks++
	id := e.hooks
	hooks[id] = f
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(hooks, id)
	}
}

// runHooks calls the hooks in the order in which they were set.
func (e *Emulator) runHooks(hooks map[int]func(*Call), c *Call) {
	e.mu.Lock()
	ids := make([]int, 0, len(hooks))
	for id := range hooks {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	run := make([]func(*Call), len(ids))
	for i, id := range ids {
		run[i] = hooks[id]
	}
	seen := *c
	e.mu.Unlock()
	for _, f := range run {
		f(&seen)
	}
}

// enter puts a call into the log.
func (e *Emulator) enter(c *Call) {
	e.mu.Lock()
	defer e.mu.Unlock()
	c.Time = e.opts.Now()
	key := c.Caller + "\x00" + c.Kind
	e.nth[key]++
	c.Nth = e.nth[key]
	e.log = append(e.log, c)
	c.N = len(e.log)
}

// note changes what the log says of a call.
func (e *Emulator) note(c *Call, change func(*Call)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	change(c)
}
