package mailer

import (
	"errors"
	"fmt"
	"net/mail"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
	"golang.org/x/text/unicode/norm"
)

// The limits of RFC 5321 section 4.5.3.1, and one of our own for the names that
// stand before addresses: with it no header line comes near 998 octets.
const (
	maxLocal  = 64
	maxDomain = 253
	maxLabel  = 63
	maxName   = 200
)

// parseList reads the addresses of a cell, divided by , or ; outside of quotes.
// Both the bare form and the form Name <address> are taken, since people paste
// both. Addresses that differ in case alone are one. None at all is no error.
//
// Neither go-mail nor net/mail is trusted with a cell: they take invisible
// characters, domains without a dot, and repair into a working address what was
// meant to be two. Here an address is one @ between a local part of atoms and a
// domain of labels, or it is refused.
func parseList(field, cell string) ([]*mail.Address, error) {
	if err := checkLine(field, cell); err != nil {
		return nil, err
	}
	var list []*mail.Address
	seen := map[string]bool{}
	for _, item := range splitList(cell) {
		a, err := parseAddress(item)
		if err != nil {
			return nil, fmt.Errorf("%s: %q: %w", field, shorten(item), err)
		}
		if id := strings.ToLower(a.Address); !seen[id] {
			seen[id] = true
			list = append(list, a)
		}
	}
	return list, nil
}

// splitList divides at , and ; that stand outside of "quotes" and <brackets>.
func splitList(cell string) []string {
	var items []string
	var quoted, escaped, bracketed bool
	start := 0
	add := func(end int) {
		if item := strings.TrimSpace(cell[start:end]); item != "" {
			items = append(items, item)
		}
	}
	for i, r := range cell {
		switch {
		case escaped:
			escaped = false
		case quoted && r == '\\':
			escaped = true
		case r == '"':
			quoted = !quoted
		case quoted:
		case r == '<' || r == '>':
			bracketed = r == '<'
		case !bracketed && (r == ',' || r == ';'):
			add(i)
			start = i + 1
		}
	}
	add(len(cell))
	return items
}

// parseAddress reads one address, with or without a name.
func parseAddress(item string) (*mail.Address, error) {
	a := &mail.Address{Address: item}
	if strings.HasSuffix(item, ">") {
		var err error
		if a, err = mail.ParseAddress(item); err != nil {
			return nil, errors.New("not an address of the form Name <address>")
		}
		// A name may have been written as an encoded word, so it is checked as decoded.
		if err := checkLine("name", a.Name); err != nil {
			return nil, err
		}
		if utf8.RuneCountInString(a.Name) > maxName {
			return nil, fmt.Errorf("name of more than %d characters", maxName)
		}
	}
	var err error
	a.Address, err = checkAddress(a.Address)
	return a, err
}

// checkAddress answers the address as it goes on the wire: the domain in ASCII
// (RFC 5891), the local part in NFC (RFC 6532 section 3.1).
func checkAddress(addr string) (string, error) {
	if r := strings.IndexFunc(addr, invisible); r >= 0 {
		c, _ := utf8.DecodeRuneInString(addr[r:])
		if unicode.IsSpace(c) {
			return "", errors.New("blank inside the address")
		}
		return "", fmt.Errorf("invisible character U+%04X", c)
	}
	local, domain, ok := strings.Cut(addr, "@")
	switch {
	case !ok:
		return "", errors.New("no @")
	case strings.Contains(domain, "@"):
		return "", errors.New("more than one @")
	}
	local = norm.NFC.String(local)
	if err := checkLocal(local); err != nil {
		return "", err
	}
	domain, err := asciiDomain(domain)
	if err != nil {
		return "", err
	}
	return local + "@" + domain, nil
}

// invisible reports whether a character has no place in an address because a
// person cannot see it, or see what it is.
func invisible(r rune) bool {
	return unicode.IsControl(r) || unicode.IsSpace(r) || r == utf8.RuneError ||
		unicode.In(r, unicode.Cf, unicode.Zs, unicode.Zl, unicode.Zp, unicode.Co, unicode.Cs)
}

// checkLocal wants a dot-atom (RFC 5321 section 4.1.2, RFC 6531 section 3.3).
// Quoted local parts are refused: nobody has one, and what looks like one in a
// cell is an accident.
func checkLocal(local string) error {
	if len(local) > maxLocal {
		return fmt.Errorf("more than %d octets before the @", maxLocal)
	}
	for atom := range strings.SplitSeq(local, ".") {
		if atom == "" {
			return errors.New("nothing before the @, or a dot at the wrong place")
		}
	}
	for _, r := range local {
		if r < utf8.RuneSelf && r != '.' && !isAtomText(r) {
			return fmt.Errorf("%q before the @", r)
		}
	}
	return nil
}

// isAtomText is atext of RFC 5322 section 3.2.3.
func isAtomText(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
		strings.ContainsRune("!#$%&'*+-/=?^_`{|}~", r)
}

// asciiDomain answers the domain in ASCII, checked to be a host name with a dot.
func asciiDomain(domain string) (string, error) {
	ascii := strings.ToLower(domain)
	if !isASCII(domain) {
		var err error
		if ascii, err = idna.Lookup.ToASCII(domain); err != nil {
			return "", errors.New("the domain is not a name that exists in the DNS")
		}
	}
	labels := strings.Split(ascii, ".")
	if len(labels) < 2 {
		return "", errors.New("no dot in the domain")
	}
	if len(ascii) > maxDomain {
		return "", fmt.Errorf("domain of more than %d octets", maxDomain)
	}
	for _, l := range labels {
		if !isLabel(l) {
			return "", errors.New("the domain is not a host name")
		}
	}
	if strings.Trim(labels[len(labels)-1], "0123456789") == "" {
		return "", errors.New("the domain is a number")
	}
	return ascii, nil
}

// isLabel is a label of letters, digits and inner hyphens (RFC 5321 section 4.1.2).
func isLabel(l string) bool {
	if l == "" || len(l) > maxLabel || l[0] == '-' || l[len(l)-1] == '-' {
		return false
	}
	return !strings.ContainsFunc(l, func(r rune) bool {
		return r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z')
	})
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
}

func domainOf(addr string) string { return addr[strings.LastIndexByte(addr, '@')+1:] }

// shorten cuts a cell's text for an error.
func shorten(s string) string {
	const most = 60
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
