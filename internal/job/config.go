package job

import (
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/schedule"
)

// Config is the whole configuration file, checked and complete: defaults are filled
// in, secrets read, paths absolute.
type Config struct {
	Ledger     Secret           `yaml:"ledger"`      // sqlite:PATH or postgres://…; the latter may hold a password
	LedgerFile string           `yaml:"ledger_file"` // a file that holds the value of ledger
	Instances  int              `yaml:"instances"`   // that share the ledger, the mail account and Google's
	Google     Google           `yaml:"google"`
	SMTP       *SMTP            `yaml:"smtp"` // nil when no job and no alert needs it
	Alerts     Alerts           `yaml:"alerts"`
	API        API              `yaml:"api"`
	RunMemory  time.Duration    `yaml:"run_memory"` // how long (job, run id) names one run
	Jobs       map[string]*Spec `yaml:"jobs"`

	file   string
	places places
}

// Google says how to reach the Sheets API.
type Google struct {
	CredentialsFile string `yaml:"credentials_file"` // "": Application Default Credentials
	// Endpoint is "" for Google itself. SHEETS_EMULATOR_HOST is folded in while loading.
	Endpoint string `yaml:"endpoint"`
}

// TLS says how a mail connection is encrypted.
type TLS string

// The ways to encrypt a mail connection.
const (
	StartTLS    TLS = "starttls" // plain at first, upgraded before the login
	ImplicitTLS TLS = "implicit" // from the first byte
	NoTLS       TLS = "none"     // never; then no login off loopback
)

// SMTP is the mail account of all jobs.
type SMTP struct {
	Host                  string        `yaml:"host"`
	Port                  int           `yaml:"port"`
	TLS                   TLS           `yaml:"tls"`
	CAFile                string        `yaml:"ca_file"`     // PEM; "": the system's authorities
	SkipVerify            bool          `yaml:"skip_verify"` // take any certificate
	Username              string        `yaml:"username"`    // "": no login
	Password              Secret        `yaml:"password"`
	PasswordFile          string        `yaml:"password_file"`
	OAuth                 *OAuth        `yaml:"oauth"` // instead of a password; nil: none
	Helo                  string        `yaml:"helo"`  // "": the host's own name
	From                  string        `yaml:"from"`
	Connections           int           `yaml:"connections"`
	MessagesPerConnection int           `yaml:"messages_per_connection"`
	Rate                  Rate          `yaml:"rate"`        // zero: no limit
	Timeout               time.Duration `yaml:"timeout"`     // each step but the final dot
	DotTimeout            time.Duration `yaml:"dot_timeout"` // the final dot
}

// OAuth gets the tokens for XOAUTH2.
type OAuth struct {
	TokenURL         string `yaml:"token_url"`
	ClientID         string `yaml:"client_id"`
	ClientSecret     Secret `yaml:"client_secret"` // "": a public client
	ClientSecretFile string `yaml:"client_secret_file"`
	RefreshToken     Secret `yaml:"refresh_token"`
	RefreshTokenFile string `yaml:"refresh_token_file"`
	Scope            string `yaml:"scope"`
}

// Alerts says where alerts go.
type Alerts struct {
	Email       []string      `yaml:"email"`
	Webhook     *Webhook      `yaml:"webhook"`      // nil: none
	RepeatAfter time.Duration `yaml:"repeat_after"` // same job and cause: one alert in this time
}

// Webhook is a URL that gets signed JSON.
type Webhook struct {
	URL        string `yaml:"url"`
	Secret     Secret `yaml:"secret"`
	SecretFile string `yaml:"secret_file"`
}

// API is the HTTP service.
type API struct {
	Listen        string        `yaml:"listen"`
	Tokens        []Token       `yaml:"tokens"`
	MaxWait       time.Duration `yaml:"max_wait"`       // a request waits no longer for its run
	CallbackHosts []string      `yaml:"callback_hosts"` // host or host:port that a callback_url may name

	CallbackSecret     Secret     `yaml:"callback_secret"` // "": that of alerts.webhook
	CallbackSecretFile string     `yaml:"callback_secret_file"`
	TLS                *ServerTLS `yaml:"tls"` // nil: the API is served in the clear
	// TrustedProxies are addresses, or ranges of them, that are believed when they say in
	// X-Forwarded-For who asked.
	TrustedProxies []string `yaml:"trusted_proxies"`

	// MetricsListen is where /metrics is: "" on Listen, MetricsOff nowhere, else an
	// address of its own.
	MetricsListen string `yaml:"metrics_listen"`

	proxies []netip.Prefix // of TrustedProxies
}

// ServerTLS is the certificate of the HTTP service.
type ServerTLS struct {
	CertFile string `yaml:"cert_file"` // PEM: the certificate, then those between it and its authority
	KeyFile  string `yaml:"key_file"`  // PEM
}

// MetricsOff in place of an address switches /metrics off.
const MetricsOff = "off"

// Token lets a caller in.
type Token struct {
	Name      string   `yaml:"name"`
	Token     Secret   `yaml:"token"`
	TokenFile string   `yaml:"token_file"`
	Jobs      []string `yaml:"jobs"` // nil: all of them
	ReadOnly  bool     `yaml:"read_only"`
}

// Spec is one job as the file describes it.
type Spec struct {
	Spreadsheet       string        `yaml:"spreadsheet"` // the id; a pasted address is reduced to it
	Range             string        `yaml:"range"`       // A1; its first row is the header
	Columns           ColumnNames   `yaml:"columns"`
	Where             string        `yaml:"where"` // "": every row
	Delay             time.Duration `yaml:"delay"`
	Timezone          string        `yaml:"timezone"` // "": the spreadsheet's own
	Limit             int           `yaml:"limit"`    // rows that one run may claim
	Wait              time.Duration `yaml:"wait"`
	Lease             time.Duration `yaml:"lease"`
	OnDoubt           claim.OnDoubt `yaml:"on_doubt"`
	MaxAttempts       int           `yaml:"max_attempts"`
	RetryAfter        time.Duration `yaml:"retry_after"`
	Schedule          string        `yaml:"schedule"`        // cron, or @every; "": none
	FirstRunLimit     int           `yaml:"first_run_limit"` // 0: off
	MaxLateness       time.Duration `yaml:"max_lateness"`    // 0: off
	CatchUp           claim.CatchUp `yaml:"catch_up"`
	Window            Window        `yaml:"window"` // outside it nothing is claimed; zero: always open
	SkipHidden        bool          `yaml:"skip_hidden"`
	ClaimOnly         bool          `yaml:"claim_only"` // no message: callers claim rows and do the work
	AllowRanges       []string      `yaml:"allow_ranges"`
	AllowSpreadsheets []string      `yaml:"allow_spreadsheets"`
	Message           MessageSource `yaml:"message"`

	zone  *time.Location                // of Timezone; nil when that is ""
	clock atomic.Pointer[time.Location] // by which the schedule goes; nil until it is known
}

// ColumnNames maps what sheetclaim reads and writes to headers of the sheet. Only
// Key, Email and Status have to be there.
type ColumnNames struct {
	Key       Names  `yaml:"key"`
	Email     string `yaml:"email"`
	Status    string `yaml:"status"`
	Due       string `yaml:"due"`
	Note      string `yaml:"note"`
	SentAt    string `yaml:"sent_at"`
	ClaimedAt string `yaml:"claimed_at"`
	ClaimedBy string `yaml:"claimed_by"`
	Attempts  string `yaml:"attempts"`
}

// Names is one name or a list of them.
type Names []string

// MessageSource is a message before its templates are compiled. The text of a file
// is in the field without File; the path stays for error texts.
type MessageSource struct {
	Subject        string `yaml:"subject"`
	Text           string `yaml:"text"`
	TextFile       string `yaml:"text_file"`
	HTML           string `yaml:"html"`
	HTMLFile       string `yaml:"html_file"`
	Markdown       string `yaml:"markdown"` // makes both parts
	MarkdownFile   string `yaml:"markdown_file"`
	ReplyTo        string `yaml:"reply_to"`
	Cc             string `yaml:"cc"`
	Bcc            string `yaml:"bcc"`
	UnsubscribeURL string `yaml:"unsubscribe_url"`
}

// A defaulter is filled with its defaults before the file is read into it.
type defaulter interface{ setDefaults() }

func (c *Config) setDefaults() {
	c.Ledger = "sqlite:sheetclaim.db"
	c.RunMemory = 24 * time.Hour
	c.Instances = 1
	c.Alerts.RepeatAfter = time.Hour
	c.API.Listen = "127.0.0.1:8080"
	c.API.MaxWait = 240 * time.Second
}

func (s *SMTP) setDefaults() {
	s.TLS = StartTLS
	s.Connections = 2
	s.MessagesPerConnection = 100
	s.Timeout = 30 * time.Second
	s.DotTimeout = 10 * time.Minute
}

func (s *Spec) setDefaults() {
	s.Limit = 50
	s.Wait = 15 * time.Second
	s.Lease = 5 * time.Minute
	s.OnDoubt = claim.Stop
	s.MaxAttempts = 3
	s.RetryAfter = 15 * time.Minute
	s.FirstRunLimit = 200
	s.CatchUp = claim.CatchAll
}

// Problem says what is wrong with the value of a path where that shows only later, to
// who knows more about it. A path is like jobs.reviews.range.
func (c *Config) Problem(path string, err error) Problem {
	at := c.places.near(path)
	return Problem{File: c.file, Line: at.line, Column: at.column, Path: path, Text: err.Error()}
}

// File is the path that the configuration was read from.
func (c *Config) File() string { return c.file }

// JobNames returns the names of the jobs in order.
func (c *Config) JobNames() []string { return slices.Sorted(maps.Keys(c.Jobs)) }

// LedgerName names the ledger for people: the file, or the address without a password.
func (c *Config) LedgerName() string {
	name := c.Ledger.Reveal()
	if path, ok := strings.CutPrefix(name, "sqlite:"); ok {
		return path
	}
	u, err := url.Parse(name)
	if err != nil {
		return "an address that cannot be read"
	}
	if u.User != nil {
		u.User = url.User(u.User.Username())
	}
	u.RawQuery = "" // it may hold a password, too
	return u.String()
}

// String names the file and its jobs and holds no secret.
func (c *Config) String() string {
	return fmt.Sprintf("%s (jobs: %s)", c.file, strings.Join(c.JobNames(), ", "))
}

// LogValue names the file and its jobs and holds no secret.
func (c *Config) LogValue() slog.Value {
	return slog.GroupValue(slog.String("file", c.file), slog.Any("jobs", c.JobNames()))
}

// Proxies are the ranges of TrustedProxies.
func (a *API) Proxies() []netip.Prefix { return a.proxies }

// Clock is the time zone by which the schedule goes. It is nil where it makes no
// difference, and while NeedsClock.
func (s *Spec) Clock() *time.Location { return s.clock.Load() }

// NeedsClock reports whether the schedule names times of day by the clock of the
// spreadsheet, whose time zone the configuration does not say. A window needs none: a
// run reads it with the sheet.
func (s *Spec) NeedsClock() bool {
	return s.Clock() == nil && s.Schedule != "" && !schedule.SameInAllZones(s.Schedule)
}

// SetClock says what the time zone of the spreadsheet is. The schedule has no ticks
// before.
func (s *Spec) SetClock(zone *time.Location) { s.clock.Store(zone) }

// AllowsRange reports whether a call may name this range.
func (s *Spec) AllowsRange(a1 string) bool {
	return a1 == s.Range || slices.Contains(s.AllowRanges, a1)
}

// AllowsSpreadsheet reports whether a call may name this spreadsheet.
func (s *Spec) AllowsSpreadsheet(id string) bool {
	return id == s.Spreadsheet || slices.Contains(s.AllowSpreadsheets, id)
}
