package dashboard

import (
	"strings"
	"testing"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// Links select the row in the columns that the job has, or all of it.
func TestRowOf(t *testing.T) {
	for a1, want := range map[string]string{
		"Visits!A1:H": "A12:H12", "A:h": "A12:H12", "'It''s 5:7'!B2:AA500": "B12:AA12",
		"Visits": "12:12", "2:500": "12:12", "": "12:12", "Visits!A1": "12:12",
	} {
		if got := rowOf(a1, 12); got != want {
			t.Errorf("row 12 of %q is %q, want %q", a1, got, want)
		}
	}
}

func TestTook(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0.0 s", 3700 * time.Millisecond: "3.7 s", 90 * time.Second: "90 s", 5 * time.Minute: "5 min", 24 * time.Hour: "24 h", 7 * 24 * time.Hour: "7 days",
	} {
		if got := took(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}

// A frame has room for its lines, and neither much more nor no end.
func TestFrameHigh(t *testing.T) {
	high := func(html string) int {
		return previewRow{PreviewRow: claim.PreviewRow{Message: &claim.PreviewMessage{HTML: html}}}.FrameHigh()
	}
	one, three, many := high("<p>Hello</p>"), high("<p>Hello</p><p>thank you</p><P>bye</P>"), high(strings.Repeat("<tr><td>x</td></tr>", 500))
	if one < 50 || one >= three || three > 150 || many > 500 || high(strings.Repeat("word ", 200)) < 300 {
		t.Errorf("%d for a line, %d for three, %d for many", one, three, many)
	}
}

// A job's pulse has its runs in the order in which they began, and tells who cannot see
// it of what stands out.
func TestPulse(t *testing.T) {
	recs := make([]claim.RunRecord, 3) // newest first
	recs[0].Document = claim.Document{RunID: "c", State: claim.RunFinished, Outcome: claim.RunStopped, Detail: "in doubt"}
	recs[1].Document = claim.Document{RunID: "b", State: claim.RunFinished, Outcome: claim.RunSent, Counts: claim.Counts{Sent: 10}}
	recs[2].Document = claim.Document{RunID: "a", State: claim.RunFinished, Outcome: claim.RunSent, Counts: claim.Counts{Sent: 5}}
	p := newPulse(recs)
	if p.Words != "Of the newest 3 runs 2 sent messages, and 1 stopped, failed or left a doubt" {
		t.Errorf("it says %q", p.Words)
	}
	a, b, c := p.Beats[0], p.Beats[1], p.Beats[2]
	if !strings.HasPrefix(a.Title, "a: ") || a.X >= b.X || a.High >= b.High || b.High != pulseHigh || b.Y != 0 || c.Class != "late" || c.Title != "c: in doubt" {
		t.Errorf("%+v", p.Beats)
	}
}
