package sheetsemu

import (
	"time"
)

// Fault says what is done to a call: whether and when it is applied, and
// whether and how it is answered, two independent switches. The zero value
// does nothing out of the way.
type Fault struct {
	Delay  time.Duration // on the way to the server, before anything is applied
	Apply  Apply
	Answer Answer
	Stale  time.Duration // a read shows the state of so long ago
}

// Apply says whether a write takes effect. A call with the wrong arguments is
// refused all the same.
type Apply struct {
	never bool
	late  time.Duration
}

// Now is the normal case; Never leaves the state as it was, whatever the answer says.
var (
	Now   = Apply{}
	Never = Apply{never: true}
)

// Late applies the write only after d, on the state of then; the answer does
// not wait for it.
func Late(d time.Duration) Apply { return Apply{late: d} }

type answerKind uint8

const (
	answerOK answerKind = iota
	answerStatus
	answerLost
	answerSilent
	answerCut
	answerHTML
)

// Answer says what the caller gets to see.
type Answer struct {
	kind   answerKind
	delay  time.Duration
	status int
	body   string
}

// OK answers truthfully. Lost drops the connection instead of an answer.
// Silent keeps the connection and says nothing until the caller gives up, or
// for three minutes (Google's documented limit), then drops it. Cut is a 200
// whose body ends in the middle. HTML is a 200 with a page of a front end.
var (
	OK     = Answer{}
	Lost   = Answer{kind: answerLost}
	Silent = Answer{kind: answerSilent}
	Cut    = Answer{kind: answerCut}
	HTML   = Answer{kind: answerHTML, status: 200}
)

// Status answers with a status and a body; without a body with the usual one
// for the status.
func Status(code int, body string) Answer {
	if body == "" {
		body = defaultBody(code)
	}
	return Answer{kind: answerStatus, status: code, body: body}
}

// Slow answers truthfully after d.
func Slow(d time.Duration) Answer { return Answer{delay: d} }

// After delays any answer by d.
func (a Answer) After(d time.Duration) Answer {
	a.delay = d
	return a
}

// Match selects calls. Empty fields match all.
type Match struct {
	Kind        string // "spreadsheets.batchUpdate", or the last part of it: "batchUpdate" also matches "values.batchUpdate"
	Caller      string
	Spreadsheet string
	Writes      bool // only calls that write
	Reads       bool // only calls that read
	Nth         int  // only from the n-th matching call on, counted from 1
	Count       int  // for so many calls; 0 is one with Nth set, else without end
	Func        func(*Call) bool
}

// Rule is a scripted fault.
type Rule struct {
	Match
	Fault
	seen int
}

// Script adds rules. For each call the first rule that matches decides, before
// any chance; a call that a rule matches but has not yet reached, or is done
// with, goes on to the next rule.
func (e *Emulator) Script(rules ...Rule) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, r := range rules {
		e.rules = append(e.rules, &r)
	}
}

// SetFaults forgets the script and sets what goes wrong by chance.
func (e *Emulator) SetFaults(f Faults) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.rules, e.faults = nil, f
}

// faultFor decides about a call. Func is called outside the lock.
func (e *Emulator) faultFor(c *Call) Fault {
	e.mu.Lock()
	rules, faults, seen := e.rules, e.faults, *c
	e.mu.Unlock()
	for _, r := range rules {
		if !r.covers(&seen) || (r.Func != nil && !r.Func(&seen)) {
			continue
		}
		e.mu.Lock()
		hit := r.take()
		e.mu.Unlock()
		if hit {
			return r.Fault
		}
	}
	return faults.draw(e.opts.Seed, &seen)
}

func (m *Match) covers(c *Call) bool {
	return (m.Kind == "" || m.Kind == c.Kind || "spreadsheets."+m.Kind == c.Kind || lastPart(c.Kind) == m.Kind) &&
		(m.Caller == "" || m.Caller == c.Caller) &&
		(m.Spreadsheet == "" || m.Spreadsheet == c.Spreadsheet) &&
		(!m.Writes || c.Write) && (!m.Reads || !c.Write)
}

func lastPart(kind string) string {
	for i := len(kind) - 1; i >= 0; i-- {
		if kind[i] == '.' {
			return kind[i+1:]
		}
	}
	return kind
}

// take counts a matching call and says whether the rule applies to it.
func (r *Rule) take() bool {
	r.seen++
	from, count := max(r.Nth, 1), r.Count
	if count == 0 && r.Nth > 0 {
		count = 1
	}
	return r.seen >= from && (count == 0 || r.seen < from+count)
}
