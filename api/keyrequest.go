package api

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
)

// keyRequest is the body of every request on keys; which members one may have is in
// allowed.
type keyRequest struct {
	allowed []string

	Key, Token, Takeover, Owner, Note, Why, RequestID string
	Lease                                             time.Duration
	Result                                            json.RawMessage
	Unknown, Force, DryRun                            bool
	Days                                              *int
}

// set takes one member of the body.
func (r *keyRequest) set(name string, value json.RawMessage) error {
	if !slices.Contains(r.allowed, name) {
		return refuse(codeFieldUnknown, "the request has no %s: it may have %s", brief(name), strings.Join(r.allowed, ", ")).at(name)
	}
	switch name {
	case "key":
		return r.setKey(value)
	case "lease":
		return r.setLease(value)
	case "result":
		r.Result = value
		return nil
	case "unknown":
		return take(name, value, "true or false", &r.Unknown)
	case "force":
		return take(name, value, "true or false", &r.Force)
	case "dry_run":
		return take(name, value, "true or false", &r.DryRun)
	case "days":
		return take(name, value, "a whole number of days", &r.Days)
	}
	texts := map[string]*string{"token": &r.Token, "takeover": &r.Takeover, "owner": &r.Owner, "note": &r.Note, "why": &r.Why, "request_id": &r.RequestID}
	return take(name, value, "a text", texts[name])
}

// setKey also takes a whole number, by its digits: many ids are numbers.
func (r *keyRequest) setKey(value json.RawMessage) error {
	if digits := string(value); strings.Trim(digits, "0123456789") == "" {
		r.Key = digits
		return nil
	}
	return take("key", value, "a text", &r.Key)
}

// setLease takes a duration as Go writes it, whole days as in 2d, or a whole number of
// seconds.
func (r *keyRequest) setLease(value json.RawMessage) error {
	const most = 366 * 24 * 3600 // seconds; more is refused in any form
	var text string
	n, err := strconv.Atoi(string(value))
	switch {
	case err == nil && n > 0 && n <= most:
		r.Lease = time.Duration(n) * time.Second
		return nil
	case err != nil && json.Unmarshal(value, &text) == nil:
		if number, ok := strings.CutSuffix(text, "d"); ok {
			if n, err = strconv.Atoi(number); err == nil && n > 0 && n <= most/(24*3600) {
				r.Lease = time.Duration(n) * 24 * time.Hour
				return nil
			}
		} else if r.Lease, err = time.ParseDuration(text); err == nil && r.Lease > 0 {
			return nil
		}
	}
	return refuse(codeFieldInvalid, "expected a duration such as \"15m\", or whole seconds, as lease, found %s: correct it, or leave it out", cut(string(value))).at("lease")
}
