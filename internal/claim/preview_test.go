package claim_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/sheetsemu"
	"github.com/sheetclaim/sheetclaim/internal/smtpsink"
)

// preview asks for a preview and fails when it wrote to sheet or ledger.
func (in *install) preview(r claim.PreviewRequest) (claim.Preview, error) {
	in.w.t.Helper()
	before, calls := in.books(), len(in.w.emu.Log())
	r.Job = "test"
	v, err := in.svc.Preview(context.Background(), r)
	if in.books() != before {
		in.w.t.Error("the preview wrote to the ledger")
	}
	for _, c := range in.w.emu.Log()[calls:] {
		if c.Write {
			in.w.t.Errorf("the preview wrote to the sheet: %s", c.Body)
		}
	}
	return v, err
}

// mustPreview is preview where there has to be one.
func (in *install) mustPreview(r claim.PreviewRequest) claim.Preview {
	in.w.t.Helper()
	v, err := in.preview(r)
	if err != nil {
		in.w.t.Fatal(err)
	}
	return v
}

// books is a sum of what is on disk of the ledger. Reading does not change it.
func (in *install) books() (sum [sha256.Size]byte) {
	in.w.t.Helper()
	var all []byte
	for _, name := range []string{"one.db", "one.db-wal"} {
		data, err := os.ReadFile(filepath.Join(in.w.dir, name))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			in.w.t.Fatal(err)
		}
		all = append(all, data...)
	}
	return sha256.Sum256(all)
}

// told lists the rows of a preview as "number outcome reason".
func told(v claim.Preview) []string {
	all := []string{}
	for _, r := range v.Rows {
		all = append(all, strings.TrimSpace(fmt.Sprintf("%d %s %s", r.Row, r.Outcome, r.Reason)))
	}
	return all
}

func TestOP02PreviewIsWhatARunWouldDo(t *testing.T) {
	t.Parallel()
	rows := [][]any{
		{"key", "email", "due", "status", "name"},
		{"k2", "nobody", "2026-11-01", "", "Bob"},
		{"k1", "ada@x.test; bob@x.test", "2026-11-01", "", "Ada <b>"},
		{"k3", "cy@x.test", "2026-12-24", "", "Cy"},
		{"k4", "di@x.test", "2026-11-01", "sent", "Di"},
		{"k5", "ed@x.test", "2026-11-01", "", "Ed"},
		{"k5", "ed@x.test", "2027-11-01", "", "Ed"},
		{"k6", "flo@x.test", "2026-11-01", "sending 1/x.1", "Flo"},
		{"k7", "gus@x.test", "2026-11-01", "", "Gus"},
	}
	s := settings{"limit": "1", "message": `{subject: "Hi {{name}}", text: "Dear {{name}}", html: "<p>{{name}}</p>", cc: "boss@x.test", bcc: "log@x.test", reply_to: "desk@x.test", unsubscribe_url: "https://u.test/?k={{key}}"}`}
	inWorld(t, rows, func(w *world) {
		w.alone(s, func(in *install) {
			v := in.mustPreview(claim.PreviewRequest{})
			want := []string{
				`2 skipped email: "nobody": no @`, "3 would_send", "6 skipped repeated key (rows 6, 7): give each row a key of its own",
				"8 taken the cell reads sending 1/x.1",
			}
			if diff := cmp.Diff(want, told(v)); diff != "" {
				t.Error(diff)
			}
			wantCounts := claim.PreviewCounts{Rows: 8, Due: 5, WouldSend: 1, Later: 1, Skipped: 2, Taken: 1, Handled: 1, NotYet: 2}
			if diff := cmp.Diff(wantCounts, v.Counts); diff != "" {
				t.Error(diff)
			}
			wantMessage := &claim.PreviewMessage{
				To: "ada@x.test; bob@x.test", Cc: "boss@x.test", Bcc: "log@x.test", ReplyTo: "desk@x.test", Subject: "Hi Ada <b>",
				Text: "Dear Ada <b>", HTML: "<p>Ada &lt;b&gt;</p>", Unsubscribe: "https://u.test/?k=k1",
			}
			if diff := cmp.Diff(wantMessage, v.Rows[1].Message); diff != "" {
				t.Error(diff)
			}
			if want := "1 of 5 due rows would be sent now; the limit leaves 1 to later runs"; v.Detail != want {
				t.Errorf("detail: %s", v.Detail)
			}
			if v.NextDue == nil || !v.NextDue.Equal(time.Date(2026, 12, 24, 0, 0, 0, 0, time.UTC)) {
				t.Errorf("next due: %v", v.NextDue)
			}
			for _, r := range v.Rows {
				if r.Outcome != claim.Would && (r.Advice == "" || r.Email == "") {
					t.Errorf("row %d has no advice or address: %+v", r.Row, r)
				}
			}
			w.untouched()
			wantRun(t, in.run("1"), claim.RunPartial, 1)
			if got := w.sink.Messages()[0].To; !slices.Equal(got, []string{"ada@x.test", "bob@x.test", "boss@x.test", "log@x.test"}) {
				t.Errorf("the run sent to %v", got)
			}
		})
	})
}

func TestPreviewSaysWhyNothingGoes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		s    settings
		want string
	}{
		{"window", settings{"window": `"Mon-Fri 10:00-17:00"`, "timezone": "UTC"}, "outside the job's window; closed until 2026-11-30T10:00:00Z"},
		{"first run", settings{"first_run_limit": "2"}, `3 rows are due, and the first run asks for --yes or "confirm": true when more than 2 are`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inWorld(t, dueRows(3), func(w *world) {
				w.alone(tc.s, func(in *install) {
					v := in.mustPreview(claim.PreviewRequest{})
					if !slices.Equal(v.Holds, []string{tc.want}) || v.Counts.WouldSend != 3 || !strings.Contains(v.Detail, "nothing would be sent now: "+tc.want) {
						t.Errorf("holds %q, %s", v.Holds, v.Detail)
					}
				})
			})
		})
	}
	t.Run("account", func(t *testing.T) {
		inWorld(t, dueRows(3), func(w *world) {
			w.alone(nil, func(in *install) {
				w.sink.SetRules(smtpsink.Rule{Phase: smtpsink.Mail, Action: smtpsink.Reply, Text: "450 4.7.1 slow down", Times: 1})
				wantRun(t, in.run("1"), claim.RunStopped, 0)
				v := in.mustPreview(claim.PreviewRequest{})
				if len(v.Holds) != 1 || !strings.Contains(v.Holds[0], "after a fault of the mail account") || v.Counts.WouldSend != 3 {
					t.Errorf("holds %q, %s", v.Holds, v.Detail)
				}
			})
		})
	})
}

func TestPreviewOfOneRow(t *testing.T) {
	t.Parallel()
	rows := dueRows(5)
	rows[2][2] = "2026-12-24"
	rows[3][3] = "sent"
	rows[4][1] = "nobody"
	rows[5][2] = ""
	inWorld(t, rows, func(w *world) {
		w.alone(settings{"limit": "1"}, func(in *install) {
			for key, want := range map[string]string{
				" k1 ": "row 2 would be sent now",
				"k2":   "row 3 would not be sent now: it is not due before 2026-12-24T00:00:00Z",
				"k3":   `row 4 would not be sent now: its status reads "sent"`,
				"k5":   "row 6 would not be sent now: its due cell is blank",
			} {
				v := in.mustPreview(claim.PreviewRequest{Key: key})
				key = strings.TrimSpace(key)
				if v.Detail != want || len(v.Rows) != 1 || v.Rows[0].Message == nil || v.Rows[0].Message.Text != "Hello "+key {
					t.Errorf("%s: %s, %+v", key, v.Detail, v.Rows)
				}
			}
			v := in.mustPreview(claim.PreviewRequest{Key: "k4"})
			if len(v.Rows) != 1 || v.Rows[0].Message != nil || !strings.Contains(v.Rows[0].Reason, "nobody") {
				t.Errorf("%+v", v.Rows)
			}
			_, err := in.preview(claim.PreviewRequest{Key: "k9"})
			if e := (*claim.PreviewError)(nil); !errors.As(err, &e) || e.Fault != claim.PreviewNoRow || !strings.Contains(e.Text, `"k9"`) {
				t.Errorf("an unknown key: %v", err)
			}
		})
	})
}

func TestOP02PreviewToMe(t *testing.T) {
	t.Parallel()
	s := settings{"message": `{subject: "Hi {{key}}", text: "Dear {{key}}", html: "<p>{{key}}</p>", cc: "boss@x.test", bcc: "log@x.test", reply_to: "desk@x.test", unsubscribe_url: "https://u.test/?k={{key}}"}`}
	inWorld(t, dueRows(2), func(w *world) {
		w.alone(s, func(in *install) {
			v := in.mustPreview(claim.PreviewRequest{Key: "k2", To: "me@house.test"})
			all := w.sink.Messages()
			if len(all) != 1 || !slices.Equal(all[0].To, []string{"me@house.test"}) || v.Test == nil || v.Test.To != "me@house.test" {
				t.Fatalf("%d messages, %+v", len(all), v.Test)
			}
			p, err := all[0].Parse()
			if err != nil {
				t.Fatal(err)
			}
			for name, want := range map[string]string{
				"To": "<me@house.test>", "Cc": "", "Bcc": "", "Subject": "[test] Hi k2", "X-Sheetclaim-Test": "yes",
				"List-Unsubscribe": "", "List-Unsubscribe-Post": "", "Message-Id": v.Test.MessageID,
			} {
				if got := p.Get(name); got != want {
					t.Errorf("%s: %q, want %q", name, got, want)
				}
			}
			if strings.TrimSpace(p.Text) != "Dear k2" || strings.TrimSpace(p.HTML) != "<p>k2</p>" {
				t.Errorf("parts %q and %q", p.Text, p.HTML)
			}
			// The real message goes all the same, under another Message-ID.
			d := in.run("1")
			wantRun(t, d, claim.RunSent, 2)
			if d.Rows[1].MessageID == v.Test.MessageID {
				t.Error("the test had the Message-ID of the real message")
			}
			if again := in.mustPreview(claim.PreviewRequest{Key: "k2", To: "me@house.test"}); again.Test.MessageID == v.Test.MessageID {
				t.Error("two tests have one Message-ID")
			}
		})
	})
}

func TestPreviewToNobody(t *testing.T) {
	t.Parallel()
	rows := dueRows(2)
	rows[2][1] = "nobody"
	inWorld(t, rows, func(w *world) {
		w.alone(nil, func(in *install) {
			w.sink.SetRules(smtpsink.Rule{Phase: smtpsink.Rcpt, Action: smtpsink.Reply, Text: "550 5.1.1 no such user", Recipient: "gone@house.test"})
			for _, tc := range []struct {
				key, to string
				fault   claim.PreviewFault
				text    string
			}{
				{"", "me@house.test", claim.PreviewNoRow, "name one"},
				{"k1", "me@house.test, you@house.test", claim.PreviewBadTo, "one address"},
				{"k1", "me", claim.PreviewBadTo, `"me"`},
				{"k2", "me@house.test", claim.PreviewRowFault, "nobody"},
				{"k1", "gone@house.test", claim.PreviewNotSent, "550 5.1.1 no such user"},
			} {
				_, err := in.preview(claim.PreviewRequest{Key: tc.key, To: tc.to})
				if e := (*claim.PreviewError)(nil); !errors.As(err, &e) || e.Fault != tc.fault || !strings.Contains(e.Text, tc.text) {
					t.Errorf("row %q to %q: %v, want %s with %q", tc.key, tc.to, err, tc.fault, tc.text)
				}
			}
			w.untouched()
			wantRun(t, in.run("1"), claim.RunPartial, 1)
		})
	})
}

func TestPreviewOfABrokenJob(t *testing.T) {
	t.Parallel()
	inWorld(t, dueRows(1), func(w *world) {
		w.alone(settings{"message": `{subject: "x", text: "{{Fist name}}"}`}, func(in *install) {
			_, err := in.preview(claim.PreviewRequest{})
			if e := (*claim.PreviewError)(nil); !errors.As(err, &e) || e.Fault != claim.PreviewNoSheet || !strings.Contains(e.Text, "Fist name") {
				t.Errorf("%v", err)
			}
		})
	})
}

func TestPreviewOfAJobWithoutMessage(t *testing.T) {
	t.Parallel()
	inWorld(t, dueRows(1), func(w *world) {
		w.alone(settings{"message": "", "claim_only": "true"}, func(in *install) {
			if _, err := in.preview(claim.PreviewRequest{}); !errors.Is(err, claim.ErrNoMail) {
				t.Errorf("%v", err)
			}
		})
	})
}

func TestPreviewIsBounded(t *testing.T) {
	t.Parallel()
	rows := dueRows(260)
	for i := 20; i <= 260; i++ {
		rows[i][1] = "nobody"
	}
	inWorld(t, rows, func(w *world) {
		w.alone(settings{"message": `{subject: "About {{key}}", text: "` + strings.Repeat("x", 1000) + `"}`}, func(in *install) {
			v := in.mustPreview(claim.PreviewRequest{Parts: 5500})
			if v.LeftOut != (claim.LeftOut{Rows: 41, Parts: 14}) || len(v.Rows) != 219 {
				t.Errorf("left out %+v, %d rows", v.LeftOut, len(v.Rows))
			}
			if m := v.Rows[18].Message; !m.PartsOut || m.Text != "" || m.Subject != "About k19" {
				t.Errorf("%+v", m)
			}
			if v.Counts.Skipped != 241 || v.Counts.WouldSend != 19 {
				t.Errorf("counts %+v", v.Counts)
			}
		})
	})
}

func TestSH20HiddenRows(t *testing.T) {
	t.Parallel()
	hide := func(w *world) {
		w.emu.Edit(spreadsheet, func(b *sheetsemu.Book) { b.Tab(tabTitle).FilterRow(3, true) })
	}
	dry := func(r *claim.Request) { r.DryRun = true }
	t.Run("sent by default", func(t *testing.T) {
		inWorld(t, dueRows(3), func(w *world) {
			hide(w)
			w.alone(nil, func(in *install) {
				d, v := in.run("dry", dry), in.mustPreview(claim.PreviewRequest{})
				for i, hidden := range []bool{false, true, false} {
					if d.Rows[i].Hidden != hidden || d.Rows[i].Outcome != claim.Would || v.Rows[i].Hidden != hidden || v.Rows[i].Outcome != claim.Would {
						t.Errorf("row %d: dry run %+v, preview %+v", i+2, d.Rows[i], v.Rows[i].RowReport)
					}
				}
				wantRun(t, in.run("1"), claim.RunSent, 3)
			})
		})
	})
	t.Run("left with skip_hidden", func(t *testing.T) {
		inWorld(t, dueRows(3), func(w *world) {
			hide(w)
			w.alone(settings{"skip_hidden": "true"}, func(in *install) {
				d, v := in.run("dry", dry), in.mustPreview(claim.PreviewRequest{})
				if len(d.Rows) != 3 || d.Rows[1].Outcome != claim.Skipped || !d.Rows[1].Hidden || !strings.Contains(d.Rows[1].Reason, "skip_hidden") || d.Counts.Due != 2 {
					t.Errorf("dry run: %s %+v", d.Detail, d.Rows)
				}
				want := []string{"2 would_send", "3 skipped the row is hidden, and the job has skip_hidden: true", "4 would_send"}
				if diff := cmp.Diff(want, told(v)); diff != "" || v.Counts.Hidden != 1 {
					t.Errorf("%s, %+v", diff, v.Counts)
				}
				wantRun(t, in.run("1"), claim.RunSent, 2)
				w.wantSent("guest1@example.com", "guest3@example.com")
				if got := in.run("2"); !strings.Contains(got.Detail, "1 hidden") {
					t.Errorf("the run does not tell of the hidden row: %s", got.Detail)
				}
			})
		})
	})
}
