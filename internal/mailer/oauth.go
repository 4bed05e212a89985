package mailer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

// OAuth is how to get access tokens for XOAUTH2: by a refresh token that a person
// has got once (RFC 6749 section 6).
type OAuth struct {
	TokenURL         string
	ClientID         string
	ClientSecret     string
	RefreshTokenFile string       // where a token is kept that the server gives in place of it
	RefreshToken     string       // without a file
	Scope            string       // divided by blanks
	Client           *http.Client // nil: one with a timeout
	Log              *slog.Logger
}

// Tokens answers the source of tokens for Config.Token. A file is read anew at each
// refresh, so that a person can replace it while the service runs.
func (o OAuth) Tokens() (TokenFunc, error) {
	u, err := url.Parse(o.TokenURL)
	switch {
	case err != nil, u.Host == "":
		return nil, errors.New("smtp: oauth: token_url is not a whole address")
	case u.Scheme != "https" && !isLoopback(u.Hostname()):
		return nil, fmt.Errorf("smtp: oauth: token_url of %s must be https: secrets go there", u.Host)
	case o.ClientID == "":
		return nil, errors.New("smtp: oauth: no client_id")
	case o.RefreshTokenFile == "" && o.RefreshToken == "":
		return nil, errors.New("smtp: oauth: no refresh_token_file and no refresh_token")
	}
	if o.Client == nil {
		o.Client = &http.Client{Timeout: 30 * time.Second}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	r := &refresher{o: o, host: u.Host, conf: clientcredentials.Config{
		ClientID:     o.ClientID,
		ClientSecret: o.ClientSecret,
		TokenURL:     o.TokenURL,
		Scopes:       strings.Fields(o.Scope),
	}}
	return r.token, nil
}

// refresher keeps the newest access token.
type refresher struct {
	o    OAuth
	host string
	// oauth2.Config can refresh too, but sends no scope, which Microsoft wants.
	// This one takes any grant.
	conf clientcredentials.Config

	mu     sync.Mutex
	access *oauth2.Token
	// The refresh token that was given was replaced by the server with next, and there
	// is no file that could be rewritten.
	spent, next string
}

func (r *refresher) token(ctx context.Context, refused string) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.access.Valid() && r.access.AccessToken != refused {
		return r.access.AccessToken, nil
	}
	given, err := r.given()
	if err != nil {
		return "", err
	}
	have := given
	if have == r.spent {
		have = r.next
	}
	r.conf.EndpointParams = url.Values{"grant_type": {"refresh_token"}, "refresh_token": {have}}
	fresh, err := r.conf.Token(context.WithValue(ctx, oauth2.HTTPClient, r.o.Client))
	if err != nil {
		return "", r.explain(err, have)
	}
	r.access = fresh
	if fresh.RefreshToken != "" && fresh.RefreshToken != have {
		r.rotate(given, fresh.RefreshToken)
	}
	return fresh.AccessToken, nil
}

// given answers the refresh token that the configuration gives.
func (r *refresher) given() (string, error) {
	if r.o.RefreshTokenFile == "" {
		return r.o.RefreshToken, nil
	}
	b, err := os.ReadFile(r.o.RefreshTokenFile)
	token := strings.TrimSpace(string(b))
	if err == nil && token == "" {
		err = errors.New("the file is empty")
	}
	if err != nil {
		return "", &AccountError{
			Step: stepLogin, Problem: "there is no refresh token",
			Advice: "check smtp.oauth.refresh_token_file", Err: err,
		}
	}
	return token, nil
}

// rotate keeps a refresh token that the server gave in place of the one used
// (RFC 6749 section 6): the old one may be void from now on.
func (r *refresher) rotate(spent, next string) {
	err := errors.New("the configuration holds the token itself and names no refresh_token_file")
	if r.o.RefreshTokenFile != "" {
		err = replaceFile(r.o.RefreshTokenFile, next+"\n")
	}
	if err != nil {
		r.spent, r.next = spent, next
		r.o.Log.Warn("the server has replaced the refresh token, and its file cannot be rewritten or there is none; "+
			"it is lost when this process ends", "file", r.o.RefreshTokenFile, "err", err)
	}
}

// replaceFile writes a whole new file or leaves the old one.
func replaceFile(name, text string) (err error) {
	f, err := os.CreateTemp(filepath.Dir(name), ".refresh-*") // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

// explain says what went wrong without repeating the request or the whole answer,
// which may hold secrets, as a server's own words may.
func (r *refresher) explain(err error, have string) error {
	e := &AccountError{Step: stepLogin}
	var refused *oauth2.RetrieveError
	var unreachable *url.Error
	switch {
	case errors.As(err, &refused):
		e.Problem = fmt.Sprintf("%s refuses to refresh the OAuth token: %s", r.host,
			newReply(refused.Response.StatusCode, r.hide(refused.ErrorCode+" "+refused.ErrorDescription, have)))
		e.Advice = "log in again and put the new refresh token into smtp.oauth.refresh_token_file; check client_id and client_secret"
	case errors.As(err, &unreachable):
		e.Problem = "the token server " + r.host + " cannot be reached"
		e.Advice = "check smtp.oauth.token_url"
		e.Err = unreachable.Err
	default:
		e.Problem = r.host + " gave no usable OAuth token"
		e.Advice = "check smtp.oauth.token_url"
	}
	return e
}

// hide takes what was sent to the server out of its words.
func (r *refresher) hide(text, have string) string {
	for _, secret := range []string{have, r.o.ClientSecret} {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "[hidden]")
		}
	}
	return text
}
