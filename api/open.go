package api

import (
	"context"
	_ "embed"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
)

// description is openapi.yaml. The compiler embeds into package variables only.
//
//go:embed openapi.yaml
var description []byte

type health struct {
	Status string `json:"status"`
}

// getHealth says that the process lives, and nothing else: what restarts it on a
// failure here could not help against a ledger that is gone.
func (s *Server) getHealth(c echo.Context) error {
	return write(c, http.StatusOK, echo.MIMEApplicationJSON, health{"ok"})
}

// getReady says whether the service can work now.
func (s *Server) getReady(c echo.Context) error {
	ctx, cancel := context.WithTimeout(c.Request().Context(), 5*time.Second)
	defer cancel()
	if err := s.cfg.Ready(ctx); err != nil {
		return refuse(codeNotReady, "the service runs but cannot work now: its log says why").because(err).after(5 * time.Second)
	}
	return write(c, http.StatusOK, echo.MIMEApplicationJSON, health{"ready"})
}

// getMetrics answers a scrape of Prometheus.
func (s *Server) getMetrics(c echo.Context) error {
	if s.cfg.Metrics == nil {
		return refuse(codeNotFound, "there are no metrics here: see api.metrics_listen in the configuration")
	}
	s.cfg.Metrics.ServeHTTP(c.Response(), c.Request())
	return nil
}

// getDescription serves openapi.yaml, under the media type of RFC 9512.
func (s *Server) getDescription(c echo.Context) error {
	return c.Blob(http.StatusOK, "application/yaml", description)
}
