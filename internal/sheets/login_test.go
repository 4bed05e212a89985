package sheets

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// keyFile is the key file of a service account, with a key of its own.
func keyFile(t *testing.T) []byte {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]string{
		"type": "service_account", "client_email": "bot@p.example", "token_uri": "https://oauth.example/token",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

const person = `{"type":"authorized_user","client_id":"c","client_secret":"s","refresh_token":"r","quota_project_id":"acme"}`

// split answers token requests and API calls apart.
func split(token, call answer) answer {
	return func(r *http.Request) (*http.Response, error) {
		if r.URL.Host == "sheets.googleapis.com" {
			return call(r)
		}
		return token(r)
	}
}

func TestLogin(t *testing.T) {
	token := reply(200, `{"access_token":"tok","token_type":"Bearer","expires_in":3600}`)
	for name, tt := range map[string]struct {
		file             []byte
		account, project string
	}{
		"service account": {keyFile(t), "bot@p.example", ""},
		"a person":        {[]byte(person), "", "acme"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "google.json")
			if err := os.WriteFile(path, tt.file, 0o600); err != nil {
				t.Fatal(err)
			}
			s := &script{answers: []answer{split(token, reply(200, headerOnly))}}
			c := newClient(t, Config{CredentialsFile: path, Transport: s, UserAgent: "sheetclaim/1"})
			if c.Account() != tt.account {
				t.Errorf("account %q", c.Account())
			}
			for range 2 {
				if _, err := c.Read(context.Background(), visits().Target, claim.Ask{}); err != nil {
					t.Fatal(err)
				}
			}
			if len(s.log) != 3 {
				t.Fatalf("%d requests, want one for the token and two reads", len(s.log))
			}
			h := s.log[2].header
			if h.Get("Authorization") != "Bearer tok" || h.Get("X-Goog-User-Project") != tt.project || !strings.Contains(h.Get("User-Agent"), "sheetclaim/1") {
				t.Errorf("headers %v", h)
			}
		})
	}
	t.Run("impersonated", func(t *testing.T) {
		c := newClient(t, Config{Transport: &script{}, CredentialsJSON: []byte(`{"type":"external_account","audience":"//iam.googleapis.com/x","subject_token_type":"urn:ietf:params:oauth:token-type:jwt","token_url":"https://sts.googleapis.com/v1/token",
			"credential_source":{"file":"/nowhere"},"service_account_impersonation_url":"https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/bot@p.example:generateAccessToken"}`)})
		if c.Account() != "bot@p.example" {
			t.Errorf("account %q", c.Account())
		}
	})
	t.Run("nothing goes to an emulator", func(t *testing.T) {
		s := &script{answers: []answer{reply(200, headerOnly)}}
		c := newClient(t, Config{CredentialsJSON: []byte(person), Transport: s, Endpoint: "127.0.0.1:9410/emu"})
		if _, err := c.Read(context.Background(), visits().Target, claim.Ask{}); err != nil {
			t.Fatal(err)
		}
		if h := s.log[0].header; h.Get("Authorization") != "" || !strings.HasPrefix(s.log[0].url, "http://127.0.0.1:9410/emu/v4/spreadsheets/S1?") {
			t.Errorf("%s with %v", s.log[0].url, h)
		}
	})
}

func TestWrongCredentials(t *testing.T) {
	damaged := strings.ReplaceAll(string(keyFile(t)), `\n`, ` `)
	for want, text := range map[string]string{
		"OAuth client secret":            `{"installed":{"client_id":"x"}}`,
		"names a program":                `{"web":{"client_id":"x"}}`,
		"API key":                        "AIzaSyExample",
		"private key without":            "-----BEGIN PRIVATE KEY-----\n",
		"not a JSON file":                "client_email: x",
		"has no type":                    `{"client_email":"x"}`,
		`of type "gdch_service_account"`: `{"type":"gdch_service_account"}`,
		"is damaged":                     damaged,
	} {
		_, err := New(context.Background(), Config{CredentialsJSON: []byte(text)})
		if words := sheetError(t, err); !strings.Contains(words.Problem, want) || words.Advice == "" || !words.Setup {
			t.Errorf("%s: %q, advice %q", want, words.Problem, words.Advice)
		}
	}
	_, err := New(context.Background(), Config{CredentialsFile: "/nowhere/google.json"})
	if words := sheetError(t, err); !strings.Contains(words.Problem, "no such file") {
		t.Error(words)
	}
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", "/nowhere/adc.json")
	_, err = New(context.Background(), Config{})
	if words := sheetError(t, err); !strings.Contains(words.Problem, "no Google credentials") || !words.Setup {
		t.Error(words)
	}
}

func TestLoginIsRefused(t *testing.T) {
	grant := func(text string) answer {
		return reply(400, `{"error":"invalid_grant","error_description":`+quote(text)+`}`)
	}
	key := keyFile(t)
	for _, tt := range []struct {
		name    string
		token   answer
		problem string
		setup   bool
	}{
		{"clock", grant("Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. Check your iat and exp values in the JWT claim."), "clock of this machine is wrong", true},
		{"revoked", grant("Token has been expired or revoked."), "expired or was revoked", true},
		{"key deleted", grant("Invalid JWT Signature."), "no longer exists", true},
		{"unknown client", reply(401, `{"error":"unauthorized_client","error_description":"Client is unauthorized"}`), "does not know these credentials", true},
		{"other", grant("Bad Request"), "refused the login: Bad Request", true},
		{"out of order", reply(503, page), "out of order", false},
		{"out of reach", fail(errCut), "cannot be reached", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{answers: []answer{split(tt.token, reply(200, headerOnly))}}
				c := newClient(t, Config{CredentialsJSON: key, Transport: s})
				for op, write := range writes {
					err := write(c)
					words := sheetError(t, err)
					if isUnclear(err) || !strings.Contains(words.Problem, tt.problem) || words.Advice == "" || words.Setup != tt.setup {
						t.Errorf("%s: %q, advice %q, setup %v", op, words.Problem, words.Advice, words.Setup)
					}
				}
				before := len(s.log)
				_, err := c.Read(context.Background(), visits().Target, claim.Ask{})
				tries := 1
				if !tt.setup {
					tries = 3
				}
				if sheetError(t, err); len(s.log)-before != tries {
					t.Errorf("asked for a token %d times", len(s.log)-before)
				}
			})
		})
	}
}

// TestLoginLeavesNothing covers tokens that do not come in time for their call.
func TestLoginLeavesNothing(t *testing.T) {
	t.Run("the call has ended", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			slow := func(r *http.Request) (*http.Response, error) {
				time.Sleep(25 * time.Second)
				return reply(200, `{"access_token":"tok","token_type":"Bearer","expires_in":3600}`)(r)
			}
			s := &script{answers: []answer{split(slow, reply(200, ""))}}
			c := newClient(t, Config{CredentialsJSON: []byte(person), Transport: s, Timeout: 20 * time.Second})
			err := writes["replace"](c)
			time.Sleep(time.Minute) // the token still comes, for the next call
			synctest.Wait()
			if isUnclear(err) || !errors.Is(err, context.DeadlineExceeded) || len(s.log) != 1 {
				t.Errorf("%v, %d requests", err, len(s.log))
			}
		})
	})
	t.Run("the body is closed", func(t *testing.T) {
		s := &script{answers: []answer{fail(errCut)}}
		c := newClient(t, Config{CredentialsJSON: []byte(person), Transport: s})
		transport, err := c.transport(context.Background(), Config{CredentialsJSON: []byte(person), Transport: s})
		if err != nil {
			t.Fatal(err)
		}
		body := &closed{}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://sheets.googleapis.com/", body)
		if err != nil {
			t.Fatal(err)
		}
		res, err := transport.RoundTrip(req)
		if err == nil {
			_ = res.Body.Close()
		}
		if err == nil || !body.closed {
			t.Errorf("err = %v, closed %v", err, body.closed)
		}
	})
}

type closed struct{ closed bool }

func (c *closed) Read([]byte) (int, error) { return 0, io.EOF }
func (c *closed) Close() error             { c.closed = true; return nil }

func TestCheckEndpoint(t *testing.T) {
	for in, want := range map[string]string{
		"127.0.0.1:9410":            "http://127.0.0.1:9410/",
		"localhost:9410":            "http://localhost:9410/",
		"http://[::1]:9410/emu":     "http://[::1]:9410/emu/",
		"https://emu.example/x/":    "https://emu.example/x/",
		"http://emu.example":        "plain http to another machine",
		"emu.example:80":            "plain http to another machine",
		"http://127.0.0.1.example":  "plain http to another machine",
		"ftp://127.0.0.1":           "not an address",
		"http://":                   "not an address",
		"http://127.0.0.1:9410?x=1": "more than a host and a path",
		"http://u:p@127.0.0.1:9410": "more than a host and a path",
	} {
		got, err := checkEndpoint(in)
		if err != nil {
			got = err.Error()
			sheetError(t, err)
		}
		if !strings.Contains(got, want) {
			t.Errorf("checkEndpoint(%q) = %q, want %q", in, got, want)
		}
	}
	_, err := New(context.Background(), Config{Endpoint: "http://emu.example"})
	sheetError(t, err)
}
