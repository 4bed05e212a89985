package main

import (
	"fmt"
	"io"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// progress shows on a terminal how far a run is, on one line that it overwrites.
// Anywhere else it shows nothing.
type progress struct {
	w    io.Writer
	last string
}

func newProgress(w io.Writer) *progress {
	if !isTerminal(w) {
		return &progress{}
	}
	return &progress{w: w}
}

// show overwrites the line when something changed.
func (p *progress) show(d claim.Document) {
	if p.w == nil || d.Step == "" {
		return
	}
	done := 0
	for _, r := range d.Rows {
		if r.Outcome != "" {
			done++
		}
	}
	line := fmt.Sprintf("%-8s %d of %d rows settled", d.Step, done, len(d.Rows))
	if line != p.last {
		fmt.Fprintf(p.w, "\r\x1b[K%s", line)
		p.last = line
	}
}

// clear takes the line away.
func (p *progress) clear() {
	if p.w != nil && p.last != "" {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
