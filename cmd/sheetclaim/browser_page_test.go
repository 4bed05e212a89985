package main

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/sheetclaim/sheetclaim/internal/sheetsemu"
	"github.com/sheetclaim/sheetclaim/internal/smtpsink"
)

// The page in a real Chromium, over the real service, emulator and mail catcher.

// The demo's runs appear on an open page by themselves, row by row; it ends with one
// message that waits, and a run that stopped.
func TestBrowserDemoAppearsLive(t *testing.T) {
	b := openBrowser(t)
	b.zone("Asia/Tokyo")
	d := startDemo(t)
	b.open(d.page)
	script[bool](b, `(() => {
		window.seen = {};
		const look = () => {
			const text = document.getElementById("live-running").innerText;
			for (const what of ["demo-1", "demo-2", "demo-3", "0 of 10 rows done", "B-1012 sent"]) {
				if (text.includes(what)) window.seen[what] = true;
			}
		};
		new MutationObserver(look).observe(document.getElementById("live-running"), {childList: true, subtree: true});
		look();
		return true;
	})()`)
	d.played(t)
	b.until("1 message waits for a person", "1 key waits for a person", "The newest run of review-requests stopped", "No run is under way", "3 of 4 due rows sent, 1 unknown", "10 of 10 due rows sent", "the rest was given back")
	seen := script[map[string]bool](b, "window.seen")
	if !seen["demo-1"] && !seen["demo-2"] && !seen["demo-3"] || !seen["0 of 10 rows done"] || !seen["B-1012 sent"] {
		t.Errorf("of the runs the page showed %v while they went on", seen)
	}
	b.tellsTimes()

	b.open(d.page + "/runs/review-requests/demo-4")
	b.until("The mail server's answer was lost", "guest14@example.com", "250 2.0.0 queued as", "Settle it here", "email: delivered", "4 reads, 2 writes")
	link := script[string](b, `[...document.querySelectorAll("a")].find(a => a.innerText === "15").href`)
	if page := get(t, strings.Split(link, "#")[0]); !strings.Contains(page, "B-1014") || !strings.HasSuffix(link, "#row-15") {
		t.Errorf("the link to the row leads to %s", link)
	}
	b.open(d.page + "/runs/review-requests/demo-5")
	b.until("Somebody wrote over the claim", "asked by the newsletter tool", "Find the other tool", "not reached")
	b.quiet()
}

// tellsTimes fails unless the view's times are those of Tokyo, with their UTC on hover.
func (b *browser) tellsTimes() {
	b.t.Helper()
	const all = `[...document.querySelectorAll("time")].map(e => [e.dateTime, e.title, e.textContent])`
	times := script[[][3]string](b, all)
	for _, shown := range times {
		at, err := time.Parse(time.RFC3339, shown[0])
		tokyo := at.In(time.FixedZone("", 9*3600)).Format("3:04:05")
		if err != nil || shown[1] != at.UTC().Format("2006-01-02 15:04:05 UTC") || !strings.Contains(shown[2], tokyo) {
			b.t.Errorf("the time of %s is shown as %q, on hover %q, %v", shown[0], shown[2], shown[1], err)
		}
	}
	if foot := script[string](b, `document.querySelector("footer").innerText`); len(times) == 0 || !strings.Contains(foot, "Asia/Tokyo") {
		b.t.Errorf("%d times, and the page says of its zone %q", len(times), foot)
	}
}

// doubtful is a service with a token and two messages of unknown fate, k1 and k3, and
// one that was sent between them. edits are texts of its configuration and what stands in
// their place, in turn.
func doubtful(t *testing.T, edits ...string) (*stage, *service) {
	t.Helper()
	s := newStage(t, dueRows(3))
	config := s.secured()
	for edit := range slices.Chunk(edits, 2) {
		s.edit(config, edit[0], edit[1])
	}
	s.sink.SetRules(
		smtpsink.Rule{Phase: smtpsink.Dot, Action: smtpsink.Drop, Accept: true, Recipient: "guest1@example.com", Times: 1},
		smtpsink.Rule{Phase: smtpsink.Dot, Action: smtpsink.Drop, Recipient: "guest3@example.com", Times: 1},
	)
	v := s.serve(config)
	v.must(http.StatusOK, "POST", "/v1/runs", `{"run_id": "4711"}`)
	return s, v
}

// login logs in by the form.
func (b *browser) login(url, token string) {
	b.t.Helper()
	b.open(url)
	b.until("Log in")
	ask(b, chromedp.SendKeys(chromedp.CSS("#token"), token))
	b.press("Log in")
}

// reads waits until the status of a row reads so.
func (s *stage) reads(row int, want string) {
	s.t.Helper()
	deadline := time.Now().Add(40 * time.Second)
	got := ""
	for time.Now().Before(deadline) {
		if got = s.emu.Grid(stageSheet, stageTab)[row-1][3]; strings.HasPrefix(got, want) {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	s.t.Fatalf("the status of row %d reads %q, want %q", row, got, want)
}

// A wrong token gets nowhere; with the right one a doubt is settled each way, once, and
// the sheet follows.
func TestBrowserSettlesBothWays(t *testing.T) {
	t.Parallel()
	s, v := doubtful(t)
	b := openBrowser(t)
	b.login(v.url+"/doubts", "wrong")
	b.until("That is no token of this service")
	if text := b.text(); strings.Contains(text, "k1") {
		t.Errorf("before the login:\n%s", text)
	}
	b.login(v.url+"/doubts", apiToken)
	b.until("k1", "k3", "guest1@example.com", "Message-ID")
	if cookies := script[string](b, "document.cookie"); cookies != "" {
		t.Errorf("scripts see the cookie %s", cookies)
	}
	wantNoSecret(t, ask(b, chromedp.OuterHTML(chromedp.CSS("html"))))

	b.press("It went out…")
	b.until("k1 went out?")
	second := script[string](b, "location.href")
	b.press("Yes, it went out")
	b.until("k1 went out?") // the browser wants a reason first
	ask(b, chromedp.SendKeys(chromedp.CSS("#why"), "it is in the Sent folder"))
	b.press("Yes, it went out")
	b.until("Your answer was taken", "sent by n8n: it is in the Sent folder", "k3")
	s.reads(2, "sent")

	b.press("Send it again…")
	b.until("Send k3 again?")
	ask(b, chromedp.SendKeys(chromedp.CSS("#why"), "no trace in the log"))
	ask(b, chromedp.KeyEvent("\r"))
	b.until("No message waits for you", "resend by n8n: no trace in the log", "Sent again by the next run")
	v.must(http.StatusOK, "POST", "/v1/runs", `{"run_id": "4712"}`)
	s.reads(4, "sent")

	b.open(second)
	b.until("This was settled before", "sent by n8n: it is in the Sent folder")
	s.wantOneEach(3)
	b.press("Log out")
	b.until("Log in")
	b.open(v.url + "/doubts")
	b.until("Log in")
	b.quiet()
}

// Everything works without scripts, by links and forms alone; a page with a run under way
// loads itself anew.
func TestBrowserWithoutScripts(t *testing.T) {
	t.Parallel()
	s, v := doubtful(t)
	v.must(http.StatusOK, "POST", "/v1/keys/claim", `{"key": "lost", "takeover": "never", "lease": "1ms"}`)
	b := openBrowser(t)
	b.scripts(false)
	b.login(v.url, apiToken)
	b.until("2 messages wait", "1 key waits", " UTC", "1 of 3 due rows sent")
	b.press("4711")
	b.until("Run 4711", "guest1@example.com", "UTC")

	b.press("Doubts")
	b.until("k1", "k3")
	b.settles("It went out…", "k1 went out?", "Yes, it went out", "Your answer was taken")
	s.reads(2, "sent")

	b.press("Keys")
	b.until("lost")
	b.press("lost")
	b.until("Nobody knows whether")
	b.settles("It was done…", "lost was done?", "Yes, it was done", "settled as done: seen")

	s.emu.Edit(stageSheet, func(book *sheetsemu.Book) { book.Tab(stageTab).Append("k4", "guest4@example.com", "2026-01-01", "") })
	b.press("Preview")
	b.until("1 of 1 due rows would be sent now", "Hello k4")
	b.press("Run now…")
	b.until("Run test now?")
	b.press("Yes, run it now")
	b.until("Run ", "1 of 1 due rows sent", "250 2.0.0 queued")
	s.reads(5, "sent")
}

// settles gives a word: it presses, is asked once more, gives a reason and says yes.
func (b *browser) settles(press, asked, yes, taken string) {
	b.t.Helper()
	b.press(press)
	b.until(asked)
	ask(b, chromedp.SendKeys(chromedp.CSS("#why"), "seen"))
	b.press(yes)
	b.until(taken)
}

// What stands in cells does nothing but to be read.
func TestBrowserHostileCells(t *testing.T) {
	t.Parallel()
	const hostile = `"><img src=x onerror=alert(1)><script>alert(2)</script>`
	rows := dueRows(4)
	rows[1][0] = hostile
	rows[2][1] = hostile + "@example.com"
	rows[3][0] = `javascript:alert(3)//`
	rows[4][0] = "=HYPERLINK(\"javascript:alert(4)\",\"k4\")"
	s := newStage(t, rows)
	config := s.config("one")
	s.sink.SetRules(smtpsink.Rule{Phase: smtpsink.Dot, Action: smtpsink.Drop, Recipient: "guest1@example.com", Times: 1})
	v := s.serve(config)
	b := openBrowser(t)
	b.open(v.url)
	go func() { _, _ = v.ask(t.Context(), "POST", "/v1/runs", `{"run_id": "4711"}`) }()
	b.until("1 message waits for a person")
	b.open(v.url + "/runs/test/4711")
	b.until(hostile, "javascript:alert(3)//")
	b.open(v.url + "/doubts")
	b.until(hostile)
	b.press("Send it again…")
	b.until("Send " + hostile + " again?")
	if bad := script[int](b, `document.querySelectorAll("main img, main script, main [onerror], a[href^='javascript']").length`); bad > 0 {
		t.Errorf("%d elements came out of cells", bad)
	}
	b.quiet()
}
