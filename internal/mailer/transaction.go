package mailer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/wneessen/go-mail/smtp"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// transaction is one letter on one connection.
type transaction struct {
	m      *SMTP
	c      *conn
	letter claim.Letter
	hooks  claim.Hooks

	step    string
	begun   bool           // MAIL was about to be said
	content io.WriteCloser // of the dot writer; closing it writes the final dot
	dotted  bool           // the final dot may be under way
	keep    bool           // the connection can be used again
	reused  bool           // it had been used before
}

// run carries the letter from Begin to the reply to its final dot. Up to the dot
// the end of the context cuts the connection, from then on nothing does but the
// dot's own deadline. Afterwards the connection is in the pool or cut.
func (t *transaction) run(ctx context.Context) (res claim.Result) {
	t.step, t.reused = stepMail, t.c.reused
	unwatch := sync.OnceValue(context.AfterFunc(ctx, t.c.cut))
	defer func() {
		// Not while the context may still cut it: another would have it by then.
		if unwatch() && t.keep {
			t.m.pool.put(t.c)
		} else {
			t.c.cut()
		}
	}()
	defer func() {
		if p := recover(); p != nil {
			t.m.cfg.Log.ErrorContext(ctx, "panic in a mail transaction", "message_id", t.letter.MessageID,
				"step", t.step, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			res = t.lost(ctx, fmt.Errorf("internal error: %v", p))
		}
	}()
	if t.letter.UTF8 && !t.c.offers("SMTPUTF8") {
		t.keep = true
		return t.result(claim.Refused, errors.New("server lacks SMTPUTF8, which an address of this row needs"))
	}
	if err := call(t.hooks.Begin); err != nil {
		t.keep = true
		return t.result(claim.NotBegun, err)
	}
	t.begun = true
	for _, do := range []func() error{t.mail, t.rcpt, t.data, t.write} {
		if err := do(); err != nil {
			return t.failed(ctx, err)
		}
	}
	if err := call(t.hooks.Commit); err != nil {
		return t.result(claim.NotBegun, err)
	}
	if !unwatch() { // the context has ended, and the connection is cut or about to be
		return t.result(claim.NotBegun, ctx.Err())
	}
	return t.dot(ctx)
}

func call(hook func() error) error {
	if hook == nil {
		return nil
	}
	return hook()
}

func (t *transaction) mail() error {
	t.step = stepMail
	t.c.expect(t.m.cfg.Timeout)
	// go-mail asks for SMTPUTF8 whenever it is offered, and then receivers further on
	// that do not have it bounce plain ASCII mail too.
	t.c.smtp.SkipSMTPUTF8(!t.letter.UTF8)
	return t.c.smtp.Mail("<" + t.m.from.Address + ">")
}

// rcpt names every recipient, so that the refusal of one is told apart from the
// refusal of all; one is enough to send to none.
func (t *transaction) rcpt() error {
	t.step = stepRcpt
	var refused refusals
	for _, to := range t.letter.To {
		t.c.expect(t.m.cfg.Timeout)
		err := t.c.smtp.Rcpt("<" + to + ">")
		if err == nil {
			continue
		}
		rep, ok := replyIn(err)
		if !ok || !rep.refusal() || accountFault(t.step, rep) {
			return err
		}
		refused = append(refused, refusal{to, rep})
	}
	if len(refused) > 0 {
		return refused
	}
	return nil
}

func (t *transaction) data() error {
	t.step = stepData
	t.c.expect(t.m.cfg.Timeout)
	w, err := t.c.smtp.Data()
	if err != nil {
		return err
	}
	// DataCloser.Close would drop the error of writing the dot, and read the reply
	// in net/textproto's way.
	dc, ok := w.(*smtp.DataCloser)
	if !ok {
		return errors.New("go-mail's Data answers another type than it used to")
	}
	t.content = dc.WriteCloser
	return nil
}

// write hands over the content. The last four kilobytes stay in our own buffer
// until the dot.
func (t *transaction) write() error {
	t.step = stepContent
	t.c.expect(t.m.cfg.Timeout)
	_, err := t.content.Write(t.letter.Bytes)
	return err
}

// dot writes the final dot and reads the one reply that decides.
func (t *transaction) dot(ctx context.Context) claim.Result {
	t.step = stepDot
	t.c.expect(t.m.cfg.DotTimeout)
	t.dotted = true
	if err := t.content.Close(); err != nil {
		// The write that was to end with the dot failed, so not all of its bytes were
		// taken, and what is missing is its end.
		t.dotted = false
		return t.lost(ctx, fmt.Errorf("the final dot could not be written: %w", err))
	}
	rep, err := readReply(t.c.smtp.Text.R)
	switch {
	case err != nil:
		return t.lost(ctx, err)
	case rep.code >= 200 && rep.code < 300:
		t.c.sent++
		t.keep = true
		res := t.result(claim.Accepted, nil)
		res.Code, res.Reply = rep.code, rep.String()
		return res
	case !rep.refusal():
		res := t.lost(ctx, nil)
		res.Code, res.Reply = rep.code, rep.String()
		return res
	}
	return t.refused(rep, rep.String())
}

// failed is the result of a step before the dot.
func (t *transaction) failed(ctx context.Context, err error) claim.Result {
	var several refusals
	if errors.As(err, &several) {
		return t.refused(several.decisive(), several.text(len(t.letter.To)))
	}
	if rep, ok := replyIn(err); ok && rep.refusal() {
		return t.refused(rep, rep.String())
	}
	return t.lost(ctx, err)
}

// refused is the result of a definite no. The connection is used again after a
// RSET, unless the server is closing it (421, RFC 5321 section 3.8).
func (t *transaction) refused(rep reply, text string) claim.Result {
	res := t.result(claim.Refused, nil)
	res.Code, res.Reply = rep.code, text
	res.Account = accountFault(t.step, rep)
	if res.Account || rep.code < 500 {
		res.Verdict = claim.Deferred // what is not the row's fault cannot end the row
	}
	t.c.unreset = true
	t.keep = rep.code != serviceClosing
	return res
}

// lost is the result when no usable reply came.
func (t *transaction) lost(ctx context.Context, err error) claim.Result {
	switch {
	case t.dotted:
		return t.result(claim.Doubtful, err)
	case ctx.Err() != nil && t.step != stepDot:
		return t.result(claim.NotBegun, ctx.Err())
	}
	res := t.result(claim.Deferred, err)
	// At MAIL the server has heard nothing of the row.
	res.Account = t.step == stepMail && t.begun
	return res
}

func (t *transaction) result(v claim.Verdict, err error) claim.Result {
	return claim.Result{Verdict: v, Step: t.step, Err: err}
}

// stale reports whether the result says no more than that a connection which had
// been used before was at its end.
func (t *transaction) stale(res claim.Result) bool {
	return t.reused && t.begun && t.step == stepMail && res.Verdict == claim.Deferred &&
		(res.Code == 0 || res.Code == serviceClosing)
}

// refusal is a recipient that was refused.
type refusal struct {
	to  string
	rep reply
}

// refusals are all recipients of a letter that were refused.
type refusals []refusal

func (rs refusals) Error() string { return rs.text(len(rs)) }

// decisive answers the refusal that decides: one for good, else the first.
func (rs refusals) decisive() reply {
	for _, r := range rs {
		if r.rep.code >= 500 {
			return r.rep
		}
	}
	return rs[0].rep
}

// text names the refused recipients where the letter has several, those refused
// for good first.
func (rs refusals) text(recipients int) string {
	if recipients == 1 {
		return rs[0].rep.String()
	}
	var good, now []string
	for _, r := range rs {
		s := r.to + " " + r.rep.String()
		if r.rep.code >= 500 {
			good = append(good, s)
		} else {
			now = append(now, s)
		}
	}
	return strings.Join(append(good, now...), "; ")
}
