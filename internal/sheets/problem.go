package sheets

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"google.golang.org/api/googleapi"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// answerProblem puts an error answer into words for the person who set the job up.
// Codes and texts that it looks for were observed in recorded traffic or reported
// by users; one that changes falls through to Google's own message.
func answerProblem(e *googleapi.Error, what call, account string) *claim.SheetError {
	words := &claim.SheetError{Setup: true, Err: e}
	switch {
	case e.Code == http.StatusTooManyRequests:
		words.Setup = false
		words.Problem = "the calls per minute that Google Sheets allows this account are used up"
		words.Advice = "wait a minute; other programs with the same credentials count too"
	case e.Code >= 500 || e.Code < 400 || e.Code == http.StatusRequestTimeout:
		words.Setup = false
		words.Problem = fmt.Sprintf("Google Sheets gave no proper answer: status %d", e.Code)
		if e.Message != "" {
			words.Problem += ", " + e.Message
		}
		words.Advice = "try again later; if it lasts, look at Google's status page"
	case e.Code == http.StatusUnauthorized:
		words.Problem = "Google does not accept the login"
		words.Advice = "check that the credentials are those of an account that still exists, and make a new key if need be"
	case e.Code == http.StatusForbidden:
		forbidden(words, e, what, account)
	case e.Code == http.StatusNotFound:
		words.Problem = fmt.Sprintf("spreadsheet id not found: %q", what.spreadsheet)
		words.Advice = idAdvice(what.spreadsheet)
	default:
		badRequest(words, e, what, account)
	}
	return words
}

// forbidden tells the four ways apart in which Google says 403.
func forbidden(words *claim.SheetError, e *googleapi.Error, what call, account string) {
	reason, project, link := errorInfo(e)
	switch {
	case reason == "SERVICE_DISABLED":
		words.Problem = "the Google Sheets API is switched off for this account"
		words.Advice = "enable the Sheets API in project " + cmp.Or(project, "of the credentials")
		if link != "" {
			words.Advice += " at " + link
		}
		words.Advice += ", and wait a few minutes"
	case reason == "ACCESS_TOKEN_SCOPE_INSUFFICIENT", strings.Contains(e.Message, "insufficient authentication scopes"):
		words.Problem = "the login does not cover Google Sheets"
		words.Advice = "log in again with the scope " + scope
	case isProtected(e):
		protected(words, account)
	case reason == "" || reason == "IAM_PERMISSION_DENIED" || strings.Contains(e.Message, "does not have permission"):
		words.Problem = "no access to the spreadsheet"
		if what.write {
			words.Problem = "the account may not write to the spreadsheet"
		}
		words.Advice = "share the sheet with " + cmp.Or(account, "the account of the credentials") + " as editor"
	default:
		words.Problem = "Google refused access: " + e.Message
	}
}

// badRequest puts a 400 and its rarer kin into words.
func badRequest(words *claim.SheetError, e *googleapi.Error, what call, account string) {
	switch {
	case strings.Contains(e.Message, "Unable to parse range") && what.tab != "":
		words.Problem = fmt.Sprintf("there is no tab %q: it was renamed, deleted or never there", what.tab)
		words.Advice = "write the tab's name in the range as it stands on the tab"
	case strings.Contains(e.Message, "No grid with id"):
		words.Problem = "the tab was deleted"
		words.Advice = "check the range of the job"
	case strings.Contains(e.Message, "exceeds grid limits"):
		words.Problem = "the range begins past the end of the tab: " + e.Message
		words.Advice = "check the range of the job; its first row is the header"
	case isProtected(e):
		protected(words, account)
	case strings.Contains(e.Message, "not supported for this document"), strings.Contains(e.Message, "Office file"):
		words.Problem = "the file is an Excel or other Office file, which the Sheets API cannot open"
		words.Advice = "open it in Google Sheets, choose File > Save as Google Sheets, and use the id of the copy"
	default:
		words.Problem = "Google Sheets refused the request: " + cmp.Or(e.Message, http.StatusText(e.Code), "no reason given")
	}
}

func isProtected(e *googleapi.Error) bool {
	return strings.Contains(e.Message, "protected cell or object") || strings.Contains(e.Message, "protected range")
}

func protected(words *claim.SheetError, account string) {
	words.Problem = "a column that is to be written is protected"
	words.Advice = "under Data > Protect sheets and ranges let " + cmp.Or(account, "the account of the credentials") + " edit it"
}

// errorInfo reads the details of a refusal (google.rpc.ErrorInfo; observed).
func errorInfo(e *googleapi.Error) (reason, project, link string) {
	for _, d := range e.Details {
		info, _ := d.(map[string]any)
		if kind, _ := info["@type"].(string); !strings.HasSuffix(kind, "google.rpc.ErrorInfo") {
			continue
		}
		reason, _ = info["reason"].(string)
		meta, _ := info["metadata"].(map[string]any)
		consumer, _ := meta["consumer"].(string)
		project = strings.TrimPrefix(consumer, "projects/")
		link, _ = meta["activationUrl"].(string)
	}
	return reason, project, link
}

// idAdvice looks at what was given as an id.
func idAdvice(id string) string {
	switch {
	case strings.HasPrefix(id, "2PACX-"):
		return "this is the id of a page published to the web; take the part between /d/ and /edit of the sheet's own address"
	case strings.ContainsAny(id, "/:?#"):
		return "give the id alone, the part of the sheet's address between /d/ and /edit"
	}
	return "the id is the part of the sheet's address between /d/ and /edit; upper and lower case count"
}

// The ways in which a range is not there, by the answer's text.

func pastEnd(f *failure) bool    { return f.says("exceeds grid limits") }
func unknownTab(f *failure) bool { return f.says("Unable to parse range") }

func (f *failure) says(text string) bool {
	var e *googleapi.Error
	return errors.As(f.words.Err, &e) && e.Code == http.StatusBadRequest && strings.Contains(e.Message, text)
}

func listTabs(words *claim.SheetError, titles []string) *claim.SheetError {
	quoted := make([]string, len(titles))
	for i, t := range titles {
		quoted[i] = fmt.Sprintf("%q", t)
	}
	more := *words
	more.Advice += "; the spreadsheet has " + strings.Join(quoted, ", ")
	return &more
}

// goneTab says that a tab that was read before is there no more.
func goneTab(title string) *claim.SheetError {
	return &claim.SheetError{
		Problem: fmt.Sprintf("the tab %q that was read before was deleted", title),
		Advice:  "check which tab the job is to read",
		Gone:    true,
	}
}

// noHeader says that the first row of the range is blank.
func noHeader(tab claim.Tab, area Range) *claim.SheetError {
	return &claim.SheetError{
		Problem: fmt.Sprintf("no header row: row %d of the tab %q is empty in the columns of the range", area.StartRow+1, tab.Title),
		Advice:  "put the column names there, or let the range begin at the row that has them",
		Setup:   true,
	}
}

// networkProblem puts an error without an answer into words.
func networkProblem(err error) *claim.SheetError {
	cause := err
	if u := (*url.Error)(nil); errors.As(err, &u) {
		cause = u.Err // without the address, which is long and says nothing to people
	}
	return &claim.SheetError{
		Problem: "no usable answer from Google Sheets: " + cause.Error(),
		Advice:  "check the network, DNS and proxy of this machine",
		Err:     err,
	}
}
