package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/alert"
	"github.com/sheetclaim/sheetclaim/internal/check"
	"github.com/sheetclaim/sheetclaim/internal/mailer"
)

const (
	checkMail  = "mail server"
	checkAlert = "alerts"

	checkPatience = 15 * time.Second // for one step of a connection
)

// openMailer makes the mailer, which connects to nothing yet.
func (k *checker) openMailer() *mailer.SMTP {
	smtp := k.cfg.SMTP
	if smtp != nil {
		hasty := *smtp
		hasty.Timeout = min(hasty.Timeout, checkPatience)
		smtp = &hasty
	}
	m, err := openMailer(smtp, k.cfg.Instances, nil, k.m.log)
	if err != nil {
		k.r.FailSetup(check.Configuration, "", err.Error(), "correct the smtp section")
		return nil
	}
	return m
}

// mail connects, encrypts, logs in and offers the sender, and reports whether all of
// that was taken.
func (k *checker) mail(ctx context.Context, m *mailer.SMTP) bool {
	const soon = 14 * 24 * time.Hour
	smtp := k.cfg.SMTP
	if smtp == nil {
		k.r.Ok(checkMail, "", "none is configured, and none is needed: all jobs are claim_only")
		return false
	}
	server := fmt.Sprintf("%s:%d", smtp.Host, smtp.Port)
	facts, err := m.Probe(ctx)
	var fault *mailer.AccountError
	switch {
	case errors.As(err, &fault):
		k.r.Fail(checkMail, "", strings.TrimSuffix(fault.Error(), ": "+fault.Advice), fault.Advice)
		return false
	case err != nil:
		k.r.Fail(checkMail, "", err.Error(), "")
		return false
	}
	how := "not encrypted"
	if facts.TLS != "" {
		how = facts.TLS
	}
	who := "no login"
	if smtp.Username != "" {
		who = "logged in as " + smtp.Username
	}
	found := server + ": " + how + ", " + who + ", the sender is accepted"
	if left := facts.Expires.Sub(k.m.Now()); facts.TLS != "" && left < soon {
		k.r.Warn(checkMail, "", found+"; its certificate ends on "+facts.Expires.Format(time.DateOnly), "ask who runs the server to renew it")
	} else {
		k.r.Ok(checkMail, "", found)
	}
	k.r.From(smtp)
	return true
}

// alerts looks whether alerts reach anybody. m is nil where the mailer cannot be made;
// works says whether its server took all that was tried.
func (k *checker) alerts(ctx context.Context, m *mailer.SMTP, works, send bool) {
	a := k.cfg.Alerts
	if len(a.Email) == 0 && a.Webhook == nil {
		k.r.Warn(checkAlert, "", "go nowhere: nobody hears of a message whose fate is unknown", "set alerts.email or alerts.webhook")
		return
	}
	if send && m != nil {
		k.sendAlert(ctx, m)
		return
	}
	switch to := strings.Join(a.Email, ", "); {
	case to == "":
	case works:
		k.r.Ok(checkAlert, "", fmt.Sprintf("by mail to %s, over the mail server above (--send-test-alert sends one)", to))
	default:
		k.r.Warn(checkAlert, "", fmt.Sprintf("by mail to %s, over the mail server above: nothing arrives while that cannot be used", to), "mend the mail server first")
	}
	if a.Webhook == nil {
		return
	}
	host, err := k.reach(ctx, a.Webhook.URL)
	if err != nil {
		k.r.Fail(checkAlert, "", "the webhook at "+host+" cannot be reached: "+err.Error(), "check alerts.webhook.url, and that its server is up")
		return
	}
	k.r.Ok(checkAlert, "", "the webhook at "+host+" can be connected to (--send-test-alert posts to it)")
}

// sendAlert sends a test alert on every route.
func (k *checker) sendAlert(ctx context.Context, m *mailer.SMTP) {
	routes, err := alertRoutes(k.cfg.Alerts, m, k.m)
	if err != nil {
		k.r.Fail(checkAlert, "", err.Error(), "correct the alerts section")
		return
	}
	for _, route := range routes {
		if err := route.Deliver(ctx, alert.Trial(k.m.Now())); err != nil {
			k.r.Fail(checkAlert, "", "the test alert by "+route.Name()+" was not delivered: "+err.Error(), "correct alerts."+route.Name())
			continue
		}
		k.r.Ok(checkAlert, "", "a test alert was delivered by "+route.Name())
	}
}

// reach connects to the host of an address, over TLS where it is https, and says
// nothing: a request could set something off. It answers the host for people.
func (k *checker) reach(ctx context.Context, address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "alerts.webhook.url", errors.New("it is not an address")
	}
	ctx, cancel := context.WithTimeout(ctx, checkPatience)
	defer cancel()
	if proxy, err := http.ProxyFromEnvironment(&http.Request{URL: u}); err == nil && proxy != nil {
		u = proxy // whether the rest of the way is open, only an alert can tell
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443"}[u.Scheme]
	}
	if port == "" {
		port = "80"
	}
	at := net.JoinHostPort(u.Hostname(), port)
	var c net.Conn
	if u.Scheme == "https" {
		c, err = new(tls.Dialer).DialContext(ctx, "tcp", at)
	} else {
		c, err = new(net.Dialer).DialContext(ctx, "tcp", at)
	}
	if err == nil {
		c.Close()
	}
	return u.Host, err
}
