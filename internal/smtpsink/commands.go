package smtpsink

import (
	"slices"
	"strings"
)

func (s *session) hello(verb, name string) next {
	if n := s.fault(EHLO); n != carryOn {
		return n
	}
	if strings.TrimSpace(name) == "" {
		return s.refuse("501 5.5.4 a name is needed")
	}
	s.greeted = true
	s.endMail()
	if verb == "HELO" {
		s.say("250 " + s.sink.opts.Hostname)
		return carryOn
	}
	lines := []string{s.sink.opts.Hostname, "8BITMIME", "SIZE 10485760"}
	if !s.sink.opts.PlainCodes {
		lines = append(lines, "ENHANCEDSTATUSCODES")
	}
	if s.sink.opts.UTF8 {
		lines = append(lines, "SMTPUTF8")
	}
	if s.sink.opts.TLS == STARTTLS && !s.env.TLS {
		lines = append(lines, "STARTTLS")
	} else if len(s.sink.opts.Mechanisms) > 0 {
		lines = append(lines, "AUTH "+strings.Join(s.sink.opts.Mechanisms, " "))
	}
	for i := range lines[:len(lines)-1] {
		lines[i] = "250-" + lines[i]
	}
	lines[len(lines)-1] = "250 " + lines[len(lines)-1]
	s.say(strings.Join(lines, "\n"))
	return carryOn
}

func (s *session) startTLS() next {
	if s.sink.opts.TLS != STARTTLS || s.env.TLS || s.inMail {
		return s.refuse("503 5.5.1 STARTTLS is not possible now")
	}
	if n := s.unless(StartTLS, "220 2.0.0 go ahead"); n != carryOn {
		return n
	}
	if s.encrypt() != nil {
		return hangUp
	}
	s.greeted = false // RFC 3207 section 4.2: the session starts again
	return carryOn
}

// mail begins a transaction: MAIL FROM:<path> parameters.
func (s *session) mail(arg string) next {
	switch {
	case !s.greeted:
		return s.refuse("503 5.5.1 say EHLO first")
	case s.inMail:
		return s.refuse("503 5.5.1 nested MAIL command")
	case s.sink.opts.TLS == STARTTLS && !s.env.TLS:
		return s.refuse("530 5.7.0 must issue a STARTTLS command first")
	case s.sink.needsLogin() && s.env.User == "":
		return s.refuse("530 5.7.0 authentication required")
	}
	from, params, ok := path(arg, "FROM:")
	if !ok {
		return s.refuse("501 5.5.4 syntax: MAIL FROM:<address>")
	}
	s.env.From, s.env.Params = from, params
	if n := s.addressing(from); n != carryOn {
		return n
	}
	n := s.unless(Mail, "250 2.1.0 ok")
	s.inMail = n == carryOn
	return n
}

// rcpt adds a recipient: RCPT TO:<path> parameters.
func (s *session) rcpt(arg string) next {
	if !s.inMail {
		return s.refuse("503 5.5.1 need MAIL before RCPT")
	}
	to, _, ok := path(arg, "TO:")
	if !ok || to == "" {
		return s.refuse("501 5.5.4 syntax: RCPT TO:<address>")
	}
	if n := s.addressing(to); n != carryOn {
		return n
	}
	before := s.env.To
	s.env.To = append(slices.Clone(before), to) // a rule matches on it; the old list stays whole
	n := s.unless(Rcpt, "250 2.1.5 ok")
	if n != carryOn {
		s.env.To = before
	}
	return n
}

// addressing refuses what needs SMTPUTF8 without saying so (RFC 6531 section 3.4).
func (s *session) addressing(addr string) next {
	utf8 := slices.Contains(strings.Fields(s.env.Params), "SMTPUTF8")
	if utf8 && !s.sink.opts.UTF8 {
		return s.refuse("555 5.5.4 SMTPUTF8 is not offered")
	}
	if !utf8 && !ascii(addr) {
		return s.refuse("553 5.6.7 address needs SMTPUTF8")
	}
	return carryOn
}

func (s *Sink) needsLogin() bool { return s.opts.Users != nil || s.opts.Token != nil }

// path parses "FROM:<address> parameters".
func path(arg, word string) (addr, params string, ok bool) {
	if len(arg) < len(word) || !strings.EqualFold(arg[:len(word)], word) {
		return "", "", false
	}
	rest, ok := strings.CutPrefix(arg[len(word):], "<")
	if !ok {
		return "", "", false
	}
	addr, params, ok = strings.Cut(rest, ">")
	if !ok || strings.ContainsAny(addr, "<> \t") {
		return "", "", false
	}
	return addr, strings.TrimSpace(params), true
}

func ascii(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r >= 0x80 }) < 0
}
