package smtpsink

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"net/textproto"
	"strings"
)

// Parsed is an accepted message as a reader of mail sees it.
type Parsed struct {
	Header textproto.MIMEHeader // decoded
	Text   string               // the text/plain part
	HTML   string               // the text/html part
}

// Get answers a header field, "" if it is not there.
func (p Parsed) Get(name string) string { return p.Header.Get(name) }

// Parse reads the message.
func (m Message) Parse() (Parsed, error) {
	msg, err := mail.ReadMessage(bytes.NewReader(m.Data))
	if err != nil {
		return Parsed{}, fmt.Errorf("smtpsink: message %s: %w", m.ID, err)
	}
	p := Parsed{Header: textproto.MIMEHeader{}}
	var dec mime.WordDecoder
	for name, values := range msg.Header {
		for _, v := range values {
			if d, err := dec.DecodeHeader(v); err == nil {
				v = d
			}
			p.Header.Add(name, v)
		}
	}
	if err := p.part(textproto.MIMEHeader(msg.Header), msg.Body); err != nil {
		return Parsed{}, fmt.Errorf("smtpsink: message %s: %w", m.ID, err)
	}
	return p, nil
}

// part reads one part, and the parts within it.
func (p *Parsed) part(h textproto.MIMEHeader, body io.Reader) error {
	kind, params := "text/plain", map[string]string(nil)
	if v := h.Get("Content-Type"); v != "" {
		var err error
		if kind, params, err = mime.ParseMediaType(v); err != nil {
			return fmt.Errorf("content type: %w", err)
		}
	}
	if strings.HasPrefix(kind, "multipart/") {
		return p.parts(multipart.NewReader(body, params["boundary"]))
	}
	switch strings.ToLower(h.Get("Content-Transfer-Encoding")) {
	case "quoted-printable":
		body = quotedprintable.NewReader(body)
	case "base64":
		body = base64.NewDecoder(base64.StdEncoding, body)
	}
	text, err := io.ReadAll(body)
	if err != nil {
		return fmt.Errorf("%s part: %w", kind, err)
	}
	switch kind {
	case "text/plain":
		p.Text = string(text)
	case "text/html":
		p.HTML = string(text)
	}
	return nil
}

func (p *Parsed) parts(r *multipart.Reader) error {
	for {
		// Raw, since NextPart would undo quoted-printable behind our back.
		part, err := r.NextRawPart()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("multipart: %w", err)
		}
		if err := p.part(part.Header, part); err != nil {
			return err
		}
	}
}
