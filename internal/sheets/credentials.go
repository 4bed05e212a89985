package sheets

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
	"golang.org/x/sync/singleflight"
	api "google.golang.org/api/sheets/v4"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// scope is the only one that covers a sheet shared with an account, its cells and
// its metadata; drive.file covers files that a program made itself (documented).
const scope = api.SpreadsheetsScope

// login is an account's way to a token.
type login struct {
	source  oauth2.TokenSource
	account string // mail address, "" if unknown
	project string // pays for the calls of a person's credentials, "" for the account's own
}

// loginTransport adds the account's token to requests. An error of it is a
// *loginError: the request has not left.
type loginTransport struct {
	base  http.RoundTripper
	login *login
	fetch singleflight.Group
}

// loginError is a token that could not be had.
type loginError struct{ err error }

func (e *loginError) Error() string { return "log in to Google: " + e.err.Error() }
func (e *loginError) Unwrap() error { return e.err }

func (t *loginTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	token, err := t.token(req.Context())
	if err != nil {
		if req.Body != nil {
			_ = req.Body.Close() // a RoundTripper must; there is nothing to lose
		}
		return nil, &loginError{err}
	}
	authed := req.Clone(req.Context())
	token.SetAuthHeader(authed)
	if t.login.project != "" {
		authed.Header.Set("X-Goog-User-Project", t.login.project)
	}
	return t.base.RoundTrip(authed)
}

// token answers the account's token. A source knows no context, so that a call whose own
// ends leaves it to fetch a token for the next; calls that wait at once share one try.
func (t *loginTransport) token(ctx context.Context) (*oauth2.Token, error) {
	fetched := t.fetch.DoChan("token", func() (any, error) { return t.login.source.Token() })
	select {
	case r := <-fetched:
		if r.Err != nil {
			return nil, r.Err
		}
		return r.Val.(*oauth2.Token), ctx.Err() // it may have taken longer than the call may
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// credentialsFile is what is read of a credentials file beside what oauth2 reads.
type credentialsFile struct {
	Type             string          `json:"type"`
	ClientEmail      string          `json:"client_email"`
	PrivateKey       string          `json:"private_key"`
	QuotaProject     string          `json:"quota_project_id"`
	ImpersonationURL string          `json:"service_account_impersonation_url"`
	Installed        json.RawMessage `json:"installed"`
	Web              json.RawMessage `json:"web"`
}

// findLogin reads the configured credentials, or Application Default Credentials.
// The file's type is checked here: the generated client takes any file for any
// type and fails later, without saying why.
func findLogin(ctx context.Context, cfg Config, base http.RoundTripper) (*login, error) {
	// Tokens are fetched long after ctx, by the same way as the calls.
	ctx = context.WithValue(context.WithoutCancel(ctx), oauth2.HTTPClient,
		&http.Client{Transport: base, Timeout: 30 * time.Second})

	text, from := cfg.CredentialsJSON, "the credentials"
	if len(text) == 0 && cfg.CredentialsFile != "" {
		var err error
		if text, err = os.ReadFile(cfg.CredentialsFile); err != nil {
			return nil, setupProblem(err, "the credentials file cannot be read: "+err.Error(), "check google.credentials_file")
		}
		from = cfg.CredentialsFile
	}
	var found *google.Credentials
	var err error
	if len(text) == 0 {
		from = "the Application Default Credentials"
		if found, err = google.FindDefaultCredentials(ctx, scope); err != nil {
			return nil, setupProblem(err, "no Google credentials: "+err.Error(),
				"set google.credentials_file to the key file of a service account")
		}
		text = found.JSON
	}
	if len(text) == 0 { // the machine's own account, on Google Cloud
		return &login{source: found.TokenSource}, nil
	}
	file, err := readCredentials(text, from)
	if err != nil {
		return nil, err
	}
	if found == nil {
		found, err = google.CredentialsFromJSONWithType(ctx, text, google.CredentialsType(file.Type), scope)
		if err != nil {
			return nil, setupProblem(err, fmt.Sprintf("%s cannot be used: %v", from, err), "download the key file again")
		}
	}
	return &login{source: found.TokenSource, account: file.account(), project: file.QuotaProject}, nil
}

// readCredentials checks that text is a credentials file of a type that can log in
// without a person.
func readCredentials(text []byte, from string) (*credentialsFile, error) {
	file := new(credentialsFile)
	if err := json.Unmarshal(text, file); err != nil {
		problem := "is not a JSON file"
		switch trimmed := bytes.TrimSpace(text); {
		case bytes.HasPrefix(trimmed, []byte("AIza")):
			problem = "is an API key, which can read public sheets only"
		case bytes.HasPrefix(trimmed, []byte("-----BEGIN")):
			problem = "is a private key without its account"
		}
		return nil, setupProblem(err, from+" "+problem, wantCredentials)
	}
	known := []google.CredentialsType{google.ServiceAccount, google.AuthorizedUser, google.ExternalAccount, google.ImpersonatedServiceAccount}
	switch {
	case len(file.Installed) > 0 || len(file.Web) > 0:
		return nil, setupProblem(nil, from+" is an OAuth client secret, which names a program and no account", wantCredentials)
	case file.Type == "":
		return nil, setupProblem(nil, from+" is not a credentials file: it has no type", wantCredentials)
	case !slices.Contains(known, google.CredentialsType(file.Type)):
		return nil, setupProblem(nil, fmt.Sprintf("%s: credentials of type %q cannot be used here", from, file.Type), wantCredentials)
	case file.Type == string(google.ServiceAccount):
		if block, _ := pem.Decode([]byte(file.PrivateKey)); block == nil {
			return nil, setupProblem(nil, "the private key in "+from+" is damaged", keyAdvice)
		}
	}
	return file, nil
}

const (
	wantCredentials = "give the JSON key file of a service account: Google Cloud console, IAM > Service accounts > Keys > Add key" //nolint:gosec // a sentence, no secret
	keyAdvice       = "use the key file as it was downloaded; copied by hand, the line breaks of the key are easily lost"
)

// account is the address to share the sheet with. One that is impersonated stands
// in the URL that gives its tokens: …/serviceAccounts/ADDRESS:generateAccessToken.
func (f *credentialsFile) account() string {
	if f.ClientEmail != "" {
		return f.ClientEmail
	}
	_, rest, _ := strings.Cut(f.ImpersonationURL, "/serviceAccounts/")
	address, _, _ := strings.Cut(rest, ":")
	return address
}

func setupProblem(err error, problem, advice string) *claim.SheetError {
	return &claim.SheetError{Problem: problem, Advice: advice, Setup: true, Err: err}
}
