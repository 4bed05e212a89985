package mailer

import (
	"context"
	"crypto/tls"
	"time"
)

// Facts is what a connection that works shows.
type Facts struct {
	TLS     string    // the version, as "TLS 1.3"; "": not encrypted
	Expires time.Time // of the server's certificate; zero without TLS
}

// Probe connects, encrypts and logs in on a connection of its own, and asks whether
// the account may send as the configured From: MAIL, then RSET, so that no transaction
// comes of it. Its error is an *AccountError, unless the context has ended.
func (m *SMTP) Probe(ctx context.Context) (Facts, error) {
	c, err := m.dial(ctx)
	if err != nil {
		return Facts{}, err
	}
	defer c.cut()
	unwatch := context.AfterFunc(ctx, c.cut)
	defer unwatch()
	facts := Facts{}
	if state, encrypted := c.smtp.TLSConnectionState(); encrypted {
		facts.TLS = tls.VersionName(state.Version)
		facts.Expires = state.PeerCertificates[0].NotAfter
	}
	c.expect(m.cfg.Timeout)
	c.smtp.SkipSMTPUTF8(true)
	if err := c.smtp.Mail("<" + m.from.Address + ">"); err != nil {
		if ctx.Err() != nil {
			return facts, ctx.Err()
		}
		return facts, m.senderTrouble(err)
	}
	c.expect(min(m.cfg.Timeout, quickly))
	_ = c.smtp.Reset() // the connection ends anyway, and the transaction with it
	c.quit(m.cfg.Timeout)
	return facts, nil
}

// senderTrouble explains why the server does not take the sender.
func (m *SMTP) senderTrouble(err error) error {
	e := &AccountError{Step: stepMail, Err: err, Problem: m.server() + " gave no answer to the sender " + m.from.Address}
	if rep, ok := replyIn(err); ok {
		e.Problem = m.server() + " does not take " + m.from.Address + " as the sender: " + rep.String()
		e.Advice = "set smtp.from to the account's own address, or let the account send as this one"
		if rep.code < 500 {
			e.Advice = "try again later; if it lasts, ask who runs the server"
		}
		if rep.code == 530 {
			e.Advice = "the server wants a login: set smtp.username and smtp.password"
		}
	}
	return e
}
