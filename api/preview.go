package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// previewParts is how many bytes of texts and HTML an answer holds.
const previewParts = 4 << 20

// previewRoute is the one route to which read-only tokens post.
const previewRoute = "/v1/jobs/:job/preview"

// previewRequest is the body of POST /v1/jobs/{job}/preview.
type previewRequest struct {
	place runRequest // range, spreadsheet and limit, as in a request for a run
	Row   *string    // nil: left out
	To    string
}

// set takes one member of the body.
func (r *previewRequest) set(name string, value json.RawMessage) error {
	switch name {
	case "range", "spreadsheet", "limit":
		return r.place.set(name, value)
	case "row":
		return takeName(name, value, &r.Row)
	case "to":
		return take(name, value, "a text", &r.To)
	}
	return refuse(codeFieldUnknown, "a request for a preview has no %s: it may have range, spreadsheet, limit, row, to", brief(name)).at(name)
}

// postPreview answers what a run of a job would do now.
func (s *Server) postPreview(c echo.Context) error {
	body, err := readBody(c)
	if err != nil {
		return err
	}
	req := &previewRequest{}
	if err := parseObject(body, req.set); err != nil {
		return err
	}
	order, err := previewOrder(callOf(c).caller, param(c, "job"), req)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.Request().Context(), startMost)
	defer cancel()
	v, err := s.cfg.Preview.Preview(ctx, order)
	if err != nil {
		return previewProblem(err)
	}
	return write(c, http.StatusOK, echo.MIMEApplicationJSON, v)
}

// previewOrder turns a request into one for the method.
func previewOrder(who *caller, name string, req *previewRequest) (claim.PreviewRequest, error) {
	job, err := jobOf(who, &name)
	if err != nil {
		return claim.PreviewRequest{}, err
	}
	order := claim.PreviewRequest{Job: job.Name, To: strings.TrimSpace(req.To), Parts: previewParts}
	if req.Row != nil {
		if order.Key = strings.TrimSpace(*req.Row); order.Key == "" {
			return order, refuse(codeFieldInvalid, "expected as row the key of a row, found a blank: correct it, or leave it out").at("row")
		}
	}
	if order.To != "" && who.looks {
		return order, errReadOnly()
	}
	if order.To != "" && order.Key == "" {
		return order, refuse(codeFieldRequired, "expected as row the key of the row whose message goes to that address, found none: name it").at("row")
	}
	if order.Target, err = job.target(&req.place); err != nil {
		return order, err
	}
	order.Limit, err = job.limit(&req.place)
	return order, err
}

// previewProblem says why there is no preview.
func previewProblem(err error) error {
	var e *claim.PreviewError
	switch {
	case errors.Is(err, claim.ErrNoMail):
		return refuse(codeNoMail, "%s", claim.ErrNoMail).at("job")
	case errors.Is(err, claim.ErrClosing):
		return refuse(codeStopping, "%s", claim.ErrClosing.Error()).after(10 * time.Second)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return refuse(codeSheet, "the preview took longer than %s, or was called off: try again in a moment", startMost)
	case !errors.As(err, &e):
		return err
	}
	switch e.Fault {
	case claim.PreviewNoLedger:
		return deskProblem(err)
	case claim.PreviewNoSheet:
		return refuse(codeSheet, "%s", e.Text)
	case claim.PreviewNoRow:
		return refuse(codeRowUnknown, "%s", e.Text).at("row")
	case claim.PreviewRowFault:
		return refuse(codeRowFault, "%s", e.Text).at("row")
	case claim.PreviewBadTo:
		return refuse(codeFieldInvalid, "%s", e.Text).at("to")
	case claim.PreviewNotSent:
		return refuse(codeTestNotSent, "%s", e.Text)
	}
	return err
}
