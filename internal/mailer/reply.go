package mailer

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/textproto"
	"strings"
	"unicode"
)

// A reply of the server: what one line of claim.Result.Reply is made of.
type reply struct {
	code int
	enh  string // enhanced status code (RFC 3463); "" without one
	text string // one line, without codes
}

const (
	maxReplyLine  = 4096 // RFC 5321 section 4.5.3.1.5 allows 512; some write more
	maxReplyLines = 100
	maxReplyText  = 500
)

func (r reply) String() string {
	s := fmt.Sprintf("%03d", r.code)
	if r.enh != "" {
		s += " " + r.enh
	}
	if r.text != "" {
		s += " " + r.text
	}
	return s
}

// refusal reports whether the reply says no: 4yz for now or 5yz for good.
func (r reply) refusal() bool { return r.code >= 400 && r.code < 600 }

// newReply takes the enhanced code off the lines of a reply; it stands on each of
// them (RFC 2034 section 4).
func newReply(code int, text string) reply {
	r := reply{code: code}
	var words []string
	for line := range strings.SplitSeq(text, "\n") {
		ws := strings.FieldsFunc(line, blank)
		if len(ws) > 0 && isEnhanced(ws[0]) && (r.enh == "" || r.enh == ws[0]) {
			r.enh, ws = ws[0], ws[1:]
		}
		words = append(words, ws...)
	}
	r.text = strings.ToValidUTF8(strings.Join(words, " "), "?")
	if len(r.text) > maxReplyText {
		r.text = strings.ToValidUTF8(r.text[:maxReplyText], "") + "…"
	}
	return r
}

// isEnhanced reports whether a word is a status code as 5.7.139 (RFC 3463 section 2).
func isEnhanced(word string) bool {
	f := strings.Split(word, ".")
	if len(f) != 3 || f[0] != "2" && f[0] != "4" && f[0] != "5" {
		return false
	}
	for _, n := range f[1:] {
		if len(n) < 1 || len(n) > 3 || strings.Trim(n, "0123456789") != "" {
			return false
		}
	}
	return true
}

func blank(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }

// replyIn answers the server's reply within an error of go-mail.
func replyIn(err error) (reply, bool) {
	var e *textproto.Error
	if !errors.As(err, &e) {
		return reply{}, false
	}
	return newReply(e.Code, e.Msg), true
}

// readReply reads one whole reply. The reply to the final dot decides whether a
// message is sent or in doubt, so it is read strictly where strictness means
// doubt, and no more: a last line without its end is no reply (net/textproto takes
// "250 o" before a cut for one), but a bare "250" is one (RFC 5321 section 4.2;
// net/textproto refuses it).
func readReply(in *bufio.Reader) (reply, error) {
	var texts []string
	first := 0
	for range maxReplyLines {
		line, err := replyLine(in)
		if err != nil {
			return reply{}, err
		}
		code, text, last, err := parseReplyLine(line)
		if err != nil {
			return reply{}, err
		}
		if first == 0 {
			first = code
		}
		if code != first {
			return reply{}, fmt.Errorf("reply changes its code from %d to %d", first, code)
		}
		texts = append(texts, text)
		if last {
			return newReply(code, strings.Join(texts, "\n")), nil
		}
	}
	return reply{}, errors.New("reply has no end")
}

// replyLine reads a line up to its LF.
func replyLine(in *bufio.Reader) (string, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == nil:
			return strings.TrimRight(string(line), "\r\n"), nil
		case errors.Is(err, bufio.ErrBufferFull) && len(line) < maxReplyLine:
		case errors.Is(err, bufio.ErrBufferFull):
			return "", errors.New("reply line is too long")
		case errors.Is(err, io.EOF) && len(line) > 0:
			return "", fmt.Errorf("reply ends within a line: %w", io.ErrUnexpectedEOF)
		default:
			return "", err
		}
	}
}

// parseReplyLine reads "250-text", "250 text" or "250".
func parseReplyLine(line string) (code int, text string, last bool, err error) {
	if len(line) < 3 || line[0] < '2' || line[0] > '5' ||
		line[1] < '0' || line[1] > '9' || line[2] < '0' || line[2] > '9' ||
		len(line) > 3 && line[3] != ' ' && line[3] != '-' {
		return 0, "", false, fmt.Errorf("not a reply: %.40q", line)
	}
	code = int(line[0]-'0')*100 + int(line[1]-'0')*10 + int(line[2]-'0')
	if len(line) > 3 {
		text = line[4:]
	}
	return code, text, len(line) == 3 || line[3] == ' ', nil
}
