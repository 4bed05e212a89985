package smtpsink

import (
	"encoding/base64"
	"slices"
	"strings"
)

// auth carries out AUTH mechanism [initial response] (RFC 4954).
func (s *session) auth(arg string) next {
	mech, initial, _ := strings.Cut(arg, " ")
	mech = strings.ToUpper(mech)
	switch {
	case !s.greeted || s.inMail || s.env.User != "":
		return s.refuse("503 5.5.1 AUTH is not possible now")
	case s.sink.opts.TLS == STARTTLS && !s.env.TLS:
		return s.refuse("538 5.7.11 encryption required")
	case !slices.Contains(s.sink.opts.Mechanisms, mech):
		return s.refuse("504 5.5.4 mechanism not offered")
	}
	if n := s.fault(Auth); n != carryOn {
		s.noLogin = true
		return n
	}
	var user string
	var ok bool
	switch mech {
	case "PLAIN":
		user, ok = s.plainLogin(initial)
	case "LOGIN":
		user, ok = s.loginLogin(initial)
	case "XOAUTH2":
		user, ok = s.tokenLogin(initial)
	default:
		return s.refuse("504 5.5.4 mechanism not known")
	}
	s.noLogin = !ok
	if !ok {
		s.say("535 5.7.8 authentication failed")
		return answered
	}
	s.env.User = user
	s.say("235 2.7.0 welcome")
	return carryOn
}

// plainLogin is RFC 4616: authorization, user and password, divided by NUL.
func (s *session) plainLogin(initial string) (string, bool) {
	text, ok := s.response(initial, "")
	f := strings.Split(text, "\x00")
	if !ok || len(f) != 3 {
		return "", false
	}
	return f[1], s.sink.password(f[1], f[2])
}

// loginLogin asks for the user and the password one after the other.
func (s *session) loginLogin(initial string) (string, bool) {
	user, ok := s.response(initial, "Username:")
	if !ok {
		return "", false
	}
	pw, ok := s.response("", "Password:")
	return user, ok && s.sink.password(user, pw)
}

// tokenLogin is Google's XOAUTH2. A refused token is answered by a challenge with
// the reason, which the client acknowledges by an empty line before it gets 535.
func (s *session) tokenLogin(initial string) (string, bool) {
	text, ok := s.response(initial, "")
	if !ok {
		return "", false
	}
	var user, token string
	for field := range strings.SplitSeq(text, "\x01") {
		if v, ok := strings.CutPrefix(field, "user="); ok {
			user = v
		}
		if v, ok := strings.CutPrefix(field, "auth=Bearer "); ok {
			token = v
		}
	}
	if s.sink.opts.Token != nil && s.sink.opts.Token(user, token) {
		return user, true
	}
	_, _ = s.response("", `{"status":"400","schemes":"Bearer","scope":"https://mail.google.com/"}`)
	return "", false
}

// response answers the decoded response to a challenge, or the initial one.
func (s *session) response(initial, challenge string) (string, bool) {
	text := initial
	if text == "" {
		s.say("334 " + base64.StdEncoding.EncodeToString([]byte(challenge)))
		line, err := s.in.ReadString('\n')
		if err != nil {
			return "", false
		}
		s.sink.note(s.env.Conn, true, "…")
		text = strings.TrimRight(line, "\r\n")
	}
	if text == "*" {
		return "", false
	}
	if text == "=" {
		return "", true // an empty initial response
	}
	b, err := base64.StdEncoding.DecodeString(text)
	return string(b), err == nil
}

func (s *Sink) password(user, pw string) bool {
	want, ok := s.opts.Users[user]
	return ok && want == pw
}
