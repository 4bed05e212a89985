package mailer

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/mail"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// The steps of claim.Result.
const (
	stepConnect = "connect"
	stepLogin   = "login"
	stepMail    = "mail"
	stepRcpt    = "rcpt"
	stepData    = "data"
	stepContent = "content"
	stepDot     = "dot"
)

// SMTP hands letters to one account at a mail server. Its limits hold for all who
// share it.
type SMTP struct {
	cfg   Config
	from  *mail.Address
	tls   *tls.Config
	turns *turns
	pool  *pool
}

var _ claim.Mailer = (*SMTP)(nil)

// New checks the configuration. It connects to nothing.
func New(cfg Config) (*SMTP, error) {
	cfg.setDefaults()
	from, err := cfg.check()
	if err != nil {
		return nil, err
	}
	tlsConfig, err := cfg.tlsConfig()
	if err != nil {
		return nil, err
	}
	return &SMTP{
		cfg:   cfg,
		from:  from,
		tls:   tlsConfig,
		turns: newTurns(cfg.Rate, cfg.Connections),
		pool:  newPool(cfg.Connections),
	}, nil
}

// Close says QUIT on idle connections. Those in use end with their transaction;
// later calls of Send answer NotBegun.
func (m *SMTP) Close() error {
	for _, c := range m.pool.close() {
		c.quit(m.cfg.Timeout)
	}
	return nil
}

// Login makes sure that a logged-in connection is there. Its error is an
// *AccountError, unless the context has ended.
func (m *SMTP) Login(ctx context.Context) (err error) {
	ctx, end := m.cfg.Observe(ctx)
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("login: %v", p)
		}
		res := claim.Result{Verdict: claim.Accepted, Step: stepLogin}
		if err != nil {
			res = unreachable(err)
		}
		end(res)
	}()
	if err := m.pool.enter(ctx); err != nil {
		return err
	}
	defer m.pool.leave()
	c, err := m.connection(ctx)
	if err != nil {
		return err
	}
	m.pool.put(c)
	return nil
}

// Send carries out one transaction for one letter. It takes a place in the pool,
// then a turn under the rate, then a connection: the rate is what the server sees,
// and waiting for a place costs no turn.
//
// A connection that has carried a letter before may be found dead only by MAIL, or
// be refused there with 421 because it has carried enough. Nothing of this letter
// was said on it, so the transaction begins again on another one; Hooks.Begin is
// then asked again.
func (m *SMTP) Send(ctx context.Context, l claim.Letter, h claim.Hooks) (res claim.Result) {
	step := stepConnect
	ctx, end := m.cfg.Observe(ctx)
	defer func() {
		if p := recover(); p != nil { // within a transaction it is caught there
			res = claim.Result{Verdict: claim.Deferred, Step: step, Err: fmt.Errorf("%s: %v", step, p)}
		}
		res.At = m.cfg.Now()
		m.log(ctx, l, res)
		end(res)
	}()
	if len(l.To) == 0 || len(l.Bytes) == 0 {
		return claim.Result{Verdict: claim.Refused, Step: step, Err: errors.New("the letter is empty")}
	}
	if err := m.pool.enter(ctx); err != nil {
		return claim.Result{Verdict: claim.NotBegun, Step: step, Err: err}
	}
	defer m.pool.leave()
	if err := m.turns.wait(ctx); err != nil {
		return claim.Result{Verdict: claim.NotBegun, Step: step, Err: err}
	}
	begun := false
	defer func() {
		if !begun { // the server has seen nothing of this turn
			m.turns.giveBack()
		}
	}()
	for {
		c, err := m.connection(ctx)
		if err != nil {
			return unreachable(err)
		}
		t := &transaction{m: m, c: c, letter: l, hooks: h}
		res := t.run(ctx)
		begun = begun || t.begun
		if !t.stale(res) {
			return res
		}
		m.cfg.Log.DebugContext(ctx, "connection used up, taking another", "message_id", l.MessageID)
	}
}

// unreachable is the result when no connection can be had.
func unreachable(err error) claim.Result {
	var fault *AccountError
	if !errors.As(err, &fault) {
		return claim.Result{Verdict: claim.NotBegun, Step: stepConnect, Err: err}
	}
	res := claim.Result{Verdict: claim.Deferred, Account: true, Step: fault.Step, Err: fault}
	if rep, ok := replyIn(err); ok {
		res.Code, res.Reply = rep.code, rep.String()
	}
	return res
}

// log writes one line per letter: codes, but neither addresses nor texts, which
// may repeat an address.
func (m *SMTP) log(ctx context.Context, l claim.Letter, res claim.Result) {
	level := slog.LevelDebug
	switch res.Verdict {
	case claim.Accepted, claim.NotBegun:
	case claim.Deferred, claim.Refused:
		level = slog.LevelInfo
	case claim.Doubtful:
		level = slog.LevelWarn
	}
	m.cfg.Log.Log(ctx, level, "mail transaction", "message_id", l.MessageID, "key", l.Key,
		"verdict", string(res.Verdict), "account", res.Account, "step", res.Step, "code", res.Code)
}
