package sheetsemu

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// object is a JSON object on its way out.
type object = map[string]any

// apiError is a refusal in the shape of google.rpc.Status.
type apiError struct {
	code    int
	status  string
	message string
	details []any
}

func (e *apiError) Error() string { return fmt.Sprintf("%d %s: %s", e.code, e.status, e.message) }

// body is the JSON document that Google sends for the refusal.
func (e *apiError) body() object {
	inner := object{"code": e.code, "message": e.message, "status": e.status}
	if len(e.details) > 0 {
		inner["details"] = e.details
	}
	return object{"error": inner}
}

// encoded is body as compact JSON text.
func (e *apiError) encoded() string {
	b, err := json.Marshal(e.body())
	if err != nil {
		panic(err) // maps of strings and numbers always encode
	}
	return string(b)
}

func invalid(format string, args ...any) *apiError {
	return &apiError{code: http.StatusBadRequest, status: "INVALID_ARGUMENT", message: fmt.Sprintf(format, args...)}
}

// invalidField is a 400 that names the guilty field in its details
// (recorded: gspread's malformed values body, gargle's bad field mask).
func invalidField(message, field, description string) *apiError {
	e := invalid("%s", message)
	e.details = []any{object{
		"@type":           "type.googleapis.com/google.rpc.BadRequest",
		"fieldViolations": []any{object{"field": field, "description": description}},
	}}
	return e
}

func badPayload(name, at string) *apiError {
	var msg string
	if at == "" {
		msg = fmt.Sprintf("Invalid JSON payload received. Unknown name %q: Cannot find field.", name)
	} else {
		msg = fmt.Sprintf("Invalid JSON payload received. Unknown name %q at '%s': Cannot find field.", name, at)
	}
	return invalidField(msg, at, msg)
}

func badMask(path string) *apiError {
	return invalidField("Request contains an invalid argument.", path,
		"Error expanding 'fields' parameter. Cannot find matching fields for path '"+path+"'.")
}

func notFound() *apiError {
	return &apiError{code: http.StatusNotFound, status: "NOT_FOUND", message: "Requested entity was not found."}
}

func forbidden() *apiError {
	return &apiError{code: http.StatusForbidden, status: "PERMISSION_DENIED", message: "The caller does not have permission"}
}

// quotaError is the 429 (recorded for reads; the write variant differs in the
// metric's and the limit's name only).
func quotaError(write bool, limit int, project string) *apiError {
	words, metric, name := "Read requests", "read_requests", "ReadRequestsPerMinutePerUser"
	if write {
		words, metric, name = "Write requests", "write_requests", "WriteRequestsPerMinutePerUser"
	}
	return &apiError{
		code: http.StatusTooManyRequests, status: "RESOURCE_EXHAUSTED",
		message: fmt.Sprintf("Quota exceeded for quota metric '%s' and limit '%s per minute per user' of service 'sheets.googleapis.com' for consumer 'project_number:%s'.",
			words, words, project),
		details: []any{
			object{
				"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "RATE_LIMIT_EXCEEDED", "domain": "googleapis.com",
				"metadata": object{
					"quota_limit_value": fmt.Sprint(limit), "service": "sheets.googleapis.com", "consumer": "projects/" + project,
					"quota_unit": "1/min/{project}/{user}", "quota_location": "global",
					"quota_metric": "sheets.googleapis.com/" + metric, "quota_limit": name,
				},
			},
			helpLink("Request a higher quota limit.", "https://cloud.google.com/docs/quotas/help/request_increase"),
		},
	}
}

func helpLink(description, url string) object {
	return object{
		"@type": "type.googleapis.com/google.rpc.Help",
		"links": []any{object{"description": description, "url": url}},
	}
}
