package api

import (
	"context"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/sheetclaim/sheetclaim/api/dashboard"
	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// newPage makes the page over what the API has.
func (s *Server) newPage() (*dashboard.Page, error) {
	cfg := dashboard.Config{
		Runs: s.cfg.Runs, Desk: s.cfg.Desk, Live: s.cfg.Live, Record: s.cfg.Record, Settled: s.cfg.Settled,
		Login: s.login, SheetURL: s.cfg.SheetURL, Log: s.cfg.Log,
		Preview: s.cfg.Preview, NewRunID: s.cfg.NewRunID, History: s.cfg.History, Overlap: s.cfg.Overlap, Keys: s.cfg.Keys,
	}
	cfg.Start = func(ctx context.Context, r claim.Request) error {
		_, err := s.cfg.Start.Start(ctx, r)
		return err
	}
	for _, j := range s.cfg.Jobs {
		cfg.Jobs = append(cfg.Jobs, dashboard.Job{
			Name: j.Name, Schedule: j.Schedule, Next: func() []time.Time { return s.cfg.Next(j.Name) },
			ClaimOnly: j.ClaimOnly, FirstRunLimit: j.FirstRunLimit,
		})
	}
	for _, t := range s.cfg.Tokens {
		cfg.Tokens = append(cfg.Tokens, dashboard.Token{Name: t.Name, Token: t.Token, Jobs: t.Jobs, ReadOnly: t.ReadOnly})
	}
	return dashboard.New(cfg)
}

// login looks at a token for the page, as slowly as for the API.
func (s *Server) login(r *http.Request, token string) (string, time.Duration) {
	who, wait := s.logins.find(s.keys, addressOf(s.echo.IPExtractor(r)), time.Now(), token)
	if who == nil {
		return "", wait
	}
	return who.name, 0
}

// pageRoutes are the addresses of the page. They are open here, since the page itself
// asks for a login.
func (s *Server) pageRoutes() []route {
	var routes []route
	for _, path := range dashboard.Paths() {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			routes = append(routes, route{method, path, true, s.servePage})
		}
	}
	return routes
}

// servePage hands a request to the page.
func (s *Server) servePage(c echo.Context) error {
	if name := s.page.Viewer(c.Request()); name != "" {
		callOf(c).caller = &caller{name: name} // for the log alone
	}
	s.page.ServeHTTP(c.Response(), c.Request())
	return nil
}
