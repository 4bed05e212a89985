package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"
)

// call is what the service learns about one request on its way through.
type call struct {
	caller   *caller // nil until the request has been let in
	job, run string  // that it is about
	cause    error   // behind a problem
}

// callKey is where echo keeps the call of a request.
const callKey = "call"

func callOf(c echo.Context) *call { return c.Get(callKey).(*call) }

// note begins the call of a request, answers the errors of what follows, and writes
// the line in the log. The line has the route and not the address, which can hold
// anything.
func (s *Server) note(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		began, call := time.Now(), &call{}
		c.Set(callKey, call)
		if err := next(c); err != nil {
			c.Error(err)
		}
		attrs := []slog.Attr{
			slog.String("method", c.Request().Method), slog.String("route", c.Path()),
			slog.Int("status", c.Response().Status), slog.Duration("took", time.Since(began)),
		}
		s.cfg.Log.LogAttrs(c.Request().Context(), s.level(c), "request", append(attrs, call.attrs()...)...)
		return nil
	}
}

// attrs are the parts of a call's line that not every call has.
func (c *call) attrs() []slog.Attr {
	var attrs []slog.Attr
	if c.caller != nil && c.caller.name != "" {
		attrs = append(attrs, slog.String("token", c.caller.name))
	}
	if c.run != "" {
		attrs = append(attrs, slog.String("job", c.job), slog.String("run", c.run))
	}
	if c.cause != nil {
		attrs = append(attrs, slog.Any("error", c.cause))
	}
	return attrs
}

// level keeps what asks every few seconds out of the usual log. A failed run
// answers 502 and is no fault of the service: its own lines say enough. Nor is a caller
// that hung up.
func (s *Server) level(c echo.Context) slog.Level {
	cause := callOf(c).cause
	hungUp := errors.Is(cause, context.Canceled) && c.Request().Context().Err() != nil
	switch {
	case cause != nil && !hungUp:
		return slog.LevelError
	case s.open[c.Request().Method+" "+c.Path()]:
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

// recoverPanics turns a panic into a problem that shows nothing of the inside.
func (s *Server) recoverPanics() echo.MiddlewareFunc {
	return middleware.RecoverWithConfig(middleware.RecoverConfig{
		DisableStackAll:     true,
		DisableErrorHandler: true, // note calls it
		LogErrorFunc: func(c echo.Context, err error, stack []byte) error {
			s.cfg.Log.Error("a handler panicked", "route", c.Path(), "error", err, "stack", string(stack))
			return fmt.Errorf("panic: %w", err)
		},
	})
}

// setHeaders keeps answers out of caches, browsers from guessing their type, from
// telling other sites where they came from, and from running anything that is in
// them or framing them. A page sets a policy of its own.
func setHeaders(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		header := c.Response().Header()
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Cache-Control", "no-store")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		return next(c)
	}
}

// headAsGet routes HEAD like GET (RFC 9110, section 9.3.2), which health checks
// rely on. It works on a copy: net/http leaves the body out because its own request
// still says HEAD.
func headAsGet(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			r = r.WithContext(r.Context())
			r.Method = http.MethodGet
		}
		next.ServeHTTP(w, r)
	})
}
