package mailer

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/smtpsink"
)

// newSink starts a sink without a socket and checks at the end that the mailer
// broke no rule of the protocol.
func newSink(t *testing.T, o smtpsink.Options) *smtpsink.Sink {
	t.Helper()
	sink, err := smtpsink.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		sink.Close()
		for _, v := range sink.Violations() {
			t.Errorf("violation: %s", v)
		}
		if t.Failed() {
			for _, l := range sink.Dialog(0) {
				t.Logf("%d %s", l.Conn, l)
			}
		}
	})
	return sink
}

// newMailer makes a mailer that talks to the sink.
func newMailer(t *testing.T, sink *smtpsink.Sink, edit ...func(*Config)) *SMTP {
	t.Helper()
	cfg := Config{
		Host:       "localhost",
		TLS:        NoTLS,
		From:       "Acme <hello@acme.test>",
		Timeout:    10 * time.Second,
		DotTimeout: time.Minute,
	}
	if sink != nil {
		cfg.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return sink.Dial(ctx) }
		cfg.CAPEM = sink.CA()
	}
	for _, f := range edit {
		f(&cfg)
	}
	m, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return m
}

// draft is a plain message for one address or more.
func draft(to string) claim.Draft {
	return claim.Draft{
		To:      to,
		Subject: "How was your visit?",
		Text:    "Hello\n\n" + strings.Repeat("0123456789 0123456789 0123456789 0123456789\n", 44),
		ID:      "k1.7f3a",
		Date:    time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC),
	}
}

func compose(t *testing.T, m *SMTP, d claim.Draft) claim.Letter {
	t.Helper()
	l, err := m.Compose(d)
	if err != nil {
		t.Fatalf("Compose: %v", err)
	}
	return l
}

// send sends a plain message to the addresses.
func send(t *testing.T, m *SMTP, to string) claim.Result {
	t.Helper()
	return m.Send(t.Context(), compose(t, m, draft(to)), claim.Hooks{})
}

// want checks the parts of a result that decide.
func want(t *testing.T, got claim.Result, v claim.Verdict, account bool, step string, code int) {
	t.Helper()
	if got.Verdict != v || got.Account != account || got.Step != step || got.Code != code {
		t.Errorf("got  %s account=%t at %s, code %d, reply %q, err %v\nwant %s account=%t at %s, code %d",
			got.Verdict, got.Account, got.Step, got.Code, got.Reply, got.Err, v, account, step, code)
	}
}

func wantAccepted(t *testing.T, sink *smtpsink.Sink, n int) {
	t.Helper()
	if got := len(sink.Messages()); got != n {
		t.Errorf("the sink has accepted %d messages, want %d", got, n)
	}
}

// lastParsed answers the newest message as a reader sees it.
func lastParsed(t *testing.T, sink *smtpsink.Sink) smtpsink.Parsed {
	t.Helper()
	ms := sink.Messages()
	if len(ms) == 0 {
		t.Fatal("the sink has no message")
	}
	p, err := ms[len(ms)-1].Parse()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// said answers the commands of all connections, in order.
func said(sink *smtpsink.Sink) []string {
	var cmds []string
	for _, l := range sink.Dialog(0) {
		if l.Client {
			cmds = append(cmds, l.Text)
		}
	}
	return cmds
}

func wantSaid(t *testing.T, sink *smtpsink.Sink, cmd string) {
	t.Helper()
	if !slices.Contains(said(sink), cmd) {
		t.Errorf("never said %q, but %q", cmd, said(sink))
	}
}

func wantAccountError(t *testing.T, err error, step string, parts ...string) {
	t.Helper()
	var fault *AccountError
	if !errors.As(err, &fault) {
		t.Fatalf("got %v, want an *AccountError", err)
	}
	if fault.Step != step {
		t.Errorf("step %q, want %q", fault.Step, step)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("%q does not say %q", err, p)
		}
	}
}
