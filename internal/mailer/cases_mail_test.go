package mailer

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/smtpsink"
)

// The names of the subtests are those of the collected cases; each case is
// something that other senders got wrong.
func TestMailCases(t *testing.T) {
	t.Run("MS01", func(t *testing.T) {
		for _, cell := range []string{"a@x.test, b@y.test", "a@x.test; b@y.test"} {
			t.Run(cell, func(t *testing.T) { testSeveralRecipients(t, cell) })
		}
	})
	t.Run("MS03", testIDN)
	t.Run("MS04", testInjection)
	t.Run("MS05", testEscaping)
	t.Run("MS07", testLongLines)
	t.Run("MS08", testDots)
	t.Run("MS09", testUnsubscribe)
	t.Run("MS11", testMessageID)
}

func testSeveralRecipients(t *testing.T, cell string) {
	sink := newSink(t, smtpsink.Options{Rules: []smtpsink.Rule{
		{Phase: smtpsink.Rcpt, Recipient: "b@y.test", Action: smtpsink.Reply, Text: "550 5.1.1 user unknown", Times: 1},
	}})
	m := newMailer(t, sink)
	res := send(t, m, cell)
	want(t, res, claim.Refused, false, "rcpt", 550)
	if got := res.Reason(); got != "b@y.test 550 5.1.1 user unknown" {
		t.Errorf("reason %q", got)
	}
	wantAccepted(t, sink, 0)

	want(t, send(t, m, cell), claim.Accepted, false, "dot", 250)
	wantSaid(t, sink, "RSET")
	if n := sink.Stats().Connections; n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
	got := sink.Messages()[0]
	if !slices.Equal(got.To, []string{"a@x.test", "b@y.test"}) {
		t.Errorf("envelope %q", got.To)
	}
	if to := lastParsed(t, sink).Get("To"); to != "<a@x.test>, <b@y.test>" {
		t.Errorf("To: %s", to)
	}
}

// TestSeveralRefusals: any refusal for good refuses the letter, whatever its place.
func TestSeveralRefusals(t *testing.T) {
	grey := smtpsink.Rule{Phase: smtpsink.Rcpt, Recipient: "a@x.test", Action: smtpsink.Reply, Text: "450 4.7.1 greylisted"}
	gone := smtpsink.Rule{Phase: smtpsink.Rcpt, Recipient: "c@x.test", Action: smtpsink.Reply, Text: "550 5.1.1 unknown"}
	over := smtpsink.Rule{Phase: smtpsink.Rcpt, Recipient: "c@x.test", Action: smtpsink.Reply, Text: "550 5.4.5 daily limit"}
	for _, tc := range []struct {
		name    string
		rules   []smtpsink.Rule
		verdict claim.Verdict
		account bool
		code    int
		reply   string
	}{
		{"for now", []smtpsink.Rule{grey}, claim.Deferred, false, 450, "a@x.test 450 4.7.1 greylisted"},
		{
			"for good after for now",
			[]smtpsink.Rule{grey, gone},
			claim.Refused, false, 550,
			"c@x.test 550 5.1.1 unknown; a@x.test 450 4.7.1 greylisted",
		},
		{"the account's", []smtpsink.Rule{grey, over}, claim.Deferred, true, 550, "550 5.4.5 daily limit"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			sink := newSink(t, smtpsink.Options{Rules: tc.rules})
			res := send(t, newMailer(t, sink), "a@x.test,b@x.test,c@x.test")
			want(t, res, tc.verdict, tc.account, "rcpt", tc.code)
			if res.Reply != tc.reply {
				t.Errorf("reply %q, want %q", res.Reply, tc.reply)
			}
			wantAccepted(t, sink, 0)
		})
	}
}

func testIDN(t *testing.T) {
	t.Run("a domain goes in ASCII", func(t *testing.T) {
		sink := newSink(t, smtpsink.Options{})
		want(t, send(t, newMailer(t, sink), "info@grå.test"), claim.Accepted, false, "dot", 250)
		wantSaid(t, sink, "RCPT TO:<info@xn--gr-zia.test>")
	})
	t.Run("b server without SMTPUTF8", func(t *testing.T) {
		sink := newSink(t, smtpsink.Options{})
		m := newMailer(t, sink)
		begun := false
		res := m.Send(t.Context(), compose(t, m, draft("jörg@x.test")), claim.Hooks{
			Begin: func() error { begun = true; return nil },
		})
		want(t, res, claim.Refused, false, "mail", 0)
		if !strings.Contains(res.Reason(), "server lacks SMTPUTF8") || begun {
			t.Errorf("reason %q, begun %t", res.Reason(), begun)
		}
		wantAccepted(t, sink, 0)
		want(t, send(t, m, "ada@x.test"), claim.Accepted, false, "dot", 250)
	})
	t.Run("c server with SMTPUTF8", func(t *testing.T) {
		sink := newSink(t, smtpsink.Options{UTF8: true})
		m := newMailer(t, sink)
		want(t, send(t, m, "jo\u0308rg@x.test"), claim.Accepted, false, "dot", 250) // decomposed, as a Mac has it
		wantSaid(t, sink, "MAIL FROM:<hello@acme.test> BODY=8BITMIME SMTPUTF8")
		wantSaid(t, sink, "RCPT TO:<jörg@x.test>")
		if to := lastParsed(t, sink).Get("To"); to != "<jörg@x.test>" {
			t.Errorf("To: %s", to)
		}
		want(t, send(t, m, "ada@x.test"), claim.Accepted, false, "dot", 250)
		if p := sink.Messages()[1].Params; strings.Contains(p, "SMTPUTF8") {
			t.Errorf("plain ASCII was sent with %q", p)
		}
	})
}

func testInjection(t *testing.T) {
	m := newMailer(t, nil)
	bad := []struct {
		name string
		edit func(*claim.Draft)
		err  string
	}{
		{"subject", func(d *claim.Draft) { d.Subject = "Invoice\r\nBcc: evil@x.test" }, "line break in subject"},
		{"subject LF", func(d *claim.Draft) { d.Subject = "A\nX-Foo: 1" }, "line break in subject"},
		{"subject CR", func(d *claim.Draft) { d.Subject = "A\rX-Foo: 1" }, "line break in subject"},
		{"subject line separator", func(d *claim.Draft) { d.Subject = "A\u2028X-Foo: 1" }, "line break in subject"},
		{"subject NUL", func(d *claim.Draft) { d.Subject = "A\x00" }, "control character U+0000 in subject"},
		{"email", func(d *claim.Draft) { d.To = "a@x.test\r\nRCPT TO:<evil@x.test>" }, "line break in email"},
		{"email end", func(d *claim.Draft) { d.To = "a@x.test\n" }, "line break in email"},
		{"email name", func(d *claim.Draft) { d.To = "=?utf-8?q?A=0D=0AX?= <a@x.test>" }, "line break in name"},
		{"cc", func(d *claim.Draft) { d.Cc = "b@x.test\nX-Foo: 1" }, "line break in cc"},
		{"bcc", func(d *claim.Draft) { d.Bcc = "b@x.test\rX" }, "line break in bcc"},
		{"reply-to", func(d *claim.Draft) { d.ReplyTo = "A\nX-Foo: 1 <b@x.test>" }, "line break in reply-to"},
		{"unsubscribe", func(d *claim.Draft) { d.Unsubscribe = "https://u.test/\r\nBcc: e@x.test" }, "line break in unsubscribe link"},
		{"id", func(d *claim.Draft) { d.ID = "k1>\r\nBcc: e@x.test" }, "message id"},
	}
	for _, tc := range bad {
		t.Run(tc.name, func(t *testing.T) {
			d := draft("ada@x.test")
			tc.edit(&d)
			l, err := m.Compose(d)
			if err == nil || !strings.Contains(err.Error(), tc.err) {
				t.Errorf("got %q, %v; want an error with %q", l.Bytes, err, tc.err)
			}
		})
	}
}

// testEscaping is the mailer's part: subject and parts arrive as they were given.
func testEscaping(t *testing.T) {
	sink := newSink(t, smtpsink.Options{})
	m := newMailer(t, sink)
	d := draft("ada@x.test")
	d.Subject = "For C&A <b>Ltd</b>"
	d.Text = "Dear C&A <b>Ltd</b>"
	d.HTML = "<p>Dear C&amp;A &lt;b&gt;Ltd&lt;/b&gt;</p>"
	want(t, m.Send(t.Context(), compose(t, m, d), claim.Hooks{}), claim.Accepted, false, "dot", 250)
	got := lastParsed(t, sink)
	if got.Get("Subject") != d.Subject || got.Text != d.Text || got.HTML != d.HTML {
		t.Errorf("got %q, %q, %q", got.Get("Subject"), got.Text, got.HTML)
	}
	if ct := got.Get("Content-Type"); !strings.HasPrefix(ct, "multipart/alternative") {
		t.Errorf("Content-Type: %s", ct)
	}
}

func testLongLines(t *testing.T) {
	sink := newSink(t, smtpsink.Options{})
	m := newMailer(t, sink)
	d := draft("ada@x.test")
	d.Subject = strings.Repeat("x", 900)
	d.Text = strings.Repeat("text ", 1000) + "é"
	d.HTML = "<p>" + strings.Repeat("y", 5000) + "</p>"
	want(t, m.Send(t.Context(), compose(t, m, d), claim.Hooks{}), claim.Accepted, false, "dot", 250)
	raw := sink.Messages()[0].Data
	for line := range bytes.SplitSeq(raw, []byte("\r\n")) {
		if len(line) > 78 || bytes.ContainsAny(line, "\r\n") {
			t.Errorf("line of %d octets: %q", len(line), line)
		}
	}
	if got := lastParsed(t, sink); got.Text != d.Text || got.HTML != d.HTML || got.Get("Subject") != d.Subject {
		t.Errorf("the parts differ from what was sent: %q", raw)
	}
}

func testDots(t *testing.T) {
	sink := newSink(t, smtpsink.Options{})
	m := newMailer(t, sink)
	for _, body := range []string{".\n.test\n..end", "one\n.\ntwo\n", "\n\n.", "a\r.\rb"} {
		d := draft("ada@x.test")
		d.Text = body
		want(t, m.Send(t.Context(), compose(t, m, d), claim.Hooks{}), claim.Accepted, false, "dot", 250)
		wantBody := strings.TrimRight(normalize(body), "\r\n")
		if got := strings.TrimRight(lastParsed(t, sink).Text, "\r\n"); got != wantBody {
			t.Errorf("got %q, want %q", got, wantBody)
		}
	}
}

func testUnsubscribe(t *testing.T) {
	m := newMailer(t, nil)
	for _, tc := range []struct{ link, header, err string }{
		{link: "https://u.test/?k=k1", header: "<https://u.test/?k=k1>"},
		{link: "https://u.test/?k=a b>ü", header: "<https://u.test/?k=a%20b%3E%C3%BC>"},
		{link: "https://grå.test:444/x", header: "<https://xn--gr-zia.test:444/x>"},
		{link: "http://u.test/", err: "https"},
		{link: "mailto:u@u.test", err: "https"},
		{link: "https://user:pw@u.test/", err: "https"},
		{link: "https://u.test/" + strings.Repeat("x", 1000), err: "900"},
	} {
		d := draft("ada@x.test")
		d.Unsubscribe = tc.link
		l, err := m.Compose(d)
		if tc.err != "" {
			if err == nil || !strings.Contains(err.Error(), tc.err) {
				t.Errorf("%s: got %v, want an error with %q", tc.link, err, tc.err)
			}
			continue
		}
		p := parseLetter(t, l)
		if p.Get("List-Unsubscribe") != tc.header || p.Get("List-Unsubscribe-Post") != "List-Unsubscribe=One-Click" {
			t.Errorf("%s: %q, %q, %v", tc.link, p.Get("List-Unsubscribe"), p.Get("List-Unsubscribe-Post"), err)
		}
	}
	if bytes.Contains(compose(t, m, draft("ada@x.test")).Bytes, []byte("List-Unsubscribe")) {
		t.Error("List-Unsubscribe without a link")
	}
}

func testMessageID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := newSink(t, smtpsink.Options{Rules: []smtpsink.Rule{
			{Phase: smtpsink.Dot, Action: smtpsink.Reply, Text: "451 4.3.0 later", Times: 1},
		}})
		m := newMailer(t, sink)
		d := draft("ada@x.test")
		first := compose(t, m, d)
		want(t, m.Send(t.Context(), first, claim.Hooks{}), claim.Deferred, false, "dot", 451)
		d.Date = d.Date.Add(15 * time.Minute)
		second := compose(t, m, d)
		want(t, m.Send(t.Context(), second, claim.Hooks{}), claim.Accepted, false, "dot", 250)
		a, b := parseLetter(t, first), parseLetter(t, second)
		if first.MessageID != "<k1.7f3a@acme.test>" || second.MessageID != first.MessageID ||
			a.Get("Message-Id") != first.MessageID || b.Get("Message-Id") != first.MessageID {
			t.Errorf("message ids %s, %s, %s, %s", first.MessageID, second.MessageID, a.Get("Message-Id"), b.Get("Message-Id"))
		}
		if a.Get("Date") == b.Get("Date") {
			t.Errorf("both have Date %s", a.Get("Date"))
		}
	})
}

// parseLetter reads a letter that was not sent.
func parseLetter(t *testing.T, l claim.Letter) smtpsink.Parsed {
	t.Helper()
	p, err := smtpsink.Message{Data: l.Bytes}.Parse()
	if err != nil {
		t.Fatal(err)
	}
	return p
}
