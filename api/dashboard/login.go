package dashboard

import (
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// loginView is the form of the login.
type loginView struct {
	Next    string // where to go after it
	Problem string
}

// toLogin sends somebody who is not let in to the login. A stream just ends.
func (v *visit) toLogin() {
	if v.r.URL.Path == "/live" || v.r.Method != http.MethodGet {
		v.fail(&fault{status: http.StatusUnauthorized, Title: "You are not logged in", Text: "Nothing was changed. Log in and try again."})
		return
	}
	to := "/login"
	if at := v.r.URL.RequestURI(); at != "/" {
		to += "?next=" + url.QueryEscape(at)
	}
	http.Redirect(v.w, v.r, to, http.StatusSeeOther)
}

// ownPath answers a path of this page; / for anything else.
func ownPath(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") || strings.ContainsAny(next, "\\\r\n\t") {
		return "/"
	}
	return next
}

// getLogin shows the form. Who comes back from it without a session has a browser that
// did not keep the cookie.
func (p *Page) getLogin(v *visit) error {
	query := v.r.URL.Query()
	next := ownPath(query.Get("next"))
	if v.who != nil {
		http.Redirect(v.w, v.r, next, http.StatusSeeOther)
		return nil
	}
	view := loginView{Next: next}
	if query.Has("done") {
		view.Problem = "The token was right, but your browser did not keep the login. Open this page by https, or by localhost on the machine itself, and allow its cookie."
	}
	return v.show(http.StatusOK, "login", frame{Title: "Log in", Data: view})
}

// postLogin takes a token.
func (p *Page) postLogin(v *visit) error {
	next := ownPath(v.r.PostForm.Get("next"))
	if p.anyone != nil {
		http.Redirect(v.w, v.r, next, http.StatusSeeOther)
		return nil
	}
	name, wait := p.cfg.Login(v.r, strings.TrimSpace(v.r.PostForm.Get("token")))
	who := p.viewers[name]
	if who == nil || name == "" {
		view, status := loginView{Next: next, Problem: "That is no token of this service. Compare it with those under api.tokens."}, http.StatusForbidden
		if wait > 0 {
			seconds := int(math.Ceil(wait.Seconds()))
			v.w.Header().Set("Retry-After", strconv.Itoa(seconds))
			status, view.Problem = http.StatusTooManyRequests, fmt.Sprintf("Too many wrong tokens came from your address. Wait %d seconds, then try again.", seconds)
		}
		return v.show(status, "login", frame{Title: "Log in", Data: view})
	}
	v.setCookie(who.newSession(p.now()), int(sessionLasts.Seconds()))
	p.cfg.Log.Info("logged in to the page", "token", name)
	http.Redirect(v.w, v.r, "/login?done=1&next="+url.QueryEscape(next), http.StatusSeeOther)
	return nil
}

// postLogout ends the session.
func (p *Page) postLogout(v *visit) error {
	if p.anyone == nil {
		p.end(session(v.r))
		v.setCookie("", -1)
	}
	http.Redirect(v.w, v.r, "/login", http.StatusSeeOther)
	return nil
}
