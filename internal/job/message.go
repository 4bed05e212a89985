package job

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// message is a compiled message. Parts that are not given are nil. It may be used by
// several goroutines.
type message struct {
	subject, replyTo, cc, bcc *rendered
	unsubscribe               *rendered
	text, html                *rendered
	markdown                  *rendered // the HTML part, to be converted; text is its source
	converter                 goldmark.Markdown
}

// part is one text of a message.
type part struct {
	to     **rendered
	key    string
	source string
	file   string // where it was read from; ""
	kind   kind
}

// compileMessage compiles the texts of a message, all of them even if one is wrong.
func compileMessage(m MessageSource) (*message, []templateProblem) {
	c := message{converter: newConverter()}
	parts := []part{
		{&c.subject, "subject", m.Subject, "", plainKind},
		{&c.replyTo, "reply_to", m.ReplyTo, "", plainKind},
		{&c.cc, "cc", m.Cc, "", plainKind},
		{&c.bcc, "bcc", m.Bcc, "", plainKind},
		{&c.unsubscribe, "unsubscribe_url", m.UnsubscribeURL, "", urlKind},
		{&c.text, "text", m.Text, m.TextFile, plainKind},
		{&c.html, "html", m.HTML, m.HTMLFile, htmlKind},
		{&c.markdown, "markdown", m.Markdown, m.MarkdownFile, markdownKind},
	}
	if m.Markdown != "" {
		// A cell is text in both parts, and only one of them needs escapes for that.
		parts = append(parts, part{&c.text, "markdown", m.Markdown, m.MarkdownFile, plainKind})
	}
	var problems []templateProblem
	for _, p := range parts {
		if strings.TrimSpace(p.source) == "" {
			continue
		}
		if p.isHeader() {
			// A block in YAML ends with a line break that nobody means.
			p.source = strings.TrimSpace(p.source)
		}
		place := "message." + p.key
		if p.file != "" {
			p.key += "_file"
			place = fmt.Sprintf("message.%s (%s)", p.key, fileName(p.file))
		}
		var wrong []templateProblem
		*p.to, wrong = compileTemplate(place, p.source, p.kind)
		for _, w := range wrong {
			w.key = p.key
			problems = append(problems, w)
		}
	}
	return &c, unique(problems)
}

func (p part) isHeader() bool {
	return p.key != "text" && p.key != "html" && p.key != "markdown"
}

// unique drops what both renderings of a markdown text report.
func unique(ps []templateProblem) []templateProblem {
	seen := map[templateProblem]bool{}
	var out []templateProblem
	for _, p := range ps {
		if !seen[p] {
			out = append(out, p)
		}
		seen[p] = true
	}
	return out
}

// refs are the columns that the message uses.
func (m *message) refs() []ref {
	var all []ref
	for _, t := range []*rendered{m.subject, m.replyTo, m.cc, m.bcc, m.unsubscribe, m.text, m.html, m.markdown} {
		if t != nil {
			all = append(all, t.refs...)
		}
	}
	return all
}

// draft renders the message for the values of a row. Errors are faults of the row.
func (m *message) draft(values map[string]string) (claim.Draft, error) {
	var d claim.Draft
	for _, field := range []struct {
		to *string
		t  *rendered
	}{
		{&d.Subject, m.subject},
		{&d.ReplyTo, m.replyTo},
		{&d.Cc, m.cc},
		{&d.Bcc, m.bcc},
		{&d.Unsubscribe, m.unsubscribe},
		{&d.Text, m.text},
		{&d.HTML, m.html},
	} {
		var err error
		if *field.to, err = field.t.render(values); err != nil {
			return claim.Draft{}, err
		}
	}
	if m.markdown != nil {
		source, err := m.markdown.render(values)
		if err != nil {
			return claim.Draft{}, err
		}
		var html limitedText
		if err := m.converter.Convert([]byte(source), &html); err != nil {
			return claim.Draft{}, fmt.Errorf("%s cannot be converted: %w", m.markdown.place, err)
		}
		d.HTML = html.String()
	}
	return d, check(&d)
}

// check refuses what no letter can be made of.
func check(d *claim.Draft) error {
	for _, field := range []struct {
		key   string
		value *string
	}{
		{"subject", &d.Subject}, {"reply_to", &d.ReplyTo}, {"cc", &d.Cc}, {"bcc", &d.Bcc}, {"unsubscribe_url", &d.Unsubscribe},
	} {
		*field.value = strings.TrimSpace(*field.value)
		if strings.ContainsAny(*field.value, "\r\n") {
			return fmt.Errorf("message.%s has a line break in this row, which a header field cannot hold, found %q: remove it from the cell", field.key, *field.value)
		}
	}
	switch {
	case d.Subject == "":
		return errors.New("message.subject is empty in this row: fill the cells that it uses")
	case strings.TrimSpace(d.Text) == "" && strings.TrimSpace(d.HTML) == "":
		return errors.New("the body of the message is empty in this row: fill the cells that it uses")
	case d.Unsubscribe != "":
		return checkUnsubscribe(d.Unsubscribe)
	}
	return nil
}

// checkUnsubscribe wants https, as RFC 8058 does, loopback aside.
func checkUnsubscribe(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || u.Scheme != "https" && !(u.Scheme == "http" && isLoopback(u.Hostname())) {
		return fmt.Errorf("message.unsubscribe_url is no https address in this row, found %q: a cell that is a whole address needs {{raw .name}}", address)
	}
	return nil
}

// newConverter makes HTML of markdown. HTML inside of it and links that run programs
// are left out, so that neither a template nor a cell brings any.
func newConverter() goldmark.Markdown {
	return goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.Linkify))
}
