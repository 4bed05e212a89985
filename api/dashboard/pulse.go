package dashboard

import (
	"fmt"
	"slices"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// The measures of a pulse, in pixels.
const (
	beats     = 20 // newest runs
	beatWide  = 8  // with the gap
	pulseHigh = 24
	leastHigh = 4 // of a run that sent nothing
)

// pulse is a small picture of a job's newest runs: the more one sent, the higher.
type pulse struct {
	Beats []beat // oldest first
	Words string // the same for those who do not see it
	Wide  int
}

// beat is one run of it.
type beat struct {
	X, Y, High   int
	Class, Title string
}

// newPulse draws the newest runs of a job that have ended; they come newest first.
func newPulse(recent []claim.RunRecord) pulse {
	recent = slices.DeleteFunc(slices.Clone(recent), func(r claim.RunRecord) bool { return r.Document.State != claim.RunFinished })
	most, sent, ask := 1, 0, 0
	for _, r := range recent {
		most = max(most, r.Document.Counts.Sent)
	}
	p := pulse{Wide: beatWide * len(recent)}
	for _, r := range slices.Backward(recent) {
		d := r.Document
		b := beat{X: beatWide * len(p.Beats), High: leastHigh, Class: "none", Title: d.RunID + ": " + outcomeWord(d).Word}
		if d.Detail != "" {
			b.Title = d.RunID + ": " + d.Detail
		}
		if d.Counts.Sent > 0 {
			sent++
			b.High, b.Class = leastHigh+(pulseHigh-leastHigh)*d.Counts.Sent/most, "some"
		}
		if trouble(d) || d.Counts.Unknown > 0 {
			ask++
			b.Class, b.High = "late", max(b.High, 2*leastHigh)
		}
		b.Y = pulseHigh - b.High
		p.Beats = append(p.Beats, b)
	}
	p.Words = fmt.Sprintf("Of the newest %s %d sent messages", plural(len(recent), "run", "runs"), sent)
	if ask > 0 {
		p.Words += fmt.Sprintf(", and %d stopped, failed or left a doubt", ask)
	}
	return p
}
