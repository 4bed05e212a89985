package api

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// maxKey is the length of an Idempotency-Key in characters.
const maxKey = 255

// runID answers the name that a request gives its run; "" when it gives none.
func runID(inBody *string, header http.Header) (string, error) {
	id, err := idOfKey(header.Values("Idempotency-Key"))
	if err != nil || inBody == nil {
		return id, err
	}
	if !claim.IsRunID(*inBody) {
		return "", refuse(codeRunIDInvalid, "expected as run_id %s, found %s: use another name, or leave it out", claim.RunIDRule, brief(*inBody)).at("run_id")
	}
	if id != "" && id != *inBody {
		return "", refuse(codeRunIDConflict, "run_id %s and Idempotency-Key name two different runs: send one of them, or the same in both", brief(*inBody)).at("run_id")
	}
	return *inBody, nil
}

// idOfKey is the run id that an Idempotency-Key stands for: the key itself where it
// can be one, and otherwise "key-" with half of its SHA-256 in hexadecimal. The
// draft of the header wants a quoted text, most clients send a bare one: both are
// the same key.
func idOfKey(fields []string) (string, error) {
	if len(fields) == 0 {
		return "", nil
	}
	key := unquote(fields[0])
	if len(fields) > 1 || !isKey(key) {
		return "", refuse(codeKeyInvalid, "expected one Idempotency-Key of 1 to %d printable characters, found %s: use another, or leave it out", maxKey, brief(strings.Join(fields, ", "))).at("Idempotency-Key")
	}
	if claim.IsRunID(key) {
		return key, nil
	}
	sum := sha256.Sum256([]byte(key))
	return "key-" + hex.EncodeToString(sum[:len(sum)/2]), nil
}

func isKey(s string) bool {
	odd := func(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }
	return s != "" && utf8.RuneCountInString(s) <= maxKey && strings.IndexFunc(s, odd) < 0
}
