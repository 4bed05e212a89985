package mailer

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/smtpsink"
)

// fakeTokens gives tokens one after the other, a new one only when the last was
// refused.
type fakeTokens struct {
	give  []string
	asked int
}

func (f *fakeTokens) token(_ context.Context, refused string) (string, error) {
	f.asked++
	i := slices.Index(f.give, refused)
	return f.give[min(i+1, len(f.give)-1)], nil
}

// tokenServer is a token endpoint that takes one refresh token at a time.
type tokenServer struct {
	refresh string // the refresh token that is good
	next    string // given in its place
	access  []string
	asked   []string // scopes asked for
	during  func()   // called within each refresh
}

func (s *tokenServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	id, secret, ok := r.BasicAuth()
	if !ok {
		id, secret = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	}
	if id != "client" || secret != "c-secret" || r.PostFormValue("grant_type") != "refresh_token" ||
		r.PostFormValue("refresh_token") != s.refresh {
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(map[string]string{
			"error": "invalid_grant", "error_description": "Token has been expired or revoked.",
		})
		return
	}
	s.asked = append(s.asked, r.PostFormValue("scope"))
	if s.during != nil {
		s.during()
	}
	body := map[string]any{"access_token": s.access[min(len(s.asked), len(s.access))-1], "token_type": "Bearer", "expires_in": 3600}
	if s.next != "" {
		body["refresh_token"], s.refresh = s.next, s.next
	}
	_ = json.NewEncoder(w).Encode(body)
}

// newOAuth serves tokens and keeps the refresh token r1 in a file.
func newOAuth(t *testing.T, s *tokenServer) OAuth {
	t.Helper()
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	file := filepath.Join(t.TempDir(), "refresh")
	if err := os.WriteFile(file, []byte("r1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return OAuth{
		TokenURL: srv.URL, ClientID: "client", ClientSecret: "c-secret", RefreshTokenFile: file,
		Scope: "https://outlook.office.com/SMTP.Send offline_access", Client: srv.Client(),
	}
}

func newOAuthMailer(t *testing.T, sink *smtpsink.Sink, o OAuth) *SMTP {
	t.Helper()
	tokens, err := o.Tokens()
	if err != nil {
		t.Fatal(err)
	}
	return newMailer(t, sink, func(c *Config) { c.TLS, c.Username, c.Token = STARTTLS, "alice", tokens })
}

// TestXOAUTH2: the endpoint's first token is refused, the second is taken; a
// refresh token that was replaced is in the file afterwards.
func TestXOAUTH2(t *testing.T) {
	server := &tokenServer{refresh: "r1", next: "r2", access: []string{"stale", "good"}}
	o := newOAuth(t, server)
	sink := newSink(t, smtpsink.Options{
		TLS: smtpsink.STARTTLS, Token: func(user, token string) bool { return user == "alice" && token == "good" },
	})
	m := newOAuthMailer(t, sink, o)
	if err := m.Login(t.Context()); err != nil {
		t.Fatal(err)
	}
	want(t, send(t, m, "ada@x.test"), claim.Accepted, false, "dot", 250)
	if len(server.asked) != 2 || server.asked[0] != o.Scope {
		t.Errorf("asked for %q", server.asked)
	}
	if b, err := os.ReadFile(o.RefreshTokenFile); err != nil || string(b) != "r2\n" {
		t.Errorf("the file has %q, %v", b, err)
	}
	// A new connection uses the token that is still good.
	_ = m.pool.close()[0].Close()
	tokens, err := o.Tokens()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if token, err := tokens(t.Context(), ""); err != nil || token != "good" {
			t.Errorf("got %q, %v", token, err)
		}
	}
	if len(server.asked) != 3 {
		t.Errorf("%d refreshes, want 3", len(server.asked))
	}
}

// TestRotatedButReadOnly: the replaced token is kept in memory as long as the file
// has the spent one.
func TestRotatedButReadOnly(t *testing.T) {
	server := &tokenServer{refresh: "r1", next: "r2", access: []string{"a1", "a2", "a3"}}
	o := newOAuth(t, server)
	folder := filepath.Dir(o.RefreshTokenFile)
	move := func(from, to string) {
		if err := os.Rename(from, to); err != nil {
			t.Error(err)
		}
	}
	var log bytes.Buffer
	o.Log = slog.New(slog.NewTextHandler(&log, nil))
	tokens, err := o.Tokens()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"a1", "a2"} {
		server.during = func() { move(folder, folder+".away") } // the test may run as root, who can write anywhere
		token, err := tokens(t.Context(), server.access[max(0, len(server.asked)-1)])
		if err != nil || token != want {
			t.Fatalf("got %q, %v; want %q", token, err, want)
		}
		move(folder+".away", folder)
		server.next = "r3"
	}
	if !strings.Contains(log.String(), "cannot be rewritten") || strings.Contains(log.String(), "r2") {
		t.Errorf("log: %s", log.String())
	}
	server.during, server.next = nil, ""
	if err := os.WriteFile(o.RefreshTokenFile, []byte("r9\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	server.refresh = "r9"
	if token, err := tokens(t.Context(), "a2"); err != nil || token != "a3" {
		t.Errorf("after a person has replaced the file: %q, %v", token, err)
	}
}

func TestRefreshFails(t *testing.T) {
	sink := newSink(t, smtpsink.Options{TLS: smtpsink.STARTTLS, Token: func(_, _ string) bool { return false }})
	for name, tc := range map[string]struct {
		edit  func(*testing.T, *OAuth)
		parts []string
	}{
		"revoked": {func(t *testing.T, o *OAuth) {}, []string{"invalid_grant", "revoked", "refresh_token_file"}},
		"no file": {func(t *testing.T, o *OAuth) { o.RefreshTokenFile += ".gone" }, []string{"refresh_token_file"}},
		"empty file": {func(t *testing.T, o *OAuth) {
			if err := os.WriteFile(o.RefreshTokenFile, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}, []string{"empty"}},
		"server down": {func(t *testing.T, o *OAuth) { o.TokenURL = "http://127.0.0.1:1/token?key=k-secret" }, []string{"cannot be reached", "token_url"}},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOAuth(t, &tokenServer{refresh: "other"})
			tc.edit(t, &o)
			m := newOAuthMailer(t, sink, o)
			err := m.Login(t.Context())
			wantAccountError(t, err, "login", tc.parts...)
			for _, secret := range []string{"c-secret", "k-secret", "r1"} {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("%q has a secret", err)
				}
			}
			want(t, send(t, m, "ada@x.test"), claim.Deferred, true, "login", 0)
		})
	}
	if n := sink.Stats().Connections; n != 0 {
		t.Errorf("%d connections without a token", n)
	}
}

func TestTokenRefusedTwice(t *testing.T) {
	o := newOAuth(t, &tokenServer{refresh: "r1", access: []string{"a1", "a2"}})
	sink := newSink(t, smtpsink.Options{TLS: smtpsink.STARTTLS, Token: func(_, _ string) bool { return false }})
	m := newOAuthMailer(t, sink, o)
	wantAccountError(t, m.Login(t.Context()), "login", "535", "smtp.oauth.scope")
	if n := sink.Stats().Connections; n != 2 {
		t.Errorf("%d connections, want 2", n)
	}
}

// A token that stands in the configuration works too; what the server gives in its
// place is good as long as the process lives.
func TestRefreshTokenWithoutFile(t *testing.T) {
	o := newOAuth(t, &tokenServer{refresh: "r1", next: "r2", access: []string{"a1", "a2"}})
	o.RefreshTokenFile, o.RefreshToken = "", "r1"
	tokens, err := o.Tokens()
	if err != nil {
		t.Fatal(err)
	}
	refused := ""
	for _, want := range []string{"a1", "a2"} {
		got, err := tokens(t.Context(), refused)
		if err != nil || got != want {
			t.Errorf("got %q and %v, want %q", got, err, want)
		}
		refused = got
	}
}

func TestOAuthConfig(t *testing.T) {
	good := OAuth{TokenURL: "https://login.x.test/token", ClientID: "c", RefreshTokenFile: "f"}
	for want, edit := range map[string]func(*OAuth){
		"must be https":         func(o *OAuth) { o.TokenURL = "http://login.x.test/token" },
		"not a whole address":   func(o *OAuth) { o.TokenURL = "login.x.test" },
		"no client_id":          func(o *OAuth) { o.ClientID = "" },
		"no refresh_token_file": func(o *OAuth) { o.RefreshTokenFile = "" }, // and no token
	} {
		o := good
		edit(&o)
		if _, err := o.Tokens(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}
