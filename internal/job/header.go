package job

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Normalize is a header, or a name for one, as the two are compared: composed, white
// space of any kind at its ends removed and folded to one space inside, case folded.
func Normalize(header string) string {
	// A Caser keeps state, so that each call needs its own.
	folded := cases.Fold().String(strings.Join(strings.Fields(norm.NFD.String(header)), " "))
	return norm.NFC.String(folded) // folding can leave letters taken apart
}

// Identifier is a header as conditions and templates name it: "Visit status" is
// visit_status. Letters of any script and digits stay, everything else becomes an
// underscore; it is "" when nothing stays. Marks that do not compose with their
// letter, as in Hindi, count as "everything else", since neither language takes them.
func Identifier(header string) string {
	var b strings.Builder
	gap := false
	for _, r := range strings.ToLower(norm.NFC.String(header)) {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			gap = true
			continue
		}
		if gap && b.Len() > 0 || b.Len() == 0 && unicode.IsDigit(r) {
			b.WriteByte('_')
		}
		gap = false
		b.WriteRune(r)
	}
	return b.String()
}

// header is the first row of a range, prepared for look-ups.
type header struct {
	shown  []string // as the sheet shows it
	names  []string // normalised
	idents []string
}

func newHeader(texts []string) *header {
	h := &header{shown: texts}
	for _, text := range texts {
		h.names = append(h.names, Normalize(text))
		h.idents = append(h.idents, Identifier(text))
	}
	return h
}

// named returns the columns with a normalised name, which is not blank.
func (h *header) named(name string) []int { return indexes(h.names, name) }

// identified returns the columns with an identifier, which is not blank.
func (h *header) identified(ident string) []int { return indexes(h.idents, ident) }

func indexes(in []string, want string) []int {
	var found []int
	for i, s := range in {
		if s == want && want != "" {
			found = append(found, i)
		}
	}
	return found
}

// isBlank reports whether no column has a header.
func (h *header) isBlank() bool {
	return !slices.ContainsFunc(h.names, func(n string) bool { return n != "" })
}

// maxListed bounds a list of headers in an error text.
const maxListed = 40

// list is the headers that are there, for error texts. Quotes show what a person
// cannot see, such as a blank at the end.
func (h *header) list() string {
	var found []string
	for _, text := range h.shown {
		if strings.TrimSpace(text) != "" {
			found = append(found, fmt.Sprintf("%q", text))
		}
	}
	if more := len(found) - maxListed; more > 0 {
		found = append(found[:maxListed], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(found, ", ")
}

// places names columns of the header as people count them.
func (h *header) places(cols []int) string {
	var at []string
	for _, c := range cols {
		at = append(at, fmt.Sprintf("%d (%q)", c+1, h.shown[c]))
	}
	return strings.Join(at, " and ")
}
