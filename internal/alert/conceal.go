package alert

import "strings"

// Conceal hides the local part of every address in a text: mail servers repeat the
// recipient in their replies ("550 5.1.1 <ada@example.com>: user unknown"). The
// domain stays, since it helps and names nobody. A Message-ID is left whole.
//
// It would rather hide too much than too little: whatever stands before an @, up to
// a blank or bracket, is taken for a local part.
func Conceal(s string) string {
	var b strings.Builder
	for {
		at := strings.IndexByte(s, '@')
		if at < 0 {
			b.WriteString(s)
			return b.String()
		}
		begin := localPart(s[:at])
		switch {
		case begin == at, isMessageID(s[:begin]):
			b.WriteString(s[:at])
		default:
			b.WriteString(s[:begin])
			b.WriteString("…")
		}
		b.WriteByte('@')
		s = s[at+1:]
	}
}

// localPart answers where the local part that ends s begins.
func localPart(s string) int {
	if strings.HasSuffix(s, `"`) { // "a b"@example.com
		if open := strings.LastIndexByte(s[:len(s)-1], '"'); open >= 0 {
			return open
		}
	}
	return strings.LastIndexAny(s, " \t\r\n<>()[]{},;:\"'`|") + 1
}

// isMessageID reports whether what follows s is a Message-ID, as the method writes
// it: Message-ID <…>.
func isMessageID(s string) bool {
	return strings.HasSuffix(strings.TrimRight(s, "<: "), "Message-ID")
}
