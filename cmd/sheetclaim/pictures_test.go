package main

import (
	"bufio"
	"bytes"
	"context"
	img "image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// demoProcess is the demo in a process of its own.
type demoProcess struct {
	page  string // its address
	ended chan struct{}
	lines chan string
}

// startDemo starts the demo with --keep, and returns as soon as it names its page.
func startDemo(t *testing.T, args ...string) *demoProcess {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	cmd := exec.CommandContext(ctx, "sheetclaim", append([]string{"demo", "--keep"}, args...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	d := &demoProcess{ended: make(chan struct{}), lines: make(chan string, 200)}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-d.ended
		if err := cmd.Wait(); err != nil {
			t.Errorf("the demo ended with %v", err)
		}
		cancel()
	})
	go func() {
		defer close(d.ended)
		defer close(d.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			d.lines <- s.Text()
		}
	}()
	address := regexp.MustCompile(`service +(http://\S+)`)
	for line := range d.lines {
		if found := address.FindStringSubmatch(line); found != nil {
			d.page = found[1]
			return d
		}
	}
	t.Fatal("the demo names no page")
	return nil
}

// played waits until the demo has played its scenario.
func (d *demoProcess) played(t *testing.T) {
	t.Helper()
	for line := range d.lines {
		if regexp.MustCompile(`^Still running`).MatchString(line) {
			return
		}
	}
	t.Fatal("the demo ended early")
}

// TestPictures makes the pictures of the documentation: scripts/pictures.
func TestPictures(t *testing.T) {
	dir := os.Getenv("SHEETCLAIM_PICTURES")
	if dir == "" {
		t.Skip("SHEETCLAIM_PICTURES names no folder for pictures")
	}
	b := openBrowser(t)
	d := startDemo(t)
	width := int64(wide)
	keep := func(name string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name+".png"), b.picture(width), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b.open(d.page)
	b.until("demo-1", "wait")
	keep("running")
	d.played(t)
	time.Sleep(2 * time.Second) // alerts go out a moment after the runs
	for _, dark := range []bool{false, true} {
		b.dark(dark)
		for _, width = range []int64{wide, narrow} {
			b.size(width)
			tail := map[bool]string{false: "", true: "-dark"}[dark] + map[bool]string{false: "", true: "-phone"}[width == narrow]
			for name, path := range map[string]string{
				"now": "/", "doubts": "/doubts", "run": "/runs/review-requests/demo-5", "lost": "/runs/review-requests/demo-4",
				"preview": "/preview/review-requests", "row": "/preview/review-requests?row=B-1017", "runnow": "/preview/review-requests/run",
				"overlap": "/overlap?last=hour", "keys": "/keys", "key": "/keys/show?key=stripe%3Aevt_1042", "keysettle": "/keys/settle?key=refund%3AB-1014&word=done", "nothing": "/runs/review-requests/none",
			} {
				b.open(d.page + path)
				keep(name + tail)
			}
			b.open(d.page + "/doubts")
			b.press("It went out")
			b.until("went out?")
			keep("settle" + tail)
		}
	}
}

// picture answers the whole page as a PNG. It is made as high as it is first, since
// frames that were never in sight are not painted.
func (b *browser) picture(width int64) []byte {
	b.t.Helper()
	high := script[int64](b, "document.documentElement.scrollHeight")
	ask(b, chromedp.EmulateViewport(width, max(high, 600)))
	ask(b, chromedp.Sleep(100*time.Millisecond))
	defer b.size(width)
	shot, err := png.Decode(bytes.NewReader(ask(b, chromedp.FullScreenshot(100))))
	if err != nil {
		b.t.Fatal(err)
	}
	var small bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&small, fewColours(shot)); err != nil {
		b.t.Fatal(err)
	}
	return small.Bytes()
}

// fewColours is a picture with 256 colours at most: its own where it has no more, and
// else each by the nearest of those that it has most of.
func fewColours(shot img.Image) img.Image {
	count := map[color.RGBA]int{}
	all := shot.Bounds()
	for y := all.Min.Y; y < all.Max.Y; y++ {
		for x := all.Min.X; x < all.Max.X; x++ {
			count[color.RGBAModel.Convert(shot.At(x, y)).(color.RGBA)]++
		}
	}
	most := slices.SortedFunc(maps.Keys(count), func(a, b color.RGBA) int { return count[b] - count[a] })
	var palette color.Palette
	for _, c := range most[:min(256, len(most))] {
		palette = append(palette, c)
	}
	few := img.NewPaletted(all, palette)
	draw.Draw(few, all, shot, all.Min, draw.Src)
	return few
}
