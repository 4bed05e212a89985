package smtpsink

import (
	"maps"
	"slices"
	"time"
)

// Envelope is what a session has said of a message so far.
type Envelope struct {
	Conn   int      // number of the connection, from 1
	User   string   // who logged in; "" for nobody
	TLS    bool     // the connection is encrypted
	From   string   // address of MAIL, without brackets
	Params string   // parameters of MAIL
	To     []string // addresses of RCPT, without brackets
}

// Message is one message that the sink has accepted, whatever it told the client.
type Message struct {
	Envelope
	ID   string // the queue id of the reply
	Data []byte // as sent, dots unstuffed
	At   time.Time
}

// Line is one line of a dialog.
type Line struct {
	Conn   int
	Client bool // said by the client
	Text   string
	At     time.Time
}

func (l Line) String() string {
	if l.Client {
		return "C: " + l.Text
	}
	return "S: " + l.Text
}

// Stats counts what the sink has seen.
type Stats struct {
	Connections int            // all that were ever made
	Open        int            // open now
	Peak        int            // open at the same time, at most
	Commands    map[string]int // by verb
}

// Messages answers the accepted messages in their order.
func (s *Sink) Messages() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.messages)
}

// Violations answers what clients did against the protocol.
func (s *Sink) Violations() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.violations)
}

// Dialog answers what was said on one connection, or on all for 0. Content is
// left out and credentials are blanked.
func (s *Sink) Dialog(conn int) []Line {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lines []Line
	for _, l := range s.lines {
		if conn == 0 || l.Conn == conn {
			lines = append(lines, l)
		}
	}
	return lines
}

// Stats answers the counts.
func (s *Sink) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.stats
	st.Commands = maps.Clone(st.Commands)
	return st
}

// OnMessage calls f, outside of any lock, after each message that is accepted
// from now on.
func (s *Sink) OnMessage(f func(Message)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onMessage = f
}
