package mailer

import (
	"bytes"
	"net/mail"
	"slices"
	"strings"
	"testing"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

func TestParseList(t *testing.T) {
	long := strings.Repeat("x", 65)
	for _, tc := range []struct {
		cell string
		want []string // addresses, or …
		err  string
	}{
		{cell: "", want: nil},
		{cell: " ; , ", want: nil},
		{cell: " a@x.test ", want: []string{"a@x.test"}},
		{cell: "\u00a0a@x.test\u00a0", want: []string{"a@x.test"}},
		{cell: "a@x.test,b@y.test;c@z.test;", want: []string{"a@x.test", "b@y.test", "c@z.test"}},
		{cell: "a@x.test, A@X.TEST", want: []string{"a@x.test"}},
		{cell: "Ada <a@x.test>; \"Lovelace, Ada; Countess\" <b@x.test>", want: []string{"a@x.test", "b@x.test"}},
		{cell: "\"a \\\" , b\" <a@x.test>", want: []string{"a@x.test"}},
		{cell: "<a@x.test>", want: []string{"a@x.test"}},
		{cell: "O'Neil.a+b_c/d=e@sub.x-y.test", want: []string{"O'Neil.a+b_c/d=e@sub.x-y.test"}},
		{cell: "a@GRÅ.test", want: []string{"a@xn--gr-zia.test"}},
		{cell: "a@例え。テスト", want: []string{"a@xn--r8jz45g.xn--zckzah"}},
		{cell: "用户@例え.テスト", want: []string{"用户@xn--r8jz45g.xn--zckzah"}},

		{cell: "ada", err: "no @"},
		{cell: `["a@x.test","b@x.test"]`, err: "before the @"},
		{cell: "a@x.test b@y.test", err: "blank inside"},
		{cell: "a@x.test\u00a0b", err: "blank inside"},
		{cell: "a@x.test@evil.test", err: "more than one @"},
		{cell: "\"a@x.test\"@evil.test", err: "more than one @"},
		{cell: "a@b", err: "no dot"},
		{cell: "a@x.", err: "not a host name"},
		{cell: "a@x..test", err: "not a host name"},
		{cell: "a@-x.test", err: "not a host name"},
		{cell: "a@x_y.test", err: "not a host name"},
		{cell: "a@[127.0.0.1]", err: "not a host name"},
		{cell: "a@127.0.0.1", err: "number"},
		{cell: "a@\u00fc\u0000.test", err: "control character U+0000"},
		{cell: "a@☃\u2603\ufffd.test", err: "invisible character U+FFFD"},
		{cell: "a\u200b@x.test", err: "invisible character U+200B"},
		{cell: "a@x\u200b.test", err: "invisible character U+200B"},
		{cell: "a\u202e@x.test", err: "invisible character U+202E"},
		{cell: "\xff@x.test", err: "invisible"},
		{cell: ".a@x.test", err: "before the @"},
		{cell: "a..b@x.test", err: "dot at the wrong place"},
		{cell: "@x.test", err: "nothing before the @"},
		{cell: long + "@x.test", err: "64 octets"},
		{cell: "a@" + strings.Repeat(long[:60]+".", 5) + "test", err: "253 octets"},
		{cell: "a@" + strings.Repeat("x", 64) + ".test", err: "not a host name"},
		{cell: "Doe, John <j@x.test>", err: "\"Doe\": no @"},
		{cell: "Ada <a@x.test", err: "blank inside"},
		{cell: "Ada <a@x.test> x", err: "blank inside"},
		{cell: "group: a@x.test;", err: "blank inside"},
		{cell: "a(comment)@x.test", err: "before the @"},
		{cell: strings.Repeat("n", 201) + " <a@x.test>", err: "name of more than 200"},
		{cell: "a@x.test\r", err: "line break in email"},
	} {
		got, err := parseList("email", tc.cell)
		if tc.err != "" {
			if err == nil || !strings.Contains(err.Error(), tc.err) {
				t.Errorf("%q: got %v, %v; want an error with %q", tc.cell, got, err, tc.err)
			}
			continue
		}
		var list []string
		for _, a := range got {
			list = append(list, a.Address)
		}
		if err != nil || !slices.Equal(list, tc.want) {
			t.Errorf("%q: got %q, %v; want %q", tc.cell, list, err, tc.want)
		}
	}
}

func TestAddressees(t *testing.T) {
	m := newMailer(t, nil)
	d := draft("Jörg <a@x.test>")
	d.Cc, d.Bcc, d.ReplyTo = "c@x.test; A@x.test", "hidden@x.test", "Désk <desk@x.test>"
	l := compose(t, m, d)
	if want := []string{"a@x.test", "c@x.test", "hidden@x.test"}; !slices.Equal(l.To, want) || l.UTF8 {
		t.Errorf("envelope %q, UTF8 %t", l.To, l.UTF8)
	}
	if bytes.Contains(l.Bytes, []byte("hidden")) || bytes.Contains(bytes.ToLower(l.Bytes), []byte("bcc")) {
		t.Errorf("the hidden recipient shows:\n%s", l.Bytes)
	}
	p := parseLetter(t, l)
	for name, want := range map[string]string{
		"From": `"Acme" <hello@acme.test>`, "To": "Jörg <a@x.test>", "Cc": "<c@x.test>, <A@x.test>",
		"Reply-To": "Désk <desk@x.test>", "Auto-Submitted": "auto-generated", "X-Auto-Response-Suppress": "All",
		"Date": "Mon, 30 Nov 2026 09:00:00 +0000", "User-Agent": "", "X-Mailer": "", "Mime-Version": "1.0",
	} {
		if got := p.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	d.ReplyTo = "jörg@x.test"
	if l := compose(t, m, d); !l.UTF8 {
		t.Error("a header with UTF-8 does not set UTF8")
	}
}

func TestComposeRefuses(t *testing.T) {
	m := newMailer(t, nil)
	for want, edit := range map[string]func(*claim.Draft){
		"email: no address":     func(d *claim.Draft) { d.To = " " },
		"neither a text nor":    func(d *claim.Draft) { d.Text = "\n" },
		"subject of 1001":       func(d *claim.Draft) { d.Subject = strings.Repeat("é", 1001) },
		"message id of 0":       func(d *claim.Draft) { d.ID = "" },
		"is no dot-atom":        func(d *claim.Draft) { d.ID = "a@b" },
		"cc: \"x\": no @":       func(d *claim.Draft) { d.Cc = "x" },
		"reply-to: \"x\": no @": func(d *claim.Draft) { d.ReplyTo = "x" },
	} {
		d := draft("ada@x.test")
		edit(&d)
		if _, err := m.Compose(d); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}

func TestSubjects(t *testing.T) {
	m := newMailer(t, nil)
	for subj, want := range map[string]string{
		"":                                   "",
		"plain":                              "plain",
		" a \t b\u00a0c ":                    "a b c",
		"Grüße, 世界":                          "Grüße, 世界",
		"=?utf-8?q?A=0D=0ABcc:_e?= x":        "=?utf-8?q?A=0D=0ABcc:_e?= x",
		strings.Repeat("é", 1000):            strings.Repeat("é", 1000),
		strings.Repeat("word ", 199) + "end": strings.Repeat("word ", 199) + "end",
		"broken \xff":                        "broken \uFFFD",
	} {
		d := draft("ada@x.test")
		d.Subject = subj
		if got := parseLetter(t, compose(t, m, d)).Get("Subject"); got != want {
			t.Errorf("%.40q: got %.80q, want %.80q", subj, got, want)
		}
	}
}

// FuzzCompose: whatever stands in the cells, the message has the header fields
// that it has without them, and no line that a server would refuse.
func FuzzCompose(f *testing.F) {
	f.Add("a@x.test", "subject", "b@x.test", "text", "<p>html</p>", "https://u.test/")
	f.Add("A <a@x.test>, b@ü.test", "Invoice\r\nBcc: e@x.test", "", ".\n..", "", "https://u.test/?a=<b>&c=\x7f")
	f.Add("\"a, b\" <a@x.test>", "=?utf-8?q?=0A?=", "jörg@x.test", "", "\x00\r\r\n", "")
	m, err := New(Config{Host: "smtp.x.test", From: "hello@acme.test"})
	if err != nil {
		f.Fatal(err)
	}
	fields := []string{
		"Auto-Submitted", "Content-Transfer-Encoding", "Content-Type", "Date", "From", "List-Unsubscribe",
		"List-Unsubscribe-Post", "Message-Id", "Mime-Version", "Reply-To", "Subject", "To", "X-Auto-Response-Suppress",
	}
	f.Fuzz(func(t *testing.T, to, subj, replyTo, text, html, link string) {
		l, err := m.Compose(claim.Draft{To: to, Subject: subj, ReplyTo: replyTo, Text: text, HTML: html, Unsubscribe: link, ID: "k1"})
		if err != nil {
			return
		}
		msg, err := mail.ReadMessage(bytes.NewReader(l.Bytes))
		if err != nil {
			t.Fatalf("%v in\n%q", err, l.Bytes)
		}
		for name, values := range msg.Header {
			if !slices.Contains(fields, name) || len(values) != 1 {
				t.Errorf("header %s: %q", name, values)
			}
		}
		for line := range bytes.SplitSeq(l.Bytes, []byte("\r\n")) {
			if len(line) > maxLine || bytes.ContainsAny(line, "\r\n\x00") {
				t.Errorf("line %q", line)
			}
		}
		for _, addr := range l.To {
			if strings.ContainsAny(addr, "\r\n <>\t\"") || strings.Count(addr, "@") != 1 || !isASCII(domainOf(addr)) {
				t.Errorf("recipient %q", addr)
			}
		}
	})
}
