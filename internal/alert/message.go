package alert

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// Message is one or several alerts of one job, kind and cause. Its texts, keys
// aside, are one line each and hold no addresses.
type Message struct {
	// ID names the set of alerts: a repetition has the same, a message that more
	// alerts have joined has another, so that receivers who drop known ids lose
	// nothing.
	ID    string
	Kind  claim.AlertKind
	Job   string
	Cause string
	Runs  []string         // each once, oldest first
	Count int              // alerts
	Rows  []claim.AlertRow // equal ones once
	// What was seen, what was done and what to do: each text once, oldest first.
	Seen, Done, Todo []string
	FirstAt, LastAt  time.Time // when the first and the last alert were queued
	Failures         int       // deliveries on this route that failed before
}

// newMessage makes one message of the alerts of a group, of which there is at least
// one.
func newMessage(as []claim.QueuedAlert) Message {
	first, last := as[0], as[len(as)-1]
	m := Message{
		ID: id(as), Kind: first.Kind, Job: first.Job, Cause: first.Cause,
		Count: len(as), FirstAt: first.At, LastAt: last.At,
	}
	seen := map[claim.AlertRow]bool{}
	for _, a := range as {
		m.Runs = add(m.Runs, a.Run)
		m.Seen = add(m.Seen, clean(Conceal(a.Seen)))
		m.Done = add(m.Done, clean(Conceal(a.Done)))
		m.Todo = add(m.Todo, clean(Conceal(a.Todo)))
		m.Failures = max(m.Failures, a.Tries)
		for _, row := range a.Rows {
			row.Detail = clean(Conceal(row.Detail))
			if !seen[row] {
				seen[row] = true
				m.Rows = append(m.Rows, row)
			}
		}
	}
	return m
}

// run is the newest run.
func (m Message) run() string {
	if len(m.Runs) == 0 {
		return ""
	}
	return m.Runs[len(m.Runs)-1]
}

// id is made of what the ledger keeps, so that every process makes the same. The
// time is in it because numbers begin again with a new ledger.
func id(as []claim.QueuedAlert) string {
	h := sha256.New()
	for _, a := range as {
		h.Write(fmt.Appendf(nil, "%q %q %q %d %d\n", a.Job, a.Kind, a.Cause, a.Number, a.At.Unix()))
	}
	return "alert-" + hex.EncodeToString(h.Sum(nil)[:12])
}

// add appends a text that is not there yet.
func add(texts []string, s string) []string {
	if s == "" || slices.Contains(texts, s) {
		return texts
	}
	return append(texts, s)
}

// KindTest is the kind of the alert that only shows that a route works.
const KindTest claim.AlertKind = "test"

// Trial is an alert that a person has asked for to see that it arrives.
func Trial(now time.Time) Message {
	a := claim.Alert{
		Kind: KindTest, Job: "check", Cause: "asked for", Seen: "sheetclaim check was asked to send a test alert",
		Done: "nothing else was done", Todo: "nothing: this route works",
	}
	return newMessage([]claim.QueuedAlert{{Alert: a, At: now}})
}
