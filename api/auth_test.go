package api_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/sheetclaim/sheetclaim/api"
)

// AP05: nothing but what is meant to be open answers without a token.
func TestAP05ClosedWithoutToken(t *testing.T) {
	s := newServer(t, &book{}, withToken)
	paths := map[string]string{"/v1/runs": "GET", "/v1/runs/reviews/1": "GET", "/v1/jobs": "GET", "/v1/nothing": "GET", "/nothing": "GET"}
	for path, method := range paths {
		for _, header := range []string{"X: y", "Authorization: Basic " + secret, "Authorization: " + secret} {
			a := do(t, s, method, path, "", header)
			a.want(t, 401, "unauthorized")
			if got := a.Header.Get("WWW-Authenticate"); got != `Bearer realm="sheetclaim"` {
				t.Errorf("%s: WWW-Authenticate %q", path, got)
			}
		}
		for _, token := range []string{"", "wrong", secret + "x", secret[1:]} {
			a := do(t, s, method, path, "", "Authorization: Bearer "+token)
			a.want(t, 401, "unauthorized")
			if contains(a.Body, secret) {
				t.Errorf("%s: the answer holds the token: %s", path, a.Body)
			}
		}
	}
	do(t, s, "POST", "/v1/runs", "{").want(t, 401, "unauthorized")
	do(t, s, "POST", "/healthz", "").want(t, 401, "unauthorized")
	do(t, s, "POST", "/metrics", "").want(t, 401, "unauthorized")
	for _, open := range []string{"/healthz", "/readyz", "/openapi.yaml"} {
		do(t, s, "GET", open, "", "Host: anything.example").want(t, 200, "")
	}
	for _, header := range []string{"Bearer " + secret, "bearer " + secret, "BEARER  " + secret} {
		do(t, s, "GET", "/v1/jobs", "", "Authorization: "+header).want(t, 200, "")
	}
}

// AP05: without a token the service is not there for other machines.
func TestAP05ListensOnLoopbackOnly(t *testing.T) {
	for _, listen := range []string{"0.0.0.0:8080", ":8080", "[::]:8080", "192.168.1.5:8080", "sheetclaim:8080", "", "localhost", "localhost.example.com:80"} {
		cfg := api.Config{Listen: listen, Start: &book{}, Runs: &book{}, Preview: &book{}}
		if _, err := api.New(cfg); err == nil {
			t.Errorf("%q without tokens was accepted", listen)
		}
		if withToken(&cfg); listen != "" {
			if _, err := api.New(cfg); err != nil {
				t.Errorf("%q with a token: %v", listen, err)
			}
		}
	}
	for _, listen := range []string{"127.0.0.1:8080", "127.1.2.3:0", "[::1]:8080", "localhost:8080", "[::ffff:127.0.0.1]:80"} {
		if _, err := api.New(api.Config{Listen: listen, Start: &book{}, Runs: &book{}, Preview: &book{}}); err != nil {
			t.Errorf("%q: %v", listen, err)
		}
	}
}

func TestConfigsThatAreRefused(t *testing.T) {
	a, b := api.Token{Name: "a", Token: "1"}, api.Token{Name: "b", Token: "2"}
	for name, tokens := range map[string][]api.Token{
		"no name":    {{Token: "1"}},
		"no value":   {{Name: "a"}},
		"same name":  {a, {Name: "a", Token: "2"}},
		"same value": {a, b, {Name: "c", Token: "1"}},
		"no job":     {{Name: "a", Token: "1", Jobs: []string{"gone"}}},
	} {
		if _, err := api.New(api.Config{Listen: "127.0.0.1:1", Start: &book{}, Runs: &book{}, Preview: &book{}, Tokens: tokens}); err == nil {
			t.Errorf("%s: accepted", name)
		} else if contains(err.Error(), "1") || contains(err.Error(), "2") {
			t.Errorf("%s: the error holds a token: %v", name, err)
		}
	}
	if _, err := api.New(api.Config{Listen: "127.0.0.1:1"}); err == nil {
		t.Error("a config without Start and Runs was accepted")
	}
}

func TestLocalServiceAndBrowsers(t *testing.T) {
	s := newServer(t, &book{})
	tests := []struct {
		headers []string
		status  int
		code    string
	}{
		{nil, 200, ""},
		{[]string{"Host: localhost:8080"}, 200, ""},
		{[]string{"Host: LOCALHOST"}, 200, ""},
		{[]string{"Host: [::1]:8080"}, 200, ""},
		{[]string{"Host: [::1]"}, 200, ""},
		{[]string{"Host: 127.0.0.1"}, 200, ""},
		{[]string{"Host: evil.example:8080"}, 403, "host_refused"},
		{[]string{"Host: 127.0.0.1.evil.example"}, 403, "host_refused"},
		{[]string{"Host: 192.168.1.5:8080"}, 403, "host_refused"},
		{[]string{"Host: "}, 403, "host_refused"},
		{[]string{"Origin: http://127.0.0.1:8080"}, 200, ""},
		{[]string{"Origin: http://127.0.0.1:3000"}, 403, "origin_refused"},
		{[]string{"Origin: https://evil.example"}, 403, "origin_refused"},
		{[]string{"Origin: null"}, 403, "origin_refused"},
		{[]string{"Origin: http://%zz"}, 403, "origin_refused"},
	}
	for _, tt := range tests {
		for _, path := range []string{"/v1/jobs", "/healthz"} {
			if a := do(t, s, "GET", path, "", tt.headers...); a.Status != tt.status || a.Code != tt.code {
				t.Errorf("%s %q answered %d %s", path, tt.headers, a.Status, a.Body)
			}
		}
	}
	withTokens := newServer(t, &book{}, withToken)
	do(t, withTokens, "GET", "/v1/jobs", "", "Host: sheetclaim", "Origin: https://n8n.example", "Authorization: Bearer "+secret).want(t, 200, "")
}

func TestTokenBoundToJobs(t *testing.T) {
	b := &book{}
	s := newServer(t, b, withJobs("reviews", "invoices", "reminders"), func(c *api.Config) {
		c.Tokens = []api.Token{
			{Name: "all", Token: "all"},
			{Name: "one", Token: "one", Jobs: []string{"invoices"}},
			{Name: "two", Token: "two", Jobs: []string{"reviews", "invoices"}},
		}
	})
	as := func(who, method, path, body string) answer {
		t.Helper()
		return do(t, s, method, path, body, "Authorization: Bearer "+who)
	}
	for _, name := range []string{"reviews", "invoices", "reminders"} {
		as("all", "POST", "/v1/runs", `{"run_id": "1", "job": "`+name+`"}`).want(t, 200, "")
	}

	as("one", "POST", "/v1/runs", `{"run_id": "2"}`).want(t, 200, "") // its only job
	if b.last().Job != "invoices" {
		t.Errorf("started %+v", b.last())
	}
	as("two", "POST", "/v1/runs", `{}`).want(t, 400, "job_required")
	as("all", "POST", "/v1/runs", `{"job": "gone"}`).want(t, 404, "job_unknown")
	for _, name := range []string{"reviews", "gone"} { // alike, so that nothing is learned
		a := as("one", "POST", "/v1/runs", `{"job": "`+name+`"}`)
		a.want(t, 403, "job_not_allowed")
		if !slices.Equal(a.Allowed, []string{"invoices"}) {
			t.Errorf("allowed %q", a.Allowed)
		}
		as("one", "GET", "/v1/runs/"+name+"/1", "").want(t, 404, "run_unknown")
		as("one", "GET", "/v1/runs?job="+name, "").want(t, 404, "job_unknown")
	}
	as("one", "GET", "/v1/runs/invoices/1", "").want(t, 200, "")
	as("one", "GET", "/v1/runs/invoices/9", "").want(t, 404, "run_unknown")

	as("all", "POST", "/v1/runs", `{"run_id": "3", "job": "reviews"}`).want(t, 200, "")
	for who, want := range map[string][]string{
		"all": {"reviews/3", "invoices/2", "reminders/1", "invoices/1", "reviews/1"},
		"one": {"invoices/2", "invoices/1"},
		"two": {"reviews/3", "invoices/2", "invoices/1", "reviews/1"},
	} {
		if got := names(t, as(who, "GET", "/v1/runs", "")); !slices.Equal(got, want) {
			t.Errorf("%s sees %q, want %q", who, got, want)
		}
	}
	if a := as("one", "GET", "/v1/jobs", ""); contains(a.Body, "reviews") || contains(a.Body, "reminders") {
		t.Errorf("the token sees the jobs %s", a.Body)
	}
}

func TestLogHoldsNoSecrets(t *testing.T) {
	var log bytes.Buffer
	s := newServer(t, &book{}, withToken, func(c *api.Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	do(t, s, "POST", "/v1/runs", `{"run_id": "4711"}`, "Authorization: Bearer "+secret).want(t, 200, "")
	do(t, s, "GET", "/v1/"+secret+"?token="+secret, "", "Authorization: Bearer wrong-"+secret).want(t, 401, "unauthorized")
	do(t, s, "GET", "/healthz", "").want(t, 200, "")
	for _, want := range []string{"method=POST route=/v1/runs status=200", "token=n8n job=reviews run=4711"} {
		if !contains(log.String(), want) {
			t.Errorf("the log lacks %q:\n%s", want, &log)
		}
	}
	for _, never := range []string{secret, "ada@example.com", "healthz"} {
		if contains(log.String(), never) {
			t.Errorf("the log holds %q:\n%s", never, &log)
		}
	}
}

// Whoever watches the log for errors is not called because callers hang up.
func TestCallerThatHungUpIsNoError(t *testing.T) {
	var log bytes.Buffer
	s, _ := keyServer(t, func(c *api.Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	gone, hangUp := context.WithCancel(t.Context())
	hangUp()
	send(t, s, request("POST", "/v1/keys/claim", `{"key": "k"}`).WithContext(gone)).want(t, 503, "ledger_unavailable")
	if !contains(log.String(), "level=INFO") || contains(log.String(), "level=ERROR") {
		t.Errorf("the log reads\n%s", &log)
	}
}

func TestPanicShowsNothing(t *testing.T) {
	var log bytes.Buffer
	s := newServer(t, &book{}, func(c *api.Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	s.Panic("/boom")
	a := do(t, s, "GET", "/boom", "")
	a.want(t, http.StatusInternalServerError, "internal")
	if contains(a.Body, "secret of the inside") || !contains(log.String(), "secret of the inside") || !contains(log.String(), "stack=") {
		t.Errorf("answered %s and logged\n%s", a.Body, &log)
	}
}

// A read-only token looks and previews, and that is all, whatever the route.
func TestTokenReadOnly(t *testing.T) {
	b, g := &book{}, &glass{view: fullView()}
	s := newServer(t, b, g.in, func(c *api.Config) {
		c.Tokens = []api.Token{{Name: "eyes", Token: secret, ReadOnly: true}, {Name: "hands", Token: secret + "2"}}
	})
	as := func(method, path, body string) answer {
		t.Helper()
		return do(t, s, method, path, body, "Authorization: Bearer "+secret)
	}
	for _, path := range []string{"/v1/runs", "/v1/jobs", "/v1/messages?state=unknown"} {
		as("GET", path, "").want(t, 200, "")
	}
	as("POST", "/v1/jobs/reviews/preview", `{"row": "B-1"}`).want(t, 200, "")
	asked := len(g.asked)
	as("POST", "/v1/jobs/reviews/preview", `{"row": "B-1", "to": "me@x.test"}`).want(t, 403, "token_read_only")
	for _, r := range s.Routes() {
		if r.Method != "POST" || !strings.HasPrefix(r.Path, "/v1/") || strings.HasSuffix(r.Path, "/preview") {
			continue
		}
		as("POST", r.Path, `{}`).want(t, 403, "token_read_only")
	}
	if b.count() != 0 || len(g.asked) != asked {
		t.Errorf("%d runs, asked for %+v", b.count(), g.asked[asked:])
	}

	v := visit(t, s)
	v.login(secret)
	if page := v.want(200, "/preview/reviews", "eyes, read-only"); strings.Contains(page, "Run now") || strings.Contains(page, "/test") {
		t.Errorf("the preview offers what the token may not:\n%s", page)
	}
	form := url.Values{"form": {v.form(v.want(200, "/"))}, "run_id": {"r"}, "row": {"B-1"}, "to": {"me@x.test"}, "job": {"reviews"}, "key": {"k"}, "why": {"x"}}
	for _, path := range []string{"/doubts/settle", "/preview/reviews/test", "/preview/reviews/run", "/keys/settle"} {
		if status, page := v.post(path, form); status != 403 || !strings.Contains(page, "This token only looks") {
			t.Errorf("POST %s: %d", path, status)
		}
		if path != "/preview/reviews/test" {
			v.want(403, path, "This token only looks")
		}
	}
	if b.count() != 0 {
		t.Errorf("%d runs were started from the page", b.count())
	}
	if status, to := v.post("/logout", form); status != 303 || to != "/login" {
		t.Errorf("logout: %d %s", status, to)
	}
}
