package claim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Word is a person's answer to a message that waits.
type Word string

// What a person can say: it went out, or send it (again).
const (
	WordSent   Word = "sent"
	WordResend Word = "resend"
)

// Settlement is a person's word on one message. Who and why are kept for ever.
type Settlement struct {
	Book // Spreadsheet "": the only one in which the key is known
	Key  string
	Word Word
	Who  string
	Why  string
	// Generation, when not 0, is the one that is meant, and only while its fate is
	// unknown: a word given from a page that somebody left open settles nothing twice.
	Generation int
}

// Answer is a person's word on a message as it is remembered, for ever.
type Answer struct {
	MessageKey
	At   time.Time
	Text string // begins with SettledAs: the word, who gave it, and why
}

// SettledAs begins the event of a person's word.
const SettledAs = "settled as "

// Errors of Settle.
var (
	ErrNoMessage  = errors.New("no message of that key is known")
	ErrNotEnded   = errors.New("the message is under way: wait for the end of its run, then try again")
	ErrNotUnknown = errors.New("only a message of unknown fate can be settled as sent")
	ErrSeveral    = errors.New("that key waits in several spreadsheets: name the one that is meant")
	ErrAnswered   = errors.New("the doubt was settled before")
	ErrNoReason   = errors.New("say why: it is kept with the settlement")
)

// Settle takes a person's word. "sent" settles an unknown, and the sheet is marked
// by the next recovery; "resend" makes the next run send the message as a new
// generation, whatever its end was. The sheet is not touched here.
func Settle(ctx context.Context, l Ledger, s Settlement) error {
	if strings.TrimSpace(s.Why) == "" {
		return ErrNoReason
	}
	m, err := findMessage(ctx, l, s)
	if err != nil {
		return err
	}
	if s.Generation != 0 && !m.isDoubt(s.Generation) {
		return ErrAnswered
	}
	event := fmt.Sprintf(SettledAs+"%s by %s: %s", s.Word, s.Who, oneLine(s.Why))
	move := Move{MessageKey: m.MessageKey, Claim: m.Claim, Event: event}
	switch s.Word {
	case WordSent:
		if err := s.sent(m, &move); err != nil {
			return err
		}
	case WordResend:
		move.From, move.To = []State{Verified}, Verified
		move.Set = func(m *Message) {
			m.Wish = true
			if m.Outcome == Unknown {
				m.SettledBy = s.Who
			}
		}
	default:
		return fmt.Errorf("a message is settled as sent or resend, not as %q", s.Word)
	}
	if s.Generation != 0 {
		move.If = func(m Message) bool { return m.isDoubt(s.Generation) }
	}
	moved, err := l.Move(ctx, RunRef{Job: s.Job, ID: "settle"}, []Move{move})
	switch {
	case err != nil:
		return err
	case !moved[0] && s.Generation != 0:
		return ErrAnswered // by somebody else, since we looked
	case !moved[0]:
		return ErrNotEnded
	}
	return nil
}

// isDoubt reports whether a message is that generation, and waits for a person.
func (m Message) isDoubt(generation int) bool {
	return m.Generation == generation && m.Outcome == Unknown && m.SettledBy == ""
}

// sent makes the move for a message that went out: it settles an unknown, and takes
// a wish back that no run has taken yet.
func (s Settlement) sent(m Message, move *Move) error {
	move.From, move.To = []State{Verified}, Verified
	switch {
	case m.Outcome == Unknown && (m.SettledBy == "" || m.Wish):
		move.To = Settled
		move.Set = func(m *Message) {
			m.From = m.Status // which the sheet shows
			m.Outcome, m.Status, m.SettledBy, m.Reason, m.Wish = Sent, statusText(Sent, "", 0, 0, ""), s.Who, "", false
		}
	case m.Wish:
		move.Set = func(m *Message) { m.Wish = false }
	default:
		return fmt.Errorf("%w; %q is %s", ErrNotUnknown, s.Key, m.Outcome)
	}
	return nil
}

// findMessage finds the generation of a settlement's key that is meant: the one that
// waits, or else the newest.
func findMessage(ctx context.Context, l Ledger, s Settlement) (Message, error) {
	waiting, err := l.Waiting(ctx, s.Book)
	if err != nil {
		return Message{}, err
	}
	waiting = slices.DeleteFunc(waiting, func(m Message) bool { return m.Key != s.Key })
	switch {
	case len(waiting) > 1:
		return Message{}, ErrSeveral
	case len(waiting) == 1:
		return waiting[0], nil
	case s.Spreadsheet == "":
		return Message{}, fmt.Errorf("%w among those that wait; name the spreadsheet", ErrNoMessage)
	}
	known, err := l.Lookup(ctx, s.Book, []string{s.Key})
	if err != nil {
		return Message{}, err
	}
	m, ok := known[s.Key]
	if !ok {
		return m, fmt.Errorf("%w in job %s", ErrNoMessage, s.Job)
	}
	return m, nil
}

// hear takes the words that people left: wishes in the ledger, and "sent" typed over
// an unknown in the sheet. It answers the keys that are to be sent again.
func (p *pass) hear(ctx context.Context, g *Grid) (map[string]bool, error) {
	waiting, err := p.Ledger.Waiting(ctx, p.book())
	if err != nil || len(waiting) == 0 {
		return nil, err
	}
	wishes := map[string]bool{}
	byKey := p.fit.rowsByKey(g.Rows)
	for _, m := range waiting {
		if m.Wish {
			wishes[m.Key] = true
			continue
		}
		rows := byKey[m.Key]
		if len(rows) != 1 || ParseStatus(rows[0].Cell(p.fit.cols.Status).Shown).Kind != StatusSent || p.order.DryRun {
			continue
		}
		if err := p.heardSent(ctx, m); err != nil {
			return nil, err
		}
	}
	return wishes, nil
}

// heardSent settles an unknown over which a person typed "sent".
func (p *pass) heardSent(ctx context.Context, m Message) error {
	settled := Move{
		MessageKey: m.MessageKey, Claim: m.Claim, From: []State{Verified}, To: Settled,
		If: func(m Message) bool { return m.Outcome == Unknown && m.SettledBy == "" },
		Set: func(m *Message) {
			m.Outcome, m.Status, m.SettledBy, m.Reason = Sent, "sent", "typed into the sheet", ""
		},
		Event: SettledAs + `sent: a person typed "sent" into the cell`,
	}
	marked := Move{MessageKey: m.MessageKey, Claim: m.Claim, From: []State{Settled}, To: Marked, Event: "the cell reads so already"}
	verified := Move{MessageKey: m.MessageKey, Claim: m.Claim, From: []State{Marked}, To: Verified, Event: "the cell reads so already"}
	_, err := p.Ledger.Move(ctx, p.order.Run, []Move{settled, marked, verified})
	return err
}
