package sheetsemu

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// requests are the kinds of request that a batchUpdate can hold here.
var requests map[string]func(*txn, json.RawMessage) (object, error)

func init() {
	requests = map[string]func(*txn, json.RawMessage) (object, error){
		"updateCells":                 request((*txn).updateCells),
		"repeatCell":                  request((*txn).repeatCell),
		"findReplace":                 request((*txn).findReplace),
		"setDataValidation":           request((*txn).setDataValidation),
		"mergeCells":                  request((*txn).mergeCells),
		"unmergeCells":                request((*txn).unmergeCells),
		"sortRange":                   request((*txn).sortRange),
		"createDeveloperMetadata":     request((*txn).createDeveloperMetadata),
		"updateDeveloperMetadata":     request((*txn).updateDeveloperMetadata),
		"deleteDeveloperMetadata":     request((*txn).deleteDeveloperMetadata),
		"addSheet":                    request((*txn).addSheet),
		"deleteSheet":                 request((*txn).deleteSheet),
		"duplicateSheet":              request((*txn).duplicateSheet),
		"updateSheetProperties":       request((*txn).updateSheetProperties),
		"updateSpreadsheetProperties": request((*txn).updateSpreadsheetProperties),
		"insertDimension":             request((*txn).insertDimension),
		"deleteDimension":             request((*txn).deleteDimension),
		"moveDimension":               request((*txn).moveDimension),
		"appendDimension":             request((*txn).appendDimension),
		"updateDimensionProperties":   request((*txn).updateDimensionProperties),
		"addDimensionGroup":           request((*txn).addDimensionGroup),
		"deleteDimensionGroup":        request((*txn).deleteDimensionGroup),
		"addNamedRange":               request((*txn).addNamedRange),
		"updateNamedRange":            request((*txn).updateNamedRange),
		"deleteNamedRange":            request((*txn).deleteNamedRange),
		"addProtectedRange":           request((*txn).addProtectedRange),
		"updateProtectedRange":        request((*txn).updateProtectedRange),
		"deleteProtectedRange":        request((*txn).deleteProtectedRange),
	}
}

// malformed is a message of the wrong shape, which Google refuses before it
// looks at the requests: such a refusal names no request.
type malformed struct{ err *apiError }

func (m malformed) Error() string { return m.err.Error() }

func (m malformed) Unwrap() error { return m.err }

// request decodes the message of one kind.
func request[T any](run func(*txn, *T) (object, error)) func(*txn, json.RawMessage) (object, error) {
	return func(t *txn, raw json.RawMessage) (object, error) {
		var msg T
		if err := decode(raw, &msg, ""); err != nil {
			var refused *apiError
			if errors.As(err, &refused) {
				return nil, malformed{refused}
			}
			return nil, err
		}
		return run(t, &msg)
	}
}

// prefixed puts the place of the guilty part before a refusal.
func prefixed(err error, format string, args ...any) error {
	var refused *apiError
	if !errors.As(err, &refused) {
		return err
	}
	cp := *refused
	cp.message = fmt.Sprintf(format, args...) + cp.message
	return &cp
}

// batchUpdate applies all requests in order, or none.
func (t *txn) batchUpdate() (object, error) {
	var req struct {
		Requests        []map[string]json.RawMessage `json:"requests"`
		Include         bool                         `json:"includeSpreadsheetInResponse"`
		ResponseRanges  []string                     `json:"responseRanges"`
		ResponseIncGrid bool                         `json:"responseIncludeGridData"`
	}
	if err := decode(t.call.Body, &req, ""); err != nil {
		return nil, err
	}
	if len(req.Requests) == 0 {
		return nil, invalid("Must specify at least one request.")
	}
	kinds, err := requestKinds(req.Requests)
	if err != nil {
		return nil, err
	}
	replies := make([]any, len(kinds))
	for i, kind := range kinds {
		reply, err := t.one(i, kind, req.Requests[i][kind])
		if err != nil {
			return nil, err
		}
		replies[i] = reply
	}
	t.book.recalc(t.now)
	o := object{"spreadsheetId": t.book.id, "replies": replies}
	if req.Include {
		v := view{data: req.ResponseIncGrid, user: t.user}
		v.mask, _ = t.mask.sub("updatedSpreadsheet")
		if v.ranges, v.limited, err = t.book.windows(req.ResponseRanges); err != nil {
			return nil, err
		}
		o["updatedSpreadsheet"] = t.book.render(v)
	}
	return o, nil
}

// requestKinds checks the names of all requests, before any is applied.
func requestKinds(list []map[string]json.RawMessage) ([]string, error) {
	kinds := make([]string, len(list))
	for i, r := range list {
		names := slices.Sorted(maps.Keys(r))
		for _, name := range names {
			if requests[name] == nil {
				return nil, badPayload(name, fmt.Sprintf("requests[%d]", i))
			}
		}
		if len(names) != 1 {
			return nil, invalid("Invalid requests[%d]: Must specify exactly one kind of request.", i)
		}
		kinds[i] = names[0]
	}
	return kinds, nil
}

func (t *txn) one(i int, kind string, raw json.RawMessage) (object, error) {
	reply, err := requests[kind](t, raw)
	var m malformed
	switch {
	case errors.As(err, &m):
		at := fmt.Sprintf("requests[%d].%s", i, snake(kind))
		if name, ok := strings.CutPrefix(m.err.message, "Invalid JSON payload received. Unknown name "); ok {
			name, _, _ = strings.Cut(strings.TrimPrefix(name, `"`), `"`)
			return nil, badPayload(name, at)
		}
		return nil, m.err
	case err != nil:
		return nil, prefixed(err, "Invalid requests[%d].%s: ", i, kind)
	case reply == nil:
		return object{}, nil
	}
	return object{kind: reply}, nil
}

// snake is the proto spelling of a field, which errors about JSON use.
func snake(name string) string {
	var out strings.Builder
	for _, r := range name {
		if r >= 'A' && r <= 'Z' {
			out.WriteByte('_')
			r += 'a' - 'A'
		}
		out.WriteRune(r)
	}
	return out.String()
}
