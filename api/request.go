package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// runRequest is the body of POST /v1/runs; nil where a member was left out.
type runRequest struct {
	Job         *string
	RunID       *string
	Range       *string
	Spreadsheet *string
	Limit       *int
	DryRun      bool
	Confirm     bool
	CallbackURL *string
}

// requestFields are the members that a request may have.
const requestFields = "job, run_id, range, spreadsheet, limit, dry_run, confirm, callback_url"

func parseRunRequest(body []byte) (*runRequest, error) {
	req := &runRequest{}
	if err := parseObject(body, req.set); err != nil {
		return nil, err
	}
	return req, nil
}

// parseObject reads a body strictly and hands its members to set. encoding/json alone
// would let members repeat, ignore the case of their names, and take null for "left
// out": each of them can hide that a request is not the one that its author meant.
func parseObject(body []byte, set func(name string, value json.RawMessage) error) error {
	if len(body) == 0 {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	brace, err := dec.Token()
	if err != nil {
		return syntaxProblem(err)
	}
	if brace != json.Delim('{') {
		return refuse(codeBodyInvalid, "expected a JSON object, found %s: send {\"job\": …}", kindOf(body))
	}
	seen := map[string]bool{}
	for dec.More() {
		name, value, err := member(dec)
		if err != nil {
			return syntaxProblem(err)
		}
		if seen[name] {
			return refuse(codeFieldInvalid, "the body has %s twice: send it once", brief(name)).at(name)
		}
		seen[name] = true
		if err := set(name, value); err != nil {
			return err
		}
	}
	if _, err := dec.Token(); err != nil { // the closing brace
		return syntaxProblem(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return refuse(codeBodyInvalid, "there is something behind the JSON object: send one object and nothing else")
	}
	return nil
}

// member reads one name and its value.
func member(dec *json.Decoder) (name string, value json.RawMessage, err error) {
	token, err := dec.Token()
	if err != nil {
		return "", nil, err
	}
	name, _ = token.(string) // a name is always a string, or Token had failed
	return name, value, dec.Decode(&value)
}

func syntaxProblem(err error) *problem {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return refuse(codeBodyInvalid, "the JSON ends too early: send the whole object")
	}
	return refuse(codeBodyInvalid, "the body is not JSON (%v): n8n users look for an expression that left a value empty", err)
}

// set takes one member of the body.
func (r *runRequest) set(name string, value json.RawMessage) error {
	switch name {
	case "job":
		return take(name, value, "a text", &r.Job)
	case "run_id":
		return takeName(name, value, &r.RunID)
	case "range":
		return take(name, value, "a text", &r.Range)
	case "spreadsheet":
		return take(name, value, "a text", &r.Spreadsheet)
	case "limit":
		return take(name, value, "a whole number", &r.Limit)
	case "dry_run":
		return take(name, value, "true or false", &r.DryRun)
	case "confirm":
		return take(name, value, "true or false", &r.Confirm)
	case "callback_url":
		return take(name, value, "a text", &r.CallbackURL)
	}
	return refuse(codeFieldUnknown, "a request for a run has no %s: it may have %s", brief(name), requestFields).at(name)
}

// takeName also takes a whole number, by its digits: an n8n expression for an
// execution's id can come out as one, and the key of a number cell does.
func takeName(name string, value json.RawMessage, into **string) error {
	if digits := string(value); strings.Trim(digits, "0123456789") == "" {
		*into = &digits
		return nil
	}
	return take(name, value, "a text", into)
}

// take decodes a value that has to be of the type of into.
func take[T any](name string, value json.RawMessage, expected string, into *T) error {
	if kind := kindOf(value); kind == "null" || json.Unmarshal(value, into) != nil {
		return refuse(codeFieldInvalid, "expected %s as %s, found %s: correct it, or leave it out", expected, name, kind).at(name)
	}
	return nil
}

// kindOf says in words what a JSON value is.
func kindOf(value []byte) string {
	value = bytes.TrimLeft(value, " \t\r\n")
	if len(value) == 0 {
		return "nothing"
	}
	switch value[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a text"
	case 't', 'f':
		return "true or false"
	case 'n':
		return "null"
	}
	return fmt.Sprintf("the number %s", cut(string(value)))
}

// brief quotes what a caller sent, and shortens it, for a sentence.
func brief(s string) string { return fmt.Sprintf("%q", cut(s)) }

func cut(s string) string {
	const most = 80
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
