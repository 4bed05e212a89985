package claim_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/sheetsemu"
	"github.com/sheetclaim/sheetclaim/internal/smtpsink"
)

// Cases that users of such tools report about the sheet, through the whole method.

// text answers the decoded text part of a message.
func text(t *testing.T, m smtpsink.Message) string {
	t.Helper()
	p, err := m.Parse()
	if err != nil {
		t.Fatal(err)
	}
	return p.Text
}

func TestSH01Placeholders(t *testing.T) {
	t.Parallel()
	rows := [][]any{{"Key", "Recipient", "First name \u00a0", "State"}, {"k1", "a@x.test", "Ada", ""}}
	columns := "{key: key, email: recipient, status: state}"
	inWorld(t, rows, func(w *world) {
		w.alone(settings{"columns": columns, "message": `{subject: "x", text: "Hi {{First name}},"}`}, func(in *install) {
			wantRun(t, in.run("1"), claim.RunSent, 1)
			if got := strings.TrimSpace(text(t, w.sink.Messages()[0])); got != "Hi Ada," {
				t.Errorf("the body is %q", got)
			}
		})
	})
	inWorld(t, rows, func(w *world) {
		w.alone(settings{"columns": columns, "message": `{subject: "x", text: "Hi {{Fist name}},"}`}, func(in *install) {
			d := in.run("1")
			wantRun(t, d, claim.RunFailed, 0)
			for _, want := range []string{"Fist name", "First name", "Recipient", tabTitle} {
				if !strings.Contains(d.Detail, want) {
					t.Errorf("the error does not name %q: %s", want, d.Detail)
				}
			}
			w.untouched()
		})
	})
}

// untouched fails when anything was written or mailed.
func (w *world) untouched() {
	w.t.Helper()
	for _, c := range w.emu.Log() {
		if c.Write {
			w.t.Errorf("something was written: %s %s", c.Kind, c.Body)
		}
	}
	if n := len(w.sink.Messages()); n > 0 {
		w.t.Errorf("%d messages went out", n)
	}
}

func TestSH02HeaderRenamed(t *testing.T) {
	t.Parallel()
	rows := dueRows(2)
	rows[0][1] = "E-mail"
	inWorld(t, rows, func(w *world) {
		w.alone(nil, func(in *install) {
			d := in.run("1")
			wantRun(t, d, claim.RunFailed, 0)
			for _, want := range []string{`"email"`, "E-mail", tabTitle} {
				if !strings.Contains(d.Detail, want) {
					t.Errorf("the error does not name %s: %s", want, d.Detail)
				}
			}
			if a := in.alerts(); len(a) != 1 || a[claim.AlertRunFailed] != 1 {
				t.Errorf("alerts: %v, want one", a)
			}
			w.untouched()
		})
	})
}

func TestSH04HeaderWithLineBreak(t *testing.T) {
	t.Parallel()
	rows := dueRows(1)
	rows[0][2] = "Send\ndate"
	inWorld(t, rows, func(w *world) {
		w.alone(settings{"columns": "{key: key, email: email, status: status, due: Send date}"}, func(in *install) {
			wantRun(t, in.run("1"), claim.RunSent, 1)
		})
	})
}

func TestSH05TabNames(t *testing.T) {
	t.Parallel()
	const title = "O'Brien Kunden 2026 é"
	for _, a1 := range []string{`"'O''Brien Kunden 2026 é'!A1:Z"`, `"'O''Brien Kunden 2026 é'"`} {
		inWorld(t, dueRows(1), func(w *world) {
			w.emu.Edit(spreadsheet, func(b *sheetsemu.Book) { b.RenameTab(tabTitle, title) })
			w.alone(settings{"range": a1}, func(in *install) {
				wantRun(t, in.run("1"), claim.RunSent, 1)
				if got := w.emu.Grid(spreadsheet, title)[1][3]; got != "sent" {
					t.Errorf("the status reads %q", got)
				}
			})
		})
	}
}

func TestSH06ShortRows(t *testing.T) {
	t.Parallel()
	rows := [][]any{{"key", "email", "due", "status"}, {"k1", "a@x.test", "2026-11-01"}}
	inWorld(t, rows, func(w *world) {
		w.alone(nil, func(in *install) {
			wantRun(t, in.run("1"), claim.RunSent, 1)
			w.wantStatus(map[string]string{"k1": "sent"})
		})
	})
}

func TestSH07BlankRowBetween(t *testing.T) {
	t.Parallel()
	rows := dueRows(3)
	rows[2] = []any{}
	inWorld(t, rows, func(w *world) {
		w.alone(nil, func(in *install) {
			wantRun(t, in.run("1"), claim.RunSent, 2)
			w.wantSent("guest1@example.com", "guest3@example.com")
			if row := w.emu.Grid(spreadsheet, tabTitle)[2]; strings.Join(row, "") != "" {
				t.Errorf("the blank row reads %q", row)
			}
		})
	})
}

func TestSH09BadAddresses(t *testing.T) {
	t.Parallel()
	rows := dueRows(4)
	rows[2][1], rows[3][1] = "", "not-an-address"
	inWorld(t, rows, func(w *world) {
		w.alone(nil, func(in *install) {
			for _, id := range []string{"1", "2"} {
				d := in.run(id)
				if d.Outcome != claim.RunPartial || d.Counts.Skipped != 2 {
					t.Errorf("%+v", d)
				}
				for _, r := range d.Rows {
					if r.Outcome == claim.Skipped && r.Reason == "" {
						t.Errorf("row %d was skipped without a reason", r.Row)
					}
				}
			}
			w.wantSent("guest1@example.com", "guest4@example.com")
			w.wantStatus(map[string]string{"k2": "", "k3": ""})
			if n := in.alerts()[claim.AlertRowFault]; n != 1 {
				t.Errorf("%d alerts for the same faults, want one summary", n)
			}
			w.emu.Edit(spreadsheet, func(b *sheetsemu.Book) { b.Tab(tabTitle).Set("B3", "guest2@example.com") })
			in.run("3")
			if n := in.alerts()[claim.AlertRowFault]; n != 2 {
				t.Errorf("%d alerts after the faults changed, want 2", n)
			}
			w.wantSent("guest1@example.com", "guest2@example.com", "guest4@example.com")
		})
	})
}

func TestSH10RepeatedKeys(t *testing.T) {
	t.Parallel()
	rows := dueRows(4)
	rows[2][0], rows[3][0] = "k1 ", "k2"
	inWorld(t, rows, func(w *world) {
		w.alone(nil, func(in *install) {
			d := in.run("1")
			if d.Counts.Sent != 2 || d.Counts.Skipped != 2 {
				t.Errorf("%+v", d)
			}
			w.wantSent("guest3@example.com", "guest4@example.com")
			if !strings.Contains(d.Rows[0].Reason, "rows 2, 3") {
				t.Errorf("the fault does not name the rows: %q", d.Rows[0].Reason)
			}
		})
	})
}

func TestSH11NoteAboveHeader(t *testing.T) {
	t.Parallel()
	rows := [][]any{
		{"Fleet, please do not sort"},
		{"key", "email", "due", "status"},
		{"car1", "a@x.test", "2026-11-01", ""},
		{"car2", "b@x.test", "2027-11-01", ""},
		{"car3", "c@x.test", "2027-11-01", ""},
	}
	inWorld(t, rows, func(w *world) {
		w.alone(settings{"range": tabTitle + "!A2:H"}, func(in *install) {
			before := w.emu.Grid(spreadsheet, tabTitle)
			wantRun(t, in.run("1"), claim.RunSent, 1)
			after := w.emu.Grid(spreadsheet, tabTitle)
			for i := range before {
				want := strings.Join(before[i], "|")
				if i == 2 {
					want = "car1|a@x.test|2026-11-01|sent"
				}
				if got := strings.Join(after[i], "|"); got != want {
					t.Errorf("row %d: got %q, want %q", i+1, got, want)
				}
			}
		})
	})
}

func TestSH15SerialDates(t *testing.T) {
	t.Parallel()
	rows := [][]any{{"key", "email", "due", "status"}, {"k1", "a@x.test", 46027.375, ""}}
	start := time.Date(2026, 1, 5, 7, 59, 0, 0, time.UTC)
	inWorldAt(t, start, rows, sheetsemu.Options{}, smtpsink.Options{}, func(w *world) {
		w.emu.Edit(spreadsheet, func(b *sheetsemu.Book) {
			b.SetTimeZone("Europe/Berlin")
			b.Tab(tabTitle).SetFormat("C2", "DATE_TIME", "dd/mm/yyyy hh:mm")
		})
		w.alone(nil, func(in *install) {
			wantRun(t, in.run("early"), claim.RunNothingDue, 0)
			time.Sleep(time.Minute)
			wantRun(t, in.run("due"), claim.RunSent, 1)
		})
	})
}

func TestSH17Checkboxes(t *testing.T) {
	t.Parallel()
	rows := [][]any{
		{"key", "email", "status", "approve"},
		{"k1", "a@x.test", "", false},
		{"k2", "b@x.test", "", true},
		{"k3", "c@x.test", "", "FALSE"},
		{"k4", "d@x.test", "", "no"},
		{"k5", "e@x.test", "", ""},
	}
	inWorld(t, rows, func(w *world) {
		w.emu.Edit(spreadsheet, func(b *sheetsemu.Book) { b.SetLocale("it_IT") })
		w.alone(settings{"columns": "{key: key, email: email, status: status}", "where": "approve"}, func(in *install) {
			wantRun(t, in.run("1"), claim.RunSent, 1)
			w.wantSent("b@x.test")
		})
	})
}

func TestSH19FormulasInStatus(t *testing.T) {
	t.Parallel()
	inWorld(t, dueRows(2), func(w *world) {
		w.emu.Edit(spreadsheet, func(b *sheetsemu.Book) {
			b.Tab(tabTitle).SetFormula("D2", `=IF(F2<>"","done","")`, "")
			b.Tab(tabTitle).SetFormula("D3", `=IF(F3<>"","done","")`, "")
		})
		w.alone(nil, func(in *install) {
			d := in.run("1")
			wantRun(t, d, claim.RunFailed, 0)
			if !strings.Contains(d.Detail, `the status column contains formulas ("status", row 2)`) {
				t.Errorf("detail: %s", d.Detail)
			}
			w.untouched()
		})
	})
}

func TestSH21EmptyTab(t *testing.T) {
	t.Parallel()
	inWorld(t, [][]any{}, func(w *world) {
		w.alone(nil, func(in *install) {
			d := in.run("1")
			wantRun(t, d, claim.RunFailed, 0)
			if !strings.Contains(d.Detail, "no header row") {
				t.Errorf("detail: %s", d.Detail)
			}
			w.untouched()
		})
	})
	inWorld(t, dueRows(0), func(w *world) {
		w.alone(nil, func(in *install) {
			wantRun(t, in.run("1"), claim.RunNothingDue, 0)
			if a := in.alerts(); len(a) != 0 {
				t.Errorf("alerts: %v", a)
			}
			w.untouched()
		})
	})
}

func TestSH23HostileCell(t *testing.T) {
	t.Parallel()
	const cell = "p\"w\\1\tx\ny"
	rows := [][]any{{"key", "email", "status", "pw"}, {"k1", "a@x.test", "", cell}}
	inWorld(t, rows, func(w *world) {
		w.alone(settings{
			"columns": "{key: key, email: email, status: status}",
			"message": `{subject: "x", text: "{{pw}}", html: "<p>{{pw}}</p>"}`,
		}, func(in *install) {
			wantRun(t, in.run("1"), claim.RunSent, 1)
			p, err := w.sink.Messages()[0].Parse()
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.ReplaceAll(strings.TrimRight(p.Text, "\r\n"), "\r\n", "\n"); got != cell {
				t.Errorf("text part: %q", got)
			}
			if !strings.Contains(p.HTML, "p&#34;w\\1") {
				t.Errorf("html part: %q", p.HTML)
			}
		})
	})
}

// Several key columns are kept apart, and a number is a key whatever its format.
func TestKeysOfSeveralColumns(t *testing.T) {
	t.Parallel()
	rows := [][]any{
		{"email", "visit", "status", "key"},
		{"a@x.test", 7, "", "x"},
		{"a@x.test", 8, "", "y"},
		{"b@x.test", 7, "", "z"},
	}
	inWorld(t, rows, func(w *world) {
		w.emu.Edit(spreadsheet, func(b *sheetsemu.Book) { b.Tab(tabTitle).SetFormat("B2", "NUMBER", "0.00") })
		w.alone(settings{"columns": "{key: [email, visit], email: email, status: status}"}, func(in *install) {
			d := in.run("1")
			wantRun(t, d, claim.RunSent, 3)
			if d.Rows[0].Key != "a@x.test|7" {
				t.Errorf("the key is %q", d.Rows[0].Key)
			}
		})
	})
}

// All optional columns are written, and only where mapped.
func TestOptionalColumns(t *testing.T) {
	t.Parallel()
	rows := [][]any{
		{"key", "email", "status", "note", "sent", "claimed", "by", "tries"},
		{"k1", "a@x.test", "", "old note", "", "", "", ""},
		{"k2", "b@x.test", "", "", "", "", "", ""},
	}
	so := smtpsink.Options{Rules: []smtpsink.Rule{{Phase: smtpsink.Rcpt, Action: smtpsink.Reply, Text: "451 4.2.0 try later", Recipient: "b@x.test"}}}
	inWorldWith(t, rows, sheetsemu.Options{}, so, func(w *world) {
		s := settings{"columns": "{key: key, email: email, status: status, note: note, sent_at: sent, claimed_at: claimed, claimed_by: by, attempts: tries}"}
		w.alone(s, func(in *install) {
			d := in.run("4711")
			if d.Counts.Sent != 1 || d.Counts.Failed != 1 {
				t.Errorf("%+v", d)
			}
			for header, want := range map[string]string{"status": "sent", "note": "", "sent": "2026-11-30T09:00:15Z", "claimed": "2026-11-30T09:00:00Z", "by": "4711", "tries": "1"} {
				if got := w.cell("k1", header); got != want {
					t.Errorf("k1 %s: got %q, want %q", header, got, want)
				}
			}
			if got := w.cell("k2", "status"); !strings.HasPrefix(got, "failed 1/3: ") || !strings.Contains(got, "451 4.2.0 try later") {
				t.Errorf("k2 status: %q", got)
			}
			if got := w.cell("k2", "note"); !strings.Contains(got, "451") {
				t.Errorf("k2 note: %q", got)
			}
			wantRun(t, in.run("4712"), claim.RunNothingDue, 0) // its time has not come
			time.Sleep(16 * time.Minute)
			w.sink.SetRules()
			wantRun(t, in.run("4713"), claim.RunSent, 1)
			if got := w.cell("k2", "note") + w.cell("k2", "tries"); got != "2" {
				t.Errorf("k2 note and tries: %q", got)
			}
		})
	})
}
