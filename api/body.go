package api

import (
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"unicode/utf8"

	"github.com/labstack/echo/v4"
)

// maxBody is the greatest request body that is read.
const maxBody = 1 << 20

// readBody reads a whole request body, which has to be JSON if there is any.
func readBody(c echo.Context) ([]byte, error) {
	r := c.Request()
	body, err := io.ReadAll(http.MaxBytesReader(c.Response().Writer, r.Body, maxBody))
	if err != nil {
		return nil, bodyProblem(err)
	}
	if len(body) == 0 {
		return nil, nil
	}
	if !isJSON(r.Header.Get(echo.HeaderContentType)) {
		return nil, refuse(codeMediaType, "expected Content-Type: application/json, found %s: send the body as JSON and say so", brief(r.Header.Get(echo.HeaderContentType)))
	}
	if !utf8.Valid(body) { // RFC 8259, section 8.1
		return nil, refuse(codeBodyInvalid, "the body is not UTF-8: send JSON in UTF-8")
	}
	return body, nil
}

func bodyProblem(err error) *problem {
	var big *http.MaxBytesError
	if errors.As(err, &big) {
		return refuse(codeBodyTooLarge, "the body has more than %d bytes: a request for a run needs far fewer", big.Limit)
	}
	var slow net.Error
	if errors.As(err, &slow) && slow.Timeout() {
		return refuse(codeBodyTimeout, "the body did not arrive in time: send the request again")
	}
	return refuse(codeBodyInvalid, "the body ended before it was complete: send the request again")
}

// isJSON reports whether a media type is JSON's. One that is left out may be taken
// for what is expected (RFC 9110, section 8.3).
func isJSON(contentType string) bool {
	mediaType, _, err := mime.ParseMediaType(contentType)
	return contentType == "" || err == nil && mediaType == echo.MIMEApplicationJSON
}
