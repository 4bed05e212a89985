package sheetsemu

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"
)

// answer is what goes back over the wire.
type answer struct {
	status int
	body   []byte
	html   bool
	cut    bool // the body ends in the middle
}

// errDropped stands for a connection that was closed instead of an answer.
var errDropped = errors.New("sheetsemu: connection dropped without an answer")

// longest is Google's limit for a request (documented).
const longest = 180 * time.Second

// serve takes a call through its fault. An error means that no answer
// arrives: errDropped, or the context's.
func (e *Emulator) serve(ctx context.Context, c *Call) (answer, error) {
	e.enter(c)
	f := e.faultFor(c)
	e.note(c, func(c *Call) { c.Fault = f })
	e.mu.Lock()
	within := e.charge(c)
	e.mu.Unlock()
	if !within {
		return e.arrive(c, refusal(quotaError(c.Write, e.opts.Quota, Project))), nil
	}
	if left, err := pause(ctx, f.Delay); err != nil {
		if c.Write && !f.Apply.never {
			e.applyLate(c, left+f.Apply.late) // the request is on its way, only its caller has gone
		}
		return answer{}, err
	}
	a := e.perform(c, f)
	return e.reply(ctx, c, f.Answer, a)
}

// perform applies the call, now, later or never, and works out the true answer.
func (e *Emulator) perform(c *Call, f Fault) answer {
	switch {
	case c.Write && f.Apply.never:
		return e.apply(c, f.Stale, false)
	case c.Write && f.Apply.late > 0:
		a := e.apply(c, f.Stale, false)
		e.applyLate(c, f.Apply.late)
		return a
	}
	e.runHooks(e.before, c)
	a := e.apply(c, f.Stale, true)
	e.runHooks(e.after, c)
	return a
}

// applyLate applies the call after d, in a goroutine of its own.
func (e *Emulator) applyLate(c *Call, d time.Duration) {
	e.late.Go(func() {
		_, _ = pause(context.Background(), d)
		e.runHooks(e.before, c)
		e.apply(c, 0, true)
		e.runHooks(e.after, c)
	})
}

// reply lets the fault's answer take the place of the true one.
func (e *Emulator) reply(ctx context.Context, c *Call, kind Answer, a answer) (answer, error) {
	wait := kind.delay
	if kind.kind == answerSilent {
		wait = longest
	}
	if _, err := pause(ctx, wait); err != nil {
		return answer{}, err
	}
	switch kind.kind {
	case answerLost, answerSilent:
		return answer{}, errDropped
	case answerStatus, answerHTML:
		a = answer{status: kind.status, body: []byte(kind.body)}
		if kind.kind == answerHTML {
			a.body = []byte(HTMLPage(502))
		}
		a.html = bytes.HasPrefix(a.body, []byte("<"))
	case answerCut:
		a.body, a.cut = a.body[:len(a.body)/2], true
	case answerOK:
	}
	return e.arrive(c, a), nil
}

// arrive notes that the caller got an answer.
func (e *Emulator) arrive(c *Call, a answer) answer {
	e.note(c, func(c *Call) { c.Status = a.status })
	return a
}

// pause waits, and says how much was left when the context ended.
func pause(ctx context.Context, d time.Duration) (left time.Duration, err error) {
	if d <= 0 {
		return 0, ctx.Err()
	}
	started := time.Now()
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return 0, nil
	case <-ctx.Done():
		return max(0, d-time.Since(started)), ctx.Err()
	}
}

// apply runs the method. With keep the result becomes the current state,
// without it only the answer is worked out.
func (e *Emulator) apply(c *Call, stale time.Duration, keep bool) answer {
	e.mu.Lock()
	defer e.mu.Unlock()
	reply, err := e.run(c, stale, keep)
	if err != nil {
		var refused *apiError
		if !errors.As(err, &refused) {
			refused = &apiError{code: 500, status: "INTERNAL", message: "Internal error encountered."}
		}
		c.Message = refused.message
		return refusal(refused)
	}
	if keep {
		c.Applied, c.AppliedAt = true, e.opts.Now()
	}
	return encode(http.StatusOK, reply, c.Query.Get("prettyPrint") != "false")
}

// run finds the state that the call works on and the method. The caller holds
// the lock.
func (e *Emulator) run(c *Call, stale time.Duration, keep bool) (any, error) {
	m, err := replyMask(c.Kind, c.Query.Get("fields"))
	if err != nil {
		return nil, err
	}
	t := &txn{call: c, mask: m, user: e.user(c.Caller), now: e.opts.Now()}
	if c.Kind == KindCreate {
		return e.create(t, keep)
	}
	f := e.files[c.Spreadsheet]
	if f == nil {
		return nil, notFound()
	}
	if a := f.access[c.Caller]; a == NoAccess || a == CanRead && c.Write {
		return nil, forbidden()
	}
	t.book = f.current
	if stale > 0 && !c.Write {
		t.book = f.asOf(t.now.Add(-stale))
	}
	if c.Write {
		t.book = f.current.draft()
	}
	reply, err := methods[c.Kind](t)
	if err != nil {
		return nil, err
	}
	if c.Write && keep {
		e.publish(t.book)
	}
	return m.apply(reply), nil
}

func refusal(err *apiError) answer { return encode(err.code, err.body(), true) }

// encode writes JSON, indented unless the client asked for none.
func encode(status int, v any, pretty bool) answer {
	b, err := json.Marshal(v)
	if err != nil {
		return refusal(&apiError{code: 500, status: "INTERNAL", message: "Internal error encountered."})
	}
	if pretty {
		var out bytes.Buffer
		if json.Indent(&out, b, "", "  ") == nil {
			b = append(out.Bytes(), '\n')
		}
	}
	return answer{status: status, body: b}
}
