package alert

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

const (
	// SignatureHeader carries what Sign answers.
	SignatureHeader = "X-Sheetclaim-Signature"

	postWithin   = 15 * time.Second
	largestBody  = 256 << 10 // octets of a request; rows that do not fit are counted
	largestReply = 16 << 10  // octets that are read to keep the connection usable
	webhookTexts = 50        // texts of one part
)

// Sign answers the value of SignatureHeader: t=<unix>,v1=<hex HMAC-SHA256 of
// "t.body">. A receiver computes the same over the body as it came, compares in
// constant time, and refuses a t that is some minutes old.
func Sign(secret string, t time.Time, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(fmt.Appendf(nil, "%d.", t.Unix()))
	mac.Write(body)
	return fmt.Sprintf("t=%d,v1=%s", t.Unix(), hex.EncodeToString(mac.Sum(nil)))
}

// Payload is the JSON body of a webhook. Its members are always there.
type Payload struct {
	Kind     claim.AlertKind `json:"kind"`
	Job      string          `json:"job"`
	Run      string          `json:"run"` // the newest, when alerts of several were grouped
	Cause    string          `json:"cause"`
	Count    int             `json:"count"` // alerts in this message
	Rows     []PayloadRow    `json:"rows"`
	MoreRows int             `json:"more_rows"` // rows left out because of the body's size
	Seen     string          `json:"seen"`      // several texts: one a line; so in done and todo
	Done     string          `json:"done"`
	Todo     string          `json:"todo"`
	FirstAt  time.Time       `json:"first_at"` // RFC 3339, UTC
	LastAt   time.Time       `json:"last_at"`
	ID       string          `json:"id"` // the same when the same alerts are posted again
}

// PayloadRow names one row; row is 0 and key empty where the alert knows none.
type PayloadRow struct {
	Row    int    `json:"row"`
	Key    string `json:"key"`
	Detail string `json:"detail"`
}

// Webhook is the route by HTTP. Any answer of 2xx within 15 seconds is a delivery;
// redirects are not followed, since a signed alert goes to the configured address
// only. Its errors name the host alone: the rest of a URL is often a secret.
type Webhook struct {
	url    string
	host   string
	secret string
	client *http.Client
	now    func() time.Time
}

// NewWebhook makes the route to an address, http or https; whether plain http is
// good enough for the network in between is for its owner to say. Without a secret
// nothing is signed. A nil transport means http.DefaultTransport, which obeys the
// proxy variables.
func NewWebhook(address, secret string, transport http.RoundTripper, now func() time.Time) (*Webhook, error) {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, errors.New("the webhook's address is not of the form https://host/path") // without it: it may be a secret
	}
	return &Webhook{
		url: u.String(), host: u.Host, secret: secret, now: now,
		client: NewPoster(transport),
	}, nil
}

// NewPoster makes a client for signed posts: 15 seconds for one, and redirects are
// not followed. A nil transport means http.DefaultTransport.
func NewPoster(transport http.RoundTripper) *http.Client {
	return &http.Client{
		Transport:     transport,
		Timeout:       postWithin,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Name implements Route.
func (w *Webhook) Name() string { return "webhook" }

// String names the route without its secrets.
func (w *Webhook) String() string { return "webhook at " + w.host }

// Deliver implements Route.
func (w *Webhook) Deliver(ctx context.Context, m Message) error {
	body, err := payload(m)
	if err != nil {
		return err
	}
	if err := post(ctx, w.client, w.url, w.secret, w.now(), body); err != nil {
		return fmt.Errorf("%v: %w", w, err)
	}
	return nil
}

// post sends a JSON body, signed where there is a secret. Any 2xx is success; its
// errors do not show the address.
func post(ctx context.Context, client *http.Client, address, secret string, now time.Time, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return errors.New("the request cannot be made")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "sheetclaim")
	if secret != "" {
		req.Header.Set(SignatureHeader, Sign(secret, now, body))
	}
	res, err := client.Do(req)
	if err != nil {
		return withoutURL(err)
	}
	defer func() { _ = res.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, largestReply)) // the status has said it all
	switch res.StatusCode / 100 {
	case 2:
		return nil
	case 3:
		return fmt.Errorf("answered %d, and redirects are not followed: name the address that it leads to", res.StatusCode)
	}
	return fmt.Errorf("answered %d", res.StatusCode)
}

// withoutURL takes the URL out of an error of package net/http.
func withoutURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// payload is the body of a message, with as many rows as fit.
func payload(m Message) ([]byte, error) {
	lines := func(texts []string) string { return strings.Join(atMost(webhookTexts, texts), "\n") }
	p := Payload{
		Kind: m.Kind, Job: m.Job, Run: m.run(), Cause: m.Cause, Count: m.Count,
		Rows: []PayloadRow{}, MoreRows: len(m.Rows),
		Seen: lines(m.Seen), Done: lines(m.Done), Todo: lines(m.Todo),
		FirstAt: m.FirstAt.UTC(), LastAt: m.LastAt.UTC(), ID: m.ID,
	}
	bare, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	size := len(bare)
	for _, r := range m.Rows {
		row := PayloadRow{Row: r.Row, Key: r.Key, Detail: r.Detail}
		b, err := json.Marshal(row)
		if err != nil {
			return nil, err
		}
		if size += len(b) + len(","); size > largestBody {
			break
		}
		p.Rows = append(p.Rows, row)
		p.MoreRows--
	}
	return json.Marshal(p)
}
