package mailer

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

const (
	maxSubject = 1000 // characters; mail programs show some seventy
	maxURL     = 900  // octets: it stands on one line, and a line has 998
	maxID      = 200
	maxWord    = 60 // octets without a blank that are left as they are
)

// checkLine refuses what would end a header field: a cell must not be able to add
// one. What is merely not printable is refused too, save a tab, which is a blank.
func checkLine(field, value string) error {
	for _, r := range value {
		switch {
		case r == '\n' || r == '\r' || r == '\v' || r == '\f' || r == '\u0085' || r == '\u2028' || r == '\u2029':
			return fmt.Errorf("line break in %s", field)
		case unicode.IsControl(r) && r != '\t':
			return fmt.Errorf("control character U+%04X in %s", r, field)
		}
	}
	return nil
}

// subject answers the value of the Subject field, encoded where that is needed to
// keep lines short or the text literal. What is plainly not ASCII is left to
// go-mail. Runs of blanks become one: a fold within a run could make a line of
// blanks only, which some take for the end of the header.
func subject(s string) (string, error) {
	if err := checkLine("subject", s); err != nil {
		return "", err
	}
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " ")
	if n := utf8.RuneCountInString(s); n > maxSubject {
		return "", fmt.Errorf("subject of %d characters, more than %d", n, maxSubject)
	}
	if !isASCII(s) {
		return s, nil
	}
	for word := range strings.SplitSeq(s, " ") {
		if len(word) > maxWord || strings.Contains(word, "=?") {
			return encodedWords(s), nil
		}
	}
	return s, nil
}

// encodedWords writes ASCII text as encoded words of at most 75 octets, which may
// be folded between (RFC 2047 section 2). mime.WordEncoder does not encode text
// that is printable as it is, and a word of a thousand letters is.
func encodedWords(s string) string {
	const octets = 45 // 60 in base64, and 12 for the frame
	var words []string
	for len(s) > 0 {
		n := min(octets, len(s))
		words = append(words, "=?UTF-8?B?"+base64.StdEncoding.EncodeToString([]byte(s[:n]))+"?=")
		s = s[n:]
	}
	return strings.Join(words, " ")
}

// unsubscribeURL answers the URI for List-Unsubscribe, percent-encoded. RFC 8058
// section 3.1 wants https for one-click.
func unsubscribeURL(s string) (string, error) {
	if err := checkLine("unsubscribe link", s); err != nil {
		return "", err
	}
	u, err := url.Parse(strings.TrimSpace(s))
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
		return "", errors.New("the unsubscribe link must be a whole https:// address")
	}
	if !isASCII(u.Host) {
		host, err := idna.Lookup.ToASCII(u.Hostname())
		if err != nil {
			return "", errors.New("the host of the unsubscribe link is not a name that exists in the DNS")
		}
		if p := u.Port(); p != "" {
			host += ":" + p
		}
		u.Host = host
	}
	var b strings.Builder
	for _, c := range []byte(u.String()) {
		// url.URL leaves queries as they came.
		if c <= ' ' || c >= 0x7f || strings.IndexByte("\"<>\\^`{|}", c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
			continue
		}
		b.WriteByte(c)
	}
	if b.Len() > maxURL {
		return "", fmt.Errorf("unsubscribe link of %d octets, more than %d", b.Len(), maxURL)
	}
	return b.String(), nil
}

// checkID wants a dot-atom for the left side of a Message-ID (RFC 5322 section 3.6.4).
func checkID(id string) error {
	if id == "" || len(id) > maxID {
		return fmt.Errorf("message id of %d octets", len(id))
	}
	for atom := range strings.SplitSeq(id, ".") {
		if atom == "" || strings.ContainsFunc(atom, func(r rune) bool { return !isAtomText(r) }) {
			return fmt.Errorf("message id %q is no dot-atom", shorten(id))
		}
	}
	return nil
}
