package api_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/sheetclaim/sheetclaim/api"
)

func TestCallbackGoesToAllowedHostsOnly(t *testing.T) {
	hosts := []string{"n8n.internal", "hooks.example.com:8443", "n8n", "127.0.0.1:5678", "[fd00::1]:5678", "10.0.0.7"}
	tests := []struct{ url, refused string }{
		{"https://n8n.internal/webhook-waiting/17", ""},
		{"http://n8n.internal:5678/webhook-waiting/17?x=1", ""},
		{"https://N8N.INTERNAL./x", ""},
		{"http://n8n:5678/x", ""},
		{"http://127.0.0.1:5678/x", ""},
		{"http://[fd00::1]:5678/x", ""},
		{"http://10.0.0.7/x", ""},
		{"https://hooks.example.com:8443/x", ""},
		{"https://hooks.example.com/x", "may not go to"},
		{"http://hooks.example.com:8443/x", "expected https"},
		{"http://127.0.0.1/x", "may not go to"},
		{"http://127.0.0.1:5678@evil.example/x", "without a name"},
		{"https://user:pw@n8n.internal/x", "without a name"},
		{"https://n8n.internal.evil.example/x", "may not go to"},
		{"https://evil.example/n8n.internal", "may not go to"},
		{"http://169.254.169.254/latest/meta-data", "may not go to"},
		{"ftp://n8n.internal/x", "expected an address"},
		{"n8n.internal/x", "expected an address"},
		{"//n8n.internal/x", "expected an address"},
		{"", "expected an address"},
	}
	for _, tt := range tests {
		b := &book{}
		s := newServer(t, b, func(c *api.Config) { c.CallbackHosts = hosts })
		body, err := json.Marshal(map[string]string{"run_id": "1", "callback_url": tt.url})
		if err != nil {
			t.Fatal(err)
		}
		a := do(t, s, "POST", "/v1/runs", string(body))
		if tt.refused == "" {
			a.want(t, 200, "")
			if b.runs[0].req.Callback == "" {
				t.Errorf("%s: the callback is lost", tt.url)
			}
			continue
		}
		a.want(t, 422, "callback_not_allowed")
		if !contains(a.Detail, tt.refused) || a.Field != "callback_url" || b.count() != 0 || contains(tt.refused, "may not") != slices.Equal(a.Allowed, hosts) {
			t.Errorf("%s: %s", tt.url, a.Body)
		}
	}
}

// Whom to tell does not make another request.
func TestCallbackIsNoOtherRequest(t *testing.T) {
	b := &book{}
	s := newServer(t, b, func(c *api.Config) { c.CallbackHosts = []string{"n8n"} })
	for _, body := range []string{`{"run_id": "1"}`, `{"run_id": "1", "callback_url": "http://n8n/1"}`, `{"run_id": "1", "callback_url": "http://n8n/2"}`} {
		do(t, s, "POST", "/v1/runs", body).want(t, 200, "")
	}
	if b.count() != 1 {
		t.Errorf("%d runs", b.count())
	}
}
