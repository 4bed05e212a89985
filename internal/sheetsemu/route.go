package sheetsemu

import (
	"net/http"
	"net/url"
	"strings"
)

// route finds the method that a request asks for. It looks at the escaped
// path, so that a slash inside of a title (%2F) does not divide it.
func route(method, escapedPath string) (kind, id, arg string, ok bool) {
	rest, found := strings.CutPrefix(escapedPath, "/v4/spreadsheets")
	if !found {
		return "", "", "", false
	}
	if rest == "" {
		return KindCreate, "", "", method == http.MethodPost
	}
	parts := strings.SplitN(strings.TrimPrefix(rest, "/"), "/", 3)
	for i, p := range parts {
		text, err := url.PathUnescape(p)
		if err != nil {
			return "", "", "", false
		}
		parts[i] = text
	}
	switch len(parts) {
	case 1:
		kind, id = routeSpreadsheet(method, parts[0])
	case 2:
		kind, id = routeCollection(method, parts[1]), parts[0]
	case 3:
		id = parts[0]
		kind, arg = routeItem(method, parts[1], parts[2])
	}
	return kind, id, arg, kind != "" && id != ""
}

func routeSpreadsheet(method, part string) (kind, id string) {
	id, verb, _ := strings.Cut(part, ":")
	switch {
	case method == http.MethodGet && verb == "":
		return KindGet, id
	case method == http.MethodPost && verb == "batchUpdate":
		return KindBatchUpdate, id
	case method == http.MethodPost && verb == "getByDataFilter":
		return KindGetByDataFilter, id
	}
	return "", id
}

func routeCollection(method, part string) string {
	return map[string]string{
		"GET values:batchGet":           KindValuesBatchGet,
		"POST values:batchUpdate":       KindValuesBatchUpdate,
		"POST values:batchClear":        KindValuesBatchClear,
		"POST developerMetadata:search": KindMetadataSearch,
	}[method+" "+part]
}

func routeItem(method, collection, item string) (kind, arg string) {
	switch {
	case collection == "developerMetadata" && method == http.MethodGet:
		return KindMetadataGet, item
	case collection != "values":
		return "", ""
	case method == http.MethodGet:
		return KindValuesGet, item
	case method == http.MethodPut:
		return KindValuesUpdate, item
	case method == http.MethodPost && strings.HasSuffix(item, ":append"):
		return KindValuesAppend, strings.TrimSuffix(item, ":append")
	case method == http.MethodPost && strings.HasSuffix(item, ":clear"):
		return KindValuesClear, strings.TrimSuffix(item, ":clear")
	}
	return "", ""
}

// writes are the kinds that change the spreadsheet.
var writes = map[string]bool{
	KindCreate: true, KindBatchUpdate: true, KindValuesUpdate: true, KindValuesAppend: true,
	KindValuesClear: true, KindValuesBatchUpdate: true, KindValuesBatchClear: true,
}
