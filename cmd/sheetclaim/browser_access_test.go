package main

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/sheetclaim/sheetclaim/internal/sheetsemu"
)

// axe-core finds no serious fault in any view, at both widths and in both colours, and
// no view is wider than its window.
func TestBrowserAccessibility(t *testing.T) {
	source, err := os.ReadFile(filepath.Clean(os.Getenv("AXE_CORE")))
	if err != nil {
		missing(t, "AXE_CORE names no file axe.min.js (npm install axe-core): accessibility is not checked")
	}
	t.Parallel()
	s, v := doubtful(t, `text: "Hello {{key}}"`, `text: "Hello {{key}}", html: "<p>Hello {{key}}</p>"`)
	s.emu.Edit(stageSheet, func(book *sheetsemu.Book) {
		tab := book.Tab(stageTab)
		tab.Append("k4", "guest4@example.com", "2026-01-01", "")
		tab.Append("k5", "nobody", "2026-01-01", "")
	})
	v.must(http.StatusOK, "POST", "/v1/keys/claim", `{"key": "lost", "takeover": "never", "lease": "1ms", "note": "an invoice"}`)
	long := strings.Repeat("a.long-name_", 8)
	v.must(http.StatusOK, "POST", "/v1/runs", `{"run_id": "`+long+`"}`)
	s.emu.Edit(stageSheet, func(book *sheetsemu.Book) { book.Tab(stageTab).Append("k6", "guest6@example.com", "2026-01-01", "") })
	v.must(http.StatusOK, "POST", "/v1/keys/claim", `{"key": "`+long+`"}`)
	b := openBrowser(t)
	looks := func(name string) {
		script[bool](b, string(source)+"; true")
		for _, dark := range []bool{false, true} {
			b.dark(dark)
			for _, width := range []int64{wide, narrow} {
				b.size(width)
				for _, fault := range b.axe(dark == (width == wide)) {
					t.Errorf("%s, %d wide, dark %t: %s", name, width, dark, fault)
				}
				if n := script[int](b, `[...document.querySelectorAll("table")].filter(t => !t.caption?.innerText.trim() || !t.querySelector("th[scope=col]")).length`); n > 0 {
					t.Errorf("%s: %d tables have no caption or no headers", name, n)
				}
				const out = `[...document.querySelectorAll("main td, main p, main .card, main li")].filter(e => e.getBoundingClientRect().right > document.documentElement.clientWidth - 8 && e.offsetWidth > 1).length`
				if n := script[int](b, out); n > 0 {
					t.Errorf("%s, %d wide: %d parts reach beyond the margin", name, width, n)
				}
				if over := script[int](b, "document.documentElement.scrollWidth - document.documentElement.clientWidth"); over > 0 {
					t.Errorf("%s: %d pixels stick out at a width of %d", name, over, width)
				}
			}
		}
	}
	b.open(v.url + "/login")
	looks("login")
	b.login(v.url, apiToken)
	b.until("2 messages wait", "1 key waits")
	for name, path := range map[string]string{
		"now": "/", "run": "/runs/test/4711", "long run": "/runs/test/" + long, "doubts": "/doubts", "nothing": "/runs/test/never",
		"settle":  "/doubts/settle?job=test&spreadsheet=" + stageSheet + "&key=k1&generation=1&word=sent",
		"preview": "/preview/test", "row": "/preview/test?row=k6", "run now": "/preview/test/run",
		"overlap": "/overlap", "keys": "/keys", "key": "/keys/show?key=lost", "settle a key": "/keys/settle?key=lost&word=done",
	} {
		b.open(v.url + path)
		looks(name)
	}
	b.open(v.url)
	b.goesByKeyboard()
	b.open(v.url + "/preview/test?row=k6")
	ask(b, chromedp.SendKeys(chromedp.CSS("input[name=to]"), "me@example.com"))
	ask(b, chromedp.KeyEvent("\r"))
	b.until("The test is on its way")
	looks("test")
	b.open(v.url + "/doubts")
	for range 2 { // and what it says on a good day, with answers below
		b.settles("It went out…", "went out?", "Yes, it went out", "Your answer was taken")
	}
	looks("doubts that are settled")
	s.reads(2, "sent")
}

// goesByKeyboard walks the first view by Tab: past the navigation by the link that skips
// it, else through it, in the order of the page, and one sees where one is.
func (b *browser) goesByKeyboard() {
	b.t.Helper()
	const at = `(() => {
		const e = document.activeElement, box = e.getBoundingClientRect(), look = getComputedStyle(e);
		return [e.textContent.trim(), box.left >= 0 && box.top >= 0 && look.outlineStyle !== "none" ? "seen" : "not seen"];
	})()`
	var went []string
	for range 4 {
		ask(b, chromedp.KeyEvent(kb.Tab))
		here := script[[2]string](b, at)
		went = append(went, here[0])
		if here[1] != "seen" {
			b.t.Errorf("the focus on %q is %s", here[0], here[1])
		}
	}
	if want := []string{"To the content", "sheetclaim", "Now", "Doubts"}; !slices.EqualFunc(went, want, strings.HasPrefix) {
		b.t.Errorf("Tab goes through %q", went)
	}
	b.open(script[string](b, "location.href"))
	ask(b, chromedp.KeyEvent(kb.Tab))
	ask(b, chromedp.KeyEvent(kb.Enter))
	ask(b, chromedp.KeyEvent(kb.Tab))
	if here := script[[2]string](b, at); here[0] != "Look and decide" {
		b.t.Errorf("after the link to the content Tab goes to %q", here[0])
	}
	if said := script[string](b, `document.querySelector("[role=status]")?.textContent ?? ""`); said != "No run is under way." {
		b.t.Errorf("a screen reader is told %q", said)
	}
}

// axe answers the serious and critical faults of the page that is open; of its colours
// alone, which costs a tenth, where the rest was looked at in other colours.
func (b *browser) axe(coloursOnly bool) []string {
	b.t.Helper()
	options := `{resultTypes: ["violations"]}`
	if coloursOnly {
		options = `{resultTypes: ["violations"], runOnly: ["color-contrast"]}`
	}
	type fault struct {
		ID, Impact, Help string
		Nodes            []struct{ HTML string }
	}
	found := ask(b, chromedp.Evaluate[[]fault](`axe.run(document, `+options+`).then(r => r.violations)`, chromedp.EvalAwaitPromise))
	var serious []string
	for _, f := range found {
		if slices.Contains([]string{"serious", "critical"}, f.Impact) {
			serious = append(serious, f.ID+": "+f.Help+": "+f.Nodes[0].HTML)
		}
	}
	return serious
}
