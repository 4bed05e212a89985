package sheetsemu

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"strings"
	"time"
)

// CallerHeader names the caller of a request; without it the bearer token does.
const CallerHeader = "X-Sheetsemu-Caller"

// Transport answers requests in process, for one caller; "" leaves the caller
// to the request's headers. A request is done when its answer is complete, so
// that the body can be read without waiting.
func (e *Emulator) Transport(caller string) http.RoundTripper {
	return &transport{emu: e, caller: caller}
}

type transport struct {
	emu    *Emulator
	caller string
}

// RoundTrip implements [http.RoundTripper].
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		body, err = io.ReadAll(r.Body)
		_ = r.Body.Close()
		if err != nil {
			return nil, err
		}
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	a, err := t.emu.handle(r.Context(), r, body, t.caller)
	if errors.Is(err, errDropped) {
		return nil, fmt.Errorf("%w: %w", errDropped, io.ErrUnexpectedEOF)
	}
	if err != nil {
		return nil, err
	}
	resp := &http.Response{
		StatusCode: a.status, Status: fmt.Sprintf("%d %s", a.status, http.StatusText(a.status)),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: a.header(), ContentLength: int64(len(a.body)), Request: r,
		Body: io.NopCloser(bytes.NewReader(a.body)),
	}
	if a.cut {
		resp.Body = io.NopCloser(io.MultiReader(bytes.NewReader(a.body), cutShort{}))
	}
	return resp, nil
}

// cutShort ends a body as net/http does when the connection breaks in it.
type cutShort struct{}

func (cutShort) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func (a answer) header() http.Header {
	kind := "application/json; charset=UTF-8"
	if a.html {
		kind = "text/html; charset=UTF-8"
	}
	return http.Header{"Content-Type": {kind}}
}

// handle takes an HTTP request apart and serves the call in it.
func (e *Emulator) handle(ctx context.Context, r *http.Request, body []byte, caller string) (answer, error) {
	kind, id, arg, ok := route(r.Method, r.URL.EscapedPath())
	if !ok {
		return answer{status: http.StatusNotFound, body: []byte(HTMLPage(http.StatusNotFound)), html: true}, nil
	}
	if caller == "" {
		caller = callerOf(r)
	}
	return e.serve(ctx, &Call{
		Caller: caller, Kind: kind, Spreadsheet: id, Arg: arg, Write: writes[kind],
		Query: r.URL.Query(), Body: body,
	})
}

func callerOf(r *http.Request) string {
	if c := r.Header.Get(CallerHeader); c != "" {
		return c
	}
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return token
}

// Handler answers the same requests over a port, and the control requests
// under /_emu/ besides.
func (e *Emulator) Handler() http.Handler {
	mux := http.NewServeMux()
	e.control(mux)
	mux.HandleFunc("/v4/", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		a, err := e.handle(r.Context(), r, body, "")
		if err != nil {
			drop(w)
			return
		}
		maps.Copy(w.Header(), a.header())
		if a.cut { // announce more than comes
			w.Header().Set("Content-Length", fmt.Sprint(2*len(a.body)+1))
		}
		w.WriteHeader(a.status)
		_, _ = w.Write(a.body) // the caller may be gone
		if a.cut {
			_ = http.NewResponseController(w).Flush()
			drop(w)
		}
	})
	return mux
}

// drop closes the connection under a request.
func drop(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	_ = conn.Close()
}

// Server is an emulator on a port.
type Server struct {
	URL  string // for option.WithEndpoint
	http *http.Server
}

// Listen serves the emulator on a loopback address, such as 127.0.0.1:0. Any
// other address is refused: what listens here knows no passwords.
func (e *Emulator) Listen(addr string) (*Server, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("emulator address %q: %w", addr, err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("emulator address %q is not a loopback address", addr)
	}
	var lc net.ListenConfig
	l, err := lc.Listen(context.Background(), "tcp", addr)
	if err != nil {
		return nil, err
	}
	s := &Server{
		URL: "http://" + l.Addr().String(),
		http: &http.Server{ // no WriteTimeout: a fault may hold an answer back for as long as it likes
			Handler: e.Handler(), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, IdleTimeout: 2 * time.Minute,
		},
	}
	go func() { _ = s.http.Serve(l) }() // ends with Close
	return s, nil
}

// Close stops the server at once.
func (s *Server) Close() error { return s.http.Close() }
