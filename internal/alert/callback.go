package alert

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

const (
	callbackFor      = time.Hour       // from the first try to the last
	callbackWait     = 5 * time.Second // after the first failed try; then twice as long each time
	callbackMostWait = 5 * time.Minute // between two tries
	callbackReserved = time.Minute     // longer than a try takes
	callbackPoll     = 5 * time.Second // other processes of the ledger end runs, too
	callbacksAtOnce  = 16              // so that a receiver that hangs holds up few others
)

// Caller tells callers of the API the ends of their runs: it posts the run document,
// as GET answers it, with the signature of a webhook. What gets no 2xx within 15
// seconds is tried again for an hour; then an alert says that nobody was told. One run
// is told to one address once, unless the answer, or the record of it, is lost.
type Caller struct {
	Book   claim.Callbacks
	Report func(ctx context.Context, run claim.RunRef, rs []claim.Report) error
	Secret string
	// Allowed says whether an address may be called now. It was allowed when the wish was
	// kept, by the configuration of that time.
	Allowed func(address string) bool
	Client  *http.Client // of NewPoster
	Now     func() time.Time
	Wait    func(ctx context.Context, d time.Duration) error
	Log     *slog.Logger

	once  sync.Once
	awake chan struct{} // holds one: look now
}

// Run carries callbacks out until ctx ends.
func (c *Caller) Run(ctx context.Context) {
	for ctx.Err() == nil {
		if err := c.Flush(ctx); err != nil && ctx.Err() == nil {
			c.Log.Error("callbacks could not be read or written in the ledger", "error", err)
		}
		rest(ctx, c.kick(), c.Wait, callbackPoll)
	}
}

// Kick makes Run look for callbacks now.
func (c *Caller) Kick() {
	select {
	case c.kick() <- struct{}{}:
	default: // it is going to look anyway
	}
}

func (c *Caller) kick() chan struct{} {
	c.once.Do(func() { c.awake = make(chan struct{}, 1) })
	return c.awake
}

// Flush tries once what is to be tried now. Its errors are the ledger's.
func (c *Caller) Flush(ctx context.Context) error {
	due, err := c.Book.DueCallbacks(ctx, c.Now(), callbacksAtOnce)
	if err != nil {
		return err
	}
	errs := make([]error, len(due))
	var all sync.WaitGroup
	for i, b := range due {
		all.Go(func() { errs[i] = c.try(ctx, b) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// try makes one try, and writes down what became of it.
func (c *Caller) try(ctx context.Context, b claim.Callback) error {
	now := c.Now()
	mine, err := c.Book.ReserveCallback(ctx, b, now, now.Add(callbackReserved))
	if err != nil || !mine {
		return err
	}
	if b.First.IsZero() {
		b.First = now
	}
	log := c.Log.With("job", b.Run.Job, "run", b.Run.ID, "host", hostOf(b.URL))
	body, err := documentBody(b.Document)
	if err != nil {
		return err
	}
	problem := errNotAllowed
	if c.Allowed(b.URL) {
		problem = post(ctx, c.Client, b.URL, c.Secret, c.Now(), body)
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordWithin)
	defer cancel()
	now = c.Now()
	switch {
	case problem == nil:
		log.Info("callback delivered")
		return c.Book.EndCallback(end, b, "", now)
	case ctx.Err() != nil: // the end of the program is no failure of the receiver
		return c.Book.RetryCallback(end, b, problem.Error(), now)
	case now.Sub(b.First) < callbackFor:
		next := now.Add(backoff(callbackWait, callbackMostWait, b.Tries))
		log.Warn("callback not delivered; it is kept", "next", next, "error", problem)
		return c.Book.RetryCallback(end, b, problem.Error(), next)
	}
	log.Error("callback given up", "error", problem)
	if err := c.Report(end, b.Run, []claim.Report{{Alert: givenUp(b, problem)}}); err != nil {
		return err // it is tried once more, and reported then
	}
	return c.Book.EndCallback(end, b, problem.Error(), now)
}

// errNotAllowed is a failed try like any other: another process of the ledger may have
// another configuration, and a host can be allowed again.
var errNotAllowed = errors.New("api.callback_hosts does not name its host any more")

// givenUp is the alert about a caller that was not told.
func givenUp(b claim.Callback, problem error) claim.Alert {
	return claim.Alert{
		Kind: claim.AlertRunFailed, Job: b.Run.Job, Run: b.Run.ID, Cause: "callback", Rows: []claim.AlertRow{},
		Seen: fmt.Sprintf("the run ended as %q, and its callback to %s failed for an hour: %v", b.Document.Outcome, hostOf(b.URL), problem),
		Done: "nothing is tried any more; the run itself is not affected",
		Todo: "see whether whoever waits for the callback has to go on, and mend the receiver",
	}
}

// documentBody writes a run document as the API answers it.
func documentBody(d claim.Document) ([]byte, error) {
	if d.Rows == nil {
		d.Rows = []claim.RowReport{}
	}
	if d.Doubts == nil {
		d.Doubts = []claim.Doubt{}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(d)
	return b.Bytes(), err
}

// hostOf names an address in logs; the rest of it is often a secret.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}
