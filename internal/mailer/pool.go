package mailer

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/wneessen/go-mail/smtp"
)

// ErrClosed is the cause when the mailer was closed.
var ErrClosed = errors.New("the mailer is closed")

const (
	// maxIdle is how long an unused connection is kept: providers count open ones.
	maxIdle = time.Minute
	// quickly bounds what is said on a connection besides a transaction. An answer
	// that takes longer is worth no waiting, since another connection can be had.
	quickly = 5 * time.Second
)

// conn is one logged-in connection. Only the one who took it from the pool may
// touch it.
type conn struct {
	net.Conn // the raw connection, below TLS
	smtp     *smtp.Client
	sent     int  // letters accepted
	reused   bool // taken from the pool at least once
	unreset  bool // a transaction was refused and not reset yet
	idle     *time.Timer
}

// cut ends the connection at once, saying nothing. It goes past go-mail, whose
// Close waits for a command under way and whose QUIT would end an open DATA with
// a dot. It may be called at any time and by anyone.
func (c *conn) cut() { _ = c.Conn.Close() }

// expect sets the deadline of the next step.
func (c *conn) expect(d time.Duration) { _ = c.SetDeadline(time.Now().Add(d)) }

func (c *conn) offers(extension string) bool {
	ok, _ := c.smtp.Extension(extension)
	return ok
}

// quit takes leave. Never after a surprise.
func (c *conn) quit(timeout time.Duration) {
	c.expect(min(timeout, quickly))
	_ = c.smtp.Quit()
	c.cut()
}

// alive asks the server whether it is still there, and ends what is left of a
// refused transaction.
func (c *conn) alive(timeout time.Duration) error {
	c.expect(min(timeout, quickly))
	if !c.unreset {
		return c.smtp.Noop()
	}
	err := c.smtp.Reset()
	c.unreset = err != nil
	return err
}

// pool keeps idle connections and counts those who may have one. Who has entered
// may take an idle connection or, when there is none, make one; so there are never
// more connections than places.
type pool struct {
	places chan struct{}
	closed chan struct{}

	mu   sync.Mutex
	idle []*conn
}

func newPool(size int) *pool {
	return &pool{places: make(chan struct{}, size), closed: make(chan struct{})}
}

// enter waits for a place.
func (p *pool) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-p.closed:
		return ErrClosed
	default:
	}
	select {
	case p.places <- struct{}{}:
		return nil
	case <-p.closed:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *pool) leave() { <-p.places }

// take answers the connection that was used last, or nil.
func (p *pool) take() *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) == 0 {
		return nil
	}
	c := p.idle[len(p.idle)-1]
	p.idle = p.idle[:len(p.idle)-1]
	c.idle.Stop()
	c.reused = true
	return c
}

// put gives a connection back. It says nothing on it: a reply that has come is not
// to wait for another.
func (p *pool) put(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.closed:
		c.cut()
		return
	default:
	}
	c.idle = time.AfterFunc(maxIdle, func() {
		if p.remove(c) {
			c.quit(quickly)
		}
	})
	p.idle = append(p.idle, c)
}

// remove takes one connection out, if it is still there.
func (p *pool) remove(c *conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, have := range p.idle {
		if have == c {
			p.idle = append(p.idle[:i], p.idle[i+1:]...)
			return true
		}
	}
	return false
}

// close lets nobody enter any more and answers the idle connections.
func (p *pool) close() []*conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.closed:
	default:
		close(p.closed)
	}
	idle := p.idle
	p.idle = nil
	for _, c := range idle {
		c.idle.Stop()
	}
	return idle
}
