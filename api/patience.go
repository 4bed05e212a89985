package api

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// patience is how long a caller wants to wait for the end of a run.
type patience struct {
	wait    time.Duration
	applied string // for Preference-Applied
}

// patienceOf reads ?wait=N and Prefer (RFC 7240, sections 4.1 and 4.3). respond-async
// alone means not to wait at all; wait=N, with it or without, to wait N seconds. A
// preference that cannot be read is ignored, as the RFC asks; a parameter that
// cannot be read is refused.
func (s *Server) patienceOf(r *http.Request) (patience, error) {
	prefs := preferences(r.Header.Values("Prefer"))
	p := patience{wait: s.cfg.MaxWait}
	var applied []string
	if _, ok := prefs["respond-async"]; ok {
		p.wait = 0
		applied = append(applied, "respond-async")
	}
	if wait, ok := s.seconds(prefs["wait"]); ok {
		p.wait = wait
		applied = append(applied, "wait="+strconv.Itoa(int(wait.Seconds())))
	}
	if query := r.URL.Query(); query.Has("wait") {
		wait, ok := s.seconds(query.Get("wait"))
		if !ok {
			return p, refuse(codeQueryInvalid, "expected wait=N with a whole number of seconds, found %s: correct it, or leave it out", brief(query.Get("wait"))).at("wait")
		}
		return patience{wait: wait}, nil
	}
	p.applied = strings.Join(applied, ", ")
	return p, nil
}

// seconds reads delay-seconds (RFC 9110, section 10.2.3) and keeps them within the
// longest wait.
func (s *Server) seconds(text string) (time.Duration, bool) {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return 0, false
	}
	return min(time.Duration(n)*time.Second, s.cfg.MaxWait), true
}
