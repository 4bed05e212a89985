package api_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

func contains(s, part string) bool { return strings.Contains(s, part) }

func TestRequestsThatAreRefused(t *testing.T) {
	tests := []struct {
		body, code, field string
		says              string // a part of the detail
		headers           []string
	}{
		{body: `{"job": "reviews"`, code: "body_invalid", says: "too early"},
		{body: `{"job": }`, code: "body_invalid", says: "expression"},
		{body: `[]`, code: "body_invalid", says: "found a list"},
		{body: `["job", "reviews"`, code: "body_invalid"},
		{body: `"reviews"`, code: "body_invalid", says: "found a text"},
		{body: `null`, code: "body_invalid", says: "found null"},
		{body: `job=reviews`, code: "body_invalid"},
		{body: `{} {}`, code: "body_invalid", says: "behind"},
		{body: "{\"job\": \"\xff\"}", code: "body_invalid", says: "UTF-8"},
		{body: `{"jobs": "reviews"}`, code: "field_unknown", field: "jobs", says: `"jobs"`},
		{body: `{"Job": "reviews"}`, code: "field_unknown", field: "Job"},
		{body: `{"job": "reviews", "job": "reviews"}`, code: "field_invalid", field: "job", says: "twice"},
		{body: `{"job": 5}`, code: "field_invalid", field: "job", says: "found the number 5"},
		{body: `{"job": null}`, code: "field_invalid", field: "job", says: "found null"},
		{body: `{"range": {}}`, code: "field_invalid", field: "range", says: "found an object"},
		{body: `{"spreadsheet": true}`, code: "field_invalid", field: "spreadsheet"},
		{body: `{"limit": "5"}`, code: "field_invalid", field: "limit", says: "whole number"},
		{body: `{"limit": 1.5}`, code: "field_invalid", field: "limit"},
		{body: `{"limit": 1e99}`, code: "field_invalid", field: "limit"},
		{body: `{"dry_run": "true"}`, code: "field_invalid", field: "dry_run"},
		{body: `{"confirm": 1}`, code: "field_invalid", field: "confirm"},
		{body: `{"run_id": null}`, code: "field_invalid", field: "run_id"},
		{body: `{"run_id": 4.5}`, code: "field_invalid", field: "run_id"},
		{body: `{"run_id": -4}`, code: "field_invalid", field: "run_id"},
		{body: `{"run_id": ""}`, code: "run_id_invalid", field: "run_id"},
		{body: `{"run_id": "a b"}`, code: "run_id_invalid", field: "run_id"},
		{body: `{"run_id": "a/b"}`, code: "run_id_invalid", field: "run_id"},
		{body: `{"run_id": "ä"}`, code: "run_id_invalid", field: "run_id"},
		{body: `{"run_id": ".."}`, code: "run_id_invalid", field: "run_id"},
		{body: `{"run_id": "` + strings.Repeat("x", 101) + `"}`, code: "run_id_invalid", field: "run_id"},
		{body: `{"run_id": "a"}`, headers: []string{"Idempotency-Key: b"}, code: "run_id_conflict", field: "run_id"},
		{headers: []string{"Idempotency-Key: "}, code: "idempotency_key_invalid", field: "Idempotency-Key"},
		{headers: []string{`Idempotency-Key: ""`}, code: "idempotency_key_invalid", field: "Idempotency-Key"},
		{headers: []string{"Idempotency-Key: a\tb"}, code: "idempotency_key_invalid", field: "Idempotency-Key"},
		{headers: []string{"Idempotency-Key: \xff"}, code: "idempotency_key_invalid", field: "Idempotency-Key"},
		{headers: []string{"Idempotency-Key: " + strings.Repeat("k", 256)}, code: "idempotency_key_invalid", field: "Idempotency-Key"},
		{headers: []string{"Idempotency-Key: a", "Idempotency-Key: b"}, code: "idempotency_key_invalid", field: "Idempotency-Key"},
	}
	b := &book{}
	s := newServer(t, b)
	for _, tt := range tests {
		a := do(t, s, "POST", "/v1/runs", tt.body, tt.headers...)
		if a.Status != 400 || a.Code != tt.code || a.Field != tt.field || !contains(a.Detail, tt.says) {
			t.Errorf("%s %q answered %d %s", tt.body, tt.headers, a.Status, a.Body)
		}
	}
	if b.count() != 0 {
		t.Errorf("%d runs were started", b.count())
	}
}

func TestRequestsThatTheJobDoesNotAllow(t *testing.T) {
	tests := []struct {
		body, code, field string
		status            int
		allowed           []string
	}{
		{`{"range": "Other!A1:H"}`, "range_not_allowed", "range", 422, []string{"Visits!A1:H", "Archive!A1:H"}},
		{`{"range": ""}`, "range_not_allowed", "range", 422, []string{"Visits!A1:H", "Archive!A1:H"}},
		{`{"spreadsheet": "S3"}`, "spreadsheet_not_allowed", "spreadsheet", 422, []string{"S1", "S2"}},
		{`{"limit": 0}`, "limit_not_allowed", "limit", 422, nil},
		{`{"limit": -5}`, "limit_not_allowed", "limit", 422, nil},
		{`{"limit": 51}`, "limit_not_allowed", "limit", 422, nil},
		{`{"callback_url": "https://n8n.internal/x"}`, "callback_not_allowed", "callback_url", 422, nil},
		{`{"job": "other"}`, "job_unknown", "job", 404, []string{"reviews"}},
		{`{"job": ""}`, "job_unknown", "job", 404, []string{"reviews"}},
	}
	s := newServer(t, &book{})
	for _, tt := range tests {
		a := do(t, s, "POST", "/v1/runs", tt.body)
		if a.Status != tt.status || a.Code != tt.code || a.Field != tt.field || !slices.Equal(a.Allowed, tt.allowed) {
			t.Errorf("%s answered %d %s", tt.body, a.Status, a.Body)
		}
	}
}

func TestRequestsAsTheMethodGetsThem(t *testing.T) {
	plain := claim.Request{Job: "reviews", RunID: "made-up"}
	with := func(edit func(*claim.Request)) claim.Request {
		r := plain
		edit(&r)
		return r
	}
	named := func(id string) claim.Request { return with(func(r *claim.Request) { r.RunID = id }) }
	tests := []struct {
		body    string
		headers []string
		want    claim.Request
	}{
		{body: ``, want: plain},
		{body: ``, headers: []string{"Content-Type: text/plain"}, want: plain},
		{body: `{}`, headers: []string{"Content-Type: application/json; charset=utf-8"}, want: plain},
		{body: `{"job": "reviews"}`, want: plain},
		{body: `{"run_id": "a.b_c:d-9"}`, want: named("a.b_c:d-9")},
		{body: `{"run_id": 4711}`, want: named("4711")},
		{body: `{"range": "Visits!A1:H", "spreadsheet": "S1", "limit": 50, "dry_run": false}`, want: plain},
		{body: `{"range": "Archive!A1:H"}`, want: with(func(r *claim.Request) { r.Target = claim.Target{Spreadsheet: "S1", Range: "Archive!A1:H"} })},
		{body: `{"spreadsheet": "S2"}`, want: with(func(r *claim.Request) { r.Target = claim.Target{Spreadsheet: "S2", Range: "Visits!A1:H"} })},
		{body: `{"limit": 7, "dry_run": true, "confirm": true}`, want: with(func(r *claim.Request) { r.Limit, r.DryRun, r.Confirmed = 7, true, true })},
		{headers: []string{"Idempotency-Key: abc"}, want: named("abc")},
		{headers: []string{`Idempotency-Key: "abc"`}, want: named("abc")},
		{body: `{"run_id": "abc"}`, headers: []string{"Idempotency-Key: abc"}, want: named("abc")},
		// sha256("order 7/2026"), the first 16 bytes.
		{headers: []string{"Idempotency-Key: order 7/2026"}, want: named("key-f1c011667e3867026bf50d069d103d39")},
	}
	for _, tt := range tests {
		b := &book{}
		a := do(t, newServer(t, b), "POST", "/v1/runs", tt.body, tt.headers...)
		if a.Status != 200 {
			t.Errorf("%s %q answered %d %s", tt.body, tt.headers, a.Status, a.Body)
			continue
		}
		if diff := cmp.Diff(tt.want, b.last()); diff != "" {
			t.Errorf("%s %q (-want +got):\n%s", tt.body, tt.headers, diff)
		}
	}
}

func TestKeysOfAnyLengthNameRuns(t *testing.T) {
	b := &book{}
	s := newServer(t, b)
	for _, key := range []string{strings.Repeat("k", 101), strings.Repeat("k", 255), strings.Repeat("é", 255), ".."} {
		do(t, s, "POST", "/v1/runs", "", "Idempotency-Key: "+key).want(t, 200, "")
		if id := b.last().RunID; !strings.HasPrefix(id, "key-") || len(id) != 36 {
			t.Errorf("the key %.20q names the run %q", key, id)
		}
		a := do(t, s, "POST", "/v1/runs", "", "Idempotency-Key: "+key)
		if a.Header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("the key %.20q named another run the second time", key)
		}
	}
}

func TestJobThatMustBeNamed(t *testing.T) {
	s := newServer(t, &book{}, withJobs("reviews", "invoices"))
	a := do(t, s, "POST", "/v1/runs", `{}`)
	a.want(t, 400, "job_required")
	if !slices.Equal(a.Allowed, []string{"invoices", "reviews"}) {
		t.Errorf("allowed %q", a.Allowed)
	}
	do(t, s, "POST", "/v1/runs", `{"job": "invoices"}`).want(t, 200, "")
}

func TestBodiesThatAreNotRead(t *testing.T) {
	s := newServer(t, &book{})
	do(t, s, "POST", "/v1/runs", `{"job": "`+strings.Repeat("x", 1<<20)+`"}`).want(t, 413, "body_too_large")
	for _, mediaType := range []string{"text/plain", "application/x-www-form-urlencoded", ";"} {
		do(t, s, "POST", "/v1/runs", `{}`, "Content-Type: "+mediaType).want(t, 415, "media_type_unsupported")
	}
}
