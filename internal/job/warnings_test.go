package job_test

import (
	"strings"
	"testing"
)

func TestWarnings(t *testing.T) {
	const top = "smtp:\n"
	for name, tc := range map[string]struct{ section, want string }{
		"nothing":                     {"", ""},
		"a long token":                {"api: {tokens: [{name: n8n, token: 0123456789abcdef}]}", ""},
		"a short token":               {"api: {tokens: [{name: n8n, token: hunter2}]}", `the token named "n8n" is shorter than 16 characters`},
		"any certificate":             {"", "smtp.skip_verify takes any certificate"},
		"a webhook over https":        {`alerts: {webhook: {url: "https://hooks.example.com/x"}}`, ""},
		"a webhook in a container":    {`alerts: {webhook: {url: "http://n8n:5678/webhook/x"}}`, ""},
		"a webhook in a data centre":  {`alerts: {webhook: {url: "http://10.0.0.5/x"}}`, ""},
		"a webhook on a private name": {`alerts: {webhook: {url: "http://n8n.internal/x"}}`, ""},
		"a webhook in the clear":      {`alerts: {webhook: {url: "http://hooks.example.com/x"}}`, "alerts.webhook.url is plain http"},
	} {
		text := strings.Replace(minimal, top, tc.section+"\n"+top, 1)
		if name == "any certificate" {
			text = strings.Replace(text, "  host:", "  skip_verify: true\n  host:", 1)
		}
		got := strings.Join(mustParse(t, text).Warnings(), "\n")
		if got == "" != (tc.want == "") || !strings.Contains(got, tc.want) || strings.Contains(got, "hunter2") {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
