package smtpsink

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
	"unicode/utf8"
)

// maxLine is the longest line of content or command, with its end
// (RFC 5321 section 4.5.3.1.6).
const maxLine = 1000

// next says how a session goes on after a moment.
type next int

const (
	carryOn  next = iota + 1 // do as usual
	answered                 // a fault has answered in place of the usual reply
	hangUp                   // the session is over
)

// session is one connection from its greeting to its end.
type session struct {
	sink *Sink
	raw  net.Conn
	conn net.Conn // raw, or TLS over it
	in   *bufio.Reader
	full bool // one connection too many

	moments int // counts the chances for a fault
	env     Envelope
	greeted bool // EHLO or HELO was said
	inMail  bool // between MAIL and the end of its transaction
	afterOK bool // the last transaction was accepted and nothing was said since
	noLogin bool // the last AUTH failed
}

func newSession(s *Sink, c net.Conn, n int, full bool) *session {
	return &session{sink: s, raw: c, conn: c, in: bufio.NewReader(c), full: full, env: Envelope{Conn: n}}
}

func (s *session) run() {
	if s.sink.opts.TLS == Implicit && s.encrypt() != nil {
		return
	}
	switch s.fault(Connect) {
	case carryOn:
		if s.full {
			s.say("432 4.3.2 Concurrent connections limit exceeded")
			s.linger()
			return
		}
		s.say("220 " + s.sink.opts.Hostname + " ESMTP smtpsink")
	case answered:
	case hangUp:
		return
	}
	for {
		line, ok := s.readCommand()
		if !ok || s.command(line) == hangUp {
			return
		}
	}
}

// encrypt starts TLS as the server. Bytes that were read ahead in the clear are
// thrown away with the old reader: they must not count as said under TLS
// (CVE-2011-0411).
func (s *session) encrypt() error {
	c := tls.Server(s.raw, s.sink.tls)
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	if err := c.HandshakeContext(context.Background()); err != nil { // the deadline above ends it
		s.sink.note(s.env.Conn, true, "(no TLS: "+err.Error()+")")
		return err
	}
	_ = c.SetDeadline(time.Time{})
	s.conn, s.in = c, bufio.NewReader(c)
	s.env.TLS = true
	return nil
}

// readCommand reads one command line. A client that sends more before it has the
// reply is told so, as PIPELINING (RFC 2920) is not offered.
func (s *session) readCommand() (line string, ok bool) {
	line, err := s.in.ReadString('\n')
	if err != nil {
		if line != "" {
			s.sink.violate(s.env.Conn, "ended within a line: %.60q", line)
		}
		return "", false
	}
	if !strings.HasSuffix(line, "\r\n") {
		s.sink.violate(s.env.Conn, "bare line feed after %.60q", line)
	}
	if len(line) > maxLine {
		s.sink.violate(s.env.Conn, "command of %d octets", len(line))
	}
	if s.in.Buffered() > 0 {
		s.sink.violate(s.env.Conn, "sent more before the reply to %.60q", line)
	}
	return strings.TrimRight(line, "\r\n"), true
}

// command carries out one command line.
func (s *session) command(line string) next {
	verb, arg, _ := strings.Cut(line, " ")
	verb = strings.ToUpper(verb)
	if verb == "AUTH" {
		mech, _, _ := strings.Cut(arg, " ")
		s.sink.note(s.env.Conn, true, "AUTH "+mech+" …")
	} else {
		s.sink.note(s.env.Conn, true, line)
	}
	s.sink.count(verb)
	if !utf8.ValidString(line) { // TLS, most often
		s.refuse("500 5.5.2 not text")
		return hangUp
	}
	if s.afterOK && verb != "QUIT" {
		s.afterOK = false
		if n := s.fault(AfterOK); n != carryOn {
			return n
		}
	}
	switch verb {
	case "EHLO", "HELO":
		return s.hello(verb, arg)
	case "STARTTLS":
		return s.startTLS()
	case "AUTH":
		return s.auth(arg)
	case "MAIL":
		return s.mail(arg)
	case "RCPT":
		return s.rcpt(arg)
	case "DATA":
		return s.data()
	case "NOOP":
		return s.unless(Noop, "250 2.0.0 ok")
	case "RSET":
		n := s.unless(ResetVerb, "250 2.0.0 ok")
		if n == carryOn {
			s.endMail()
		}
		return n
	case "QUIT":
		s.say("221 2.0.0 bye")
		return hangUp
	}
	if verb == "*" && s.noLogin {
		// No violation: Go's net/smtp and what came of it cancel a login that has
		// already failed.
		s.noLogin = false
		s.say("501 5.7.0 nothing to cancel")
		return answered
	}
	return s.refuse("500 5.5.2 unknown command")
}

// unless answers reply unless a fault is put here.
func (s *session) unless(p Phase, reply string) next {
	n := s.fault(p)
	if n == carryOn {
		s.say(reply)
	}
	return n
}

// refuse answers a violation.
func (s *session) refuse(reply string) next {
	s.sink.violate(s.env.Conn, "%s", reply)
	s.say(reply)
	return answered
}

// endMail forgets the transaction.
func (s *session) endMail() {
	s.inMail = false
	s.env.From, s.env.Params, s.env.To = "", "", nil
}

// say sends a reply of one or several lines.
func (s *session) say(text string) {
	for line := range strings.SplitSeq(text, "\n") {
		s.sink.note(s.env.Conn, false, line)
	}
	if s.sink.opts.PlainCodes {
		text = plain(text)
	}
	_, _ = io.WriteString(s.conn, strings.ReplaceAll(text, "\n", "\r\n")+"\r\n")
}

// plain takes the enhanced status code out of a one-line reply.
func plain(text string) string {
	f := strings.SplitN(text, " ", 3)
	if len(f) == 3 && strings.Count(f[1], ".") == 2 {
		return f[0] + " " + f[2]
	}
	return text
}

// fault acts out the fault of a moment, if there is one.
func (s *session) fault(p Phase) next {
	s.moments++
	return s.act(s.sink.pick(p, s.env, s.moments))
}

// act acts out a fault; nil is none.
func (s *session) act(r *Rule) next {
	if r == nil {
		return carryOn
	}
	s.sink.note(s.env.Conn, false, fmt.Sprintf("(fault: %s %s %s)", r.Phase, r.Action, r.Text))
	switch r.Action {
	case Drop:
		_ = s.raw.Close()
		return hangUp
	case Reset:
		s.reset()
		return hangUp
	case Reply, ReplyDrop:
		text := strings.ReplaceAll(r.Text, "\n", "\r\n")
		if !r.Cut {
			text += "\r\n"
		}
		_, _ = io.WriteString(s.conn, text)
		if r.Action == ReplyDrop {
			s.linger()
			return hangUp
		}
		return answered
	case Slow:
		s.sink.wait(r.Delay)
		return carryOn
	case Hang:
		if r.Phase == MidData {
			<-s.sink.done // and do not read on: the client's buffers are to fill up
		} else {
			_, _ = io.Copy(io.Discard, s.conn)
		}
		return hangUp
	}
	panic("smtpsink: rule with unknown action " + string(r.Action))
}

// reset cuts the connection with a RST.
func (s *session) reset() {
	switch c := s.raw.(type) {
	case *net.TCPConn:
		_ = c.SetLinger(0)
	case *pipeEnd:
		c.Reset()
	}
	_ = s.raw.Close()
}

// linger closes the way to the client and reads on for a moment: closing with
// bytes unread would reset the connection and could take the last reply with it
// (RFC 9112 section 9.6 has the same advice for HTTP).
func (s *session) linger() {
	if c, ok := s.raw.(interface{ CloseWrite() error }); ok {
		_ = c.CloseWrite()
	}
	_ = s.raw.SetReadDeadline(time.Now().Add(time.Second))
	_, _ = io.Copy(io.Discard, s.raw)
}
