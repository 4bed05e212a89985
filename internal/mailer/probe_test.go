package mailer

import (
	"context"
	"testing"

	"github.com/sheetclaim/sheetclaim/internal/smtpsink"
)

func TestProbeShowsTheConnectionAndSendsNothing(t *testing.T) {
	sink := newSink(t, smtpsink.Options{TLS: smtpsink.STARTTLS, Users: map[string]string{"me": "pw"}})
	m := newMailer(t, sink, func(c *Config) { c.TLS, c.CAPEM, c.Username, c.Password = STARTTLS, sink.CA(), "me", "pw" })
	facts, err := m.Probe(context.Background())
	if err != nil || facts.TLS != "TLS 1.3" || facts.Expires.Year() != 2099 {
		t.Errorf("%+v %v", facts, err)
	}
	commands := sink.Stats().Commands
	if commands["RSET"] != 1 || commands["QUIT"] != 1 || commands["RCPT"] != 0 || len(sink.Messages()) != 0 {
		t.Errorf("%v", commands)
	}

	sink.SetRules(smtpsink.Rule{Phase: smtpsink.Mail, Action: smtpsink.Reply, Text: "553 5.7.1 not your address"})
	_, err = m.Probe(context.Background())
	wantAccountError(t, err, stepMail, "553 5.7.1 not your address", "smtp.from")
}
