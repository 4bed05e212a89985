package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	cdp "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Widths of a desk and of a phone, in CSS pixels.
const (
	wide   = 1180
	narrow = 390
)

// missing skips a test on a laptop that lacks what it needs, and fails it in CI.
func missing(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(what)
	}
	t.Skip(what)
}

// browser is one page of a real Chromium.
type browser struct {
	t   *testing.T
	ctx context.Context //nolint:containedctx // chromedp keeps its browser in one

	mu   sync.Mutex
	said []string // dialogs and errors of scripts, none of which may come
}

// chromium is the one process that all tests share, each with a profile of its own.
var chromium struct {
	mu    sync.Mutex
	users int
	ctx   context.Context //nolint:containedctx // chromedp keeps its browser in one
	stop  func()
}

// useChromium starts the process for the first who asks; the last who is done ends it.
func useChromium(t *testing.T) context.Context {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		missing(t, "no Chromium is installed: the page is not looked at in a browser")
	}
	chromium.mu.Lock()
	defer chromium.mu.Unlock()
	if chromium.users == 0 {
		if err := startChromium(path); err != nil {
			t.Fatal(err)
		}
	}
	chromium.users++
	t.Cleanup(func() {
		chromium.mu.Lock()
		defer chromium.mu.Unlock()
		if chromium.users--; chromium.users == 0 {
			chromium.stop()
		}
	})
	return chromium.ctx
}

func startChromium(path string) error {
	profile, err := os.MkdirTemp("", "sheetclaim-chromium-")
	if err != nil {
		return err
	}
	flags := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.UserDataDir(profile), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("hide-scrollbars", true),
		// Frames that are shut in stay in the page's process, where tests can look into them.
		chromedp.Flag("disable-features", "Translate,BlinkGenPropertyTrees,IsolateSandboxedIframes"))
	ctx, stop := chromedp.NewExecAllocator(context.Background(), flags...)
	ctx, stopPage := chromedp.NewContext(ctx)
	chromium.ctx = ctx
	chromium.stop = func() {
		stopPage()
		stop()
		_ = os.RemoveAll(profile)
	}
	if _, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("true")); err != nil {
		chromium.stop()
		return err
	}
	return nil
}

func openBrowser(t *testing.T) *browser {
	t.Helper()
	ctx, stop := chromedp.NewContext(useChromium(t), chromedp.WithNewBrowserContext())
	t.Cleanup(stop)
	b := &browser{t: t, ctx: ctx}
	if err := chromedp.Listen(ctx, b.listen); err != nil { // opens the page
		t.Fatal(err)
	}
	b.size(wide)
	return b
}

// listen notes what no page of ours may bring.
func (b *browser) listen(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *cdp.EventJavascriptDialogOpening:
		b.said = append(b.said, "a dialog: "+e.Message)
		go func() { _, _ = chromedp.Call(b.ctx, cdp.HandleJavaScriptDialog, cdp.HandleJavaScriptDialogParams{}) }()
	case *runtime.EventExceptionThrown:
		b.said = append(b.said, "an exception: "+e.ExceptionDetails.Text)
	}
}

// quiet fails when a page brought a dialog or an error.
func (b *browser) quiet() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, what := range b.said {
		b.t.Errorf("the page brought %s", what)
	}
}

// ask carries out an action that has to end within half a minute.
func ask[T any](b *browser, action chromedp.Action[T]) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 30*time.Second)
	defer cancel()
	v, err := chromedp.Run(ctx, action)
	if err != nil {
		b.t.Fatal(err)
	}
	return v
}

// script answers what an expression of the page's script is.
func script[T any](b *browser, expression string) T {
	b.t.Helper()
	return ask(b, chromedp.Evaluate[T](expression))
}

func (b *browser) open(url string) {
	b.t.Helper()
	ask(b, chromedp.Navigate(url))
	ask(b, chromedp.WaitReady(chromedp.CSS("main")))
}

func (b *browser) size(width int64) {
	b.t.Helper()
	ask(b, chromedp.EmulateViewport(width, 900))
}

// dark asks for the dark colours, or the light ones.
func (b *browser) dark(yes bool) {
	b.t.Helper()
	value := "light"
	if yes {
		value = "dark"
	}
	features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: value}}
	if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features}); err != nil {
		b.t.Fatal(err)
	}
}

// zone puts the viewer into a time zone.
func (b *browser) zone(name string) {
	b.t.Helper()
	if _, err := chromedp.Call(b.ctx, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: name}); err != nil {
		b.t.Fatal(err)
	}
}

// scripts lets the page's scripts run, or not.
func (b *browser) scripts(run bool) {
	b.t.Helper()
	params := emulation.SetScriptExecutionDisabledParams{Value: !run}
	if _, err := chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled, params); err != nil {
		b.t.Fatal(err)
	}
}

// visible is the text of the view that can be seen.
const visible = `document.querySelector("main")?.innerText ?? ""`

func (b *browser) text() string {
	b.t.Helper()
	return script[string](b, visible)
}

// until waits until the view's text holds all of these, without a reload by us.
func (b *browser) until(texts ...string) {
	b.t.Helper()
	b.holds(visible, texts...)
}

// reaches waits until a page with that in its address is there.
func (b *browser) reaches(address string) {
	b.t.Helper()
	b.holds(`document.readyState === "complete" ? location.href : ""`, address)
}

// holds waits until what the page answers to an expression holds all of these.
func (b *browser) holds(expression string, texts ...string) {
	b.t.Helper()
	deadline := time.Now().Add(40 * time.Second)
	for {
		// A page on its way to the next one has nothing to say.
		text, _ := chromedp.Run(b.ctx, chromedp.Evaluate[string](expression))
		lacks := ""
		for _, want := range texts {
			if !strings.Contains(text, want) {
				lacks = want
			}
		}
		if lacks == "" {
			return
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("the page does not say %q:\n%s\n%s", lacks, text, b.text())
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// press clicks the link or button with that text as soon as it is there, in one step,
// since a stream may put another in its place at any moment.
func (b *browser) press(text string) {
	b.t.Helper()
	const find = `(text => {
		const all = [...document.querySelectorAll("a, button, summary")].filter(e => e.textContent.trim().startsWith(text) && !e.disabled);
		if (all.length) all[0].click();
		return all.length ? "pressed" : "";
	})(%q)`
	b.holds(fmt.Sprintf(find, text), "pressed")
}
