package claim_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/sheetsemu"
	"github.com/sheetclaim/sheetclaim/internal/smtpsink"
)

// Cases that users of such tools report about mail, through the whole method.

func TestMS01SeveralRecipients(t *testing.T) {
	t.Parallel()
	for _, cell := range []string{"a@x.test, b@y.test", "a@x.test; b@y.test"} {
		rows := dueRows(1)
		rows[1][1] = cell
		inWorld(t, rows, func(w *world) {
			w.alone(nil, func(in *install) {
				wantRun(t, in.run("1"), claim.RunSent, 1)
				w.wantSent("a@x.test,b@y.test")
				p, err := w.sink.Messages()[0].Parse()
				if err != nil || !strings.Contains(p.Get("To"), "a@x.test") || !strings.Contains(p.Get("To"), "b@y.test") {
					t.Errorf("To: %q %v", p.Get("To"), err)
				}
			})
		})
		so := smtpsink.Options{Rules: []smtpsink.Rule{{Phase: smtpsink.Rcpt, Action: smtpsink.Reply, Text: "550 5.1.1 no such user", Recipient: "b@y.test"}}}
		inWorldWith(t, rows, sheetsemu.Options{}, so, func(w *world) {
			w.alone(nil, func(in *install) {
				d := in.run("1")
				if d.Counts.Rejected != 1 || d.Outcome != claim.RunPartial {
					t.Errorf("%+v", d)
				}
				w.wantSent()
				if got := w.status("k1"); !strings.HasPrefix(got, "rejected: ") || !strings.Contains(got, "b@y.test") || !strings.Contains(got, "550") {
					t.Errorf("status: %q", got)
				}
				if in.alerts()[claim.AlertRejected] != 1 {
					t.Errorf("alerts: %v", in.alerts())
				}
			})
		})
	}
}

func TestMS03UnicodeAddresses(t *testing.T) {
	t.Parallel()
	rows := dueRows(2)
	rows[1][1], rows[2][1] = "info@grå.test", "jörg@x.test"
	inWorldWith(t, rows, sheetsemu.Options{}, smtpsink.Options{}, func(w *world) {
		w.alone(nil, func(in *install) {
			d := in.run("1")
			w.wantSent("info@xn--gr-zia.test")
			if got := w.status("k2"); d.Counts.Rejected != 1 || !strings.Contains(got, "server lacks SMTPUTF8") {
				t.Errorf("status: %q, %+v", got, d.Counts)
			}
		})
	})
	inWorld(t, rows, func(w *world) {
		w.alone(nil, func(in *install) {
			wantRun(t, in.run("1"), claim.RunSent, 2)
			w.wantSent("info@xn--gr-zia.test", "jörg@x.test")
		})
	})
}

func TestMS04HeaderInjection(t *testing.T) {
	t.Parallel()
	rows := [][]any{
		{"key", "email", "status", "topic"},
		{"k1", "a@x.test", "", "Invoice\r\nBcc: evil@x.test"},
		{"k2", "a@x.test\r\nRCPT TO:<evil@x.test>", "", "fine"},
		{"k3", "c@x.test", "", "fine"},
	}
	inWorld(t, rows, func(w *world) {
		w.alone(settings{"columns": "{key: key, email: email, status: status}", "message": `{subject: "{{topic}}", text: "x"}`}, func(in *install) {
			d := in.run("1")
			w.wantSent("c@x.test")
			if d.Counts.Skipped != 2 {
				t.Errorf("%+v", d.Rows)
			}
		})
	})
}

func TestMS11SameMessageID(t *testing.T) {
	t.Parallel()
	so := smtpsink.Options{Rules: []smtpsink.Rule{{Phase: smtpsink.Rcpt, Action: smtpsink.Reply, Text: "451 4.2.0 later", Times: 1}}}
	inWorldWith(t, dueRows(1), sheetsemu.Options{}, so, func(w *world) {
		w.alone(nil, func(in *install) {
			in.run("1")
			key := claim.MessageKey{Book: claim.Book{Job: "test", Spreadsheet: spreadsheet}, Key: "k1", Generation: 1}
			time.Sleep(16 * time.Minute)
			wantRun(t, in.run("2"), claim.RunSent, 1)
			attempts, err := in.ledger.Attempts(context.Background(), key)
			if err != nil || len(attempts) != 2 {
				t.Fatalf("attempts: %+v %v", attempts, err)
			}
			if attempts[0].MessageID != attempts[1].MessageID || attempts[0].At.Equal(attempts[1].At) {
				t.Errorf("attempts: %+v", attempts)
			}
			p, err := w.sink.Messages()[0].Parse()
			if err != nil || p.Get("Message-ID") != attempts[0].MessageID {
				t.Errorf("Message-ID %q, ledger %q, %v", p.Get("Message-ID"), attempts[0].MessageID, err)
			}
			date, err := time.Parse(time.RFC1123Z, p.Get("Date"))
			if err != nil || !date.Equal(attempts[1].At.Truncate(time.Second)) {
				t.Errorf("Date %q, attempt at %s, %v", p.Get("Date"), attempts[1].At, err)
			}
		})
	})
}

func TestSM08RejectedIsNotRetried(t *testing.T) {
	t.Parallel()
	long := "550 5.1.1 " + strings.Repeat("no such user here ", 30)
	so := smtpsink.Options{Rules: []smtpsink.Rule{{Phase: smtpsink.Rcpt, Action: smtpsink.Reply, Text: "550-5.1.1 first line\n" + long, Recipient: "guest2@example.com"}}}
	inWorldWith(t, dueRows(3), sheetsemu.Options{}, so, func(w *world) {
		w.alone(nil, func(in *install) {
			d := in.run("1")
			if d.Counts.Sent != 2 || d.Counts.Rejected != 1 || d.Outcome != claim.RunPartial {
				t.Errorf("%+v", d)
			}
			got := w.status("k2")
			if !strings.HasPrefix(got, "rejected: ") || strings.ContainsAny(got, "\r\n") || len(got) > 250 {
				t.Errorf("status: %q", got)
			}
			time.Sleep(24 * time.Hour)
			wantRun(t, in.run("2"), claim.RunNothingDue, 0)
			w.wantSent("guest1@example.com", "guest3@example.com")
		})
	})
}

// The answer to the final dot is lost: the row is unknown, never sent again by
// itself, and a person settles it in the cell.
func TestSM01AnswerLost(t *testing.T) {
	t.Parallel()
	for _, typed := range []string{"sent", "Resend "} {
		so := smtpsink.Options{Rules: []smtpsink.Rule{{Phase: smtpsink.Dot, Action: smtpsink.Drop, Accept: true, Times: 1}}}
		inWorldWith(t, dueRows(1), sheetsemu.Options{}, so, func(w *world) {
			w.alone(nil, func(in *install) {
				d := in.run("4711")
				if d.Counts.Unknown != 1 || d.Outcome != claim.RunPartial || len(d.Doubts) != 1 || d.Doubts[0].Kind != claim.SMTPReplyLost {
					t.Errorf("%+v", d)
				}
				if got := w.status("k1"); !strings.HasPrefix(got, "unknown 4711: ") {
					t.Errorf("status: %q", got)
				}
				if in.alerts()[claim.AlertUnknown] != 1 {
					t.Errorf("alerts: %v", in.alerts())
				}
				time.Sleep(24 * time.Hour)
				wantRun(t, in.run("4712"), claim.RunNothingDue, 0)
				w.emu.Edit(spreadsheet, func(b *sheetsemu.Book) { b.Tab(tabTitle).Set("D2", typed) })
				want := 1
				if typed != "sent" {
					want = 2
				}
				in.run("4713")
				in.run("4714")
				if got := w.sent()["guest1@example.com"]; got != want {
					t.Errorf("after %q was typed: %d messages, want %d", typed, got, want)
				}
			})
		})
	}
}

// What is the account's fault burns no attempt: the batch stops, the rest is given
// back, and the job rests.
func TestAccountFault(t *testing.T) {
	t.Parallel()
	so := smtpsink.Options{Rules: []smtpsink.Rule{{Phase: smtpsink.Mail, Action: smtpsink.ReplyDrop, Text: "421 4.7.0 try again later", Nth: 3, Times: 2}}}
	inWorldWith(t, dueRows(5), sheetsemu.Options{}, so, func(w *world) {
		w.alone(nil, func(in *install) {
			d := in.run("1")
			wantRun(t, d, claim.RunStopped, 2)
			if d.Counts.Released != 3 || d.Counts.Failed != 0 {
				t.Errorf("%+v", d.Counts)
			}
			w.wantStatus(map[string]string{"k1": "sent", "k2": "sent", "k3": "", "k4": "", "k5": ""})
			wantRun(t, in.run("2"), claim.RunNothingDue, 0)
			time.Sleep(16 * time.Minute)
			wantRun(t, in.run("3"), claim.RunSent, 3)
			w.wantSent(guests(5)...)
			if a := in.alerts(); len(a) != 1 || a[claim.AlertRunFailed] != 1 {
				t.Errorf("alerts: %v", a)
			}
		})
	})
}

func TestThreeRejectionsInARow(t *testing.T) {
	t.Parallel()
	so := smtpsink.Options{Rules: []smtpsink.Rule{{Phase: smtpsink.Rcpt, Action: smtpsink.Reply, Text: "550 5.1.1 no such user"}}}
	inWorldWith(t, dueRows(30), sheetsemu.Options{}, so, func(w *world) {
		w.alone(nil, func(in *install) {
			d := in.run("1")
			wantRun(t, d, claim.RunStopped, 0)
			if d.Counts.Failed != 3 || d.Counts.Rejected != 0 || d.Counts.Released != 27 {
				t.Errorf("%+v", d.Counts)
			}
			for _, key := range []string{"k1", "k2", "k3"} {
				if got := w.status(key); !strings.HasPrefix(got, "failed 1/3: ") {
					t.Errorf("status of %s: %q", key, got)
				}
			}
			w.noClaims()
		})
	})
}

// Attempts outlast a restart and are counted across instances.
func TestOP05GaveUpAfterThreeAttempts(t *testing.T) {
	t.Parallel()
	so := smtpsink.Options{Rules: []smtpsink.Rule{{Phase: smtpsink.Rcpt, Action: smtpsink.Reply, Text: "451 4.2.0 later"}}}
	inWorldWith(t, dueRows(1), sheetsemu.Options{}, so, func(w *world) {
		run := func(instance, id, want string) (d claim.Document) {
			in := w.install(instance, "one", nil)
			defer in.close()
			d = in.run(id)
			if got := w.status("k1"); !strings.HasPrefix(got, want) {
				t.Errorf("status after run %s: %q, want %q", id, got, want)
			}
			if n := in.alerts()[claim.AlertGaveUp]; (n == 1) != strings.HasPrefix(want, "gave up") {
				t.Errorf("%d alerts after run %s", n, id)
			}
			time.Sleep(16 * time.Minute)
			return d
		}
		run("one", "1", "failed 1/3: 451 4.2.0 later")
		run("two", "2", "failed 2/3: 451 4.2.0 later")
		run("one again", "3", "gave up 3/3: 451 4.2.0 later")
		wantRun(t, run("two", "4", "gave up 3/3: 451 4.2.0 later"), claim.RunNothingDue, 0)
		w.sink.SetRules()
		w.wantSent()
		w.alone(nil, func(in *install) {
			w.emu.Edit(spreadsheet, func(b *sheetsemu.Book) { b.Tab(tabTitle).Set("D2", "resend") })
			wantRun(t, in.run("again"), claim.RunSent, 1)
		})
		w.wantSent(guests(1)...)
	})
}

func TestSH24LineBreaks(t *testing.T) {
	t.Parallel()
	rows := dueRows(1)
	rows[0], rows[1] = append(rows[0], "note"), append(rows[1], "line1\nline<2>")
	inWorld(t, rows, func(w *world) {
		s := settings{"message": `{subject: "x", text: "{{note}}", html: "<p>{{note}}</p><p>{{note | nl2br}}</p>"}`}
		w.alone(s, func(in *install) {
			wantRun(t, in.run("1"), claim.RunSent, 1)
			p, err := w.sink.Messages()[0].Parse()
			if err != nil {
				t.Fatal(err)
			}
			unix := strings.NewReplacer("\r\n", "\n")
			if got := strings.TrimSpace(unix.Replace(p.Text)); got != "line1\nline<2>" {
				t.Errorf("text: %q", got)
			}
			if got := strings.TrimSpace(unix.Replace(p.HTML)); got != "<p>line1\nline&lt;2&gt;</p><p>line1<br>\nline&lt;2&gt;</p>" {
				t.Errorf("HTML: %q", got)
			}
		})
	})
}

func TestMS09Unsubscribe(t *testing.T) {
	t.Parallel()
	rows := dueRows(1)
	rows[1][0] = "k 1&x=ü"
	for url, want := range map[string][2]string{
		"https://u.test/?k={{key}}": {"<https://u.test/?k=k%201%26x%3D%C3%BC>", "List-Unsubscribe=One-Click"},
		"":                          {"", ""},
	} {
		inWorld(t, rows, func(w *world) {
			w.alone(settings{"message": `{subject: "x", text: "y", unsubscribe_url: "` + url + `"}`}, func(in *install) {
				wantRun(t, in.run("1"), claim.RunSent, 1)
				p, err := w.sink.Messages()[0].Parse()
				if err != nil {
					t.Fatal(err)
				}
				if got := [2]string{p.Get("List-Unsubscribe"), p.Get("List-Unsubscribe-Post")}; got != want {
					t.Errorf("%q: %q, want %q", url, got, want)
				}
			})
		})
	}
}
