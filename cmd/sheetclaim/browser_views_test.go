package main

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/chromedp"

	"github.com/sheetclaim/sheetclaim/internal/sheetsemu"
)

// A job is previewed, tried on somebody's own address and run; its runs overlap; keys are
// settled. One service and one browser go through all of it.
func TestBrowserPreviewOverlapKeys(t *testing.T) {
	t.Parallel()
	var loaded atomic.Int32 // by a message, from another host
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { loaded.Add(1) }))
	t.Cleanup(other.Close)
	rows := dueRows(3)
	rows[1][0] = `k1<script>document.body.innerHTML = "owned"</script>`
	rows[2][1] = "not an address"
	s := newStage(t, rows)
	config := s.secured("first_run_limit: 1")
	s.edit(config, `text: "Hello {{key}}"`, `text: "Hello {{key}}", html: '<h1 style="color: green">Dear {{key}}</h1><script>document.body.innerHTML = "owned"</script><img src="`+other.URL+`/pixel" onerror="alert(1)">'`)
	v := s.serve(config)
	b := openBrowser(t)
	b.login(v.url+"/preview", apiToken)
	b.until("What test would send now")

	b.previews(s)
	if n := loaded.Load(); n > 0 {
		t.Errorf("a message loaded something from another host %d times", n)
	}
	b.sendsTest(s)
	b.runsNow(s, v)
	b.showsOverlap(s, v)
	b.settlesKeys(v)
	b.quiet()
}

// A token that is read-only sees everything and no button.
func TestBrowserReadOnly(t *testing.T) {
	t.Parallel()
	const reader = "token-of-somebody-who-looks"
	_, v := doubtful(t, "tokens: [", "tokens: [{name: reader, token: "+reader+", read_only: true}, ")
	v.must(http.StatusOK, "POST", "/v1/keys/claim", `{"key": "lost", "takeover": "never", "lease": "1ms"}`)
	b := openBrowser(t)
	b.login(v.url, reader)
	b.until("2 messages wait")
	for path, shows := range map[string]string{
		"/": "2 messages wait", "/runs/test/4711": "guest1@example.com", "/doubts": "k1", "/preview/test": "What test would send now",
		"/preview/test?row=k1": "About k1", "/overlap": "runs", "/keys": "lost", "/keys/show?key=lost": "Nobody knows whether",
		"/keys/settle?key=lost&word=done": "This token only looks", "/preview/test/run": "This token only looks",
	} {
		b.open(v.url + path)
		b.until(shows)
		const texts = `[...document.querySelectorAll("button, .button, input[type=submit], summary")].map(e => e.textContent.trim())`
		for _, text := range script[[]string](b, texts) {
			if !slices.Contains([]string{"Log out", "Search", "Show its message"}, text) {
				t.Errorf("%s offers %q", path, text)
			}
		}
	}
}

// previews looks at the messages and at the row that makes none.
func (b *browser) previews(s *stage) {
	b.t.Helper()
	b.until("Without that it would be 2 of 3 due rows", "Rows that would not go", "not an address", "Mend the row", "About k1<script>", "Hello k3", "Would go now")
	if text := b.text(); strings.Contains(text, "Handled before") || strings.Contains(text, "Hidden") {
		b.t.Errorf("the preview counts what there is none of:\n%s", text)
	}
	if bad := script[int](b, `document.querySelectorAll("main script, main img, iframe:not([sandbox='']), iframe:not([srcdoc])").length`); bad > 0 {
		b.t.Errorf("%d elements came out of cells, or are frames that are not shut in", bad)
	}
	frames := b.frames()
	if len(frames) != 2 || !strings.Contains(frames[0], "Dear k1<script>") || !strings.Contains(frames[1], "Dear k3") || strings.Contains(frames[0]+frames[1], "owned</") {
		b.t.Errorf("the frames show %q", frames)
	}
	if high := script[int](b, `document.querySelector("iframe").clientHeight`); high > 150 {
		b.t.Errorf("a frame for one line is %d pixels high", high)
	}
	s.wantUntouched()
}

// frames answers what the frames of the page show: their texts, past the sandbox, which
// a page's own script cannot look into. The page is loaded anew, since what was asked
// for changes the names of its nodes.
func (b *browser) frames() []string {
	b.t.Helper()
	doc, err := chromedp.Call(b.ctx, dom.GetDocument, dom.GetDocumentParams{Depth: new(int64(-1)), Pierce: new(true)})
	if err != nil {
		b.t.Fatal(err)
	}
	var shown []string
	var walk func(n *cdp.Node)
	walk = func(n *cdp.Node) {
		if n.ContentDocument != nil {
			shown = append(shown, textOf(n.ContentDocument))
		}
		for _, child := range n.Children {
			walk(child)
		}
	}
	walk(doc.Root)
	ask(b, chromedp.Reload())
	return shown
}

// textOf answers the text below a node that is no script.
func textOf(n *cdp.Node) string {
	if n.NodeName == "SCRIPT" {
		return ""
	}
	text := ""
	if n.NodeName == "#text" {
		text = n.NodeValue
	}
	for _, child := range n.Children {
		text += textOf(child)
	}
	return text
}

// sendsTest sends one message to the viewer.
func (b *browser) sendsTest(s *stage) {
	b.t.Helper()
	b.press("Send it to yourself as a test: k3")
	ask(b, chromedp.SendKeys(chromedp.CSS("#to-4"), "me@example.com"))
	ask(b, chromedp.KeyEvent("\r"))
	b.until("The test is on its way", "went to me@example.com", "Message-ID", "250 2.0.0 queued")
	got := s.sink.Messages()
	if len(got) != 1 || !slices.Equal(got[0].To, []string{"me@example.com"}) {
		b.t.Fatalf("the test brought %d messages", len(got))
	}
	if m, err := got[0].Parse(); err != nil || !strings.Contains(m.Get("Subject"), "About k3") || m.Get("Subject") == "About k3" {
		b.t.Errorf("the test is not marked as one: %q, %v", m.Get("Subject"), err)
	}
	if row := s.emu.Grid(stageSheet, stageTab)[3]; len(row) > 3 {
		b.t.Errorf("the test wrote into the sheet: %q", row)
	}
	b.press("Back to the preview")
	b.until("What test would send now")
}

// runsNow starts the job's first run, which more rows are due for than may go unconfirmed.
func (b *browser) runsNow(s *stage, v *service) {
	b.t.Helper()
	b.press("Run now…")
	b.until("Run test now?", "3 rows are due", "this job has never run, and all 3 due rows are meant to be mailed")
	b.press("Yes, run it now") // the browser wants the box checked
	if a := v.must(http.StatusOK, "GET", "/v1/runs", ""); !strings.Contains(a.body, `"runs":[]`) {
		b.t.Errorf("a large first run began unconfirmed: %s", a.body)
	}
	b.until("Run test now?")
	ask(b, chromedp.Click(chromedp.CSS("input[name=confirm]")))
	b.press("Yes, run it now")
	b.until("Began", "2 of 3 due rows sent", "250 2.0.0 queued", "not an address")
	if n := len(s.sink.Messages()); n != 3 { // with the test
		b.t.Errorf("%d messages", n)
	}
}

// showsOverlap looks at two runs that began at the same moment.
func (b *browser) showsOverlap(s *stage, v *service) {
	b.t.Helper()
	s.emu.Edit(stageSheet, func(book *sheetsemu.Book) { book.Tab(stageTab).Append("k4", "guest4@example.com", "2026-01-01", "") })
	v.atOnce(`{"run_id": "first"}`, `{"run_id": "second"}`)
	b.press("Overlap")
	b.until("95 of 100 runs end within", "1 of 3 runs", "Newest overlaps", "first", "second")
	if n := script[int](b, `document.querySelectorAll(".chart .late").length`); n != 1 {
		b.t.Errorf("%d bars stand out", n)
	}
	first := script[float64](b, `document.querySelector(".chart a rect").x.baseVal.value`)
	if first <= 0 || first > 50 {
		b.t.Errorf("the first run stands at %v of 1000: the chart does not begin with it", first)
	}
	b.press("7 days")
	b.holds(`document.querySelector("[aria-current=true]")?.innerText ?? ""`, "7 days")
	b.until("1 of 3 runs")
}

// settlesKeys searches for keys and says how each ended, once.
func (b *browser) settlesKeys(v *service) {
	b.t.Helper()
	for _, body := range []string{
		`{"key": "invoice:1", "takeover": "never", "lease": "1ms", "owner": "billing flow"}`,
		`{"key": "invoice:2", "takeover": "never", "lease": "1ms"}`, `{"key": "stripe:evt_1"}`,
	} {
		v.must(http.StatusOK, "POST", "/v1/keys/claim", body)
	}
	b.press("Keys")
	b.until("invoice:1", "invoice:2", "stripe:evt_1", "billing flow")
	ask(b, chromedp.SendKeys(chromedp.CSS("#find"), "invoice:"))
	ask(b, chromedp.KeyEvent("\r"))
	b.reaches("/keys?find=invoice")
	b.until("invoice:1", "invoice:2")
	if text := b.text(); strings.Contains(text, "stripe") {
		b.t.Errorf("the search found too much:\n%s", text)
	}
	twice := map[string]string{}
	for key, words := range map[string][3]string{
		"invoice:1": {"It was done…", "Yes, it was done", "settled as done: seen"},
		"invoice:2": {"It was not done…", "Yes, let the next have it", "settled as released: seen"},
	} {
		b.press(key)
		b.until("Nobody knows whether")
		b.settles(words[0], "What did you see?", words[1], words[2])
		twice[key] = v.url + "/keys/settle?key=" + url.QueryEscape(key) + "&word=done"
		b.open(v.url + "/keys?find=invoice:")
		b.until("invoice:1")
	}
	for key, address := range twice {
		b.open(address)
		b.until("This key waits for nobody")
		won := v.must(http.StatusOK, "POST", "/v1/keys/claim", `{"key": "`+key+`"}`).body
		if strings.Contains(won, `"won":true`) != (key == "invoice:2") {
			b.t.Errorf("claimed again after the word: %s", won)
		}
	}
	b.open(v.url + "/keys?how=exactly&find=" + url.QueryEscape("invoice:1"))
	b.until("settled as done: seen", "nobody gets it again")
}
