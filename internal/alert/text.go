package alert

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

const (
	longestText = 500 // runes of one text; a reason of the method has at most 200 bytes
	mailRows    = 25  // rows, and texts of one part, that a mail lists
	mailRuns    = 5   // runs that a mail lists
)

// Subject is the message in one line. It holds no keys: a subject is shown in many
// places.
func (m Message) Subject() string {
	s := fmt.Sprintf("[sheetclaim] %s: %s", clean(m.Job), headline(m.Kind))
	switch {
	case len(m.Rows) == 1:
		s += " (1 row)"
	case len(m.Rows) > 1:
		s += fmt.Sprintf(" (%d rows)", len(m.Rows))
	case m.Count > 1:
		s += fmt.Sprintf(" (%d times)", m.Count)
	}
	return s
}

// headline is a kind in words.
func headline(k claim.AlertKind) string {
	switch k {
	case claim.AlertOverlap:
		return "runs overlap"
	case claim.AlertDoubt:
		return "something is in doubt"
	case claim.AlertUnknown:
		return "nobody knows whether it was done"
	case claim.AlertGaveUp:
		return "attempts are used up"
	case claim.AlertRejected:
		return "messages were refused for good"
	case claim.AlertRowFault:
		return "rows cannot be mailed as they are"
	case claim.AlertRunFailed:
		return "a run failed"
	case claim.AlertStaleClaim:
		return "a claim was left behind"
	case claim.AlertMarkUnverified:
		return "the sheet does not show an outcome"
	case claim.AlertLedgerDisagrees:
		return "sheet and ledger disagree"
	}
	return string(k)
}

// Text is the message for people, in plain text.
func (m Message) Text() string {
	var b strings.Builder
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%-6s %s\n", name, clean(value))
		}
	}
	line("Job:", m.Job)
	line("Kind:", fmt.Sprintf("%s (%s)", m.Kind, headline(m.Kind)))
	line("Cause:", m.Cause)
	line("Run:", strings.Join(atMost(mailRuns, m.Runs), ", "))
	line("When:", m.when())
	if m.Failures > 0 {
		line("Late:", fmt.Sprintf("kept until now, deliveries failed before: %d", m.Failures))
	}
	part := func(title string, lines []string) {
		if len(lines) == 0 {
			return
		}
		fmt.Fprintf(&b, "\n%s\n", title)
		for _, l := range lines {
			fmt.Fprintf(&b, "  %s\n", l)
		}
	}
	part("What was seen", atMost(mailRows, m.Seen))
	part("What was done", atMost(mailRows, m.Done))
	part("What to do", atMost(mailRows, m.Todo))
	part(fmt.Sprintf("Rows (%d)", len(m.Rows)), atMost(mailRows, rowLines(m.Rows)))
	fmt.Fprintf(&b, "\n%s\n", m.ID)
	return b.String()
}

// when says when it happened, and how often.
func (m Message) when() string {
	first := m.FirstAt.UTC().Format(time.RFC3339)
	if m.Count == 1 {
		return first
	}
	return fmt.Sprintf("%s, %d times until %s", first, m.Count, m.LastAt.UTC().Format(time.RFC3339))
}

// rowLines names rows, each in one line.
func rowLines(rows []claim.AlertRow) []string {
	lines := make([]string, len(rows))
	for i, r := range rows {
		var names []string
		if r.Row > 0 {
			names = append(names, fmt.Sprintf("row %d", r.Row))
		}
		if r.Key != "" {
			names = append(names, "key "+clean(r.Key))
		}
		lines[i] = strings.Join(names, ", ")
		if r.Detail != "" {
			lines[i] += ": " + r.Detail
		}
	}
	return lines
}

// atMost cuts a list to n entries and says how many were left out.
func atMost(n int, list []string) []string {
	if len(list) <= n {
		return list
	}
	return append(list[:n:n], fmt.Sprintf("and %d more", len(list)-n))
}

// clean makes one printable line of a text, cut to longestText.
func clean(s string) string {
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) { // also line breaks, and marks that turn the direction of writing
			return ' '
		}
		return r
	}, s)
	s = strings.Join(strings.Fields(s), " ")
	if runes := []rune(s); len(runes) > longestText {
		return string(runes[:longestText-1]) + "…"
	}
	return s
}
