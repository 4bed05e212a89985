package smtpsink

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"sync"
	"syscall"
	"time"
)

// TLSMode says when a connection is encrypted.
type TLSMode string

const (
	NoTLS    TLSMode = ""
	STARTTLS TLSMode = "starttls" // offered, and required before AUTH
	Implicit TLSMode = "implicit" // from the first byte
)

// Options of a sink. The zero value takes mail from anyone in the clear.
type Options struct {
	Hostname string // as greeted; "sink.test" by default
	TLS      TLSMode
	// Users and their passwords. With Users or Token set, MAIL needs a login.
	Users map[string]string
	// Token judges the token of an XOAUTH2 login.
	Token func(user, token string) bool
	// Mechanisms offered for AUTH; by default PLAIN and LOGIN for Users and XOAUTH2
	// for Token.
	Mechanisms []string
	UTF8       bool // offer SMTPUTF8
	PlainCodes bool // do not offer ENHANCEDSTATUSCODES
	MaxConns   int  // connections beyond are greeted with 432 and closed; 0: no limit
	Rules      []Rule
	Chance     *Chance
	Buffer     int // bytes that each direction of a Dial connection holds; 64 KiB by default
	Now        func() time.Time
}

// Sink is the server.
type Sink struct {
	opts  Options
	tls   *tls.Config
	caPEM []byte

	mu         sync.Mutex
	listeners  []net.Listener
	open       map[net.Conn]bool
	closed     bool
	messages   []Message
	violations []string
	lines      []Line
	stats      Stats
	rules      []Rule
	fitted     []int // per rule: moments that fitted
	onMessage  func(Message)

	done     chan struct{}
	sessions sync.WaitGroup
}

// New makes a sink. It listens nowhere yet.
func New(o Options) (*Sink, error) {
	if o.Hostname == "" {
		o.Hostname = "sink.test"
	}
	if o.Buffer == 0 {
		o.Buffer = 64 << 10
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Mechanisms == nil {
		if o.Users != nil {
			o.Mechanisms = append(o.Mechanisms, "PLAIN", "LOGIN")
		}
		if o.Token != nil {
			o.Mechanisms = append(o.Mechanisms, "XOAUTH2")
		}
	}
	s := &Sink{opts: o, open: map[net.Conn]bool{}, done: make(chan struct{})}
	s.stats.Commands = map[string]int{}
	s.SetRules(o.Rules...)
	if o.TLS != NoTLS {
		var err error
		if s.tls, s.caPEM, err = newCertificate(o.Hostname); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// CA answers the certificate of the authority behind the sink's certificate, in
// PEM, as for a ca_file. The certificate holds for the hostname, localhost and the
// loopback addresses.
func (s *Sink) CA() []byte { return s.caPEM }

// SetRules replaces the scripted faults and starts their counts anew.
func (s *Sink) SetRules(rules ...Rule) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules, s.fitted = rules, make([]int, len(rules))
}

// Listen serves on a TCP address and answers the address that it got.
func (s *Sink) Listen(addr string) (net.Addr, error) {
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("smtpsink: %w", err)
	}
	s.mu.Lock()
	s.listeners = append(s.listeners, l)
	s.mu.Unlock()
	s.sessions.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if !s.serve(c) {
				_ = c.Close()
				return
			}
		}
	})
	return l.Addr(), nil
}

// Dial connects to the sink through memory.
func (s *Sink) Dial(ctx context.Context) (net.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	client, server := newPipe(s.opts.Buffer)
	if !s.serve(server) {
		return nil, &net.OpError{Op: "dial", Net: "memory", Err: syscall.ECONNREFUSED}
	}
	return client, nil
}

// Close ends all connections and waits for their sessions.
func (s *Sink) Close() {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.done)
	}
	for _, l := range s.listeners {
		_ = l.Close()
	}
	for c := range s.open {
		_ = c.Close()
	}
	s.mu.Unlock()
	s.sessions.Wait()
}

// serve starts a session; false after Close.
func (s *Sink) serve(c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.open[c] = true
	s.stats.Connections++
	s.stats.Open++
	s.stats.Peak = max(s.stats.Peak, s.stats.Open)
	full := s.opts.MaxConns > 0 && s.stats.Open > s.opts.MaxConns
	sess := newSession(s, c, s.stats.Connections, full)
	s.sessions.Go(func() {
		sess.run()
		_ = c.Close()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.open, c)
		s.stats.Open--
	})
	return true
}

// pick answers the fault for a moment of a session, or nil.
func (s *Sink) pick(p Phase, env Envelope, moment int) *Rule {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.rules {
		r := &s.rules[i]
		if !r.fits(p, env) {
			continue
		}
		s.fitted[i]++
		if r.acts(s.fitted[i]) {
			return r
		}
	}
	return s.opts.Chance.draw(p, env, moment)
}

// wait sleeps for d or until the sink closes.
func (s *Sink) wait(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-s.done:
	}
}

// accept keeps a message and answers its queue id.
func (s *Sink) accept(env Envelope, data []byte) string {
	s.mu.Lock()
	m := Message{Envelope: env, Data: data, At: s.opts.Now(), ID: fmt.Sprintf("Q%d", len(s.messages)+1)}
	s.messages = append(s.messages, m)
	f := s.onMessage
	s.mu.Unlock()
	if f != nil {
		f(m)
	}
	return m.ID
}

func (s *Sink) violate(conn int, format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.violations = append(s.violations, fmt.Sprintf("connection %d: ", conn)+fmt.Sprintf(format, args...))
}

func (s *Sink) note(conn int, client bool, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, Line{Conn: conn, Client: client, Text: text, At: s.opts.Now()})
}

func (s *Sink) count(verb string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.Commands[verb]++
}
