package dashboard

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A session is a cookie that its viewer's token has signed: it says whose it is and
// until when, and the token cannot be learned from it. All instances with the same
// tokens take it, and none has to remember it; a token that is changed or taken away
// ends its sessions.
const (
	sessionCookie = "sheetclaim"
	sessionLasts  = 12 * time.Hour
)

// viewer is who looks at the page, with the rights of a token.
type viewer struct {
	name  string // of the token; "" without tokens
	bound bool   // to its jobs
	jobs  []Job
	acts  bool   // may start, send and settle
	key   []byte // signs sessions and forms
}

func (p *Page) newViewer(t Token) *viewer {
	v := &viewer{name: t.Name, bound: t.Jobs != nil, acts: !t.ReadOnly, key: sign([]byte(t.Token), "sheetclaim page 1")}
	for _, j := range p.cfg.Jobs {
		if !v.bound || slices.Contains(t.Jobs, j.Name) {
			v.jobs = append(v.jobs, j)
		}
	}
	return v
}

// sees reports whether a viewer may see the runs of a job, as the API's caller does.
func (v *viewer) sees(job string) bool {
	return !v.bound || slices.ContainsFunc(v.jobs, func(j Job) bool { return j.Name == job })
}

func sign(key []byte, text string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}

var coding = base64.RawURLEncoding

// newSession makes the value of a viewer's cookie: name, end, a random part and the
// signature.
func (v *viewer) newSession(now time.Time) string {
	value := coding.EncodeToString([]byte(v.name)) + "." + strconv.FormatInt(now.Add(sessionLasts).Unix(), 10) + "." + rand.Text()
	return value + "." + coding.EncodeToString(sign(v.key, value))
}

// session answers the value of a request's cookie; "" when there is none.
func session(r *http.Request) string {
	c, err := r.Cookie(sessionCookie)
	if err != nil {
		return ""
	}
	return c.Value
}

// whoIs answers who sent a request; nil: nobody who has logged in.
func (p *Page) whoIs(r *http.Request) *viewer {
	if p.anyone != nil {
		return p.anyone
	}
	value := session(r)
	parts := strings.Split(value, ".")
	if len(parts) != 4 {
		return nil
	}
	name, err := coding.DecodeString(parts[0])
	if err != nil {
		return nil
	}
	who := p.viewers[string(name)]
	until, err := strconv.ParseInt(parts[1], 10, 64)
	if who == nil || err != nil || !p.now().Before(time.Unix(until, 0)) {
		return nil
	}
	signed := strings.TrimSuffix(value, "."+parts[3])
	given, err := coding.DecodeString(parts[3])
	if err != nil || !hmac.Equal(given, sign(who.key, signed)) {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, out := p.ended[value]; out {
		return nil
	}
	return who
}

// end forgets a session before its time, in this process.
func (p *Page) end(value string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	for old, until := range p.ended {
		if now.After(until) {
			delete(p.ended, old)
		}
	}
	p.ended[value] = now.Add(sessionLasts)
}

// setCookie gives a session to the browser, or takes it back. It is for this site's own
// requests alone, out of reach of scripts, and sent over plain http to this machine only.
func (v *visit) setCookie(value string, seconds int) {
	http.SetCookie(v.w, &http.Cookie{ //nolint:gosec // Secure wherever the line can be listened to
		Name: sessionCookie, Value: value, Path: "/", MaxAge: seconds,
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: v.r.TLS != nil || !isLocal(v.r.Host),
	})
}

// isLocal reports whether a Host header names this machine.
func isLocal(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.Trim(hostport, "[]")
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.IsLoopback()
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// formToken is what each form of a viewer carries, so that no other site can send one.
func (v *visit) formToken() string {
	if v.who == nil {
		return ""
	}
	return coding.EncodeToString(sign(v.who.key, "form "+session(v.r)))
}

// checkForm refuses a form that was not sent from the page itself. The form of the login
// has no token, since nobody's rights could be used with it: there the browser's word
// about its origin has to do.
func (v *visit) checkForm() error {
	refused := &fault{status: http.StatusForbidden, Title: "This form was not taken", Text: "It did not come from this page, or from before you logged in. Nothing was changed. Go back, reload the page and try again."}
	if err := v.crossed.Check(v.r); err != nil {
		return refused
	}
	if err := v.r.ParseForm(); err != nil {
		return &fault{status: http.StatusBadRequest, Title: "This form was not taken", Text: "It is too large or not complete. Nothing was changed."}
	}
	if v.who != nil && v.r.URL.Path != "/login" && !hmac.Equal([]byte(v.r.PostForm.Get("form")), []byte(v.formToken())) {
		return refused
	}
	return nil
}
