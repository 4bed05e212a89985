package job

import (
	"fmt"
	"net"
	"net/mail"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// verify holds the finished values to the rules, and makes them usable: it resolves
// what the environment and other keys decide.
func (r *reader) verify(c *Config) {
	r.ledger(c)
	r.google(&c.Google)
	r.smtp(c)
	r.alerts(&c.Alerts)
	r.api(c)
	if most := 10; c.Instances < 1 || c.Instances > most {
		// A run needs several of Google's 60 reads a minute at once.
		r.at("instances", "expected 1 to %d, found %d: Google's quota is divided by it", most, c.Instances)
	}
	r.atLeast("run_memory", c.RunMemory, time.Minute)
	for _, name := range c.JobNames() {
		r.job(c, name)
	}
}

func (r *reader) ledger(c *Config) {
	// The value is not shown: it may hold a password.
	dsn := c.Ledger.Reveal()
	key := "ledger"
	if c.LedgerFile != "" {
		key = "ledger_file"
	}
	file, isFile := strings.CutPrefix(dsn, "sqlite:")
	file = strings.TrimPrefix(file, "//") // as in sqlite:///var/lib/sheetclaim.db
	switch {
	case isFile && strings.Contains(file, ":memory:"):
		r.at(key, "a ledger in memory forgets what was sent, name a file")
	case isFile && file != "":
		c.Ledger = Secret("sqlite:" + r.absolute(file))
	case strings.HasPrefix(dsn, "postgres://"), strings.HasPrefix(dsn, "postgresql://"):
		if _, err := url.Parse(dsn); err != nil {
			r.at(key, "the address cannot be read, expected postgres://USER:PASSWORD@HOST:PORT/DATABASE, "+
				"where signs like @ : / ? # %% and blanks in user or password are written as %%40 and so on")
		}
	default:
		r.at(key, "expected sqlite:FILE or postgres://USER:PASSWORD@HOST/DATABASE")
	}
}

// Emulated reports whether the endpoint is not Google's own.
func (g Google) Emulated() bool {
	u, err := url.Parse(g.Endpoint)
	return err == nil && g.Endpoint != "" && u.Hostname() != "googleapis.com" && !strings.HasSuffix(u.Hostname(), ".googleapis.com")
}

func (r *reader) google(g *Google) {
	path := "google.endpoint"
	if host, ok := r.env(EmulatorVariable); ok && host != "" {
		fromEnv := host
		if !strings.Contains(host, "://") {
			fromEnv = "http://" + host
		}
		if g.Endpoint != "" && strings.TrimSuffix(g.Endpoint, "/") != strings.TrimSuffix(fromEnv, "/") {
			r.at(path, "the file names %s and the environment variable %s names %s, remove one", r.show(path, g.Endpoint), EmulatorVariable, host)
		}
		if g.Endpoint == "" {
			path = EmulatorVariable
		}
		g.Endpoint = fromEnv
	}
	if g.Endpoint != "" {
		r.webAddress(path, g.Endpoint)
	}
	if !g.Emulated() {
		r.readable("google.credentials_file", g.CredentialsFile)
	}
}

// webAddress reports an address that is not https, or http on loopback.
func (r *reader) webAddress(path, address string) {
	u, err := url.Parse(address)
	switch {
	case address == "":
		r.present(path, address)
	case err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https":
		r.at(path, "expected an address such as https://host/path, found %s", r.show(path, address))
	case u.Scheme == "http" && !isLoopback(u.Hostname()):
		r.at(path, "expected https, found plain http to another machine: it is allowed on loopback only")
	}
}

// isLoopback reports whether a host name stays on this machine.
func isLoopback(host string) bool {
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.IsLoopback()
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// smtpPorts are the usual ports by the way of encryption.
var smtpPorts = map[TLS]int{StartTLS: 587, ImplicitTLS: 465, NoTLS: 25}

func (r *reader) smtp(c *Config) {
	s := c.SMTP
	if s == nil {
		mails := len(c.Alerts.Email) > 0
		for _, s := range c.Jobs {
			mails = mails || !s.ClaimOnly
		}
		if mails {
			r.at("smtp", "the section is missing, jobs and alerts by mail need a mail server")
		}
		return
	}
	r.present("smtp.host", s.Host)
	if strings.ContainsAny(s.Host, " \t\r\n/@") {
		r.at("smtp.host", "expected the name of the mail server, found %s", r.show("smtp.host", s.Host))
	} else if _, port, err := net.SplitHostPort(s.Host); err == nil {
		r.at("smtp.host", "expected a name alone, found %s: write port: %s", r.show("smtp.host", s.Host), port)
	}
	if _, ok := smtpPorts[s.TLS]; !ok {
		r.at("smtp.tls", "expected starttls, implicit or none, found %s", r.show("smtp.tls", string(s.TLS)))
	}
	if !r.has("smtp.port") {
		s.Port = smtpPorts[s.TLS]
	} else {
		r.between("smtp.port", s.Port, 1, 65535)
		// RFC 8314 section 7.3: a client that waits for the greeting on 465, or begins
		// with TLS on the others, gets no answer until it gives up.
		switch {
		case s.Port == smtpPorts[ImplicitTLS] && s.TLS != ImplicitTLS:
			r.at("smtp.port", "port 465 speaks TLS from the first byte: write tls: implicit, or port: 587")
		case s.TLS == ImplicitTLS && (s.Port == smtpPorts[StartTLS] || s.Port == smtpPorts[NoTLS]):
			r.at("smtp.port", "port %d begins in the clear: write tls: starttls, or port: 465", s.Port)
		}
	}
	r.readable("smtp.ca_file", s.CAFile)
	switch {
	case s.SkipVerify && s.CAFile != "":
		r.at("smtp.skip_verify", "no certificate is checked, so ca_file has no use: remove one, best skip_verify")
	case s.SkipVerify && s.TLS == NoTLS:
		r.at("smtp.skip_verify", "without TLS there is no certificate to be checked: remove it")
	}
	r.login(s)
	if strings.ContainsAny(s.Helo, " \t\r\n") {
		r.at("smtp.helo", "expected a host name, found %s", r.show("smtp.helo", s.Helo))
	}
	r.address("smtp.from", s.From)
	r.between("smtp.connections", s.Connections, 1, 100)
	r.between("smtp.messages_per_connection", s.MessagesPerConnection, 1, 0)
	r.atLeast("smtp.timeout", s.Timeout, time.Second)
	r.atLeast("smtp.dot_timeout", s.DotTimeout, time.Second)
}

func (r *reader) login(s *SMTP) {
	hasPassword := r.has("smtp.password") || r.has("smtp.password_file")
	switch {
	case s.Username == "" && (hasPassword || s.OAuth != nil):
		r.at("smtp.username", "the value is missing: a password or oauth needs one")
	case s.Username != "" && hasPassword && s.OAuth != nil:
		r.at("smtp.oauth", "expected either a password or oauth, found both, remove one")
	case s.Username != "" && s.Password == "" && s.OAuth == nil:
		r.at("smtp.password", "the value is missing or empty: give password, password_file or oauth, or leave out username")
	case s.Username != "" && s.TLS == NoTLS && !isLoopback(s.Host):
		r.at("smtp.tls", "without TLS the login would cross the network in the clear: write starttls or implicit, or leave out username")
	}
	if o := s.OAuth; o != nil {
		r.webAddress("smtp.oauth.token_url", o.TokenURL)
		r.present("smtp.oauth.client_id", o.ClientID)
		r.present("smtp.oauth.refresh_token", o.RefreshToken.Reveal())
	}
}

// present reports a value that is missing or blank.
func (r *reader) present(path, value string) {
	if strings.TrimSpace(value) == "" {
		r.at(path, "the value is missing")
	}
}

func (r *reader) address(path, value string) {
	if value == "" {
		r.present(path, value)
	} else if _, err := mail.ParseAddress(value); err != nil {
		r.at(path, "expected a mail address such as \"Acme <hello@example.com>\", found %s", r.show(path, value))
	}
}

func (r *reader) alerts(a *Alerts) {
	for i, to := range a.Email {
		r.address(fmt.Sprintf("alerts.email[%d]", i), to)
	}
	if w := a.Webhook; w != nil {
		r.present("alerts.webhook.url", w.URL)
		u, err := url.Parse(w.URL)
		if w.URL != "" && (err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http") {
			r.at("alerts.webhook.url", "expected an address such as https://host/path, found %s", r.show("alerts.webhook.url", w.URL))
		} else if err == nil && u.User != nil && u.Scheme == "http" && !isLoopback(u.Hostname()) {
			r.at("alerts.webhook.url", "expected https: the address holds a password, which would cross the network in the clear")
		}
	}
}

func (r *reader) api(c *Config) {
	a := &c.API
	r.serverTLS(a.TLS)
	r.proxies(a)
	host, _, _ := net.SplitHostPort(a.Listen)
	if !isAddress(a.Listen) {
		r.at("api.listen", "expected host:port such as 127.0.0.1:8080, found %s", r.show("api.listen", a.Listen))
	} else if !isLoopback(host) && len(a.Tokens) == 0 {
		r.at("api.listen", "%s can be reached from other machines: add api.tokens, or listen on 127.0.0.1", r.show("api.listen", a.Listen))
	}
	if a.MetricsListen != "" && a.MetricsListen != MetricsOff && !isAddress(a.MetricsListen) {
		r.at("api.metrics_listen", "expected off, or host:port such as 127.0.0.1:9464, found %s", r.show("api.metrics_listen", a.MetricsListen))
	}
	r.atLeast("api.max_wait", a.MaxWait, 0)
	r.callbacks(c)
	names, values := map[string]bool{}, map[Secret]bool{}
	for i, t := range a.Tokens {
		path := fmt.Sprintf("api.tokens[%d]", i)
		r.present(path+".name", t.Name)
		r.present(path+".token", t.Token.Reveal())
		if names[t.Name] {
			r.at(path+".name", "two tokens are named %s, expected a name of its own for each", r.show(path+".name", t.Name))
		}
		if values[t.Token] && t.Token != "" {
			r.at(path+".token", "two tokens have the same value, expected one of its own for each")
		}
		names[t.Name], values[t.Token] = true, true
		r.tokenJobs(c, path, t)
	}
}

// callbacks checks where run documents may be posted to. They are always signed, since
// a receiver has no other way to tell them from a stranger's.
func (r *reader) callbacks(c *Config) {
	a, wellFormed := &c.API, true
	for i, host := range a.CallbackHosts {
		if host == "" || strings.ContainsAny(host, "/@ \t\r\n*") {
			path := fmt.Sprintf("api.callback_hosts[%d]", i)
			r.at(path, "expected a host or host:port without a scheme, found %s", r.show(path, host))
			wellFormed = false
		}
	}
	if a.CallbackSecret == "" && c.Alerts.Webhook != nil {
		a.CallbackSecret = c.Alerts.Webhook.Secret
	}
	if len(a.CallbackHosts) > 0 && a.CallbackSecret == "" && wellFormed {
		r.at("api.callback_hosts", "callbacks are signed, and there is no secret: add callback_secret, or a secret to alerts.webhook")
	}
}

// isAddress reports whether a text is host:port.
func isAddress(text string) bool {
	_, port, err := net.SplitHostPort(text)
	n, convErr := strconv.Atoi(port)
	return err == nil && convErr == nil && n >= 0 && n <= 65535
}

func (r *reader) tokenJobs(c *Config, path string, t Token) {
	if t.Jobs != nil && len(t.Jobs) == 0 {
		r.at(path+".jobs", "the list is empty: name jobs, or leave the key out for all of them")
	}
	for i, name := range t.Jobs {
		at := fmt.Sprintf("%s.jobs[%d]", path, i)
		if known := c.JobNames(); !slices.Contains(known, name) {
			r.at(at, "there is no job %s%s", r.show(at, name), didYouMean(name, known))
		}
	}
}

// fileName is a path as error texts name it.
func fileName(path string) string { return filepath.Base(path) }
