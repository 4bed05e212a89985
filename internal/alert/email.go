package alert

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// Email is the route by mail. Each address gets a letter of its own, so that one
// that is refused does not keep the alert from the others. The message is delivered
// when one address at least has it; the others are named in the log, by their
// place in the list, and not tried again.
//
// A lost answer of the mail server counts as not delivered: the next try may make a
// second copy, with the same Message-ID as the first.
type Email struct {
	Mailer claim.Mailer
	To     []string // one address each
	Log    *slog.Logger
}

// Name implements Route.
func (e *Email) Name() string { return "email" }

// Deliver implements Route.
func (e *Email) Deliver(ctx context.Context, m Message) error {
	if len(e.To) == 0 {
		return errors.New("no address to send alerts to")
	}
	var problems []error
	accepted := 0
	for i, to := range e.To {
		account, err := e.send(ctx, m, to, i+1)
		if err == nil {
			accepted++
			continue
		}
		problems = append(problems, fmt.Errorf("alert address %d of %d: %w", i+1, len(e.To), err))
		if account {
			break // the others would not fare better
		}
	}
	err := errors.Join(problems...)
	if accepted == 0 {
		return err
	}
	if err != nil {
		e.Log.Warn("not all alert addresses got the mail", "alert", m.ID, "accepted", accepted, "error", clean(Conceal(err.Error())))
	}
	return nil
}

// send sends the letter for the n-th address. account tells that the failure is not
// the address's.
func (e *Email) send(ctx context.Context, m Message, to string, n int) (account bool, err error) {
	letter, err := e.Mailer.Compose(claim.Draft{
		To: to, Subject: m.Subject(), Text: m.Text(),
		ID: fmt.Sprintf("%s.%d", m.ID, n),
	})
	if err != nil {
		return false, err
	}
	letter.Key = m.ID // for the mailer's log
	yes := func() error { return nil }
	res := e.Mailer.Send(ctx, letter, claim.Hooks{Begin: yes, Commit: yes})
	if res.Verdict == claim.Accepted {
		return false, nil
	}
	return res.Account, fmt.Errorf("%s: %s", res.Verdict, res.Reason())
}
