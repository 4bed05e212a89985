package api_test

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"

	"github.com/sheetclaim/sheetclaim/api/dashboard"
)

// describe loads openapi.yaml once. Its objects are closed for the tests, so that a
// member that the server adds has to be described; for callers they stay open.
var describe = sync.OnceValues(func() (*openapi3.T, error) {
	doc, err := openapi3.NewLoader().LoadFromFile("openapi.yaml")
	if err != nil {
		return nil, err
	}
	doc.Servers = nil // the router would compare whole addresses
	no := false
	for _, s := range doc.Components.Schemas {
		closeObjects(s.Value, openapi3.AdditionalProperties{Has: &no})
	}
	return doc, doc.Validate(context.Background())
})

func closeObjects(s *openapi3.Schema, closed openapi3.AdditionalProperties) {
	if len(s.Properties) > 0 {
		s.AdditionalProperties = closed
	}
	for _, p := range s.Properties {
		closeObjects(p.Value, closed)
	}
}

var router = sync.OnceValues(func() (routers.Router, error) {
	doc, err := describe()
	if err != nil {
		return nil, err
	}
	return legacy.NewRouter(doc)
})

// hold checks a request and its answer against openapi.yaml. A request that is not
// described may only be answered by a problem.
func hold(t *testing.T, r *http.Request, body string, a answer) {
	t.Helper()
	paths, err := router()
	if err != nil {
		t.Fatalf("openapi.yaml: %v", err)
	}
	route, params, err := paths.FindRoute(r)
	if err != nil {
		if a.Code == "" {
			t.Errorf("%s %s is not described and answered %d", r.Method, r.URL.Path, a.Status)
		}
		return
	}
	again := r.Clone(context.Background())
	again.Body = io.NopCloser(strings.NewReader(body))
	in := &openapi3filter.RequestValidationInput{
		Request: again, PathParams: params, Route: route,
		Options: &openapi3filter.Options{
			AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, IncludeResponseStatus: true, SkipSettingDefaults: true,
		},
	}
	if err := openapi3filter.ValidateRequest(context.Background(), in); err != nil && a.Code == "" {
		t.Errorf("a request that is not as described was answered %d: %v", a.Status, err)
	}
	out := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: in, Status: a.Status, Header: a.Header,
		Body: io.NopCloser(strings.NewReader(a.Body)), Options: in.Options,
	}
	if err := openapi3filter.ValidateResponse(context.Background(), out); err != nil {
		t.Errorf("the answer to %s %s is not as described: %v\n%s", r.Method, r.URL.Path, err, a.Body)
	}
}

func TestDescriptionIsValid(t *testing.T) {
	if _, err := describe(); err != nil {
		t.Fatal(err)
	}
}

func TestDescriptionAndRoutesAgree(t *testing.T) {
	doc, err := describe()
	if err != nil {
		t.Fatal(err)
	}
	var described, registered []string
	for path, item := range doc.Paths.Map() {
		for method := range item.Operations() {
			described = append(described, method+" "+path)
		}
	}
	colons := strings.NewReplacer("/:job", "/{job}", "/:run_id", "/{run_id}")
	for _, r := range newServer(t, &book{}).Routes() {
		if slices.Contains(dashboard.Paths(), r.Path) {
			continue // HTML for people, and no part of the API
		}
		registered = append(registered, r.Method+" "+colons.Replace(r.Path))
	}
	slices.Sort(described)
	slices.Sort(registered)
	if !slices.Equal(described, registered) {
		t.Errorf("openapi.yaml describes\n%s\nand the server has\n%s", strings.Join(described, "\n"), strings.Join(registered, "\n"))
	}
}

func TestDescriptionIsServed(t *testing.T) {
	a := do(t, newServer(t, &book{}, withToken), "GET", "/openapi.yaml", "")
	if a.Status != http.StatusOK || !strings.HasPrefix(a.Body, "openapi: 3.0.3") {
		t.Errorf("answered %d %.40q", a.Status, a.Body)
	}
}

// Whatever needs a token can refuse it, and can refuse to look at it.
func TestDescriptionNamesRefusedLogins(t *testing.T) {
	doc, err := describe()
	if err != nil {
		t.Fatal(err)
	}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			if open := op.Security != nil && len(*op.Security) == 0; open == (op.Responses.Value("401") != nil) || open == (op.Responses.Value("429") != nil) {
				t.Errorf("%s %s: an operation that needs a token answers 401 and 429 (TooManyWrong), and one with security: [] does not", method, path)
			}
		}
	}
}
