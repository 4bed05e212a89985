package api_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sheetclaim/sheetclaim/api"
	"github.com/sheetclaim/sheetclaim/internal/ledger"
)

// hands is a clock that only the test moves.
type hands struct {
	mu  sync.Mutex
	now time.Time
}

func (h *hands) Now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

func (h *hands) move(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.now.Add(d)
}

// keyServer serves keys from a real ledger, whose clock is the answer.
func keyServer(t *testing.T, edit ...func(*api.Config)) (*api.Server, *hands) {
	t.Helper()
	h := &hands{now: noon}
	l, err := ledger.Open(t.Context(), filepath.Join(t.TempDir(), "sheetclaim.db"), ledger.Options{Now: h.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	edit = append(edit, func(c *api.Config) { c.Keys = l.Keys() })
	return newServer(t, &book{}, edit...), h
}

// keyAnswer is an answer about a key, as a flow reads it.
type keyAnswer struct {
	Won, Takeover                      bool
	Token, Key, State, Owner, Detail   string
	LeaseUntil                         string `json:"lease_until"`
	Result                             json.RawMessage
	Claims, Old, Removed               int
	Events                             []struct{ Who, Text string }
	Keys                               []struct{ Key string }
	Next, SettledBy, Why, Note, Policy string
}

// asked sends a request on keys that has to be answered 200.
func asked(t *testing.T, s *api.Server, action, body string) (k keyAnswer) {
	t.Helper()
	a := do(t, s, "POST", "/v1/keys/"+action, body)
	a.want(t, 200, "")
	if err := json.Unmarshal([]byte(a.Body), &k); err != nil {
		t.Fatal(err)
	}
	return k
}

func shown(t *testing.T, s *api.Server, query string) (k keyAnswer) {
	t.Helper()
	a := do(t, s, "GET", "/v1/keys?"+query, "")
	a.want(t, 200, "")
	if err := json.Unmarshal([]byte(a.Body), &k); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(a.Body, `"token"`) {
		t.Errorf("a token is shown: %s", a.Body)
	}
	return k
}

func body(format string, args ...any) string { return fmt.Sprintf(format, args...) }

func TestKeys(t *testing.T) {
	s, _ := keyServer(t)
	first := asked(t, s, "claim", `{"key": " stripe:evt_1 ", "owner": "flow 7", "note": "an invoice"}`)
	if !first.Won || first.Token == "" || first.Key != "stripe:evt_1" || first.State != "claimed" || first.Owner != "flow 7" ||
		first.LeaseUntil != "2026-11-30T12:15:00Z" || first.Takeover {
		t.Fatalf("the first claim: %+v", first)
	}
	second := asked(t, s, "claim", `{"key": "stripe:evt_1"}`)
	if second.Won || second.Token != "" || second.State != "claimed" || second.Owner != "flow 7" || !contains(second.Detail, "flow 7 is on it") {
		t.Fatalf("the second claim: %+v", second)
	}
	renewed := asked(t, s, "renew", body(`{"key": "stripe:evt_1", "token": %q, "lease": "1h"}`, first.Token))
	if renewed.LeaseUntil != "2026-11-30T13:00:00Z" {
		t.Errorf("renewed: %+v", renewed)
	}
	asked(t, s, "done", body(`{"key": "stripe:evt_1", "token": %q, "result": {"invoice": 7, "tags": ["a", null]}}`, first.Token))
	asked(t, s, "done", body(`{"key": "stripe:evt_1", "token": %q}`, first.Token)) // a retry changes nothing
	again := asked(t, s, "claim", `{"key": "stripe:evt_1"}`)
	if again.Won || again.State != "done" || string(again.Result) != `{"invoice":7,"tags":["a",null]}` {
		t.Errorf("a claim of a done key: %+v, result %s", again, again.Result)
	}
	do(t, s, "POST", "/v1/keys/release", body(`{"key": "stripe:evt_1", "token": %q}`, first.Token)).want(t, 409, "key_ended")
	if k := shown(t, s, "key=stripe:evt_1"); k.State != "done" || k.Note != "an invoice" || k.Claims != 1 {
		t.Errorf("shown: %+v", k)
	}

	if k := asked(t, s, "claim", `{"key": "in days", "lease": "2d"}`); k.LeaseUntil != "2026-12-02T12:00:00Z" {
		t.Errorf("a lease in days: %+v", k)
	}
	number := asked(t, s, "claim", `{"key": 4711, "lease": 60}`)
	if number.Key != "4711" || number.LeaseUntil != "2026-11-30T12:01:00Z" || number.Owner != "api" {
		t.Errorf("a number: %+v", number)
	}
	asked(t, s, "release", body(`{"key": 4711, "token": %q, "why": "no answer"}`, number.Token))
	if k := asked(t, s, "claim", `{"key": "4711"}`); !k.Won || k.Takeover || k.Claims != 2 {
		t.Errorf("after a release: %+v", k)
	}
}

// LG02 and LG03: a claim that is over is the next one's, and its late owner can do
// nothing to it.
func TestLG02LG03Takeover(t *testing.T) {
	s, clock := keyServer(t)
	late := asked(t, s, "claim", `{"key": "k", "lease": "2s", "owner": "A"}`)
	clock.move(3 * time.Second)
	next := asked(t, s, "claim", `{"key": "k", "owner": "B"}`)
	if !next.Won || !next.Takeover || next.Token == late.Token {
		t.Fatalf("B's claim: %+v", next)
	}
	for _, action := range []string{"done", "release", "renew"} {
		do(t, s, "POST", "/v1/keys/"+action, body(`{"key": "k", "token": %q}`, late.Token)).want(t, 409, "token_stale")
	}
	if third := asked(t, s, "claim", `{"key": "k"}`); third.Won || third.Owner != "B" {
		t.Errorf("a third claim: %+v", third)
	}
	asked(t, s, "done", body(`{"key": "k", "token": %q}`, next.Token))
	k := shown(t, s, "key=k")
	if k.State != "done" || k.Owner != "B" || len(k.Events) != 1 || !contains(k.Events[0].Text, "taken over from A") {
		t.Errorf("in the end: %+v", k)
	}
}

// A caller whose answer was lost names its request and gets its claim again, as nobody
// else does, not even a caller with another token who happens to use that name.
func TestKeyRequestIDs(t *testing.T) {
	s, clock := keyServer(t, func(c *api.Config) {
		c.Tokens = []api.Token{{Name: "n8n", Token: secret}, {Name: "staging", Token: secret + "2"}, {Name: "n8n:flow", Token: secret + "3"}}
	})
	claim := func(token, id string) (keyAnswer, bool) {
		t.Helper()
		a := do(t, s, "POST", "/v1/keys/claim", body(`{"key": "k", "lease": "1m", "request_id": %q}`, id), "Authorization: Bearer "+token)
		a.want(t, 200, "")
		var k keyAnswer
		if err := json.Unmarshal([]byte(a.Body), &k); err != nil {
			t.Fatal(err)
		}
		return k, a.Header.Get("Idempotent-Replayed") == "true"
	}
	first, replayed := claim(secret, "flow:17")
	if !first.Won || replayed {
		t.Fatalf("the first try: %+v, replayed %v", first, replayed)
	}
	clock.move(30 * time.Second)
	again, replayed := claim(secret, "flow:17")
	if !again.Won || !replayed || again.Token != first.Token || again.LeaseUntil != "2026-11-30T12:01:30Z" || !contains(again.Detail, "same request") {
		t.Errorf("the second try: %+v, replayed %v", again, replayed)
	}
	for _, other := range [][2]string{{secret, "flow-18"}, {secret, ""}, {secret + "2", "flow:17"}, {secret + "2", "n8n:flow:17"}, {secret + "3", "17"}} {
		if k, replayed := claim(other[0], other[1]); k.Won || replayed || k.Token != "" {
			t.Errorf("request %q: %+v", other[1], k)
		}
	}
	clock.move(2 * time.Minute)
	if k, _ := claim(secret, "flow-18"); !k.Won || !k.Takeover {
		t.Errorf("after the lease: %+v", k)
	}
	if k, replayed := claim(secret, "flow:17"); k.Won || replayed {
		t.Errorf("a try after the takeover: %+v", k)
	}
}

// The crash of the guide: a claim whose owner died is refused after 60 s and let in
// after 16 min, and a key that is done stays refused.
func TestOriginsCrash(t *testing.T) {
	s, clock := keyServer(t)
	asked(t, s, "claim", `{"key": "crashed"}`)
	finished := asked(t, s, "claim", `{"key": "finished"}`)
	asked(t, s, "done", body(`{"key": "finished", "token": %q}`, finished.Token))
	clock.move(time.Minute)
	if k := asked(t, s, "claim", `{"key": "crashed"}`); k.Won {
		t.Errorf("after 60 s: %+v", k)
	}
	clock.move(15 * time.Minute)
	if k := asked(t, s, "claim", `{"key": "crashed"}`); !k.Won || !k.Takeover {
		t.Errorf("after 16 min: %+v", k)
	}
	if k := asked(t, s, "claim", `{"key": "finished"}`); k.Won || k.State != "done" {
		t.Errorf("a finished key: %+v", k)
	}
}

func TestUnknownKeys(t *testing.T) {
	s, clock := keyServer(t)
	asked(t, s, "claim", `{"key": "crashed", "takeover": "never", "lease": "1m"}`)
	told := asked(t, s, "claim", `{"key": "timed out"}`)
	do(t, s, "POST", "/v1/keys/done", `{"key": "crashed", "why": "I saw it"}`).want(t, 409, "key_not_unknown")
	clock.move(time.Minute)
	if k := asked(t, s, "release", body(`{"key": "timed out", "token": %q, "unknown": true}`, told.Token)); k.State != "unknown" {
		t.Errorf("said to be unknown: %+v", k)
	}
	for _, name := range []string{"crashed", "timed out"} {
		if k := asked(t, s, "claim", body(`{"key": %q}`, name)); k.Won || k.State != "unknown" || !contains(k.Detail, "settle") {
			t.Errorf("%s: %+v", name, k)
		}
	}
	if k := shown(t, s, "state=unknown"); len(k.Keys) != 2 {
		t.Errorf("unknown are %+v", k.Keys)
	}
	asked(t, s, "done", `{"key": "crashed", "why": "it is in the bank account"}`)
	asked(t, s, "release", `{"key": "timed out", "why": "the bank knows nothing"}`)
	if k := asked(t, s, "claim", `{"key": "crashed"}`); k.Won || k.State != "done" {
		t.Errorf("settled as done: %+v", k)
	}
	if k := asked(t, s, "claim", `{"key": "timed out"}`); !k.Won {
		t.Errorf("settled as released: %+v", k)
	}
}

// LG05: a key that is none is an error and never a skip.
func TestLG05KeysThatAreRefused(t *testing.T) {
	s, _ := keyServer(t)
	for _, tt := range []struct{ action, body, code, field string }{
		{"claim", ``, "field_invalid", "key"},
		{"claim", `{}`, "field_invalid", "key"},
		{"claim", `{"key": ""}`, "field_invalid", "key"},
		{"claim", `{"key": " \t\u00a0\n"}`, "field_invalid", "key"},
		{"claim", `{"key": null}`, "field_invalid", "key"},
		{"claim", `{"key": 1.5}`, "field_invalid", "key"},
		{"claim", `{"key": ["k"]}`, "field_invalid", "key"},
		{"claim", `{"key": "a\nb"}`, "field_invalid", "key"},
		{"claim", `{"key": "a\u0000b"}`, "field_invalid", "key"},
		{"claim", body(`{"key": %q}`, strings.Repeat("k", 513)), "field_invalid", "key"},
		{"claim", `{"key": "k", "lease": 0}`, "field_invalid", "lease"},
		{"claim", `{"key": "k", "lease": "0s"}`, "field_invalid", "lease"},
		{"claim", `{"key": "k", "lease": "-1s"}`, "field_invalid", "lease"},
		{"claim", `{"key": "k", "lease": "soon"}`, "field_invalid", "lease"},
		{"claim", `{"key": "k", "lease": "10000h"}`, "field_invalid", "lease"},
		{"claim", `{"key": "k", "lease": "367d"}`, "field_invalid", "lease"},
		{"claim", `{"key": "k", "lease": 99999999999999999999}`, "field_invalid", "lease"},
		{"claim", `{"key": "k", "takeover": "maybe"}`, "field_invalid", "takeover"},
		{"claim", `{"key": "k", "request_id": 5}`, "field_invalid", "request_id"},
		{"claim", `{"key": "k", "request_id": "{{ $execution.id }}"}`, "field_invalid", "request_id"},
		{"claim", `{"key": "k", "request_id": "flow-undefined"}`, "field_invalid", "request_id"},
		{"claim", `{"key": "k", "request_id": "flow-[object Object]"}`, "field_invalid", "request_id"},
		{"claim", `{"key": "k", "request_id": " null "}`, "field_invalid", "request_id"},
		{"claim", `{"key": "k", "request_id": null}`, "field_invalid", "request_id"},
		{"claim", body(`{"key": "k", "request_id": %q}`, strings.Repeat("r", 257)), "field_invalid", "request_id"},
		{"claim", `{"key": "k", "token": "x"}`, "field_unknown", "token"},
		{"done", `{"key": "k"}`, "field_invalid", "token"},
		{"done", `{"key": "k", "token": " "}`, "field_invalid", "token"},
		{"done", body(`{"key": "k", "token": "x", "result": %q}`, strings.Repeat("r", 64<<10)), "field_invalid", "result"},
		{"release", `{"key": "k", "unknown": true, "why": "x"}`, "field_invalid", "token"},
		{"release", `{"key": "k", "result": 5}`, "field_unknown", "result"},
		{"renew", `{"key": "k"}`, "field_invalid", "token"},
		{"prune", `{}`, "field_required", "days"},
		{"prune", `{"days": 0}`, "field_invalid", "days"},
		{"prune", `{"days": -1}`, "field_invalid", "days"},
		{"prune", `{"days": "x"}`, "field_invalid", "days"},
	} {
		a := do(t, s, "POST", "/v1/keys/"+tt.action, tt.body)
		if a.Status != 400 || a.Code != tt.code || a.Field != tt.field {
			t.Errorf("%s %.60s answered %d %s", tt.action, tt.body, a.Status, a.Body)
		}
	}
	for _, action := range []string{"done", "release", "renew"} {
		do(t, s, "POST", "/v1/keys/"+action, `{"key": "k", "token": "x"}`).want(t, 404, "key_unknown")
	}
	do(t, s, "GET", "/v1/keys?key=k", "").want(t, 404, "key_unknown")
	for _, query := range []string{"key=", "limit=0", "limit=x", "state=gone", "state="} {
		do(t, s, "GET", "/v1/keys?"+query, "").want(t, 400, "query_invalid")
	}
	if k := shown(t, s, ""); len(k.Keys) != 0 {
		t.Errorf("keys were made all the same: %+v", k.Keys)
	}
	composed, apart := asked(t, s, "claim", `{"key": "caf\u00e9"}`), asked(t, s, "claim", `{"key": "cafe\u0301 "}`)
	if !composed.Won || apart.Won || apart.Key != composed.Key {
		t.Errorf("two ways of writing é: %+v, %+v", composed, apart)
	}
}

// LG06: prune forgets what ended long ago, and asks when that is nearly everything.
func TestLG06Prune(t *testing.T) {
	s, clock := keyServer(t)
	finish := func(name string) {
		asked(t, s, "done", body(`{"key": %q, "token": %q}`, name, asked(t, s, "claim", body(`{"key": %q}`, name)).Token))
	}
	asked(t, s, "claim", `{"key": "never ended"}`)
	clock.move(6 * 24 * time.Hour)
	finish("old")
	clock.move(4*24*time.Hour - time.Hour)
	finish("new")
	clock.move(time.Hour)
	if k := asked(t, s, "prune", `{"days": 3, "dry_run": true}`); k.Old != 1 || k.Removed != 0 {
		t.Errorf("counted: %+v", k)
	}
	if k := asked(t, s, "prune", `{"days": 3}`); k.Removed != 1 {
		t.Errorf("pruned: %+v", k)
	}
	if k := shown(t, s, ""); len(k.Keys) != 2 {
		t.Errorf("left are %+v", k.Keys)
	}
	clock.move(365 * 24 * time.Hour) // by mistake
	do(t, s, "POST", "/v1/keys/prune", `{"days": 3}`).want(t, 409, "prune_refused")
	if k := asked(t, s, "prune", `{"days": 3, "force": true}`); k.Removed != 1 {
		t.Errorf("forced: %+v", k)
	}
}

func TestPagesOfKeys(t *testing.T) {
	s, _ := keyServer(t)
	for _, name := range []string{"a:1", "a:2", "a:3", "b:1"} {
		asked(t, s, "claim", body(`{"key": %q}`, name))
	}
	first := shown(t, s, "prefix=a:&limit=2")
	if len(first.Keys) != 2 || first.Next != "a:2" {
		t.Fatalf("the first page: %+v", first)
	}
	if rest := shown(t, s, "prefix=a:&limit=2&after="+first.Next); len(rest.Keys) != 1 || rest.Keys[0].Key != "a:3" || rest.Next != "" {
		t.Errorf("the rest: %+v", rest)
	}
}

// A token that is bound to jobs sees no keys, whatever it sends.
func TestKeysOfABoundToken(t *testing.T) {
	s, _ := keyServer(t, func(c *api.Config) {
		c.Tokens = []api.Token{{Name: "all", Token: "all"}, {Name: "one", Token: "one", Jobs: []string{"reviews"}}}
	})
	for _, action := range []string{"claim", "done", "release", "renew", "prune"} {
		do(t, s, "POST", "/v1/keys/"+action, `{"key": "k"}`, "Authorization: Bearer one").want(t, 403, "keys_not_allowed")
		do(t, s, "POST", "/v1/keys/"+action, `{"key": "k"}`).want(t, 401, "unauthorized")
	}
	do(t, s, "GET", "/v1/keys?key=k", "", "Authorization: Bearer one").want(t, 403, "keys_not_allowed")
	if a := do(t, s, "POST", "/v1/keys/claim", `{"key": "k"}`, "Authorization: Bearer all"); !contains(a.Body, `"owner":"all"`) {
		t.Errorf("the token's name is not the owner: %s", a.Body)
	}
	do(t, newServer(t, &book{}), "POST", "/v1/keys/claim", `{"key": "k"}`).want(t, 503, "not_ready")
}
