package claim

import (
	"context"
	"fmt"
	"time"
)

// TestReport is what became of a message that was sent to somebody of the house.
type TestReport struct {
	To        string    `json:"to"`
	MessageID string    `json:"message_id"`
	SMTPReply string    `json:"smtp_reply,omitempty"`
	At        time.Time `json:"at"`
}

// sendTest sends the message of a row to one address, and to nobody else. Its subject
// and a header say that it is a test; it has a Message-ID of its own, so that no
// program takes the real message for a copy of it, and no way to unsubscribe the
// customer.
func (p *pass) sendTest(ctx context.Context, row PreviewRow, to string) (*TestReport, error) {
	m := row.Message
	if m == nil {
		return nil, &PreviewError{Fault: PreviewRowFault, Text: fmt.Sprintf("row %d makes no message: %s", row.Row, row.Reason)}
	}
	now := p.Now()
	letter, err := p.Mailer.Compose(Draft{
		To: to, ReplyTo: m.ReplyTo, Subject: "[test] " + m.Subject, Text: m.Text, HTML: m.HTML,
		ID: fmt.Sprintf("sc.test.%s.%d", p.NewMark(), now.UnixNano()), Date: now.In(p.fit.zone), Test: true,
	})
	switch {
	case err != nil:
		return nil, &PreviewError{Fault: PreviewBadTo, Text: "the test cannot be sent to that address: " + err.Error()}
	case len(letter.To) != 1:
		return nil, &PreviewError{Fault: PreviewBadTo, Text: fmt.Sprintf("a test goes to one address, not to %d", len(letter.To))}
	}
	letter.Key = row.Key
	if err := p.Mailer.Login(ctx); err != nil {
		return nil, &PreviewError{Fault: PreviewNotSent, Text: "the test was not sent: " + err.Error(), Err: err}
	}
	res := p.Mailer.Send(ctx, letter, Hooks{})
	p.log.Info("test message", "key", row.Key, "verdict", res.Verdict)
	switch res.Verdict {
	case Accepted:
		return &TestReport{To: letter.To[0], MessageID: letter.MessageID, SMTPReply: res.Reply, At: res.At}, nil
	case Doubtful:
		return nil, &PreviewError{Fault: PreviewNotSent, Text: "nobody can know whether the test was sent; look for it: " + res.Reason(), Err: res.Err}
	case Deferred, Refused, NotBegun:
	}
	return nil, &PreviewError{Fault: PreviewNotSent, Text: "the test was not sent: " + res.Reason(), Err: res.Err}
}
