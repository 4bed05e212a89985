package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// n8nHook is the secret that callers of the webhook workflow send.
const n8nHook = secretMark + "-hook"

// n8n is a real n8n with the workflows of examples/n8n.
type n8n struct {
	t       *testing.T
	install string // folder that scripts/n8n-e2e fills
	home    string
	env     []string
	url     string
}

// startN8N imports the workflows into an n8n of its own and starts it. Without an
// installed n8n the test is skipped, in CI too: n8n takes minutes to install, and 3 GB.
func startN8N(t *testing.T, service, smtpPort string) *n8n {
	t.Helper()
	n := &n8n{t: t, install: os.Getenv("SHEETCLAIM_N8N"), home: t.TempDir()}
	if n.install == "" {
		t.Skip("SHEETCLAIM_N8N names no folder with an n8n: scripts/n8n-e2e installs one and runs this test")
	}
	port := freePort(t)
	n.url = "http://127.0.0.1:" + port
	n.env = []string{
		"PATH=" + filepath.Join(n.install, "node", "node_modules", "node", "bin") + ":" + os.Getenv("PATH"),
		"HOME=" + n.home, "N8N_USER_FOLDER=" + n.home, "N8N_ENCRYPTION_KEY=for-this-test-only",
		"N8N_LISTEN_ADDRESS=127.0.0.1", "N8N_PORT=" + port, "N8N_RUNNERS_BROKER_PORT=" + freePort(t),
		// The guard that keeps flows away from inner addresses is on, and this one is let through.
		"N8N_SSRF_PROTECTION_ENABLED=true", "N8N_SSRF_ALLOWED_HOSTNAMES=localhost",
		"N8N_DIAGNOSTICS_ENABLED=false", "N8N_VERSION_NOTIFICATIONS_ENABLED=false", "N8N_TEMPLATES_ENABLED=false",
		"N8N_PERSONALIZATION_ENABLED=false", "N8N_DISABLED_MODULES=mcp-registry", "N8N_LOG_LEVEL=warn",
	}
	t.Logf("n8n %s", strings.TrimSpace(n.run("--version")))
	n.serve(n.imports(service, smtpPort))
	return n
}

// command is a call of n8n's own program.
func (n *n8n) command(args ...string) *exec.Cmd {
	program := filepath.Join(n.install, "n8n", "node_modules", "n8n", "bin", "n8n")
	cmd := exec.Command("node", append([]string{program}, args...)...)
	cmd.Path = filepath.Join(n.install, "node", "node_modules", "node", "bin", "node")
	cmd.Env, cmd.Dir = n.env, n.home
	return cmd
}

func (n *n8n) run(args ...string) string {
	n.t.Helper()
	out, err := n.command(args...).CombinedOutput()
	if err != nil {
		n.t.Fatalf("n8n %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// imports puts credentials and workflows in, as a person would, publishes them, and
// answers the paths of their webhooks.
func (n *n8n) imports(service, smtpPort string) (hooks []string) {
	n.t.Helper()
	n.write("credentials.json", []map[string]any{
		{"id": "c1", "name": "sheetclaim", "type": "httpBearerAuth", "data": map[string]any{"token": apiToken}},
		{"id": "c2", "name": "sheetclaim keys", "type": "httpBearerAuth", "data": map[string]any{"token": keysToken}},
		{"id": "c3", "name": "sheetclaim webhook", "type": "httpHeaderAuth", "data": map[string]any{"name": "X-Hook", "value": n8nHook}},
		{"id": "c4", "name": "sheetclaim smtp", "type": "smtp", "data": map[string]any{
			"host": "127.0.0.1", "port": json.Number(smtpPort), "secure": false, "disableStartTls": true, "user": "", "password": "",
		}},
	})
	n.run("import:credentials", "--input="+filepath.Join(n.home, "credentials.json"))
	files, err := filepath.Glob("../../examples/n8n/*.json")
	if err != nil || len(files) == 0 {
		n.t.Fatalf("no workflows: %v", err)
	}
	for _, path := range files {
		w, hook := n.workflow(path, service)
		n.write(filepath.Join("workflows", filepath.Base(path)), w)
		hooks = append(hooks, hook)
	}
	n.run("import:workflow", "--separate", "--input="+filepath.Join(n.home, "workflows"))
	for _, path := range files {
		n.run("publish:workflow", "--id="+workflowID(path))
	}
	return hooks
}

func workflowID(path string) string { return strings.TrimSuffix(filepath.Base(path), ".json") }

// workflow is a file as it stands, but for the address of the service, and for its
// trigger: a test cannot wait for schedules, and has no Google to listen to. A webhook
// with the name of the file takes its place; the rows that it is sent become items, as
// those of a sheet's trigger are. Workflows with a webhook of their own keep it. Also
// answers the path of the webhook.
func (n *n8n) workflow(path, service string) (w map[string]any, hook string) {
	n.t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		n.t.Fatal(err)
	}
	const address = "http://sheetclaim:8080"
	if !bytes.Contains(b, []byte(address)) {
		n.t.Fatalf("%s does not call %s", path, address)
	}
	if err := json.Unmarshal(bytes.ReplaceAll(b, []byte(address), []byte(service)), &w); err != nil {
		n.t.Fatal(err)
	}
	id := workflowID(path)
	w["id"], w["active"] = id, false
	for _, v := range w["nodes"].([]any) {
		node := v.(map[string]any)
		kind := node["type"].(string)
		if strings.HasSuffix(kind, ".webhook") {
			return w, node["parameters"].(map[string]any)["path"].(string)
		}
		if !strings.HasSuffix(kind, "Trigger") {
			continue
		}
		delete(node, "credentials")
		node["type"], node["typeVersion"] = "n8n-nodes-base.splitOut", 1
		node["parameters"] = map[string]any{"fieldToSplitOut": "body.rows", "options": map[string]any{}}
		webhook := map[string]any{
			"id": "e2e", "name": "E2E", "type": "n8n-nodes-base.webhook", "typeVersion": 2, "webhookId": id, "position": []int{-300, 0},
			"parameters": map[string]any{"httpMethod": "POST", "path": id, "responseMode": "lastNode", "options": map[string]any{}},
		}
		w["nodes"] = append(w["nodes"].([]any), webhook)
		to := map[string]any{"node": node["name"], "type": "main", "index": 0}
		w["connections"].(map[string]any)["E2E"] = map[string]any{"main": [][]any{{to}}}
		return w, id
	}
	n.t.Fatalf("%s has no trigger", path)
	return nil, ""
}

func (n *n8n) write(name string, v any) {
	n.t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		n.t.Fatal(err)
	}
	path := filepath.Join(n.home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		n.t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		n.t.Fatal(err)
	}
}

// serve starts n8n and waits until all its webhooks are there: it makes them one after
// another.
func (n *n8n) serve(hooks []string) {
	n.t.Helper()
	log, err := os.Create(filepath.Join(n.home, "n8n.log"))
	if err != nil {
		n.t.Fatal(err)
	}
	cmd := n.command("start")
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
		log.Close()
		if b, err := os.ReadFile(log.Name()); err == nil && n.t.Failed() {
			n.t.Logf("n8n said:\n%s", b)
		}
	})
	for range 600 {
		hooks = slices.DeleteFunc(hooks, func(path string) bool {
			// To a wrong method n8n says which one would be right, once it knows the path.
			text, _ := n.ask(http.MethodGet, path, "")
			return strings.Contains(text, "Did you mean to make a POST request")
		})
		if len(hooks) == 0 {
			return
		}
		time.Sleep(500 * time.Millisecond)
	}
	n.t.Fatalf("n8n did not offer the webhooks %q within five minutes", hooks)
}

// post calls a webhook of n8n.
func (n *n8n) post(path, body string, headers ...string) (text string, status int) {
	return n.ask(http.MethodPost, path, body, headers...)
}

// ask is post with any method. Status 0: nobody answered.
func (n *n8n) ask(method, path, body string, headers ...string) (text string, status int) {
	req, err := http.NewRequestWithContext(context.Background(), method, n.url+"/webhook/"+path, strings.NewReader(body))
	if err != nil {
		return err.Error(), 0
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err.Error(), 0
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return err.Error(), 0
	}
	return string(b), resp.StatusCode
}

// atOnce posts some times at the same moment and answers how often each status came.
func (n *n8n) atOnce(times int, path, body string, headers ...string) map[int]int {
	n.t.Helper()
	var mu sync.Mutex
	got := map[int]int{}
	var all sync.WaitGroup
	for range times {
		all.Go(func() {
			text, status := n.post(path, body, headers...)
			mu.Lock()
			defer mu.Unlock()
			n.t.Logf("%s: %d %.300s", path, status, text)
			got[status]++
		})
	}
	all.Wait()
	return got
}

// gate stands before the service, counts requests by path, and can lose an answer.
type gate struct {
	*httptest.Server
	mu    sync.Mutex
	seen  map[string]int
	loses string // the next answer to this path is lost
}

func newGate(t *testing.T, service string) *gate {
	t.Helper()
	target, err := url.Parse(service)
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{seen: map[string]int{}}
	g.Server = httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			g.mu.Lock()
			defer g.mu.Unlock()
			g.seen[r.In.URL.Path]++
		},
		ModifyResponse: func(r *http.Response) error {
			g.mu.Lock()
			defer g.mu.Unlock()
			if g.loses == r.Request.URL.Path {
				g.loses = ""
				panic(http.ErrAbortHandler)
			}
			return nil
		},
	})
	t.Cleanup(g.Close)
	return g
}

// lose makes the next answer to a path get lost.
func (g *gate) lose(path string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.loses = path
}

// count answers how many requests came for a path, and starts counting anew.
func (g *gate) count(path string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	defer delete(g.seen, path)
	return g.seen[path]
}

func (g *gate) address() string {
	return fmt.Sprintf("http://localhost:%s", g.URL[strings.LastIndex(g.URL, ":")+1:])
}
