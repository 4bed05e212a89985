package api

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/sheetclaim/sheetclaim/internal/key"
)

// withKeys lets a caller at the key ledger. A token that is bound to jobs has no
// business there: keys belong to no job.
func (s *Server) withKeys(c echo.Context) (key.Book, error) {
	switch {
	case callOf(c).caller.bound:
		return nil, refuse(codeKeysNotAllowed, "the token is bound to jobs, and keys belong to none: use a token that is not bound")
	case s.cfg.Keys == nil:
		return nil, refuse(codeNotReady, "the service has no key ledger").after(time.Minute)
	}
	return s.cfg.Keys, nil
}

// keyAct reads the body of a request on a key, after the caller was let in.
func (s *Server) keyAct(c echo.Context, allowed ...string) (key.Book, *keyRequest, error) {
	keys, err := s.withKeys(c)
	if err != nil {
		return nil, nil, err
	}
	body, err := readBody(c)
	if err != nil {
		return nil, nil, err
	}
	req := &keyRequest{allowed: allowed}
	return keys, req, parseObject(body, req.set)
}

// postClaim claims a key.
func (s *Server) postClaim(c echo.Context) error {
	keys, req, err := s.keyAct(c, "key", "lease", "takeover", "owner", "note", "request_id")
	if err != nil {
		return err
	}
	want, err := key.Claim{
		Key: req.Key, Lease: req.Lease, Takeover: key.Takeover(req.Takeover),
		Owner: cmp.Or(req.Owner, callOf(c).caller.name, "api"), Note: req.Note, RequestID: req.RequestID,
	}.Checked()
	if err != nil {
		return keyProblem(err)
	}
	if want.RequestID != "" { // callers with other tokens may count their requests alike; quoted, no name runs into an id
		want.RequestID = strconv.Quote(callOf(c).caller.name) + want.RequestID
	}
	a, err := keys.Claim(c.Request().Context(), want)
	if err != nil {
		return keyProblem(err)
	}
	if a.Repeated {
		c.Response().Header().Set("Idempotent-Replayed", "true")
	}
	return write(c, http.StatusOK, echo.MIMEApplicationJSON, ViewClaim(a))
}

// postDone ends a claim as done.
func (s *Server) postDone(c echo.Context) error {
	return s.endKey(c, key.Done, "key", "token", "result", "why")
}

// postRelease ends a claim as released, or as unknown.
func (s *Server) postRelease(c echo.Context) error {
	return s.endKey(c, key.Released, "key", "token", "unknown", "why")
}

func (s *Server) endKey(c echo.Context, state key.State, allowed ...string) error {
	keys, req, err := s.keyAct(c, allowed...)
	if err != nil {
		return err
	}
	if req.Unknown {
		state = key.Unknown
	}
	end, err := key.End{
		Key: req.Key, Token: req.Token, State: state, Result: req.Result, Who: cmp.Or(callOf(c).caller.name, "api"), Why: req.Why,
	}.Checked()
	if err == nil {
		err = keys.End(c.Request().Context(), end)
	}
	if err != nil {
		return keyProblem(err)
	}
	return write(c, http.StatusOK, echo.MIMEApplicationJSON, EndedKey{Key: end.Key, State: end.State})
}

// postRenew makes a lease begin anew.
func (s *Server) postRenew(c echo.Context) error {
	keys, req, err := s.keyAct(c, "key", "token", "lease")
	if err != nil {
		return err
	}
	want, err := key.Renewal{Key: req.Key, Token: req.Token, Lease: req.Lease}.Checked()
	if err != nil {
		return keyProblem(err)
	}
	until, err := keys.Renew(c.Request().Context(), want)
	if err != nil {
		return keyProblem(err)
	}
	return write(c, http.StatusOK, echo.MIMEApplicationJSON, EndedKey{Key: want.Key, State: key.Claimed, LeaseUntil: until.UTC()})
}

// postPrune forgets keys that ended long ago.
func (s *Server) postPrune(c echo.Context) error {
	keys, req, err := s.keyAct(c, "days", "force", "dry_run")
	if err != nil {
		return err
	}
	if req.Days == nil {
		return refuse(codeFieldRequired, "expected days, found none: say how many days ago a key must have ended").at("days")
	}
	p := key.Prune{Days: *req.Days, Force: req.Force, Count: req.DryRun}
	if err := p.Check(); err != nil {
		return keyProblem(err)
	}
	n, err := keys.Prune(c.Request().Context(), p)
	if err != nil {
		return keyProblem(err)
	}
	doc := PrunedKeys{Days: p.Days, Old: n, Removed: n}
	if p.Count {
		doc.Removed = 0
	}
	s.cfg.Log.Info("pruned keys", "days", doc.Days, "removed", doc.Removed, "by", cmp.Or(callOf(c).caller.name, "api"))
	return write(c, http.StatusOK, echo.MIMEApplicationJSON, doc)
}

// getKeys shows one key, or lists many in their order.
func (s *Server) getKeys(c echo.Context) error {
	keys, err := s.withKeys(c)
	if err != nil {
		return err
	}
	query := c.Request().URL.Query()
	if query.Has("key") {
		name, err := key.Clean(query.Get("key"))
		if err != nil {
			return refuse(codeQueryInvalid, "%s", err).at("key")
		}
		e, events, err := keys.Find(c.Request().Context(), name)
		if err != nil {
			return keyProblem(err)
		}
		return write(c, http.StatusOK, echo.MIMEApplicationJSON, ViewKey(e, events))
	}
	f := key.Filter{State: key.State(query.Get("state")), Prefix: query.Get("prefix"), After: query.Get("after"), Limit: listUsual}
	if query.Has("limit") {
		f.Limit, err = strconv.Atoi(query.Get("limit"))
		if err != nil || f.Limit < 1 || f.Limit > listMost {
			return refuse(codeQueryInvalid, "expected limit=N with N from 1 to %d, found %s: correct it, or leave it out", listMost, brief(query.Get("limit"))).at("limit")
		}
	}
	if query.Has("state") && !slices.Contains(key.States(), f.State) {
		return refuse(codeQueryInvalid, "expected a state of keys, found %s: correct it, or leave it out", brief(string(f.State))).at("state").allow(asTexts(key.States()))
	}
	es, err := keys.List(c.Request().Context(), f)
	if err != nil {
		return keyProblem(err)
	}
	return write(c, http.StatusOK, echo.MIMEApplicationJSON, ListKeys(es, f.Limit))
}

func asTexts[T ~string](all []T) []string {
	texts := make([]string, len(all))
	for i, v := range all {
		texts[i] = string(v)
	}
	return texts
}

// keyProblem says why a key ledger refused.
func keyProblem(err error) error {
	var bad *key.FaultError
	var greedy *key.GreedyError
	switch {
	case errors.As(err, &bad):
		return refuse(codeFieldInvalid, "%s", bad.Text).at(bad.Field)
	case errors.As(err, &greedy):
		return refuse(codePruneRefused, "%s with \"force\": true", greedy)
	case errors.Is(err, key.ErrNoKey):
		return refuse(codeKeyUnknown, "%s", key.ErrNoKey)
	case errors.Is(err, key.ErrStale):
		return refuse(codeTokenStale, "%s", key.ErrStale)
	case errors.Is(err, key.ErrEnded):
		return refuse(codeKeyEnded, "%s: GET /v1/keys?key=… says how", key.ErrEnded)
	case errors.Is(err, key.ErrNotUnknown):
		return refuse(codeKeyNotUnknown, "%s", key.ErrNotUnknown)
	}
	return refuse(codeLedger, "the ledger did not answer: try again in a moment, the log says more").because(err).after(5 * time.Second)
}
