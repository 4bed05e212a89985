package mailer

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"os"
	"strings"
	"syscall"
)

// AccountError is why no logged-in connection can be had, in words for the person
// who set the account up.
type AccountError struct {
	Step    string // connect or login
	Problem string // what was expected and what was found
	Advice  string // what to do now; "" when waiting is all
	Err     error
}

func (e *AccountError) Error() string {
	s := e.Problem
	if _, told := replyIn(e.Err); e.Err != nil && !told { // a reply is in the problem, on one line
		s += " (" + e.Err.Error() + ")"
	}
	if e.Advice != "" {
		s += ": " + e.Advice
	}
	return s
}

func (e *AccountError) Unwrap() error { return e.Err }

// phase is a part of dialling that has problems of its own.
type phase int

const (
	phaseConnect phase = iota + 1
	phaseGreeting
	phaseTLS
	phaseLogin
)

// accountError explains why a phase failed, or answers the context's error if that
// is why.
func (m *SMTP) accountError(ctx context.Context, p phase, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	e := &AccountError{Step: stepConnect, Err: err}
	e.Problem, e.Advice = m.certificateTrouble(err)
	if e.Problem != "" {
		return e
	}
	switch p {
	case phaseConnect:
		e.Problem, e.Advice = m.connectTrouble(err)
	case phaseGreeting:
		e.Problem, e.Advice = m.greetingTrouble(err)
	case phaseTLS:
		e.Problem, e.Advice = m.startTLSTrouble(err)
	case phaseLogin:
		e.Step = stepLogin
		e.Problem, e.Advice = m.loginTrouble(err)
	}
	return e
}

func (m *SMTP) server() string { return fmt.Sprintf("%s:%d", m.cfg.Host, m.cfg.Port) }

func (m *SMTP) certificateTrouble(err error) (problem, advice string) {
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, &unknown):
		return "the certificate of " + m.server() + " is signed by an authority that is not trusted here",
			"if it is your own authority, put its certificate into smtp.ca_file"
	case errors.As(err, &name):
		return "the certificate of " + m.server() + " is for other names",
			"set smtp.host to a name that stands in the certificate"
	case errors.As(err, &invalid):
		return "the certificate of " + m.server() + " is not valid",
			"look at its dates, and at this machine's clock"
	}
	return "", ""
}

func (m *SMTP) connectTrouble(err error) (problem, advice string) {
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns):
		return "the name " + m.cfg.Host + " cannot be found", "check smtp.host and the DNS of this machine"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing answers at " + m.server(), "check smtp.host and smtp.port, and that the server is up"
	case timedOut(err):
		advice = "check smtp.host and smtp.port, and firewalls on the way"
		if m.cfg.Port == NoTLS.standardPort() {
			advice = "many networks block port 25: use 587 with smtp.tls: starttls"
		}
		return "no answer from " + m.server() + " within " + m.cfg.Timeout.String(), advice
	}
	return "cannot connect to " + m.server(), "check smtp.host and smtp.port"
}

// greetingTrouble looks for a TLS mode that does not fit the port before all: one
// side then waits for the other, or takes its bytes for garbage.
func (m *SMTP) greetingTrouble(err error) (problem, advice string) {
	var noTLS tls.RecordHeaderError
	if errors.As(err, &noTLS) {
		return m.server() + " does not speak TLS from the first byte",
			"set smtp.tls: starttls, as is usual for ports 587 and 25"
	}
	if rep, ok := replyIn(err); ok {
		if rep.code < 500 {
			return m.server() + " takes no mail now: " + rep.String(), ""
		}
		return m.server() + " does not want to talk to us: " + rep.String(),
			"ask who runs the server; it may not accept this machine's address or smtp.helo"
	}
	advice = "check smtp.port"
	if m.cfg.TLS != Implicit {
		advice = "if the port expects TLS from the first byte, as 465 does, set smtp.tls: implicit"
	}
	var garbage textproto.ProtocolError
	switch {
	case errors.As(err, &garbage):
		return m.server() + " does not greet as a mail server does", advice
	case timedOut(err):
		return m.server() + " did not greet within " + m.cfg.Timeout.String(), advice
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		return m.server() + " closed the connection without a greeting", advice
	}
	return m.server() + " did not greet", advice
}

func (m *SMTP) startTLSTrouble(err error) (problem, advice string) {
	if errors.Is(err, errNoSTARTTLS) {
		if isLoopback(m.cfg.Host) {
			return m.server() + " does not offer STARTTLS", "set smtp.tls: none, without smtp.username, if it is a mail catcher or relay on this machine"
		}
		return m.server() + " does not offer STARTTLS",
			"use the server's submission port (587 with starttls, 465 with smtp.tls: implicit); " +
				"something on the way may also have taken the offer away"
	}
	if rep, ok := replyIn(err); ok {
		return m.server() + " does not start TLS: " + rep.String(), ""
	}
	return "TLS with " + m.server() + " failed", "it may speak no TLS version from 1.2 on"
}

func (m *SMTP) loginTrouble(err error) (problem, advice string) {
	rep, ok := replyIn(err)
	switch {
	case errors.Is(err, errNoLogin):
		if m.cfg.Token != nil {
			return m.server() + " offers no login by OAuth (XOAUTH2)", "set smtp.password in place of smtp.oauth"
		}
		return m.server() + " offers no login that can be used",
			"check smtp.port; some servers offer a login on their submission port only, or smtp.oauth only"
	case !ok:
		return "the login at " + m.server() + " did not come to an end", ""
	case rep.code < 500:
		return "the server cannot check the login now: " + rep.String(), ""
	}
	problem = "the server refuses the login: " + rep.String()
	switch {
	case m.cfg.Token != nil:
		return problem, "check that smtp.username is the account that smtp.oauth was set up for, and smtp.oauth.scope"
	case rep.enh == "5.7.139", rep.enh == "5.7.30":
		return problem, "logging in with a password is switched off: " +
			"enable SMTP AUTH for the mailbox, use an app password, or set smtp.oauth (XOAUTH2)"
	case rep.code == 534, rep.enh == "5.7.9":
		return problem, "the account wants a stronger login: use an app password, or set smtp.oauth (XOAUTH2)"
	}
	return problem, "check smtp.username and smtp.password; an account with two-step login needs an app password or smtp.oauth (XOAUTH2)"
}

func timedOut(err error) bool {
	var t interface{ Timeout() bool }
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.As(err, &t) && t.Timeout()
}

// withoutSecrets blanks secrets in the reply within err: there are servers that
// repeat a line which they did not understand.
func withoutSecrets(err error, secrets ...string) error {
	var e *textproto.Error
	if !errors.As(err, &e) {
		return err
	}
	hide := func(word string) string {
		plain, err := base64.StdEncoding.DecodeString(word)
		for _, s := range secrets {
			if s != "" && (strings.Contains(word, s) || err == nil && strings.Contains(string(plain), s)) {
				return "[hidden]"
			}
		}
		return word
	}
	lines := strings.Split(e.Msg, "\n")
	for i, line := range lines {
		words := strings.Split(line, " ")
		for j := range words {
			words[j] = hide(words[j])
		}
		lines[i] = strings.Join(words, " ")
	}
	return &textproto.Error{Code: e.Code, Msg: strings.Join(lines, "\n")}
}
