package api

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/sheetclaim/sheetclaim/api/dashboard"
)

// Server is the HTTP service.
type Server struct {
	cfg    Config
	echo   *echo.Echo
	keys   keyring
	logins logins
	anyone *caller         // who calls a service without tokens
	open   map[string]bool // method and path of routes that need no token
	page   *dashboard.Page
}

// New makes the service. It refuses to be reachable from other machines without a
// token.
func New(cfg Config) (*Server, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	s := &Server{
		cfg: cfg.complete(), echo: echo.New(), open: map[string]bool{},
		logins: logins{byFrom: map[netip.Prefix]*guesses{}},
	}
	s.keys = newKeyring(&s.cfg)
	s.anyone = newCaller(&s.cfg, "", nil)
	s.echo.HTTPErrorHandler = answerProblem
	s.echo.IPExtractor = clientAddress(cfg.TrustedProxies)
	s.echo.Use(s.note, s.recoverPanics(), setHeaders)
	if len(s.keys) == 0 {
		s.echo.Use(guardLocal)
	}
	s.echo.Use(s.authenticate)
	for _, r := range s.routes() {
		s.add(r)
	}
	page, err := s.newPage()
	if err != nil {
		return nil, err
	}
	s.page = page
	for _, r := range s.pageRoutes() {
		s.add(r)
	}
	return s, nil
}

func (s *Server) add(r route) {
	s.echo.Add(r.method, r.path, r.handle)
	s.open[r.method+" "+r.path] = r.open
}

// route is one operation of openapi.yaml, or one of the page, which is none.
type route struct {
	method, path string
	open         bool // to callers without a token
	handle       echo.HandlerFunc
}

func (s *Server) routes() []route {
	return []route{
		{http.MethodPost, "/v1/runs", false, s.postRun},
		{http.MethodGet, "/v1/runs", false, s.getRuns},
		{http.MethodGet, "/v1/runs/:job/:run_id", false, s.getRun},
		{http.MethodPost, "/v1/claims", false, s.postClaims},
		{http.MethodPost, "/v1/claims/settle", false, s.postClaimSettle},
		{http.MethodGet, "/v1/jobs", false, s.getJobs},
		{http.MethodPost, previewRoute, false, s.postPreview},
		{http.MethodGet, "/v1/messages", false, s.getMessages},
		{http.MethodPost, "/v1/messages/settle", false, s.postSettle},
		{http.MethodPost, "/v1/keys/claim", false, s.postClaim},
		{http.MethodPost, "/v1/keys/done", false, s.postDone},
		{http.MethodPost, "/v1/keys/release", false, s.postRelease},
		{http.MethodPost, "/v1/keys/renew", false, s.postRenew},
		{http.MethodPost, "/v1/keys/prune", false, s.postPrune},
		{http.MethodGet, "/v1/keys", false, s.getKeys},
		{http.MethodGet, "/healthz", true, s.getHealth},
		{http.MethodGet, "/readyz", true, s.getReady},
		{http.MethodGet, "/metrics", true, s.getMetrics},
		{http.MethodGet, "/openapi.yaml", true, s.getDescription},
	}
}

// Handler answers requests without a listener of its own.
func (s *Server) Handler() http.Handler { return headAsGet(s.echo) }

// Time for what no request should need long.
const (
	headerMost = 10 * time.Second // to send the header of a request
	writeMost  = 30 * time.Second // to take an answer
	idleMost   = 2 * time.Minute  // between two requests of a connection
	lastWords  = 5 * time.Second  // to answer what still waits when Grace has ended
)

// Serve answers requests until ctx ends. It then takes no new ones and gives those
// that wait for a run up to Config.Grace for its end: stop the claim.Service at the
// same time, and they get it. After that they are answered 202. Serve closes the
// listener and returns nil after a stop that cut nobody off.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	if addr, ok := l.Addr().(*net.TCPAddr); ok && len(s.keys) == 0 && !addr.IP.IsLoopback() {
		_ = l.Close() // nothing was accepted
		return openError(addr.String())
	}
	requests, hurry := context.WithCancel(context.WithoutCancel(ctx))
	defer hurry()
	srv := s.httpServer(requests)
	srv.RegisterOnShutdown(s.page.Close) // its streams would hold the shutdown up
	ended := make(chan error, 1)
	go func() { ended <- serve(srv, l) }()
	select {
	case err := <-ended:
		return fmt.Errorf("api: serve: %w", err)
	case <-ctx.Done():
	}
	graceOver := time.AfterFunc(s.cfg.Grace, hurry)
	defer graceOver.Stop()
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.Grace+lastWords)
	defer cancel()
	if err := srv.Shutdown(end); err != nil {
		_ = srv.Close() // the connections that are cut off
		return fmt.Errorf("api: requests were cut off: %w", err)
	}
	return nil
}

// serve serves, with TLS when the server has a configuration for it.
func serve(srv *http.Server, l net.Listener) error {
	if srv.TLSConfig != nil {
		return srv.ServeTLS(l, "", "")
	}
	return srv.Serve(l)
}

// httpServer makes the server with its time limits. Requests live in base.
func (s *Server) httpServer(base context.Context) *http.Server {
	return &http.Server{
		Handler:           s.Handler(),
		TLSConfig:         s.cfg.TLS,
		ReadHeaderTimeout: headerMost,
		ReadTimeout:       s.cfg.ReadTimeout,
		WriteTimeout:      s.cfg.ReadTimeout + startMost + s.cfg.MaxWait + writeMost,
		IdleTimeout:       idleMost,
		MaxHeaderBytes:    64 << 10,
		BaseContext:       func(net.Listener) context.Context { return base },
		ErrorLog:          slog.NewLogLogger(s.cfg.Log.Handler(), slog.LevelWarn),
	}
}
