package check

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// Level says how much a finding matters.
type Level string

const (
	OK   Level = "ok"
	Warn Level = "warn" // works, but not as it should, or cannot be judged
	Fail Level = "fail" // the job cannot do its work until this is mended
)

// Finding is one thing that was looked at.
type Finding struct {
	Check string `json:"check"`         // what was looked at: a word that stays the same
	Job   string `json:"job,omitempty"` // "": it concerns all of them
	Level Level  `json:"level"`
	Found string `json:"found"`
	Todo  string `json:"todo,omitempty"` // what to do about it; "" when nothing is

	// Setup marks a failure for which nothing could be tried: the configuration, the
	// login to Google, or the way to the sheet.
	Setup bool `json:"-"`
}

// Report collects findings in the order in which a person mends them. It is used by
// one goroutine.
type Report struct {
	Title    string // what was checked
	Findings []Finding
	// Watch is told every finding as it is made; nil: nobody watches.
	Watch func(Finding)
}

// Add puts a finding at the end.
func (r *Report) Add(f Finding) {
	f.Found, f.Todo = oneLine(f.Found), oneLine(f.Todo)
	r.Findings = append(r.Findings, f)
	if r.Watch != nil {
		r.Watch(f)
	}
}

// Ok notes that something is as it should be.
func (r *Report) Ok(check, job, found string) {
	r.Add(Finding{Check: check, Job: job, Level: OK, Found: found})
}

// Warn notes something that works, but not as it should.
func (r *Report) Warn(check, job, found, todo string) {
	r.Add(Finding{Check: check, Job: job, Level: Warn, Found: found, Todo: todo})
}

// Fail notes something that has to be mended.
func (r *Report) Fail(check, job, found, todo string) {
	r.Add(Finding{Check: check, Job: job, Level: Fail, Found: found, Todo: todo})
}

// FailSetup notes a failure for which nothing could be tried.
func (r *Report) FailSetup(check, job, found, todo string) {
	r.Add(Finding{Check: check, Job: job, Level: Fail, Found: found, Todo: todo, Setup: true})
}

// Count answers how many findings have a level.
func (r *Report) Count(l Level) int {
	n := 0
	for _, f := range r.Findings {
		if f.Level == l {
			n++
		}
	}
	return n
}

// Unset reports whether something failed for which nothing could be tried.
func (r *Report) Unset() bool {
	for _, f := range r.Findings {
		if f.Level == Fail && f.Setup {
			return true
		}
	}
	return false
}

// Print writes a finding for people: one line, and what to do about it below.
func Print(w io.Writer, f Finding) {
	name := f.Check
	if f.Job != "" {
		name = f.Job + " " + name
	}
	fmt.Fprintf(w, "%-4s  %s: %s\n", f.Level, name, f.Found)
	if f.Todo != "" {
		fmt.Fprintf(w, "      -> %s\n", f.Todo)
	}
}

// Summary is the last line for people.
func (r *Report) Summary() string {
	switch fails, warns := r.Count(Fail), r.Count(Warn); {
	case fails > 0:
		return fmt.Sprintf("%d failed, %d warned, %d in order.", fails, warns, r.Count(OK))
	case warns > 0:
		return fmt.Sprintf("Nothing failed; %d warned, %d in order.", warns, r.Count(OK))
	}
	return fmt.Sprintf("All %d in order.", r.Count(OK))
}

// JSON writes the report for machines.
func (r *Report) JSON(w io.Writer) error {
	list := r.Findings
	if list == nil {
		list = []Finding{}
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(struct {
		Checked  string        `json:"checked"`
		OK       bool          `json:"ok"`
		Counts   map[Level]int `json:"counts"`
		Findings []Finding     `json:"findings"`
	}{r.Title, r.Count(Fail) == 0, map[Level]int{OK: r.Count(OK), Warn: r.Count(Warn), Fail: r.Count(Fail)}, list})
}

// oneLine keeps a text from a cell or a server on one line, and from steering the
// terminal.
func oneLine(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return ' '
		}
		return r
	}, s))
}
