package api_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/sheetclaim/sheetclaim/api"
)

// Keys are searched for and settled over a real ledger.
func TestPageKeys(t *testing.T) {
	s, clock := keyServer(t)
	v := visit(t, s)
	v.want(200, "/keys", "No key was claimed yet")
	asked(t, s, "claim", `{"key": "crashed", "takeover": "never", "lease": "1m", "owner": "flow 7", "note": "invoice 12"}`)
	done := asked(t, s, "claim", `{"key": "stripe:evt_1"}`)
	asked(t, s, "done", body(`{"key": "stripe:evt_1", "token": %q, "result": {"id": 7}}`, done.Token))
	asked(t, s, "claim", `{"key": "stripe:evt_2"}`)
	clock.move(time.Minute)

	page := v.want(200, "/keys", "crashed", "stripe:evt_1", "stripe:evt_2", "flow 7")
	if strings.Contains(page, done.Token) {
		t.Error("a token is shown")
	}
	for query, want := range map[string][3]bool{
		"find=stripe:&how=begins": {false, true, true}, "state=unknown": {true, false, false}, "state=done": {false, true, false},
		"find=stripe:&state=claimed": {false, false, true}, "find=nothing": {},
	} {
		page := v.want(200, "/keys?"+query)
		for i, name := range []string{"crashed", "stripe:evt_1", "stripe:evt_2"} {
			if strings.Contains(page, ">"+name+"</a>") != want[i] {
				t.Errorf("%s: %s is listed, or is not", query, name)
			}
		}
	}
	if status, to := v.get("/keys?how=exactly&find=+stripe:evt_1+"); status != 303 || to != "/keys/show?key=stripe%3Aevt_1" {
		t.Errorf("exactly: %d %s", status, to)
	}
	v.want(200, "/keys?how=exactly&find=stripe", "No key reads exactly so")
	v.want(404, "/keys?state=lost")
	v.want(200, "/keys/show?key=stripe:evt_1", `{&#34;id&#34;: 7}`, "nobody gets it again")
	v.want(404, "/keys/show?key=never")

	v.want(200, "/keys/show?key=crashed", "Nobody knows whether flow 7 carried it out", "invoice 12", "It was done…")
	v.want(409, "/keys/settle?key=stripe:evt_1&word=released", "waits for nobody")
	v.want(404, "/keys/settle?key=crashed&word=unknown")
	page = v.want(200, "/keys/settle?key=crashed&word=done", "crashed was done?")
	form := url.Values{"key": {"crashed"}, "word": {"done"}, "why": {"it is in the books"}}
	if status, _ := v.post("/keys/settle", form); status != 403 {
		t.Errorf("without the form's token: %d", status)
	}
	form.Set("form", v.form(page))
	form.Set("why", " ")
	if status, page := v.post("/keys/settle", form); status != 400 || !strings.Contains(page, "Say what you saw") {
		t.Errorf("without a reason: %d", status)
	}
	form.Set("why", "it is in the books")
	if status, to := v.post("/keys/settle", form); status != 303 || to != "/keys/show?key=crashed" {
		t.Fatalf("settled: %d %s", status, to)
	}
	v.want(200, "/keys/show?key=crashed", "settled as done: it is in the books", "page")
	form.Set("word", "released")
	if status, _ := v.post("/keys/settle", form); status != 409 {
		t.Errorf("pressed twice: %d", status)
	}
	if k := shown(t, s, "key=crashed"); k.State != "done" {
		t.Errorf("in the end it is %s", k.State)
	}
}

// Further keys are a page away, under the same search.
func TestPageKeysByPages(t *testing.T) {
	s, _ := keyServer(t)
	for i := range 52 {
		asked(t, s, "claim", body(`{"key": "k%02d"}`, i))
	}
	v := visit(t, s)
	page := v.want(200, "/keys?find=k", "k49", `/keys?after=k49&amp;find=k`)
	if strings.Contains(page, ">k50<") {
		t.Error("the first page has more than its 50")
	}
	if page := v.want(200, "/keys?after=k49&find=k", "k50", "k51"); strings.Contains(page, "Further") || strings.Contains(page, ">k49<") {
		t.Error("the second page begins or ends wrong")
	}
}

// A token that is bound to jobs has no business with keys.
func TestPageKeysRights(t *testing.T) {
	s, clock := keyServer(t, func(c *api.Config) {
		c.Tokens = []api.Token{{Name: "ada", Token: secret, Jobs: []string{"reviews"}}, {Name: "all", Token: secret + "-of-all"}}
	})
	all := "Authorization: Bearer " + secret + "-of-all"
	do(t, s, "POST", "/v1/keys/claim", `{"key": "crashed", "takeover": "never", "lease": "1m"}`, all)
	clock.move(time.Hour)
	v := visit(t, s)
	v.login(secret)
	page := v.want(200, "/")
	if strings.Contains(page, `href="/keys"`) {
		t.Error("the navigation leads there")
	}
	for _, path := range []string{"/keys", "/keys/show?key=crashed", "/keys/settle?key=crashed&word=done"} {
		if page := v.want(403, path); strings.Contains(page, "crashed") {
			t.Errorf("%s tells of the key", path)
		}
	}
	if status, _ := v.post("/keys/settle", url.Values{"form": {v.form(page)}, "key": {"crashed"}, "word": {"done"}, "why": {"x"}}); status != 403 {
		t.Errorf("settled by a bound token: %d", status)
	}
	v = visit(t, s)
	v.login(secret + "-of-all")
	v.want(200, "/keys?state=unknown", "crashed", `href="/keys"`)
	visit(t, newServer(t, &book{})).want(404, "/keys")
}

// Keys, owners and notes come from outside too.
func TestPageKeysEscape(t *testing.T) {
	s, clock := keyServer(t)
	text := body("%q", strings.ReplaceAll(hostileCell, "\u202e", ""))
	asked(t, s, "claim", `{"key": `+text+`, "owner": `+text+`, "note": `+text+`, "takeover": "never", "lease": "1m"}`)
	clock.move(time.Hour)
	v := visit(t, s)
	query := url.Values{"key": {strings.ReplaceAll(hostileCell, "\u202e", "")}, "find": {hostileCell[:20]}, "word": {"done"}}
	for _, path := range []string{"/keys", "/keys?find=" + url.QueryEscape(hostileCell[:20]), "/keys/show?" + query.Encode(), "/keys/settle?" + query.Encode()} {
		harmless(t, path, v.want(200, path))
	}
	form := url.Values{"form": {v.form(v.want(200, "/keys/settle?"+query.Encode()))}, "key": query["key"], "word": {"released"}, "why": {hostileCell}}
	if status, _ := v.post("/keys/settle", form); status != 303 {
		t.Fatalf("settled: %d", status)
	}
	harmless(t, "history", v.want(200, "/keys/show?"+query.Encode(), "settled as released"))
}
