package check

import (
	"strings"
	"testing"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/job"
)

// last is the newest finding as people see it.
func last(r *Report) string {
	var b strings.Builder
	Print(&b, r.Findings[len(r.Findings)-1])
	return b.String()
}

func TestRound(t *testing.T) {
	for _, tc := range []struct {
		took, wait time.Duration
		want       Level
	}{
		{2 * time.Second, 15 * time.Second, OK},
		{3 * time.Second, 15 * time.Second, Warn},
		{6 * time.Second, 15 * time.Second, Fail},
		{2 * time.Second, 5 * time.Second, Fail}, // a third of it
		{6 * time.Second, time.Minute, Fail},     // 5 s at most
	} {
		r := &Report{}
		if r.Round("j", tc.took, tc.wait); r.Findings[0].Level != tc.want {
			t.Errorf("%s under %s: %s", tc.took, tc.wait, last(r))
		}
	}
}

func TestClockAllowsForTheAnswersWay(t *testing.T) {
	now := time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		ahead, took time.Duration
		want        Level
	}{
		{0, 0, OK},
		{5500 * time.Millisecond, 0, OK}, // the header has no fractions
		{7 * time.Second, 0, Warn},
		{7 * time.Second, 2 * time.Second, OK}, // or the answer was under way
		{-6 * time.Second, 2 * time.Second, Warn},
		{-6 * time.Minute, 0, Fail},
		{6 * time.Minute, 0, Fail},
	} {
		r := &Report{}
		if r.Clock(now.Add(tc.ahead), now, "Google", tc.took); r.Findings[0].Level != tc.want {
			t.Errorf("%s ahead after %s: %s", tc.ahead, tc.took, last(r))
		}
	}
}

func TestDueSaysWhatTheFirstRunWouldDo(t *testing.T) {
	doc := claim.Document{Outcome: claim.RunDry, Rows: []claim.RowReport{{Outcome: claim.Would}, {Outcome: claim.Would}}}
	j := &claim.Job{Name: "j", Limit: 50, FirstRunLimit: 1}
	for ran, want := range map[bool]Level{false: Warn, true: OK} {
		r := &Report{}
		if r.Due(j, doc, ran); r.Findings[0].Level != want {
			t.Errorf("ran %t: %s", ran, last(r))
		}
	}
}

// The rows of a job without message are handed out, and a doubt about a row is told once.
func TestDueOfAJobThatIsOnlyClaimed(t *testing.T) {
	doc := claim.Document{
		Outcome: claim.RunDry,
		Rows:    []claim.RowReport{{Row: 2, Outcome: claim.Would}, {Row: 3, Outcome: claim.Skipped, Reason: "no key"}, {Row: 4, Outcome: claim.Skipped, Reason: "cleared"}},
		Doubts:  []claim.Doubt{{Kind: claim.ClearedAfterEnd, Row: 4}},
	}
	r := &Report{}
	r.Due(&claim.Job{Name: "j", Limit: 50, ClaimOnly: true}, doc, true)
	if got, want := r.Findings[0].Found, "1 row would be handed out now, at most 50 in one run"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := r.Findings[1].Found, "1 due row cannot be handed out as written: row 3: no key"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestFrom(t *testing.T) {
	for _, tc := range []struct {
		from, login string
		want        Level
	}{
		{"Acme <hello@acme.shop>", "hello@acme.shop", OK},
		{"hello@acme.shop", "apikey", OK},
		{"hello@acme.shop", "someone@gmail.com", Warn},
		{"hello@mail.example.com", "", Warn},
		{"hello@localhost", "", Warn},
		{"hello@shop.invalid", "", Warn},
	} {
		r := &Report{}
		if r.From(&job.SMTP{From: tc.from, Username: tc.login}); r.Findings[0].Level != tc.want {
			t.Errorf("%s by %s: %s", tc.from, tc.login, last(r))
		}
	}
}

func TestConfigNamesWhatPeopleRegret(t *testing.T) {
	c := &job.Config{
		Google: job.Google{Endpoint: "http://127.0.0.1:9410"},
		SMTP:   &job.SMTP{Host: "smtp.acme.shop", TLS: job.NoTLS, DotTimeout: time.Minute},
		Alerts: job.Alerts{Webhook: &job.Webhook{URL: "http://hooks.acme.shop/secret"}},
	}
	r := &Report{}
	r.Config(c)
	var b strings.Builder
	for _, f := range r.Findings {
		Print(&b, f)
	}
	for _, want := range []string{"an emulator, not Google", "smtp.tls is none", "dot_timeout is 1m0s", "plain http", "has no secret"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	first, err := job.Starter{}.File()
	if err != nil || !strings.Contains(string(first), (job.Starter{}).Placeholder()) {
		t.Fatalf("%v: %s", err, first)
	}
	c = &job.Config{Jobs: map[string]*job.Spec{"mail": {Message: job.MessageSource{Text: (job.Starter{}).Placeholder()}}}}
	r = &Report{}
	if r.Config(c); r.Count(Warn) != 1 || !strings.Contains(last(r), "still the one that init wrote") {
		t.Errorf("%v", r.Findings)
	}
	c = &job.Config{SMTP: &job.SMTP{Host: "localhost", TLS: job.NoTLS, DotTimeout: 10 * time.Minute}}
	r = &Report{}
	if r.Config(c); r.Count(Warn) != 0 || r.Count(OK) != 1 {
		t.Errorf("%v", r.Findings)
	}
}

func TestPace(t *testing.T) {
	for _, tc := range []struct {
		o    claim.Overlap
		want Level
	}{
		{claim.Overlap{}, OK},
		{claim.Overlap{RunTime: time.Minute, Interval: 5 * time.Minute}, OK},
		{claim.Overlap{RunTime: 3 * time.Minute, Interval: 5 * time.Minute}, Warn},
		{claim.Overlap{RunTime: time.Minute, Interval: 5 * time.Minute, Foreign: 1}, Warn},
	} {
		r := &Report{}
		if r.Pace("j", tc.o); r.Findings[0].Level != tc.want {
			t.Errorf("%+v: %s", tc.o, last(r))
		}
	}
}

func TestFoundIsOneLine(t *testing.T) {
	r := &Report{}
	r.Warn("a", "j", "two\nlines \x1b[31m", "mend")
	if got := last(r); got != "warn  j a: two lines  [31m\n      -> mend\n" {
		t.Errorf("%q", got)
	}
}
