package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/sheetclaim/sheetclaim/internal/sheetsemu"
	"github.com/sheetclaim/sheetclaim/internal/smtpsink"
)

// keysToken is of the caller that may use the ledger of keys.
const keysToken = secretMark + "-keys"

// flows is what the workflows of examples/n8n play on.
type flows struct {
	*stage
	n8n  *n8n
	gate *gate
	api  *service
	next int // number of the next row's key
}

// newFlows starts sheet, mail server, service and n8n.
func newFlows(t *testing.T) *flows {
	t.Helper()
	if os.Getenv("SHEETCLAIM_N8N") == "" {
		t.Skip("SHEETCLAIM_N8N names no folder with an n8n: scripts/n8n-e2e installs one and runs this test")
	}
	header := []any{"key", "email", "due", "status", "First name"}
	f := &flows{stage: newStage(t, [][]any{header}), next: 1}
	f.emu.Edit(stageSheet, func(b *sheetsemu.Book) {
		b.AddTab("Invoices").Append("key", "email", "due", "status", "First name")
	})
	config := f.config("one")
	f.edit(config, "api: {", "api: {tokens: [{name: n8n, token: "+apiToken+", jobs: [review-requests, invoice-reminders]}, {name: keys, token: "+keysToken+"}], ")
	f.edit(config, "jobs:\n  test:\n", "jobs:\n  invoice-reminders:\n"+
		"    spreadsheet: "+stageSheet+"\n    range: Invoices!A1:Z\n    columns: {key: key, email: email, status: status, due: due}\n    claim_only: true\n    wait: 2s\n  review-requests:\n")
	f.api = f.serve(config)
	f.gate = newGate(t, f.api.url)
	_, port, err := net.SplitHostPort(f.smtp)
	if err != nil {
		t.Fatal(err)
	}
	f.n8n = startN8N(t, f.gate.address(), port)
	return f
}

// add adds due rows to a tab and answers their addresses.
func (f *flows) add(tab string, n int) []string {
	var to []string
	f.emu.Edit(stageSheet, func(b *sheetsemu.Book) {
		for range n {
			address := fmt.Sprintf("guest%d@example.com", f.next)
			b.Tab(tab).Append(fmt.Sprintf("k%d", f.next), address, "2026-01-01", "", "Ada")
			to = append(to, address)
			f.next++
		}
	})
	return to
}

// wantMails fails unless each address got one message and its row reads as wanted,
// "sent" where nothing is said.
func (f *flows) wantMails(t *testing.T, tab string, to []string, want map[string]string) {
	t.Helper()
	got, status := map[string]int{}, map[string]string{}
	for _, m := range f.sink.Messages() {
		for _, address := range m.To {
			got[address]++
		}
	}
	for _, row := range f.emu.Grid(stageSheet, tab)[1:] {
		status[row[1]] = row[3]
	}
	for _, address := range to {
		text, mails := want[address], 1
		for _, unsent := range []string{"failed", "rejected", "sending"} {
			if strings.HasPrefix(text, unsent) {
				mails = 0
			}
		}
		if text == "" {
			text = "sent"
		}
		if got[address] != mails || !strings.HasPrefix(status[address], text) {
			t.Errorf("%s got %d messages, and its row reads %q; want %d and %q", address, got[address], status[address], mails, text)
		}
	}
	t.Logf("%d rows, %d messages in all", len(to), len(f.sink.Messages()))
}

// runs answers the names of the runs so far.
func (f *flows) runs(t *testing.T) []string {
	t.Helper()
	var list struct {
		Runs []struct {
			RunID string `json:"run_id"`
		}
	}
	if err := json.Unmarshal([]byte(f.api.must(http.StatusOK, "GET", "/v1/runs?limit=200", "").body), &list); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range list.Runs {
		names = append(names, r.RunID)
	}
	return names
}

// The workflows of examples/n8n in a real n8n, against the real service.
func TestN8N(t *testing.T) {
	f := newFlows(t)
	const one = `{"rows": [{"n": 1}]}`
	t.Run("schedule, three executions at once", func(t *testing.T) {
		to := f.add(stageTab, 10)
		if got := f.n8n.atOnce(3, "schedule-and-alert", one); got[http.StatusOK] != 3 {
			t.Errorf("answers: %v", got)
		}
		f.wantMails(t, stageTab, to, nil)
		if n, names := f.gate.count("/v1/runs"), f.runs(t); n != 3 || len(names) != 3 || !strings.HasPrefix(names[0], "schedule-and-alert-") {
			t.Errorf("%d requests made the runs %q", n, names)
		}
	})
	t.Run("schedule, the answer is lost", func(t *testing.T) {
		to, before := f.add(stageTab, 3), len(f.runs(t))
		f.gate.lose("/v1/runs")
		if got := f.n8n.atOnce(1, "schedule-and-alert", one); got[http.StatusOK] != 1 {
			t.Errorf("answers: %v", got)
		}
		f.wantMails(t, stageTab, to, nil)
		if n, made := f.gate.count("/v1/runs"), len(f.runs(t))-before; n != 2 || made != 1 {
			t.Errorf("%d requests made %d runs, want one run asked for twice", n, made)
		}
	})
	t.Run("webhook, three calls at once", func(t *testing.T) {
		to := f.add(stageTab, 5)
		if text, status := f.n8n.post("sheetclaim-run-now", `{}`); status != http.StatusForbidden {
			t.Errorf("without its header: %d %s", status, text)
		}
		if got := f.n8n.atOnce(3, "sheetclaim-run-now", `{}`, "X-Hook", n8nHook); got[http.StatusOK] != 3 {
			t.Errorf("answers: %v", got)
		}
		f.wantMails(t, stageTab, to, nil)
		f.gate.count("/v1/runs")
	})
	t.Run("sheet trigger, ten rows in one execution", func(t *testing.T) {
		to := f.add(stageTab, 10)
		rows := `{"rows": [` + strings.Repeat(`{"n": 1},`, 9) + `{"n": 1}]}`
		if got := f.n8n.atOnce(1, "sheet-trigger", rows); got[http.StatusOK] != 1 {
			t.Errorf("answers: %v", got)
		}
		f.wantMails(t, stageTab, to, nil)
		if n := f.gate.count("/v1/runs"); n != 1 {
			t.Errorf("%d requests, want one however many rows", n)
		}
	})
	t.Run("a row is refused: the alert says so", func(t *testing.T) {
		to := f.add(stageTab, 2)
		f.sink.SetRules(smtpsink.Rule{Phase: smtpsink.Rcpt, Action: smtpsink.Reply, Text: "550 5.1.1 no such user", Recipient: to[0]})
		f.wantAlert(t, "schedule-and-alert", "sheetclaim: partial. 1 of 2 due rows sent")
		f.wantMails(t, stageTab, to, map[string]string{to[0]: "rejected: "})
	})
	t.Run("claim only, three executions at once", func(t *testing.T) { f.claimOnly(t, one) })
	t.Run("claim only, the answer is lost", func(t *testing.T) {
		to, before := f.add("Invoices", 2), len(f.sink.Messages())
		f.gate.lose("/v1/claims")
		f.wantAlert(t, "claim-and-send-yourself", "handed out before, and that answer was lost")
		f.wantMails(t, "Invoices", to, map[string]string{to[0]: "sending claim-and-send-yourself-", to[1]: "sending claim-and-send-yourself-"})
		if n := len(f.sink.Messages()) - before; n != 0 {
			t.Errorf("%d messages", n)
		}
	})
	t.Run("webhook once, five deliveries at once", f.once)
	t.Run("nobody is there: the alert says so", func(t *testing.T) {
		f.gate.Close()
		f.wantAlert(t, "schedule-and-alert", "sheetclaim could not be asked: ")
	})
}

// wantAlert runs a workflow, and fails unless its alert gets a sentence with that text.
func (f *flows) wantAlert(t *testing.T, workflow, want string) {
	t.Helper()
	answer, status := f.n8n.post(workflow, `{"rows": [{"n": 1}]}`)
	var got struct{ Text string }
	if err := json.Unmarshal([]byte(answer), &got); err != nil || status != http.StatusOK || !strings.Contains(got.Text, want) {
		t.Errorf("status %d: %s; want an alert with %q", status, answer, want)
	}
	t.Logf("alert: %s", got.Text)
}

// claimOnly lets n8n's own node send: one address is refused, and one message's answer
// is lost.
func (f *flows) claimOnly(t *testing.T, body string) {
	to := f.add("Invoices", 6)
	refused, lost := to[1], to[4]
	f.sink.SetRules(
		smtpsink.Rule{Phase: smtpsink.Rcpt, Action: smtpsink.Reply, Text: "550 5.1.1 no such user", Recipient: refused},
		smtpsink.Rule{Phase: smtpsink.Dot, Action: smtpsink.Drop, Accept: true, Recipient: lost},
	)
	if got := f.n8n.atOnce(3, "claim-and-send-yourself", body); got[http.StatusOK] != 3 {
		t.Errorf("answers: %v", got)
	}
	f.wantMails(t, "Invoices", to, map[string]string{refused: "failed 1/3: ", lost: "unknown "})
	if n := f.gate.count("/v1/claims"); n != 3 {
		t.Errorf("%d claims", n)
	}
	if n := f.gate.count("/v1/claims/settle"); n != len(to) {
		t.Errorf("%d rows were settled, want %d", n, len(to))
	}
}

// once delivers one event five times at the same moment, and again, and another one.
func (f *flows) once(t *testing.T) {
	const event = `{"id": "evt_1"}`
	got := f.n8n.atOnce(5, "sheetclaim-once", event)
	if got[http.StatusOK] == 0 || got[http.StatusOK]+got[http.StatusServiceUnavailable] != 5 {
		t.Errorf("answers: %v", got)
	}
	for body, want := range map[string]int{event: http.StatusOK, `{"id": "evt_2"}`: http.StatusOK, `{}`: http.StatusServiceUnavailable} {
		if again := f.n8n.atOnce(1, "sheetclaim-once", body); !maps.Equal(again, map[int]int{want: 1}) {
			t.Errorf("%s: %v", body, again)
		}
	}
	if n := f.gate.count("/v1/keys/done"); n != 2 {
		t.Errorf("the work was done %d times for two events", n)
	}
	// The answer to the claim is lost: the node asks again and gets its own claim.
	f.gate.count("/v1/keys/claim")
	f.gate.lose("/v1/keys/claim")
	if got := f.n8n.atOnce(1, "sheetclaim-once", `{"id": "evt_3"}`); !maps.Equal(got, map[int]int{http.StatusOK: 1}) {
		t.Errorf("a lost answer: %v", got)
	}
	if claims, done := f.gate.count("/v1/keys/claim"), f.gate.count("/v1/keys/done"); claims != 2 || done != 1 {
		t.Errorf("a lost answer: %d claims, %d done, want 2 and 1", claims, done)
	}
}
