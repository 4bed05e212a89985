package dashboard

import (
	"bytes"
	"crypto/rand"
	"embed"
	"errors"
	"net/http"
	"sync"
	"time"
)

// Page serves the page. It is an http.Handler for the paths that Paths lists.
type Page struct {
	cfg     Config
	mux     *http.ServeMux
	crossed *http.CrossOriginProtection
	viewers map[string]*viewer // by the name of their token
	anyone  *viewer            // who comes to a service without tokens
	now     func() time.Time

	mu     sync.Mutex
	ended  map[string]time.Time // sessions that were logged out, until they end by themselves
	boards map[string]*board    // the newest of each viewer, for streams
	open   int                  // streams
	closed chan struct{}        // when the service stops
	once   sync.Once
}

// New makes the page.
func New(cfg Config) (*Page, error) {
	cfg, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	p := &Page{
		cfg: cfg, mux: http.NewServeMux(), crossed: http.NewCrossOriginProtection(), viewers: map[string]*viewer{}, now: time.Now,
		ended: map[string]time.Time{}, boards: map[string]*board{}, closed: make(chan struct{}),
	}
	if len(cfg.Tokens) == 0 {
		p.anyone = p.newViewer(Token{Token: rand.Text()})
	}
	for _, t := range cfg.Tokens {
		p.viewers[t.Name] = p.newViewer(t)
	}
	for _, r := range p.routes() {
		p.mux.HandleFunc(r.pattern, p.serve(r))
	}
	return p, nil
}

// route is one address of the page.
type route struct {
	pattern string // of net/http
	who     access
	handle  func(v *visit) error
}

// access says who gets to an address.
type access int

const (
	viewers access = iota // who has logged in
	actors                // of those, whose token is not read-only
	anybody
)

func (p *Page) routes() []route {
	return []route{
		{"GET /{$}", viewers, p.getNow},
		{"GET /live", viewers, p.getLive},
		{"GET /runs/{job}/{run}", viewers, p.getRun},
		{"GET /doubts", viewers, p.getDoubts},
		{"GET /doubts/settle", actors, p.askSettle},
		{"POST /doubts/settle", actors, p.postSettle},
		{"GET /preview", viewers, p.getPreviews},
		{"GET /preview/{job}", viewers, p.getPreview},
		{"POST /preview/{job}/test", actors, p.postTest},
		{"GET /preview/{job}/run", actors, p.askRun},
		{"POST /preview/{job}/run", actors, p.postRun},
		{"GET /overlap", viewers, p.getOverlap},
		{"GET /keys", viewers, p.getKeys},
		{"GET /keys/show", viewers, p.getKey},
		{"GET /keys/settle", actors, p.askKey},
		{"POST /keys/settle", actors, p.postKey},
		{"GET /login", anybody, p.getLogin},
		{"POST /login", anybody, p.postLogin},
		{"POST /logout", viewers, p.postLogout},
		{"GET /assets/{name}", anybody, p.getAsset},
	}
}

// views are the entries of the navigation.
var views = []struct{ Path, Name string }{
	{"/", "Now"},
	{"/doubts", "Doubts"},
	{"/preview", "Preview"},
	{"/overlap", "Overlap"},
	{"/keys", "Keys"},
}

// offers reports whether a view of the navigation has anything for a viewer.
func (v *visit) offers(path string) bool {
	switch path {
	case "/preview":
		return v.cfg.Preview != nil && len(v.mailJobs()) > 0
	case "/overlap":
		return v.cfg.History != nil && v.cfg.Overlap != nil
	case "/keys":
		return v.cfg.Keys != nil && !v.who.bound
	}
	return true
}

// Paths are the addresses that belong to the page; a * stands for anything.
func Paths() []string {
	return []string{"/", "/live", "/runs/*", "/doubts", "/doubts/*", "/preview", "/preview/*", "/overlap", "/keys", "/keys/*", "/login", "/login/*", "/logout", "/assets/*"}
}

// ServeHTTP implements http.Handler.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, pattern := p.mux.Handler(r); pattern == "" {
		v := &visit{Page: p, w: w, r: r, who: p.whoIs(r)}
		v.guard()
		v.fail(notFound())
		return
	}
	p.mux.ServeHTTP(w, r)
}

// Close ends all streams; open pages ask for new ones later.
func (p *Page) Close() { p.once.Do(func() { close(p.closed) }) }

// Viewer answers the name of the token with which the sender of a request has logged
// in; "" for nobody.
func (p *Page) Viewer(r *http.Request) string {
	if who := p.whoIs(r); who != nil {
		return who.name
	}
	return ""
}

// visit is one request on its way.
type visit struct {
	*Page
	w   http.ResponseWriter
	r   *http.Request
	who *viewer // nil: has not logged in
}

// maxForm is the greatest form that is read.
const maxForm = 64 << 10

// serve makes a handler of a route: it lets viewers in, takes forms only from its own
// pages, and shows what went wrong.
func (p *Page) serve(route route) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v := &visit{Page: p, w: w, r: r, who: p.whoIs(r)}
		v.guard()
		if v.who == nil && route.who != anybody {
			v.toLogin()
			return
		}
		if route.who == actors && !v.who.acts {
			v.fail(&fault{status: http.StatusForbidden, Title: "This token only looks", Text: "It is read-only: nothing was changed. Log in with one that may act."})
			return
		}
		if r.Method == http.MethodPost {
			r.Body = http.MaxBytesReader(w, r.Body, maxForm)
			if err := v.checkForm(); err != nil {
				v.fail(err)
				return
			}
		}
		if err := route.handle(v); err != nil {
			v.fail(err)
		}
	}
}

// guard sets what a browser is to keep to: nothing from other hosts, no script and no
// style but the page's own files, no frame around it. Forms need their origin sent,
// which no-referrer would leave out (Fetch, section 3.2).
func (v *visit) guard() {
	h := v.w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// fault is what a viewer is told instead of what was asked for.
type fault struct {
	status      int
	Title, Text string
	Record      []answerView // what people said before
	cause       error        // for the log alone
}

func (f *fault) Error() string { return f.Text }

func notFound() *fault {
	return &fault{status: http.StatusNotFound, Title: "There is nothing here", Text: "What was here may be forgotten, or belong to a job that your token does not see."}
}

// ledgerFault says that the ledger did not answer.
func ledgerFault(err error) *fault {
	return &fault{status: http.StatusServiceUnavailable, Title: "The ledger did not answer", Text: "Nothing was changed. Try again in a moment; the log of the service says more.", cause: err}
}

// fail shows what went wrong.
func (v *visit) fail(err error) {
	var f *fault
	if !errors.As(err, &f) {
		f = &fault{status: http.StatusInternalServerError, Title: "The service met a fault of its own", Text: "Its log says more.", cause: err}
	}
	if f.cause != nil && v.r.Context().Err() == nil {
		v.cfg.Log.Error("the page could not be shown", "path", v.r.Pattern, "error", f.cause)
	}
	if err := v.show(f.status, "fault", frame{Title: f.Title, Data: f}); err != nil {
		v.cfg.Log.Error("the page could not be shown", "error", err)
	}
}

//go:embed assets
var assets embed.FS

// getAsset serves the page's own files.
func (p *Page) getAsset(v *visit) error {
	name := v.r.PathValue("name")
	content, err := assets.ReadFile("assets/" + name)
	if err != nil {
		return notFound()
	}
	v.w.Header().Set("Cache-Control", "no-cache") // a new version has to show at once
	http.ServeContent(v.w, v.r, name, time.Time{}, bytes.NewReader(content))
	return nil
}
