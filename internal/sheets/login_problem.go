package sheets

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"golang.org/x/oauth2"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// loginProblem puts a token that could not be had into words. The texts that it
// looks for are those that users report; what they mean is in Google's OAuth 2.0
// pages. Setup is false for what may be over in a moment.
func loginProblem(e *loginError, account string) *claim.SheetError {
	words := &claim.SheetError{Setup: true, Err: e}
	var answer *oauth2.RetrieveError
	if !errors.As(e, &answer) {
		if strings.Contains(e.Error(), "private key") {
			words.Problem, words.Advice = "the private key of the credentials is damaged", keyAdvice
			return words
		}
		words.Setup = false
		words.Problem = "Google's login cannot be reached: " + e.err.Error()
		words.Advice = "check the network, DNS and proxy of this machine"
		return words
	}
	code, text := tokenRefusal(answer)
	status := 0
	if answer.Response != nil {
		status = answer.Response.StatusCode
	}
	has := func(part string) bool { return strings.Contains(text, part) }
	switch {
	case status >= 500 || status == http.StatusTooManyRequests:
		words.Setup = false
		words.Problem, words.Advice = "Google's login is out of order", "try again later"
	case code == "invalid_grant" && (has("iat and exp") || has("short-lived token")):
		words.Problem = "Google refused the login since the clock of this machine is wrong"
		words.Advice = "set the clock, best by NTP"
	case code == "invalid_grant" && has("expired or revoked"):
		words.Problem = "the login has expired or was revoked"
		words.Advice = "log in again; while the OAuth consent screen is in testing a login lasts seven days"
	case code == "invalid_grant" && (has("JWT Signature") || has("account not found")):
		words.Problem = "the key or its account " + cmp.Or(account, "") + " no longer exists"
		words.Advice = "make a new key for the service account"
	case code == "unauthorized_client", code == "invalid_client", code == "deleted_client":
		words.Problem = "Google does not know these credentials: " + cmp.Or(text, code)
		words.Advice = "check that the credentials and the project that they belong to still exist"
	default:
		words.Problem = "Google refused the login: " + cmp.Or(text, code, answer.Error())
		words.Advice = "check the credentials"
	}
	return words
}

// tokenRefusal reads the error document of a token endpoint (RFC 6749, 5.2). oauth2
// fills its fields for some kinds of credentials only.
func tokenRefusal(e *oauth2.RetrieveError) (code, text string) {
	var body struct {
		Error            string `json:"error"`
		ErrorDescription string `json:"error_description"`
	}
	// A body of another form leaves the fields blank, which the caller says.
	_ = json.Unmarshal(e.Body, &body)
	return cmp.Or(e.ErrorCode, body.Error), cmp.Or(e.ErrorDescription, body.ErrorDescription)
}
