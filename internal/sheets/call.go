package sheets

import (
	"context"
	"errors"
	"io"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"google.golang.org/api/googleapi"
	api "google.golang.org/api/sheets/v4"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// tries is how often a read is sent at most.
const tries = 3

// call names a call for whoever counts, and for the words of its errors.
type call struct {
	name        string // read, tabs, claim, replace, prune or check
	spreadsheet string
	tab         string // as addressed; "" for the first, or for none
	write       bool
}

// counter counts the calls that were sent, each try for itself.
type counter struct{ reads, writes atomic.Int64 }

func (c *counter) made() claim.APICalls {
	return claim.APICalls{Reads: int(c.reads.Load()), Writes: int(c.writes.Load())}
}

// read carries out a call that changes nothing, and answers when the try that
// succeeded began. hold waits for the quota of a write too and keeps it for the
// claim that follows.
func (c *Client) read(ctx context.Context, what call, hold bool, do func(context.Context) error) (time.Time, *failure) {
	var last *failure
	for try := 1; ; try++ {
		if err := c.quota.read(ctx, hold); err != nil {
			if last == nil {
				last = &failure{kind: unsent, words: cancelled(err)}
			}
			return time.Time{}, last
		}
		began := c.now()
		c.calls.reads.Add(1)
		err := c.send(ctx, what, do)
		if err == nil {
			return began, nil
		}
		if hold {
			c.quota.release()
		}
		last = c.classify(err, what)
		if !c.rest(ctx, last, try) {
			return time.Time{}, last
		}
	}
}

// rest waits between two tries of a read; false when there is to be no other. After
// a 429 it is the quota that waits, for every run of the account.
func (c *Client) rest(ctx context.Context, f *failure, try int) bool {
	if f.kind == throttled {
		c.throttle(f)
	}
	if !f.again() || try == tries || ctx.Err() != nil {
		return false
	}
	c.log.WarnContext(ctx, "sheets read failed, trying again", "try", try, "err", f.words.Err)
	if f.kind == throttled {
		return true
	}
	pause := time.Second << (try - 1)
	return sleep(ctx, pause+time.Duration(c.rand()*float64(time.Second))) == nil
}

// throttle closes the quota past the minute, or for as long as Google asked, plus
// up to five seconds so that processes that share an account do not come back all
// at once.
func (c *Client) throttle(f *failure) {
	wait := period
	if f.wait > 0 {
		wait = f.wait
	}
	c.quota.close(c.now().Add(wait + time.Duration(c.rand()*float64(5*time.Second))))
}

// batch sends one batchUpdate, once, whatever becomes of it. Its quota must have
// been waited for.
func (c *Client) batch(ctx context.Context, what call, req *api.BatchUpdateSpreadsheetRequest, fields string) (*api.BatchUpdateSpreadsheetResponse, error) {
	if err := ctx.Err(); err != nil {
		return nil, cancelled(err)
	}
	c.calls.writes.Add(1)
	var answer *api.BatchUpdateSpreadsheetResponse
	err := c.send(ctx, what, func(ctx context.Context) (err error) {
		answer, err = c.service.Spreadsheets.BatchUpdate(what.spreadsheet, req).
			Fields(googleapi.Field(fields)).Context(ctx).Do()
		return err
	})
	if err == nil && answer.SpreadsheetId != what.spreadsheet {
		// A proxy's page in JSON, or the like: not Google's word that it was applied.
		return nil, &claim.UnclearError{Err: &claim.SheetError{Problem: "the answer to a write is not one of Google Sheets"}}
	}
	if err == nil {
		return answer, nil
	}
	f := c.classify(err, what)
	switch f.kind {
	case throttled:
		c.throttle(f)
	case unclear:
		return nil, &claim.UnclearError{Err: f.words}
	case refused, unsent:
	}
	return nil, f.words
}

// send makes one HTTP request under the time limit of a call, which begins anew with
// whatever arrives of a streamed answer: a large tab takes longer than the limit.
func (c *Client) send(ctx context.Context, what call, do func(context.Context) error) (err error) {
	if c.observe != nil {
		var end func(string)
		ctx, end = c.observe(ctx, what.name)
		defer func() { end(c.result(err, what)) }()
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	f := new(flight)
	f.limit = time.AfterFunc(c.timeout, func() { cancel(context.DeadlineExceeded) })
	defer f.limit.Stop()
	err = do(f.watch(ctx))
	if err != nil && errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		err = context.DeadlineExceeded // and not "canceled", which nobody did
	}
	if err != nil && f.grounded() {
		return &unsentError{err}
	}
	return err
}

// flight is how far one request got. The error does not tell: once the context has
// ended the generated client answers the context's error alone.
type flight struct {
	handed, looked, got atomic.Bool
	limit               *time.Timer
}

// arriving is the body of an answer that begins the time limit anew as it arrives.
type arriving struct {
	io.Reader
	limit *time.Timer
	again time.Duration
}

func (a arriving) Read(p []byte) (int, error) {
	n, err := a.Reader.Read(p)
	if n > 0 {
		a.limit.Reset(a.again)
	}
	return n, err
}

type flightKey struct{}

func (f *flight) watch(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(context.WithValue(ctx, flightKey{}, f), &httptrace.ClientTrace{
		GetConn: func(string) { f.looked.Store(true) },
		GotConn: func(httptrace.GotConnInfo) { f.got.Store(true) },
	})
}

// limitOf is the time limit of a request that send makes.
func limitOf(ctx context.Context) *time.Timer {
	f, _ := ctx.Value(flightKey{}).(*flight) // send has put it there
	return f.limit
}

// handOver notes that a request is given to the transport below the login.
func handOver(ctx context.Context) {
	if f, ok := ctx.Value(flightKey{}).(*flight); ok {
		f.handed.Store(true)
	}
}

// grounded reports whether nothing can have reached Google: the request was never
// handed over, or a connection was looked for and none was got. A transport
// without connections tells nothing, and its errors stay unclear.
func (f *flight) grounded() bool {
	return !f.handed.Load() || f.looked.Load() && !f.got.Load()
}
