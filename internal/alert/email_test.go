package alert

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// mailer answers a result for each address.
type mailer struct {
	results map[string]claim.Result
	tried   []string
	drafts  []claim.Draft
}

func (m *mailer) Compose(d claim.Draft) (claim.Letter, error) {
	if !strings.Contains(d.To, "@") {
		return claim.Letter{}, errors.New("email: no address")
	}
	m.drafts = append(m.drafts, d)
	return claim.Letter{MessageID: "<" + d.ID + "@acme.test>", To: []string{d.To}, Bytes: []byte(d.Text)}, nil
}

func (m *mailer) Login(context.Context) error { return nil }

func (m *mailer) Send(_ context.Context, l claim.Letter, h claim.Hooks) claim.Result {
	m.tried = append(m.tried, l.To...)
	if err := errors.Join(h.Begin(), h.Commit()); err != nil {
		return claim.Result{Verdict: claim.NotBegun, Err: err}
	}
	if res, ok := m.results[l.To[0]]; ok {
		return res
	}
	return claim.Result{Verdict: claim.Accepted}
}

func TestEmail(t *testing.T) {
	const ada, bob = "ada@example.com", "bob@example.com"
	refused := claim.Result{Verdict: claim.Refused, Reply: "550 5.1.1 <ada@example.com>: no such user"}
	tests := []struct {
		name    string
		results map[string]claim.Result
		tried   []string
		problem string // "": delivered
	}{
		{"both take it", nil, []string{ada, bob}, ""},
		{"one is enough", map[string]claim.Result{ada: refused}, []string{ada, bob}, ""},
		{"none takes it", map[string]claim.Result{ada: refused, bob: refused}, []string{ada, bob}, "address 1 of 2: refused: 550"},
		{
			"the account is at fault",
			map[string]claim.Result{ada: {Verdict: claim.Deferred, Account: true, Step: "login", Reply: "535 no"}},
			[]string{ada},
			"deferred: 535 no",
		},
		{
			"a lost answer is no delivery",
			map[string]claim.Result{ada: {Verdict: claim.Doubtful, Step: "dot", Err: errors.New("EOF")}, bob: refused},
			[]string{ada, bob},
			"doubtful: dot: EOF",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := &mailer{results: tt.results}
			var log strings.Builder
			e := &Email{Mailer: m, To: []string{ada, bob}, Log: slog.New(slog.NewTextHandler(&log, nil))}
			err := e.Deliver(t.Context(), newMessage(queued(overlap("1"))))
			if tt.problem == "" && err != nil || tt.problem != "" && (err == nil || !strings.Contains(err.Error(), tt.problem)) {
				t.Errorf("got %v, want %q", err, tt.problem)
			}
			equal(t, "tried", m.tried, tt.tried)
			if strings.Contains(log.String(), "ada@") {
				t.Errorf("an address is in the log: %s", &log)
			}
			if tt.name == "one is enough" && !strings.Contains(log.String(), "address 1 of 2") {
				t.Errorf("the log does not tell: %q", &log)
			}
		})
	}
}

func TestEmailDraft(t *testing.T) {
	m := &mailer{}
	e := &Email{Mailer: m, To: []string{"nobody", "ada@example.com", "bob@example.com"}, Log: slog.New(slog.DiscardHandler)}
	msg := newMessage(queued(overlap("1")))
	for range 2 {
		if err := e.Deliver(t.Context(), msg); err != nil {
			t.Fatal(err)
		}
	}
	var ids []string
	for _, d := range m.drafts {
		ids = append(ids, d.ID)
		if d.Subject != msg.Subject() || d.Text != msg.Text() || d.HTML != "" {
			t.Errorf("draft %+v", d)
		}
	}
	equal(t, "left sides of Message-IDs", ids, []string{msg.ID + ".2", msg.ID + ".3", msg.ID + ".2", msg.ID + ".3"})
	if err := (&Email{Mailer: m}).Deliver(t.Context(), msg); err == nil {
		t.Error("without addresses it was delivered")
	}
}
