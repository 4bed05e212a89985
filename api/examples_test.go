package api_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3filter"
)

// workflow is a file of examples/n8n, as far as the rules look at it.
type workflow struct {
	Name        string
	Nodes       []node
	Connections map[string]struct{ Main [][]struct{ Node string } }
	PinData     map[string]any
}

type node struct {
	ID, Name, Type string
	TypeVersion    float64
	Parameters     json.RawMessage
	Credentials    map[string]struct {
		ID   *string
		Name string
	}
	ExecuteOnce, RetryOnFail   bool
	MaxTries, WaitBetweenTries int
	OnError                    string
}

// call is what an HTTP Request node does.
type call struct {
	Method, URL, Authentication, GenericAuthType string
	SpecifyBody, JSONBody                        string
	HeaderParameters                             struct {
		Parameters []struct{ Name, Value string }
	}
	Options struct {
		Timeout  int
		Redirect struct {
			Redirect struct{ FollowRedirects *bool }
		}
		Response struct {
			Response struct {
				FullResponse, NeverError bool
				ResponseFormat           string
			}
		}
	}
}

// nodeTypes are the nodes that the examples may use, in the versions with which
// scripts/n8n-e2e has run them. Older than the newest, so that older n8n take them.
var nodeTypes = map[string]float64{
	"scheduleTrigger": 1.2, "webhook": 2, "googleSheetsTrigger": 1, "httpRequest": 4.2, "switch": 3.2, "set": 3.4, "noOp": 1,
	"splitOut": 1, "splitInBatches": 3, "emailSend": 2.1, "respondToWebhook": 1.1, "stickyNote": 1,
}

// credentialNames are the names under which people make their credentials.
var credentialNames = map[string][]string{
	"httpBearerAuth": {"sheetclaim", "sheetclaim keys"}, "httpHeaderAuth": {"sheetclaim webhook"},
	"smtp": {"sheetclaim smtp"}, "googleSheetsTriggerOAuth2Api": {"Google Sheets Trigger account"},
}

// The n8n workflows do what they say they do: see examples/n8n/README.md. That they
// run is shown by scripts/n8n-e2e.
func TestN8NWorkflows(t *testing.T) {
	files, err := filepath.Glob("../examples/n8n/*.json")
	if err != nil || len(files) < 3 {
		t.Fatalf("found %q, %v", files, err)
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var w workflow
			if err := json.Unmarshal(b, &w); err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(w.Name, "sheetclaim: ") || len(w.PinData) > 0 {
				t.Errorf("name %q, pinned data %v", w.Name, w.PinData)
			}
			w.wantWhole(t)
			for _, n := range w.Nodes {
				n.wantKnown(t)
				switch strings.TrimPrefix(n.Type, "n8n-nodes-base.") {
				case "httpRequest":
					n.wantCall(t, w)
				case "emailSend": // after a broken connection the mail may be out
					if n.RetryOnFail || n.OnError != "continueErrorOutput" || len(w.Connections[n.Name].Main) != 2 {
						t.Errorf("%s: no retry, and an error branch", n.Name)
					}
				}
			}
		})
	}
}

// wantWhole fails unless connections join nodes that exist, every node but the first
// is reached, and there is a note.
func (w *workflow) wantWhole(t *testing.T) {
	t.Helper()
	names, reached := map[string]bool{}, map[string]bool{}
	notes := 0
	for _, n := range w.Nodes {
		if names[n.Name] {
			t.Errorf("two nodes are called %q", n.Name)
		}
		names[n.Name] = true
		if strings.HasSuffix(n.Type, ".stickyNote") {
			notes++
		}
	}
	for from, c := range w.Connections {
		if !names[from] {
			t.Errorf("%q is connected and no node", from)
		}
		for _, output := range c.Main {
			for _, to := range output {
				if reached[to.Node] = true; !names[to.Node] {
					t.Errorf("%q leads to %q, which is no node", from, to.Node)
				}
			}
		}
	}
	for i, n := range w.Nodes {
		if !reached[n.Name] && i > 0 && !strings.HasSuffix(n.Type, ".stickyNote") {
			t.Errorf("nothing leads to %q", n.Name)
		}
	}
	if notes < 2 {
		t.Errorf("%d notes", notes)
	}
}

// wantKnown fails unless a node has a known type and version, and names credentials
// without holding any.
func (n *node) wantKnown(t *testing.T) {
	t.Helper()
	kind := strings.TrimPrefix(n.Type, "n8n-nodes-base.")
	if v, ok := nodeTypes[kind]; !ok || v != n.TypeVersion {
		t.Errorf("%s: %s %v is not among the nodes that were run", n.Name, n.Type, n.TypeVersion)
	}
	for kind, c := range n.Credentials {
		if c.ID != nil || !slices.Contains(credentialNames[kind], c.Name) {
			t.Errorf("%s: credential %s %+v", n.Name, kind, c)
		}
	}
	if regexp.MustCompile(`(?i)bearer |authorization|password|secret"`).Match(n.Parameters) && kind != "stickyNote" {
		t.Errorf("%s: %s", n.Name, n.Parameters)
	}
	if regexp.MustCompile(`\$now|\$today|Date\b|random`).Match(n.Parameters) {
		t.Errorf("%s: an expression that changes from try to try: %s", n.Name, n.Parameters)
	}
}

// wantCall fails unless a request goes where openapi.yaml says, with a body as
// described, and is sent again only where that does no harm.
func (n *node) wantCall(t *testing.T, w workflow) {
	t.Helper()
	var c call
	if err := json.Unmarshal(n.Parameters, &c); err != nil {
		t.Fatal(err)
	}
	if c.Authentication != "genericCredentialType" || c.GenericAuthType != "httpBearerAuth" || n.Credentials["httpBearerAuth"].Name == "" {
		t.Errorf("%s: no bearer token", n.Name)
	}
	if out := w.Connections[n.Name].Main; n.OnError != "continueErrorOutput" || len(out) != 2 || len(out[1]) == 0 {
		t.Errorf("%s: its error output leads nowhere", n.Name)
	}
	if !n.RetryOnFail || n.MaxTries < 2 || n.WaitBetweenTries != 5000 {
		t.Errorf("%s: a request that got no answer is asked again, under the same name", n.Name)
	}
	o := c.Options
	if o.Response.Response.ResponseFormat != "json" || o.Redirect.Redirect.FollowRedirects == nil || *o.Redirect.Redirect.FollowRedirects {
		t.Errorf("%s: response format %q, redirects %v", n.Name, o.Response.Response.ResponseFormat, o.Redirect.Redirect.FollowRedirects)
	}
	timeout := 300_000
	if strings.Contains(c.URL, "/v1/keys/") {
		timeout = 60_000
	}
	if o.Timeout != timeout {
		t.Errorf("%s: a timeout of %d ms, want %d", n.Name, o.Timeout, timeout)
	}
	if strings.HasSuffix(c.URL, "/v1/runs") || strings.HasSuffix(c.URL, "/v1/claims") {
		// Several items would be as many requests; 409 and 502 carry a document too.
		if !n.ExecuteOnce || !o.Response.Response.NeverError || !o.Response.Response.FullResponse {
			t.Errorf("%s: execute once %t, never error %t, full response %t", n.Name, n.ExecuteOnce, o.Response.Response.NeverError, o.Response.Response.FullResponse)
		}
	}
	n.wantDescribed(t, c)
}

// wantDescribed checks address and body against openapi.yaml.
func (n *node) wantDescribed(t *testing.T, c call) {
	t.Helper()
	path, ok := strings.CutPrefix(c.URL, "http://sheetclaim:8080")
	if !ok || c.SpecifyBody != "json" || !strings.HasPrefix(c.JSONBody, "={") {
		t.Fatalf("%s: %s with %s", n.Name, c.URL, c.JSONBody)
	}
	body := evaluated(c.JSONBody[1:])
	r := &http.Request{
		Method: c.Method, URL: &url.URL{Path: path}, Body: io.NopCloser(strings.NewReader(body)),
		Header: http.Header{"Content-Type": {"application/json"}},
	}
	paths, err := router()
	if err != nil {
		t.Fatal(err)
	}
	route, params, err := paths.FindRoute(r)
	if err != nil {
		t.Fatalf("%s: %s %s is not in openapi.yaml: %v", n.Name, c.Method, path, err)
	}
	in := &openapi3filter.RequestValidationInput{
		Request: r, PathParams: params, Route: route,
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc},
	}
	if err := openapi3filter.ValidateRequest(context.Background(), in); err != nil {
		t.Errorf("%s: the body %s: %v", n.Name, body, err)
	}
	const name = `"run_id": "{{ $workflow.id }}-{{ $execution.id }}"`
	if takesRunID := strings.HasPrefix(path, "/v1/runs") || strings.HasPrefix(path, "/v1/claims"); takesRunID && !strings.Contains(c.JSONBody, name) {
		t.Errorf("%s: the run is not named by workflow and execution: %s", n.Name, c.JSONBody)
	}
}

var (
	expression = regexp.MustCompile(`\{\{ .*? \}\}`)
	lastChoice = regexp.MustCompile(`: '(\w+)' \}\}$`)
)

// evaluated puts a text in place of each of n8n's expressions: its last choice, where
// it chooses between texts.
func evaluated(body string) string {
	return expression.ReplaceAllStringFunc(body, func(e string) string {
		if strings.HasPrefix(e, "{{ JSON.stringify(") {
			return `"x"`
		}
		if m := lastChoice.FindStringSubmatch(e); m != nil {
			return m[1]
		}
		return "x"
	})
}
