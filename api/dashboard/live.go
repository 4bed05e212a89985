package dashboard

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// A stream of server-sent events (HTML Living Standard, section 9.2) keeps a view up to
// date: its parts are rendered here and sent when they differ from what was sent before.
// The runs of this process say when they change; those of others, and what else the
// ledger knows, are looked up now and then.
const (
	mostStreams  = 64                     // at a time; further ones are asked to come later
	streamLasts  = 10 * time.Minute       // then the browser asks again, and is looked at again
	lookEvery    = 2 * time.Second        // into the ledger
	gatherFor    = 150 * time.Millisecond // changes that come together are sent together
	heartbeat    = 15 * time.Second       // so that proxies keep a quiet stream
	writeWithin  = 10 * time.Second       // a reader that takes longer is let go
	retryAfterMS = 2000                   // when the browser asks again, in milliseconds
)

// stream is one open view.
type stream struct {
	*visit
	out  *http.ResponseController
	sent map[string]string // parts by the id of their element
	job  string            // of the run that is shown; "": the first view
	run  string
	beat time.Time
}

// getLive streams the parts of the first view, or of the run that is named.
func (p *Page) getLive(v *visit) error {
	query := v.r.URL.Query()
	s := &stream{visit: v, out: http.NewResponseController(v.w), sent: map[string]string{}, job: query.Get("job"), run: query.Get("run")}
	if s.job != "" && !v.who.sees(s.job) {
		return notFound()
	}
	if !p.openStream() {
		v.w.Header().Set("Retry-After", "10")
		return &fault{status: http.StatusServiceUnavailable, Title: "Too many open pages", Text: "They show what was there when they were loaded. Reload to see more."}
	}
	defer p.closeStream()
	v.w.Header().Set("Content-Type", "text/event-stream")
	v.w.Header().Set("X-Accel-Buffering", "no") // nginx would keep events back
	_ = s.out.SetReadDeadline(time.Time{})      // that of the request is over
	if err := s.write(fmt.Sprintf("retry: %d\n\n", retryAfterMS)); err != nil {
		return nil
	}
	s.follow()
	return nil
}

func (p *Page) openStream() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open >= mostStreams {
		return false
	}
	p.open++
	return true
}

func (p *Page) closeStream() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open--
}

// follow sends what changes until the reader is gone, the service stops, or the stream
// has lasted long enough.
func (s *stream) follow() {
	over := time.NewTimer(streamLasts)
	defer over.Stop()
	for {
		changed := s.cfg.Live.Changed()
		if err := s.update(); err != nil {
			return
		}
		look := time.NewTimer(lookEvery)
		select {
		case <-changed:
			look.Reset(gatherFor)
			select {
			case <-look.C:
			case <-s.r.Context().Done():
			case <-s.closed:
			}
		case <-look.C:
		case <-over.C:
			return
		case <-s.r.Context().Done():
		case <-s.closed:
		}
		look.Stop()
		select {
		case <-s.closed:
			return
		case <-s.r.Context().Done():
			return
		default:
		}
	}
}

// update sends the parts that changed, or now and then a sign of life.
func (s *stream) update() error {
	parts, err := s.parts()
	if err != nil { // the ledger may be back in a moment
		s.cfg.Log.Warn("the page could not be kept up to date", "error", err)
		return s.sign()
	}
	changed := map[string]string{}
	for id, html := range parts {
		if s.sent[id] != html {
			s.sent[id], changed[id] = html, html
		}
	}
	if len(changed) == 0 {
		return s.sign()
	}
	data, err := json.Marshal(changed)
	if err != nil {
		return err
	}
	return s.write("data: " + string(data) + "\n\n")
}

// sign sends a comment when nothing was sent for a while.
func (s *stream) sign() error {
	if s.now().Sub(s.beat) < heartbeat {
		return nil
	}
	return s.write(": still here\n\n")
}

func (s *stream) write(text string) error {
	s.beat = s.now()
	_ = s.out.SetWriteDeadline(s.beat.Add(writeWithin))
	if _, err := s.w.Write([]byte(text)); err != nil {
		return err
	}
	return s.out.Flush()
}

// parts renders what a view shows now, by the ids of its elements.
func (s *stream) parts() (map[string]string, error) {
	if s.job != "" {
		return s.runParts()
	}
	b, err := s.shared(s.r.Context(), s.who)
	if err != nil {
		return nil, err
	}
	parts := map[string]string{"live-say": b.Say}
	for _, name := range []string{"waits", "running", "jobs", "ended"} {
		if parts["live-"+name], err = part("now", name, b); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

func (s *stream) runParts() (map[string]string, error) {
	view, err := s.findRun(s.r.Context(), s.who, s.job, s.run)
	if err != nil {
		return nil, err
	}
	body, err := part("run", "run", view)
	return map[string]string{"live-run": body, "live-say": view.say()}, err
}
