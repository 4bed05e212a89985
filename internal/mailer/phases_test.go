package mailer

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/smtpsink"
)

// phaseCase is one fault at one moment. What counts is the verdict beside what the
// sink really accepted: a message that it has may be Accepted or Doubtful, never
// anything else.
type phaseCase struct {
	name     string
	rule     smtpsink.Rule
	verdict  claim.Verdict
	account  bool
	step     string
	code     int
	accepted int  // messages that the sink has after it
	kept     bool // the connection is used again
	large    bool // the content is larger than all buffers
}

func phaseCases() []phaseCase {
	const (
		accepted = claim.Accepted
		deferred = claim.Deferred
		refused  = claim.Refused
		doubtful = claim.Doubtful
	)
	at := func(p smtpsink.Phase, a smtpsink.Action, text string) smtpsink.Rule {
		return smtpsink.Rule{Phase: p, Action: a, Text: text, Times: 1}
	}
	with := func(r smtpsink.Rule, f func(*smtpsink.Rule)) smtpsink.Rule { f(&r); return r }
	slow := func(p smtpsink.Phase, d time.Duration) smtpsink.Rule {
		return with(at(p, smtpsink.Slow, ""), func(r *smtpsink.Rule) { r.Delay = d })
	}
	queued := func(r smtpsink.Rule) smtpsink.Rule {
		return with(r, func(r *smtpsink.Rule) { r.Accept = true })
	}
	mid := func(r smtpsink.Rule, n int) smtpsink.Rule {
		return with(r, func(r *smtpsink.Rule) { r.MidBytes = n })
	}
	cut := func(r smtpsink.Rule) smtpsink.Rule { return with(r, func(r *smtpsink.Rule) { r.Cut = true }) }
	const (
		connect, ehlo, mail, rcpt = smtpsink.Connect, smtpsink.EHLO, smtpsink.Mail, smtpsink.Rcpt
		data, midData, dot        = smtpsink.Data, smtpsink.MidData, smtpsink.Dot
		drop, reset, reply        = smtpsink.Drop, smtpsink.Reset, smtpsink.Reply
		replyDrop, hang           = smtpsink.ReplyDrop, smtpsink.Hang
	)
	return []phaseCase{
		{"no fault", smtpsink.Rule{Phase: "never"}, accepted, false, "dot", 250, 1, true, false},
		{"no fault, large", smtpsink.Rule{Phase: "never"}, accepted, false, "dot", 250, 1, true, true},

		{"connect drop", at(connect, drop, ""), deferred, true, "connect", 0, 0, false, false},
		{"connect reset", at(connect, reset, ""), deferred, true, "connect", 0, 0, false, false},
		{"connect silent", at(connect, hang, ""), deferred, true, "connect", 0, 0, false, false},
		{"connect 421", at(connect, replyDrop, "421 4.3.2 busy"), deferred, true, "connect", 421, 0, false, false},
		{"connect 554", at(connect, replyDrop, "554 5.7.1 go away"), deferred, true, "connect", 554, 0, false, false},
		{"connect garbage", at(connect, reply, "SSH-2.0-x"), deferred, true, "connect", 0, 0, false, false},
		{"ehlo drop", at(ehlo, drop, ""), deferred, true, "connect", 0, 0, false, false},
		{"ehlo 421", at(ehlo, replyDrop, "421 4.7.0 later"), deferred, true, "connect", 421, 0, false, false},
		{"ehlo 550, helo goes", at(ehlo, reply, "550 5.7.1 no"), accepted, false, "dot", 250, 1, true, false},

		{"mail drop", at(mail, drop, ""), deferred, true, "mail", 0, 0, false, false},
		{"mail slow", slow(mail, time.Minute), deferred, true, "mail", 0, 0, false, false},
		{"mail 421", at(mail, replyDrop, "421 4.7.0 later"), deferred, true, "mail", 421, 0, false, false},
		{"mail 451", at(mail, reply, "451 4.3.0 later"), deferred, true, "mail", 451, 0, true, false},
		{"mail 550", at(mail, reply, "550 5.7.1 sender refused"), deferred, true, "mail", 550, 0, true, false},
		{"mail 250 of another command", at(mail, reply, "354 go"), deferred, true, "mail", 0, 0, false, false},

		{"rcpt drop", at(rcpt, drop, ""), deferred, false, "rcpt", 0, 0, false, false},
		{"rcpt reset", at(rcpt, reset, ""), deferred, false, "rcpt", 0, 0, false, false},
		{"rcpt silent", at(rcpt, hang, ""), deferred, false, "rcpt", 0, 0, false, false},
		{"rcpt 421", at(rcpt, replyDrop, "421 4.3.2 closing"), deferred, true, "rcpt", 421, 0, false, false},
		{"rcpt 450", at(rcpt, reply, "450 4.2.0 greylisted"), deferred, false, "rcpt", 450, 0, true, false},
		{"rcpt 451 4.7.1", at(rcpt, reply, "451 4.7.1 greylisted"), deferred, false, "rcpt", 451, 0, true, false},
		{"rcpt 452 full", at(rcpt, reply, "452 4.2.2 full"), deferred, false, "rcpt", 452, 0, true, false},
		{"rcpt 550", at(rcpt, reply, "550 5.1.1 unknown"), refused, false, "rcpt", 550, 0, true, false},
		{"rcpt 552", at(rcpt, reply, "552 5.2.2 full"), refused, false, "rcpt", 552, 0, true, false},
		{"rcpt quota", at(rcpt, reply, "550 5.4.5 daily limit"), deferred, true, "rcpt", 550, 0, true, false},

		{"data drop", at(data, drop, ""), deferred, false, "data", 0, 0, false, false},
		{"data slow", slow(data, time.Minute), deferred, false, "data", 0, 0, false, false},
		{"data 421", at(data, replyDrop, "421 4.3.0 x"), deferred, true, "data", 421, 0, false, false},
		{"data 451", at(data, reply, "451 4.3.0 x"), deferred, false, "data", 451, 0, true, false},
		{"data 454 throttled", at(data, reply, "454 Throttling failure: rate exceeded"), deferred, true, "data", 454, 0, true, false},
		{"data 554", at(data, reply, "554 5.5.1 x"), refused, false, "data", 554, 0, true, false},
		{"data 250", at(data, reply, "250 2.0.0 x"), deferred, false, "data", 0, 0, false, false},

		{"content drop, small", mid(at(midData, drop, ""), 300), doubtful, false, "dot", 0, 0, false, false},
		{"content reset, small", mid(at(midData, reset, ""), 300), doubtful, false, "dot", 0, 0, false, false},
		{"content drop, large", mid(at(midData, drop, ""), 100_000), deferred, false, "content", 0, 0, false, true},
		{"content reset, large", mid(at(midData, reset, ""), 100_000), deferred, false, "content", 0, 0, false, true},
		{"content hang, large", mid(at(midData, hang, ""), 100_000), deferred, false, "content", 0, 0, false, true},
		{"content 421, small", mid(at(midData, replyDrop, "421 4.3.2 x"), 300), deferred, true, "dot", 421, 0, false, false},

		{"dot drop", at(dot, drop, ""), doubtful, false, "dot", 0, 0, false, false},
		{"dot drop, queued", queued(at(dot, drop, "")), doubtful, false, "dot", 0, 1, false, false},
		{"dot reset", at(dot, reset, ""), doubtful, false, "dot", 0, 0, false, false},
		{"dot reset, queued", queued(at(dot, reset, "")), doubtful, false, "dot", 0, 1, false, false},
		{"dot silent, queued", queued(at(dot, hang, "")), doubtful, false, "dot", 0, 1, false, false},
		{"dot slow but in time", slow(dot, 50*time.Second), accepted, false, "dot", 250, 1, true, false},
		{"dot too slow", slow(dot, 70*time.Second), doubtful, false, "dot", 0, 1, false, false},
		{"dot garbage, queued", queued(at(dot, replyDrop, "garbage")), doubtful, false, "dot", 0, 1, false, false},
		{"dot half a code, queued", cut(queued(at(dot, replyDrop, "25"))), doubtful, false, "dot", 0, 1, false, false},
		{"dot half a line, queued", cut(queued(at(dot, replyDrop, "250 2.0.0 que"))), doubtful, false, "dot", 0, 1, false, false},
		{"dot half a reply, queued", queued(at(dot, replyDrop, "250-2.0.0 queued")), doubtful, false, "dot", 0, 1, false, false},
		{"dot empty line, queued", queued(at(dot, replyDrop, "")), doubtful, false, "dot", 0, 1, false, false},
		{"dot 354, queued", queued(at(dot, reply, "354 go")), doubtful, false, "dot", 354, 1, false, false},
		{"dot bare 250, queued", queued(at(dot, reply, "250")), accepted, false, "dot", 250, 1, true, false},
		{"dot 251, queued", queued(at(dot, reply, "251 2.0.0 x")), accepted, false, "dot", 251, 1, true, false},
		{"dot 250 in two lines", queued(at(dot, reply, "250-2.0.0 ok\n250 2.0.0 queued")), accepted, false, "dot", 250, 1, true, false},
		{"dot 421", at(dot, replyDrop, "421 4.3.2 x"), deferred, true, "dot", 421, 0, false, false},
		{"dot 451", at(dot, reply, "451 4.4.2 timeout waiting for data"), deferred, false, "dot", 451, 0, true, false},
		{"dot 432", at(dot, reply, "432 4.3.2 STOREDRV.ClientSubmit; sender thread limit exceeded"), deferred, true, "dot", 432, 0, true, false},
		{"dot 550 content", at(dot, reply, "550 5.7.1 looks like spam"), refused, false, "dot", 550, 0, true, false},
		{"dot 552 too big", at(dot, reply, "552 5.3.4 too big"), refused, false, "dot", 552, 0, true, false},
		{"dot daily limit", at(dot, reply, "554 5.2.0 STOREDRV.Submission.Exception:SubmissionQuotaExceededException"), deferred, true, "dot", 554, 0, true, false},
		{"dot send as denied", at(dot, reply, "550 5.7.60 Client does not have permissions to send as this sender"), deferred, true, "dot", 550, 0, true, false},

		{"after 250: drop", queued(at(dot, replyDrop, "250 2.0.0 queued")), accepted, false, "dot", 250, 1, false, false},
		{"after 250: 421", at(smtpsink.AfterOK, replyDrop, "421 4.7.0 enough"), accepted, false, "dot", 250, 1, false, false},
		{"after 250: noop dropped", at(smtpsink.Noop, drop, ""), accepted, false, "dot", 250, 1, false, false},
		{"after 250: noop silent", at(smtpsink.Noop, hang, ""), accepted, false, "dot", 250, 1, false, false},
	}
}

// TestPhases puts a fault at every moment of a session. After each fault a second
// letter must go through, on the same connection where it can be used again.
func TestPhases(t *testing.T) {
	for _, tc := range phaseCases() {
		for _, encrypted := range []bool{false, true} {
			name := tc.name
			mode := smtpsink.NoTLS
			if encrypted {
				name += ", tls"
				mode = smtpsink.STARTTLS
			}
			if encrypted && strings.HasPrefix(tc.name, "ehlo 550") {
				continue // a server that knows only HELO cannot start TLS
			}
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { testPhase(t, tc, mode) })
			})
		}
	}
}

func testPhase(t *testing.T, tc phaseCase, mode smtpsink.TLSMode) {
	sink := newSink(t, smtpsink.Options{TLS: mode, Rules: []smtpsink.Rule{tc.rule}, Buffer: 16 << 10})
	m := newMailer(t, sink, func(c *Config) {
		if mode == smtpsink.STARTTLS {
			c.TLS = STARTTLS
		}
	})
	d := draft("ada@x.test")
	if tc.large {
		d.Text = strings.Repeat(d.Text, 200)
	}
	begun, committed := 0, 0
	got := m.Send(t.Context(), compose(t, m, d), claim.Hooks{
		Begin:  func() error { begun++; return nil },
		Commit: func() error { committed++; return nil },
	})
	want(t, got, tc.verdict, tc.account, tc.step, tc.code)
	time.Sleep(2 * time.Minute) // for what the sink does late
	wantAccepted(t, sink, tc.accepted)
	if wantCommit := tc.step == "dot"; (committed == 1) != wantCommit {
		t.Errorf("Commit was called %d times; the step is %s", committed, tc.step)
	}
	if wantBegin := tc.step != "connect"; (begun == 1) != wantBegin {
		t.Errorf("Begin was called %d times; the step is %s", begun, tc.step)
	}
	if got.At.IsZero() {
		t.Error("the result has no time")
	}
}

// TestPhasesReuse sends a second letter right after each fault.
func TestPhasesReuse(t *testing.T) {
	for _, tc := range phaseCases() {
		if tc.name == "ehlo 550, helo goes" {
			continue // its second connection says EHLO
		}
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sink := newSink(t, smtpsink.Options{Rules: []smtpsink.Rule{tc.rule}, Buffer: 16 << 10})
				m := newMailer(t, sink)
				d := draft("ada@x.test")
				if tc.large {
					d.Text = strings.Repeat(d.Text, 200)
				}
				first := m.Send(t.Context(), compose(t, m, d), claim.Hooks{})
				want(t, first, tc.verdict, tc.account, tc.step, tc.code)
				want(t, send(t, m, "bob@x.test"), claim.Accepted, false, "dot", 250)
				wantAccepted(t, sink, tc.accepted+1)
				connections := 2
				if tc.kept {
					connections = 1
				}
				if got := sink.Stats().Connections; got != connections {
					t.Errorf("%d connections, want %d", got, connections)
				}
			})
		})
	}
}
