package sheetsemu

import "fmt"

// Project is the number of the Cloud project that error bodies name.
const Project = "603366585132"

// The exact bodies of refusals, for [Status] in a scripted fault. Recorded
// unless said otherwise.

// NotFoundBody is the 404 for a spreadsheet that does not exist.
func NotFoundBody() string { return notFound().encoded() }

// ForbiddenBody is the 403 for a spreadsheet that is not shared with the caller.
func ForbiddenBody() string { return forbidden().encoded() }

// QuotaBody is the 429 of the read or the write quota per minute and user.
func QuotaBody(write bool) string { return quotaError(write, DefaultQuota, Project).encoded() }

// ServiceDisabledBody is the 403 for a Cloud project without the Sheets API,
// in today's shape.
func ServiceDisabledBody(project string) string {
	message, url := disabledTexts(project)
	return disabled(message, []any{
		object{
			"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "SERVICE_DISABLED", "domain": "googleapis.com",
			"metadata": object{
				"serviceTitle": "Google Sheets API", "consumer": "projects/" + project, "activationUrl": url,
				"containerInfo": project, "service": "sheets.googleapis.com",
			},
		},
		object{"@type": "type.googleapis.com/google.rpc.LocalizedMessage", "locale": "en-US", "message": message},
		helpLink("Google developers console API activation", url),
	})
}

// ServiceDisabledOldBody is the same refusal in its older shape, with the help
// link first and less in the metadata.
func ServiceDisabledOldBody(project string) string {
	message, url := disabledTexts(project)
	return disabled(message, []any{
		helpLink("Google developers console API activation", url),
		object{
			"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "SERVICE_DISABLED", "domain": "googleapis.com",
			"metadata": object{"consumer": "projects/" + project, "service": "sheets.googleapis.com"},
		},
	})
}

func disabledTexts(project string) (message, url string) {
	url = "https://console.developers.google.com/apis/api/sheets.googleapis.com/overview?project=" + project
	return fmt.Sprintf("Google Sheets API has not been used in project %s before or it is disabled. "+
		"Enable it by visiting %s then retry. If you enabled this API recently, wait a few minutes "+
		"for the action to propagate to our systems and retry.", project, url), url
}

func disabled(message string, details []any) string {
	e := forbidden()
	e.message, e.details = message, details
	return e.encoded()
}

// ScopesBody is the 403 for a token that lacks the spreadsheets scope
// (recorded for another Google API, claimed for this one).
func ScopesBody() string {
	e := forbidden()
	e.message = "Request had insufficient authentication scopes."
	e.details = []any{object{
		"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "ACCESS_TOKEN_SCOPE_INSUFFICIENT", "domain": "googleapis.com",
		"metadata": object{"service": "sheets.googleapis.com", "method": "google.apps.sheets.v4.SpreadsheetsService.GetSpreadsheet"},
	}}
	return e.encoded()
}

// OfficeFileBody is the 400 for an Excel file that was opened in Drive (claimed).
func OfficeFileBody() string {
	return (&apiError{code: 400, status: "FAILED_PRECONDITION", message: "This operation is not supported for this document"}).encoded()
}

// UnavailableBody is the 503, which says nothing of whether a write was applied (claimed).
func UnavailableBody() string {
	return (&apiError{code: 503, status: "UNAVAILABLE", message: "The service is currently unavailable."}).encoded()
}

// InternalBody is the 500 (claimed).
func InternalBody() string {
	return (&apiError{code: 500, status: "INTERNAL", message: "Internal error encountered."}).encoded()
}

// HTMLPage is what a front end sends in place of JSON (recorded for Drive;
// the words are shortened).
func HTMLPage(status int) string {
	return fmt.Sprintf("<!DOCTYPE html>\n<html lang=en>\n<title>Error %d</title>\n"+
		"<p><b>%d.</b> <ins>That\u2019s an error.</ins>\n<p>The server encountered a temporary error "+
		"and could not complete your request.\n</html>\n", status, status)
}

func defaultBody(status int) string {
	switch status {
	case 403:
		return ForbiddenBody()
	case 404:
		return NotFoundBody()
	case 429:
		return QuotaBody(false)
	case 500:
		return InternalBody()
	case 503:
		return UnavailableBody()
	}
	if status >= 500 {
		return HTMLPage(status)
	}
	return invalid("Request contains an invalid argument.").encoded()
}
