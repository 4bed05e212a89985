package alert

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// queued numbers alerts, one a minute.
func queued(as ...claim.Alert) []claim.QueuedAlert {
	var qs []claim.QueuedAlert
	for i, a := range as {
		at := time.Date(2026, 11, 30, 9, i, 0, 0, time.UTC)
		qs = append(qs, claim.QueuedAlert{Alert: a, Number: int64(i + 7), At: at})
	}
	return qs
}

func TestMessage(t *testing.T) {
	again := unknown(3, "B-1002")
	again.Run = "4712"
	qs := queued(unknown(2, "B-1001"), again, again)
	qs[0].Tries = 2
	m := newMessage(qs)
	if got, want := m.Subject(), "[sheetclaim] reviews: nobody knows whether it was done (2 rows)"; got != want {
		t.Errorf("subject %q, want %q", got, want)
	}
	want := `Job:   reviews
Kind:  unknown (nobody knows whether it was done)
Cause: smtp_reply_lost
Run:   4711, 4712
When:  2026-11-30T09:00:00Z, 3 times until 2026-11-30T09:02:00Z
Late:  kept until now, deliveries failed before: 2

What was seen
  the mail server's answer was lost: dot: connection lost; Message-ID <B-1001.1@acme.test>
  the mail server's answer was lost: dot: connection lost; Message-ID <B-1002.1@acme.test>

What was done
  the row is marked unknown and never sent again by itself

What to do
  look for the Message-ID

Rows (2)
  row 2, key B-1001: dot: connection lost
  row 3, key B-1002: dot: connection lost

` + m.ID + "\n"
	if got := m.Text(); got != want {
		t.Errorf("text\n%s\nwant\n%s", got, want)
	}
}

func TestSubjects(t *testing.T) {
	once, often := newMessage(queued(overlap("1"))), newMessage(queued(overlap("1"), overlap("2")))
	equal(t, "subjects", []string{once.Subject(), often.Subject(), newMessage(queued(unknown(2, "B-1"))).Subject()}, []string{
		"[sheetclaim] reviews: runs overlap",
		"[sheetclaim] reviews: runs overlap (2 times)",
		"[sheetclaim] reviews: nobody knows whether it was done (1 row)",
	})
	for _, k := range []claim.AlertKind{
		claim.AlertOverlap, claim.AlertDoubt, claim.AlertUnknown, claim.AlertGaveUp, claim.AlertRejected, claim.AlertRowFault,
		claim.AlertRunFailed, claim.AlertStaleClaim, claim.AlertMarkUnverified, claim.AlertLedgerDisagrees,
	} {
		if headline(k) == string(k) {
			t.Errorf("%s has no words for people", k)
		}
	}
	if got := headline("news"); got != "news" {
		t.Error(got)
	}
}

func TestLongMail(t *testing.T) {
	var as []claim.Alert
	for i := range mailRows + 37 {
		a := unknown(i+2, fmt.Sprintf("B-%d", i))
		a.Run = fmt.Sprint(i)
		as = append(as, a)
	}
	text := newMessage(queued(as...)).Text()
	if n := strings.Count(text, "  and 37 more\n"); n != 2 { // of what was seen and of the rows
		t.Errorf("%d lists are cut:\n%s", n, text)
	}
	if !strings.Contains(text, "Run:   0, 1, 2, 3, 4, and 57 more\n") {
		t.Error(text)
	}
}

func TestIDNamesTheSet(t *testing.T) {
	one, two := queued(overlap("1")), queued(overlap("1"), overlap("2"))
	if id(one) != id(queued(overlap("1"))) {
		t.Error("the same alerts have two ids")
	}
	other := queued(overlap("1"))
	other[0].At = other[0].At.Add(time.Hour) // another ledger, whose numbers begin again
	if id(one) == id(two) || id(one) == id(other) || id(two) == id(two[1:]) {
		t.Error("two sets have one id")
	}
}

func TestNoAddressInAnyText(t *testing.T) {
	a := unknown(2, "ada@example.com") // a key is given as it is
	a.Rows[0].Detail = "550 5.1.1 <ada@example.com>: no such user"
	a.Seen, a.Done, a.Todo = a.Rows[0].Detail, "not sent to ada@example.com", "ask ada@example.com"
	m := newMessage(queued(a))
	text := strings.ReplaceAll(m.Text(), "key ada@example.com", "")
	body, err := payload(m)
	if err != nil {
		t.Fatal(err)
	}
	text += strings.ReplaceAll(string(body), `"key":"ada@example.com"`, "")
	if strings.Contains(text, "ada@") || strings.Contains(m.Subject(), "@") {
		t.Errorf("an address is in\n%s\n%s", m.Subject(), text)
	}
}

func TestConceal(t *testing.T) {
	for _, tt := range [][2]string{
		{"", ""},
		{"no such user", "no such user"},
		{"<ada@example.com>: rejected", "<…@example.com>: rejected"},
		{"RCPT TO:ada.l+x@example.com, bob@example.org", "RCPT TO:…@example.com, …@example.org"},
		{`"ada l"@example.com`, "…@example.com"},
		{`quoted"@example.com`, `quoted"@example.com`},
		{"ada=example.com@list.example.com", "…@list.example.com"},
		{"zoë@exämple.com", "…@exämple.com"},
		{"a@b@c", "…@…@c"},
		{"at 5 @ noon", "at 5 @ noon"},
		{"lost; Message-ID <k1.7f@acme.test> for ada@example.com", "lost; Message-ID <k1.7f@acme.test> for …@example.com"},
		{"Message-ID: <k1.7f@acme.test>", "Message-ID: <k1.7f@acme.test>"},
	} {
		if got := Conceal(tt[0]); got != tt[1] {
			t.Errorf("%q: got %q, want %q", tt[0], got, tt[1])
		}
	}
}

func TestClean(t *testing.T) {
	for _, tt := range [][2]string{
		{"  two\r\nlines\t", "two lines"},
		{"a\u202eb\x00c", "a b c"},
		{"Ärger 🎈", "Ärger 🎈"},
		{"\xff", "\uFFFD"},
	} {
		if got := clean(tt[0]); got != tt[1] {
			t.Errorf("%q: got %q, want %q", tt[0], got, tt[1])
		}
	}
	long := clean(strings.Repeat("ö", 2*longestText))
	if n := utf8.RuneCountInString(long); n != longestText || !strings.HasSuffix(long, "ö…") {
		t.Errorf("%d runes", n)
	}
}
