package smtpsink

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// stream is one direction of an in-memory connection. It stands for the send
// buffer of one kernel and the receive buffer of the other.
type stream struct {
	mu     sync.Mutex
	change *sync.Cond
	buf    []byte
	limit  int

	closed error // why no more bytes will come; io.EOF or ECONNRESET
	gone   bool  // the reader has closed
	told   bool  // the writer has been told so, as by a RST

	readBy, writeBy deadline
}

func newStream(limit int) *stream {
	s := &stream{limit: limit}
	s.change = sync.NewCond(&s.mu)
	return s
}

// deadline is the moment at which waiting ends; its fields are under stream.mu.
type deadline struct {
	timer  *time.Timer
	passed bool
	set    int // counts settings, so that a timer that fires late changes nothing
}

func (s *stream) setDeadline(d *deadline, t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	d.set++
	d.passed = false
	if t.IsZero() {
		return
	}
	wait, set := time.Until(t), d.set
	if wait <= 0 {
		d.passed = true
		s.change.Broadcast()
		return
	}
	d.timer = time.AfterFunc(wait, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if d.set == set {
			d.passed = true
			s.change.Broadcast()
		}
	})
}

func (s *stream) read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case s.gone:
			return 0, net.ErrClosed
		case s.readBy.passed:
			return 0, os.ErrDeadlineExceeded
		case len(s.buf) > 0:
			n := copy(p, s.buf)
			s.buf = s.buf[n:]
			s.change.Broadcast()
			return n, nil
		case s.closed != nil:
			return 0, s.closed
		}
		s.change.Wait()
	}
}

// write succeeds as soon as the bytes fit the buffer. The first write after the
// peer has closed succeeds too and is lost, as on a TCP connection, where only
// the answer to it brings the news.
func (s *stream) write(p []byte) (n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case s.closed != nil:
			return n, net.ErrClosed
		case s.writeBy.passed:
			return n, os.ErrDeadlineExceeded
		case s.gone && s.told:
			return n, syscall.EPIPE
		case s.gone:
			s.told = true
			return n + len(p), nil
		}
		room := min(s.limit-len(s.buf), len(p))
		s.buf = append(s.buf, p[:room]...)
		n, p = n+room, p[room:]
		if room > 0 {
			s.change.Broadcast()
		}
		if len(p) == 0 {
			return n, nil
		}
		s.change.Wait()
	}
}

// end says that the writer will write no more; what is in the buffer stays readable.
func (s *stream) end(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed == nil {
		s.closed = why
	}
	s.change.Broadcast()
}

// leave says that the reader will read no more. It answers whether bytes were
// left unread.
func (s *stream) leave(told bool) (unread bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	unread = len(s.buf) > 0 && !s.gone
	s.gone, s.told = true, s.told || told
	s.buf = nil
	s.change.Broadcast()
	return unread
}

// pipeEnd is one end of an in-memory connection.
type pipeEnd struct {
	in, out *stream
	name    pipeAddr
}

var _ net.Conn = (*pipeEnd)(nil)

// newPipe makes a connection whose two directions hold limit bytes each.
func newPipe(limit int) (client, server *pipeEnd) {
	up, down := newStream(limit), newStream(limit)
	return &pipeEnd{in: down, out: up, name: "client"}, &pipeEnd{in: up, out: down, name: "sink"}
}

func (e *pipeEnd) Read(p []byte) (int, error)  { return e.in.read(p) }
func (e *pipeEnd) Write(p []byte) (int, error) { return e.out.write(p) }

// Close ends both directions. With bytes left unread the peer sees a reset
// instead of an end, as TCP has it (RFC 2525 section 2.17).
func (e *pipeEnd) Close() error {
	if e.in.leave(false) {
		e.Reset()
		return nil
	}
	e.out.end(io.EOF)
	return nil
}

// CloseWrite ends the direction away from this end.
func (e *pipeEnd) CloseWrite() error {
	e.out.end(io.EOF)
	return nil
}

// Reset cuts the connection as a RST does.
func (e *pipeEnd) Reset() {
	e.in.leave(true)
	e.out.end(syscall.ECONNRESET)
}

func (e *pipeEnd) LocalAddr() net.Addr  { return e.name }
func (e *pipeEnd) RemoteAddr() net.Addr { return pipeAddr("peer of " + string(e.name)) }

func (e *pipeEnd) SetDeadline(t time.Time) error {
	e.in.setDeadline(&e.in.readBy, t)
	e.out.setDeadline(&e.out.writeBy, t)
	return nil
}

func (e *pipeEnd) SetReadDeadline(t time.Time) error {
	e.in.setDeadline(&e.in.readBy, t)
	return nil
}

func (e *pipeEnd) SetWriteDeadline(t time.Time) error {
	e.out.setDeadline(&e.out.writeBy, t)
	return nil
}

type pipeAddr string

func (pipeAddr) Network() string  { return "memory" }
func (a pipeAddr) String() string { return string(a) }
