package sheets

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"time"

	"google.golang.org/api/option"
	api "google.golang.org/api/sheets/v4"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// Config says how to reach Google Sheets. The zero Config takes Application
// Default Credentials and goes to Google.
type Config struct {
	CredentialsFile string // service account, authorized user or external account
	CredentialsJSON []byte // the content of such a file; takes the place of it

	// Endpoint is the address of an emulator. Nothing that could identify an account
	// is sent there, and plain http is refused off loopback.
	Endpoint string
	// Transport carries the requests, for tests and the demo. Without credentials it
	// gets them without a login.
	Transport http.RoundTripper
	UserAgent string

	ReadsPerMinute  int           // of the account; 0: 60, Google's default
	WritesPerMinute int           // of the account; 0: 60, Google's default
	Timeout         time.Duration // of one call; 0: 30 s

	Now  func() time.Time // nil: time.Now
	Rand func() float64   // luck for waits, in [0,1), for several at once; nil: math/rand/v2
	Log  *slog.Logger     // nil: nothing is logged

	// Observe is told of each request that is sent (read, tabs, claim, replace, prune or check)
	// and answers what is to be told its end: ok, fenced, throttled, refused, unsent or
	// unclear. Nil: nobody counts.
	Observe func(ctx context.Context, call string) (context.Context, func(result string))
}

// Client is Google Sheets for one account. It is safe for concurrent use; the runs
// of an account must share one, for it keeps the account's quota.
type Client struct {
	service *api.Service
	http    *http.Client // of service
	quota   *quota
	calls   *counter
	account string
	clock   *atomic.Pointer[Clock]
	timeout time.Duration
	now     func() time.Time
	rand    func() float64
	log     *slog.Logger
	observe func(ctx context.Context, call string) (context.Context, func(result string))
}

// New makes a client. It reads the credentials but does not use them yet; its
// errors are *claim.SheetError.
func New(ctx context.Context, cfg Config) (*Client, error) {
	c := &Client{
		calls:   new(counter),
		clock:   new(atomic.Pointer[Clock]),
		timeout: cmp.Or(cfg.Timeout, 30*time.Second),
		now:     cfg.Now,
		rand:    cfg.Rand,
		log:     cfg.Log,
		observe: cfg.Observe,
	}
	if c.now == nil {
		c.now = time.Now
	}
	if c.rand == nil {
		c.rand = rand.Float64
	}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	c.quota = newQuota(cmp.Or(cfg.ReadsPerMinute, 60), cmp.Or(cfg.WritesPerMinute, 60), c.now)

	transport, err := c.transport(ctx, cfg)
	if err != nil {
		return nil, err
	}
	c.http = &http.Client{Transport: transport, CheckRedirect: noRedirect}
	opts := []option.ClientOption{option.WithHTTPClient(c.http)}
	if cfg.Endpoint != "" {
		endpoint, err := checkEndpoint(cfg.Endpoint)
		if err != nil {
			return nil, err
		}
		opts = append(opts, option.WithEndpoint(endpoint))
	}
	c.service, err = api.NewService(ctx, opts...)
	if err != nil {
		return nil, &claim.SheetError{Problem: fmt.Sprintf("the client of Google Sheets cannot be made: %v", err), Setup: true, Err: err}
	}
	c.service.UserAgent = cfg.UserAgent // option.WithUserAgent is ignored beside a client of one's own
	return c, nil
}

// transport builds the way to the server: sent once, logged in where it goes to
// Google.
func (c *Client) transport(ctx context.Context, cfg Config) (http.RoundTripper, error) {
	base := cfg.Transport
	if base == nil {
		base = newTransport()
	}
	given := cfg.CredentialsFile != "" || len(cfg.CredentialsJSON) > 0
	if cfg.Endpoint != "" || cfg.Transport != nil && !given {
		return &onceTransport{base, c.noteTime}, nil
	}
	who, err := findLogin(ctx, cfg, base)
	if err != nil {
		return nil, err
	}
	c.account = who.account
	return &loginTransport{base: &onceTransport{base, c.noteTime}, login: who}, nil
}

// noteTime keeps what an answer says of the time (RFC 9110, 6.6.1), whatever else it
// says.
func (c *Client) noteTime(h http.Header) {
	if theirs, err := http.ParseTime(h.Get("Date")); err == nil {
		c.clock.Store(&Clock{Theirs: theirs, Ours: c.now()})
	}
}

// Account is the mail address with which a sheet must be shared, if it is known.
func (c *Client) Account() string { return c.account }

// Counting answers the same client with a count of its own, for one run, and a
// function that tells how many calls were made through it. Every try counts, as it
// does for Google.
func (c *Client) Counting() (*Client, func() claim.APICalls) {
	view := *c
	view.calls = new(counter)
	return &view, view.calls.made
}
