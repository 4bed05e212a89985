package mailer

import (
	"bytes"
	"errors"
	"fmt"
	"net/mail"
	"slices"
	"strings"

	gomail "github.com/wneessen/go-mail"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// maxLine is the longest line without its end (RFC 5322 section 2.1.1).
const maxLine = 998

// Compose renders the whole message. Its errors are faults of the row, in words
// for the person who keeps the sheet.
func (m *SMTP) Compose(d claim.Draft) (l claim.Letter, err error) {
	defer func() {
		if p := recover(); p != nil {
			l, err = claim.Letter{}, fmt.Errorf("the message cannot be built: %v", p)
		}
	}()
	to, err := parseAddressees(d)
	if err != nil {
		return claim.Letter{}, err
	}
	msg, err := m.message(d, to)
	if err != nil {
		return claim.Letter{}, err
	}
	var b bytes.Buffer
	if _, err := msg.WriteTo(&b); err != nil {
		return claim.Letter{}, fmt.Errorf("the message cannot be built: %w", err)
	}
	if err := checkWire(b.Bytes()); err != nil {
		return claim.Letter{}, err
	}
	return claim.Letter{
		MessageID: "<" + m.messageID(d) + ">",
		To:        to.envelope(),
		UTF8:      to.needUTF8(),
		Bytes:     b.Bytes(),
	}, nil
}

// addressees are the checked addresses of a draft.
type addressees struct{ to, cc, bcc, replyTo []*mail.Address }

func parseAddressees(d claim.Draft) (a addressees, err error) {
	for _, f := range []struct {
		name, cell string
		list       *[]*mail.Address
	}{
		{"email", d.To, &a.to},
		{"cc", d.Cc, &a.cc},
		{"bcc", d.Bcc, &a.bcc},
		{"reply-to", d.ReplyTo, &a.replyTo},
	} {
		if *f.list, err = parseList(f.name, f.cell); err != nil {
			return addressees{}, err
		}
	}
	if len(a.to) == 0 {
		return addressees{}, errors.New("email: no address")
	}
	return a, nil
}

// envelope answers all who get the message, each once.
func (a addressees) envelope() []string {
	var all []string
	for _, p := range slices.Concat(a.to, a.cc, a.bcc) {
		if !slices.ContainsFunc(all, func(s string) bool { return strings.EqualFold(s, p.Address) }) {
			all = append(all, p.Address)
		}
	}
	return all
}

// needUTF8 reports whether any address, also one that only stands in a header,
// cannot be written in ASCII (RFC 6531 section 3.6).
func (a addressees) needUTF8() bool {
	return slices.ContainsFunc(slices.Concat(a.to, a.cc, a.bcc, a.replyTo),
		func(p *mail.Address) bool { return !isASCII(p.Address) })
}

// message makes a fresh go-mail message: one that was sent before remembers it.
// Cells go into Subject, List-Unsubscribe, the address fields and the parts only,
// each after a check of our own; header names are ours.
func (m *SMTP) message(d claim.Draft, a addressees) (*gomail.Msg, error) {
	subj, err := subject(d.Subject)
	if err != nil {
		return nil, err
	}
	if err := checkID(d.ID); err != nil {
		return nil, err
	}
	msg := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	msg.SetAddrHeaderFromMailAddress(gomail.HeaderFrom, m.from)
	msg.SetAddrHeaderFromMailAddress(gomail.HeaderTo, a.to...)
	if len(a.cc) > 0 {
		msg.SetAddrHeaderFromMailAddress(gomail.HeaderCc, a.cc...)
	}
	if len(a.replyTo) > 0 {
		msg.SetAddrHeaderFromMailAddress(gomail.HeaderReplyTo, a.replyTo...)
	}
	msg.SetGenHeader(gomail.HeaderSubject, subj)
	msg.SetMessageIDWithValue(m.messageID(d))
	date := d.Date
	if date.IsZero() {
		date = m.cfg.Now()
	}
	msg.SetDateWithValue(date)
	// Both keep autoresponders quiet: RFC 3834 section 5, and Exchange's own way.
	msg.SetGenHeader("Auto-Submitted", "auto-generated")
	msg.SetGenHeader("X-Auto-Response-Suppress", "All")
	if d.Test {
		msg.SetGenHeader("X-Sheetclaim-Test", "yes")
	}
	if d.Unsubscribe != "" {
		u, err := unsubscribeURL(d.Unsubscribe)
		if err != nil {
			return nil, err
		}
		msg.SetGenHeader(gomail.HeaderListUnsubscribe, "<"+u+">")
		msg.SetGenHeader(gomail.HeaderListUnsubscribePost, "List-Unsubscribe=One-Click")
	}
	return msg, addParts(msg, normalize(d.Text), normalize(d.HTML))
}

// addParts adds the parts that are there. go-mail writes them quoted-printable,
// so that no line of them is over 76 octets.
func addParts(msg *gomail.Msg, text, html string) error {
	switch {
	case strings.TrimSpace(text) == "" && strings.TrimSpace(html) == "":
		return errors.New("the message has neither a text nor an HTML part")
	case html == "":
		msg.SetBodyString(gomail.TypeTextPlain, text)
	case text == "":
		msg.SetBodyString(gomail.TypeTextHTML, html)
	default:
		msg.SetBodyString(gomail.TypeTextPlain, text)
		msg.AddAlternativeString(gomail.TypeTextHTML, html)
	}
	return nil
}

// normalize makes every line end CRLF and the text valid UTF-8.
func normalize(s string) string {
	s = strings.NewReplacer("\r\n", "\r\n", "\r", "\r\n", "\n", "\r\n").Replace(s)
	return strings.ToValidUTF8(s, "\uFFFD")
}

// messageID is the same for every attempt of a message, so that receivers may
// recognise a repetition. It has the domain of the author and not the name of
// this machine.
func (m *SMTP) messageID(d claim.Draft) string { return d.ID + "@" + domainOf(m.from.Address) }

// checkWire makes sure of what servers refuse: long lines and bare CR or LF.
func checkWire(b []byte) error {
	for line := range bytes.SplitSeq(bytes.TrimSuffix(b, []byte("\r\n")), []byte("\r\n")) {
		if bytes.ContainsAny(line, "\r\n") {
			return errors.New("the message has a line that does not end in CRLF")
		}
		if len(line) > maxLine {
			return fmt.Errorf("the message has a line of %d octets, more than %d", len(line), maxLine)
		}
	}
	return nil
}
