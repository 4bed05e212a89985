package api_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/sheetclaim/sheetclaim/api"
	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// visitor is a browser as far as forms, cookies and redirects go.
type visitor struct {
	t      *testing.T
	s      *api.Server
	host   string
	cookie string // as it would be sent
	set    string // the last Set-Cookie
}

func visit(t *testing.T, s *api.Server) *visitor {
	return &visitor{t: t, s: s, host: "127.0.0.1:8080"}
}

// get answers status and page, without following redirects.
func (v *visitor) get(path string, headers ...string) (int, string) {
	v.t.Helper()
	return v.do(httptest.NewRequest("GET", "http://"+v.host+path, nil), headers...)
}

// post sends a form from the page itself, unless a header says otherwise.
func (v *visitor) post(path string, form url.Values, headers ...string) (int, string) {
	v.t.Helper()
	r := httptest.NewRequest("POST", "http://"+v.host+path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", "http://"+v.host)
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	return v.do(r, headers...)
}

func (v *visitor) do(r *http.Request, headers ...string) (int, string) {
	v.t.Helper()
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	if v.cookie != "" {
		r.Header.Set("Cookie", v.cookie)
	}
	rec := httptest.NewRecorder()
	v.s.Handler().ServeHTTP(rec, r)
	policy := rec.Header().Get("Content-Security-Policy")
	if strings.HasPrefix(r.URL.Path, "/preview/") { // mail is styled in line
		policy = strings.Replace(policy, "style-src 'self' 'unsafe-inline'", "", 1)
	}
	if !strings.HasPrefix(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") {
		v.t.Errorf("%s: policy %q", r.URL, policy)
	}
	if set := rec.Header().Get("Set-Cookie"); set != "" {
		v.set = set
		v.cookie, _, _ = strings.Cut(set, ";")
	}
	if to := rec.Header().Get("Location"); to != "" {
		return rec.Code, to
	}
	return rec.Code, rec.Body.String()
}

// login logs in with a token.
func (v *visitor) login(token string) {
	v.t.Helper()
	if status, to := v.post("/login", url.Values{"token": {token}}); status != 303 || !strings.HasPrefix(to, "/login?done=1") {
		v.t.Fatalf("login: %d %s", status, to)
	}
}

// form answers the token of the forms of a page.
func (v *visitor) form(page string) string {
	v.t.Helper()
	found := regexp.MustCompile(`name="form" value="([^"]+)"`).FindStringSubmatch(page)
	if found == nil {
		v.t.Fatalf("the page has no form:\n%s", page)
	}
	return found[1]
}

// want fails unless the page came with that status and holds the texts.
func (v *visitor) want(status int, path string, texts ...string) string {
	v.t.Helper()
	got, page := v.get(path)
	if got != status {
		v.t.Errorf("GET %s: %d, want %d", path, got, status)
	}
	for _, text := range texts {
		if !strings.Contains(page, text) {
			v.t.Errorf("GET %s does not say %q:\n%s", path, text, page)
		}
	}
	return page
}

// twoTenants is a server with two jobs and a token for each, and one for both.
func twoTenants(t *testing.T, d *desk, edit ...func(*api.Config)) *api.Server {
	b := &book{}
	for _, name := range []string{"reviews", "invoices"} {
		if _, err := b.Start(t.Context(), claim.Request{Job: name, RunID: "run-of-" + name}); err != nil {
			t.Fatal(err)
		}
	}
	return newServer(t, b, append(edit, withJobs("reviews", "invoices"), d.in, func(c *api.Config) {
		c.Tokens = []api.Token{
			{Name: "ada", Token: secret, Jobs: []string{"reviews"}},
			{Name: "bob", Token: secret + "-of-bob", Jobs: []string{"invoices"}},
			{Name: "all", Token: secret + "-of-all"},
		}
	})...)
}

// Without a token there is nothing to see and nothing to press.
func TestPageNeedsLogin(t *testing.T) {
	d := &desk{waiting: []claim.Message{doubt("reviews", "B-1", 0)}}
	v := visit(t, twoTenants(t, d))
	for _, path := range []string{"/", "/doubts", "/runs/reviews/run-of-reviews", "/doubts/settle?job=reviews&key=B-1", "/runs/nothing/here"} {
		if status, to := v.get(path); status != 303 || !strings.HasPrefix(to, "/login") {
			t.Errorf("%s: %d %s", path, status, to)
		}
	}
	if status, body := v.get("/live"); status != 401 || strings.Contains(body, "B-1") {
		t.Errorf("/live: %d %s", status, body)
	}
	for _, path := range []string{"/doubts/settle", "/logout"} {
		if status, body := v.post(path, settling("B-1", "sent", "")); status != 401 || strings.Contains(body, "B-1") {
			t.Errorf("POST %s: %d %s", path, status, body)
		}
	}
	for _, wrong := range []string{"", "wrong", secret + "x", "ada"} {
		if status, body := v.post("/login", url.Values{"token": {wrong}}); status != 403 || v.cookie != "" || strings.Contains(body, secret) {
			t.Errorf("token %q: %d %s", wrong, status, body)
		}
	}
	for _, cookie := range []string{"sheetclaim=", "sheetclaim=YWRh.9999999999.x.eHg", "sheetclaim=" + secret, "sheetclaim=....", "sheetclaim=YWRh.1.x"} {
		v.cookie = cookie
		if status, _ := v.get("/"); status != 303 {
			t.Errorf("%s: %d", cookie, status)
		}
	}
	if len(d.said) > 0 {
		t.Errorf("settled: %v", d.said)
	}
}

// The login's cookie is out of reach, and says nothing of the token.
func TestPageSession(t *testing.T) {
	v := visit(t, twoTenants(t, &desk{}))
	v.login(secret)
	if !strings.Contains(v.set, "HttpOnly") || !strings.Contains(v.set, "SameSite=Strict") || strings.Contains(v.set, secret) || strings.Contains(v.set, "Secure") {
		t.Errorf("cookie on loopback: %s", v.set)
	}
	page := v.want(200, "/", "ada", "Log out")
	if status, to := v.post("/logout", url.Values{"form": {v.form(page)}}); status != 303 || to != "/login" {
		t.Errorf("logout: %d %s", status, to)
	}

	stolen := visit(t, twoTenants(t, &desk{}))
	stolen.host = "sheetclaim.example.com"
	stolen.login(secret)
	if !strings.Contains(stolen.set, "Secure") {
		t.Errorf("cookie off loopback: %s", stolen.set)
	}
	kept := stolen.cookie
	page = stolen.want(200, "/")
	stolen.post("/logout", url.Values{"form": {stolen.form(page)}})
	stolen.cookie = kept
	if status, _ := stolen.get("/"); status != 303 {
		t.Errorf("the session lives on after the logout: %d", status)
	}
	stolen.cookie = kept[:len(kept)-2] + "AA"
	if status, _ := stolen.get("/"); status != 303 {
		t.Errorf("a session with another signature: %d", status)
	}
}

// Wrong tokens are looked at as slowly as those of the API.
func TestPageLoginIsSlow(t *testing.T) {
	v := visit(t, twoTenants(t, &desk{}))
	status := 0
	for i := range 12 {
		status, _ = v.post("/login", url.Values{"token": {strings.Repeat("x", i+1)}})
	}
	if status != 429 {
		t.Errorf("the twelfth wrong token: %d", status)
	}
	if status, _ = v.post("/login", url.Values{"token": {secret}}); status != 429 {
		t.Errorf("the right one after them: %d", status)
	}
}

// Where the login leads is a path of this page.
func TestPageLoginLeadsNowhereElse(t *testing.T) {
	v := visit(t, twoTenants(t, &desk{}))
	v.login(secret)
	for next, want := range map[string]string{
		"/doubts": "/doubts", "//evil.example": "/", "https://evil.example/": "/", `/\evil.example`: "/", "": "/", "javascript:alert(1)": "/",
	} {
		if _, to := v.get("/login?next=" + url.QueryEscape(next)); to != want {
			t.Errorf("next %q leads to %q", next, to)
		}
	}
}

// A viewer sees and settles what the token may.
func TestPageRights(t *testing.T) {
	d := &desk{waiting: []claim.Message{doubt("reviews", "B-1", 0), doubt("invoices", "R-1", 0)}}
	s := twoTenants(t, d)
	for token, want := range map[string][2]bool{secret: {true, false}, secret + "-of-bob": {false, true}, secret + "-of-all": {true, true}} {
		v := visit(t, s)
		v.login(token)
		_, now := v.get("/")
		_, doubts := v.get("/doubts")
		for i, job := range []string{"reviews", "invoices"} {
			key := []string{"B-1", "R-1"}[i]
			if strings.Contains(now, "run-of-"+job) != want[i] || strings.Contains(now, job) != want[i] || strings.Contains(doubts, key) != want[i] {
				t.Errorf("%s: sees of %s what it should not, or not what it should", token, job)
			}
			status := map[bool]int{true: 200, false: 404}[want[i]]
			v.want(status, "/runs/"+job+"/run-of-"+job)
			v.want(status, "/doubts/settle?"+settling(key, "sent", job).Encode())
			before := len(d.said)
			form := settling(key, "sent", job)
			form.Set("form", v.form(now))
			if v.post("/doubts/settle", form); (len(d.said) > before) != want[i] {
				t.Errorf("%s: settled of %s: %v", token, job, d.said[before:])
			}
		}
	}
}

// settling is the form of a settlement.
func settling(key, word, job string) url.Values {
	return url.Values{"job": {job}, "spreadsheet": {"S1"}, "key": {key}, "generation": {"1"}, "word": {word}, "why": {"seen"}}
}

// Forms count only when they come from the page itself, from this login.
func TestPageForms(t *testing.T) {
	d := &desk{waiting: []claim.Message{doubt("reviews", "B-1", 0)}}
	v := visit(t, twoTenants(t, d))
	v.login(secret)
	_, page := v.get("/")
	form := settling("B-1", "sent", "reviews")
	refused := func(what string, headers ...string) {
		t.Helper()
		if status, _ := v.post("/doubts/settle", form, headers...); status != 403 || len(d.said) > 0 {
			t.Errorf("%s: %d, settled %v", what, status, d.said)
		}
	}
	refused("no token of the form")
	form.Set("form", "eHg")
	refused("another token")
	other := visit(t, v.s)
	other.login(secret)
	_, theirs := other.get("/")
	form.Set("form", v.form(theirs))
	refused("that of another login")
	form.Set("form", v.form(page))
	refused("from another site", "Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example")
	if status, to := v.post("/doubts/settle", form); status != 303 || to != "/doubts?taken" || len(d.said) != 1 {
		t.Fatalf("%d %s, settled %v", status, to, d.said)
	}
	if s := d.said[0]; s.Who != "ada" || s.Why != "seen" || s.Generation != 1 || s.Spreadsheet != "S1" || s.Word != claim.WordSent || len(d.marked) != 1 {
		t.Errorf("settled %+v, marked %v", s, d.marked)
	}
	form.Set("why", "  ")
	d.refuses = claim.ErrNoReason
	if status, page := v.post("/doubts/settle", form); status != 400 || !strings.Contains(page, "Say what you saw") {
		t.Errorf("without a reason: %d\n%s", status, page)
	}
	d.refuses = claim.ErrAnswered
	if status, page := v.post("/doubts/settle", form); status != 409 || !strings.Contains(page, "settled before") {
		t.Errorf("pressed twice: %d\n%s", status, page)
	}
	for _, path := range []string{"/login", "/logout"} {
		if status, _ := v.post(path, url.Values{"token": {secret}}, "Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"); status != 403 {
			t.Errorf("%s from another site: %d", path, status)
		}
	}
}

// A service without tokens asks for no login, and trusts its own machine alone.
func TestPageWithoutTokens(t *testing.T) {
	d := &desk{waiting: []claim.Message{doubt("reviews", "B-1", 0)}}
	v := visit(t, newServer(t, &book{}, d.in))
	page := v.want(200, "/doubts/settle?"+settling("B-1", "resend", "reviews").Encode(), "Send B-1 again?")
	form := settling("B-1", "resend", "reviews")
	if status, _ := v.post("/doubts/settle", form); status != 403 {
		t.Errorf("without the form's token: %d", status)
	}
	form.Set("form", v.form(page))
	if status, _ := v.post("/doubts/settle", form); status != 303 || len(d.said) != 1 || d.said[0].Who != "page" || len(d.marked) > 0 {
		t.Errorf("%d, settled %+v", status, d.said)
	}
	v.host = "evil.example"
	if status, body := v.get("/doubts"); status != 403 || strings.Contains(body, "B-1") {
		t.Errorf("by another name: %d", status)
	}
}

// A cell is hostile input: wherever it is shown, it is text.
func TestPageEscapes(t *testing.T) {
	const hostile = `"><script>alert(1)</script><img src=x onerror=alert(2)>'{{.}}` + "\u202e"
	m := doubt("reviews", hostile, 0)
	m.Reason, m.MessageID, m.Tab.Title, m.Spreadsheet = hostile, hostile, hostile, hostile
	d := &desk{waiting: []claim.Message{m}}
	b := &book{}
	if _, err := b.Start(t.Context(), claim.Request{Job: "reviews", RunID: "4711"}); err != nil {
		t.Fatal(err)
	}
	doc := &b.runs[0].doc
	doc.Detail, doc.Spreadsheet, doc.Tab = hostile, hostile, hostile
	doc.Rows = []claim.RowReport{{Row: 2, Key: hostile, Email: hostile, Outcome: claim.Rejected, SMTPReply: hostile, Reason: hostile + "2"}}
	doc.Doubts = []claim.Doubt{{Kind: claim.RowGone, Row: 2, Key: hostile, Detail: hostile, Advice: hostile}}
	v := visit(t, newServer(t, b, d.in))
	ask := url.Values{"job": {"reviews"}, "spreadsheet": {hostile}, "key": {hostile}, "generation": {"1"}, "word": {"sent"}}
	for _, path := range []string{"/", "/doubts", "/runs/reviews/4711", "/doubts/settle?" + ask.Encode()} {
		page := v.want(200, path, "&lt;script&gt;")
		for _, bad := range []string{"<script>alert", "<img src=x", `="">`} {
			if strings.Contains(page, bad) {
				t.Errorf("%s holds %s:\n%s", path, bad, page)
			}
		}
	}
}

// What a run has to say is on its page.
func TestPageShowsARun(t *testing.T) {
	b := &book{}
	if _, err := b.Start(t.Context(), claim.Request{Job: "reviews", RunID: "4711"}); err != nil {
		t.Fatal(err)
	}
	tab := int64(7)
	doc := &b.runs[0].doc
	doc.Spreadsheet, doc.Tab, doc.TabID, doc.Range, doc.APICalls = "S1", "Visits", &tab, "Visits!A1:h", claim.APICalls{Reads: 4, Writes: 1}
	doc.Steps = []claim.StepTime{{Step: claim.StepPick, At: noon}, {Step: claim.StepClaim, At: noon.Add(1)}}
	v := visit(t, newServer(t, b))
	v.want(200, "/runs/reviews/4711", "1 of 1 due rows sent", "4 reads, 1 write", "B-1001", "ada@example.com", "250 taken",
		`href="https://docs.google.com/spreadsheets/d/S1/edit#gid=7&amp;range=A2:H2"`, "The row is gone", "The row with this key is no longer in the range.",
		`<time datetime="2026-11-30T12:00:00Z" title="2026-11-30 12:00:00 UTC" data-form="clock">12:00:00 UTC</time>`, "not reached", "None.")
	v.want(404, "/runs/reviews/4712", "There is nothing here")
	v.want(404, "/runs/reviews", "There is nothing here")
	v.want(404, "/assets/..%2fpage.go")
	v.want(200, "/assets/page.css")
}
