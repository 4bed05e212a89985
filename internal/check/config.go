package check

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/mail"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/job"
)

// Names of the checks that need the configuration alone.
const (
	Configuration = "configuration"
	Sender        = "sender"
)

// BadConfig lists what is wrong in a configuration that cannot be used.
func (r *Report) BadConfig(err error) {
	var all job.Problems
	if !errors.As(err, &all) {
		r.FailSetup(Configuration, "", err.Error(), "")
		return
	}
	for _, p := range all {
		r.FailSetup(Configuration, "", p.String(), "correct the file at that place, or what it names there")
	}
}

// Config judges a configuration that can be used: settings that are allowed, and that
// people regret.
func (r *Report) Config(c *job.Config) {
	before := len(r.Findings)
	if c.Google.Emulated() {
		r.Warn(Configuration, "", "the Sheets API is asked at "+c.Google.Endpoint+": an emulator, not Google", "leave google.endpoint out, and SHEETS_EMULATOR_HOST unset, for a real sheet")
	}
	if s := c.SMTP; s != nil {
		if s.TLS == job.NoTLS && !onThisMachine(s.Host) {
			r.Warn(Configuration, "", "smtp.tls is none: messages cross the network in the clear", "set smtp.tls: starttls or implicit, if the server can")
		}
		if least := 10 * time.Minute; s.DotTimeout < least { // RFC 5321 section 4.5.3.2.6
			r.Warn(Configuration, "", fmt.Sprintf("smtp.dot_timeout is %s: a server that takes longer to accept a message makes it unknown", s.DotTimeout), "leave it at "+least.String())
		}
	}
	if w := c.Alerts.Webhook; w != nil && w.Secret == "" {
		r.Warn(Configuration, "", "alerts.webhook has no secret: its receiver cannot tell our alerts from others", "set alerts.webhook.secret")
	}
	for _, name := range slices.Sorted(maps.Keys(c.Jobs)) {
		if c.Jobs[name].Message.Unwritten() {
			r.Warn(Configuration, name, "message.text is still the one that init wrote", "write your message: customers would get that sentence")
		}
	}
	for _, text := range c.Warnings() {
		r.Warn(Configuration, "", text, "")
	}
	if len(r.Findings) == before {
		r.Ok(Configuration, "", c.String())
	}
}

// From judges the address that messages come from.
func (r *Report) From(s *job.SMTP) {
	from, err := mail.ParseAddress(s.From)
	if err != nil {
		return // the configuration has refused it
	}
	domain := domainOf(from.Address)
	login := domainOf(s.Username)
	switch {
	case !strings.Contains(domain, "."), isExample(domain):
		r.Warn(Sender, "", "smtp.from is "+from.Address+": no mail can be answered there", "set smtp.from to an address of yours")
	case login != "" && !strings.EqualFold(login, domain):
		r.Warn(Sender, "", fmt.Sprintf("smtp.from is at %s and the login at %s: receivers may take such mail for forged", domain, login), "set smtp.from to an address at "+login+", unless the server signs for "+domain)
	default:
		r.Ok(Sender, "", "messages come from "+from.Address)
	}
}

func domainOf(address string) string {
	_, domain, _ := strings.Cut(address, "@")
	return strings.ToLower(domain)
}

// isExample reports a domain that belongs to nobody (RFC 2606, RFC 6761).
func isExample(domain string) bool {
	for _, d := range []string{"example.com", "example.net", "example.org"} {
		if domain == d || strings.HasSuffix(domain, "."+d) {
			return true
		}
	}
	last := domain[strings.LastIndexByte(domain, '.')+1:]
	return last == "example" || last == "invalid" || last == "test" || last == "localhost"
}

// onThisMachine reports whether a host is this machine by its name.
func onThisMachine(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}
