package smtpsink

import (
	"bytes"
	"fmt"
)

// data takes the content of a message and answers the final dot.
func (s *session) data() next {
	switch {
	case !s.inMail:
		return s.refuse("503 5.5.1 need MAIL and RCPT before DATA")
	case len(s.env.To) == 0:
		// No violation: RFC 5321 section 3.3 lets a client learn it this way.
		s.say("554 5.5.1 no valid recipients")
		return answered
	}
	if n := s.unless(Data, "354 end with <CRLF>.<CRLF>"); n != carryOn {
		return n
	}
	content, n := s.content()
	if n == hangUp {
		return n
	}
	env := s.env
	s.endMail()
	if n == answered {
		return n
	}
	return s.dot(env, content)
}

// content reads up to the final dot and takes the stuffed dots out
// (RFC 5321 section 4.5.2). A fault may strike on the way; when it has answered,
// the rest is read and the final dot stays without a reply of its own.
func (s *session) content() ([]byte, next) {
	s.moments++
	trouble := s.sink.pick(MidData, s.env, s.moments)
	var content bytes.Buffer
	n := carryOn
	for {
		line, err := s.in.ReadBytes('\n')
		if err != nil {
			s.sink.note(s.env.Conn, true, fmt.Sprintf("(ended within the content, after %d bytes)", content.Len()+len(line)))
			return nil, hangUp
		}
		if string(line) == ".\r\n" {
			s.sink.note(s.env.Conn, true, fmt.Sprintf("(%d bytes)", content.Len()))
			s.sink.note(s.env.Conn, true, ".")
			return content.Bytes(), n
		}
		s.checkLine(line)
		content.Write(bytes.TrimPrefix(line, []byte(".")))
		if trouble != nil && content.Len() >= trouble.MidBytes {
			if n = s.act(trouble); n == hangUp {
				return nil, n
			}
			trouble = nil
		}
	}
}

// checkLine notes what RFC 5321 sections 2.3.8 and 4.5.3.1.6 forbid in a line.
func (s *session) checkLine(line []byte) {
	body, ok := bytes.CutSuffix(line, []byte("\r\n"))
	if !ok || bytes.ContainsAny(body, "\r\n") {
		s.sink.violate(s.env.Conn, "bare CR or LF in content: %.60q", line)
	}
	if len(line) > maxLine {
		s.sink.violate(s.env.Conn, "content line of %d octets", len(line))
	}
}

// dot queues the message and says so, or does only one of the two, or none.
func (s *session) dot(env Envelope, content []byte) next {
	s.moments++
	r := s.sink.pick(Dot, env, s.moments)
	reply := ""
	if r == nil || r.Accept || r.Action == Slow {
		reply = "250 2.0.0 queued as " + s.sink.accept(env, content)
		s.afterOK = true
	}
	if n := s.act(r); n != carryOn {
		return n
	}
	s.say(reply)
	return carryOn
}
