package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

type previewCmd struct {
	Job   string `arg:"" optional:"" help:"The job; may be left out where only one is configured."`
	Row   string `help:"Only the row of this key, due or not." placeholder:"KEY"`
	To    string `help:"Send the message of --row to this address, marked as a test, and to nobody else." placeholder:"ADDRESS"`
	Limit *int   `help:"Show at most N messages; the job's limit when left out." placeholder:"N"`
	Open  bool   `help:"Write the messages as they will look into an HTML file and open it in the browser."`
	JSON  bool   `name:"json" help:"Print the preview document alone on stdout."`
}

// Help is the long help of preview.
func (previewCmd) Help() string {
	return `Shows what a run would do now: the messages, and the rows that cannot be sent with what
to mend. The sheet is read and nothing is written; only --to sends a message, to you.

Exit status: 0 when the sheet could be read, also if no row is due; with --to, 1 when the
row makes no message and 2 when the mail server did not take the test; 2 for a usage or
configuration error, or when nothing could be tried.`
}

// Run shows what a run would do.
func (c *previewCmd) Run(ctx context.Context, m *Main, opts *cli) (err error) {
	cfg, err := m.load(opts.Config)
	if err != nil {
		return err
	}
	req, err := c.request()
	if err != nil {
		return err
	}
	if req.Job, err = theJob(cfg, c.Job); err != nil {
		return err
	}
	if opts.LogLevel == "info" {
		m.log = newLogger(m.Stderr, opts.LogFormat, "warn") // the output tells the rest
	}
	p, err := m.open(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	v, err := p.service.Preview(ctx, req)
	if err != nil {
		return previewStatus(err)
	}
	return c.show(ctx, m, v)
}

// request turns the flags into a request.
func (c *previewCmd) request() (claim.PreviewRequest, error) {
	r := claim.PreviewRequest{Key: strings.TrimSpace(c.Row), To: strings.TrimSpace(c.To)}
	if c.Limit != nil {
		if r.Limit = *c.Limit; r.Limit < 1 {
			return r, fmt.Errorf("--limit must be at least 1, not %d", r.Limit)
		}
	}
	if r.To != "" && r.Key == "" {
		return r, errors.New("--to sends one message: say whose with --row KEY")
	}
	return r, nil
}

// previewStatus is the exit status of a preview that could not be made.
func previewStatus(err error) error {
	var e *claim.PreviewError
	if errors.As(err, &e) && e.Fault == claim.PreviewRowFault {
		return &statusError{code: exitSome, text: e.Text}
	}
	return err
}

// show prints a preview in the form that was asked for.
func (c *previewCmd) show(ctx context.Context, m *Main, v claim.Preview) error {
	notes := m.Stdout
	if c.JSON {
		notes = m.Stderr // the document stands alone
		enc := json.NewEncoder(m.Stdout)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		if err := enc.Encode(v); err != nil {
			return err
		}
	} else if err := printPreview(m.Stdout, v, c.Row != ""); err != nil {
		return err
	}
	if !c.Open {
		return nil
	}
	path, err := writePage(v)
	if err != nil {
		return err
	}
	fmt.Fprintf(notes, "\nThe messages as they will look, with your customers' data: %s\n", path)
	if m.Browse == nil {
		return nil
	}
	if err := m.Browse(ctx, path); err != nil {
		fmt.Fprintf(notes, "No browser was opened (%v): open the file yourself.\n", err)
	}
	return nil
}

// printPreview writes a preview for people; whole: with all lines of the texts.
func printPreview(w io.Writer, v claim.Preview, whole bool) error {
	fmt.Fprintf(w, "preview of %s, %s\n%s\n", v.Job, plain(v.Range), plain(v.Detail))
	for _, hold := range v.Holds[min(1, len(v.Holds)):] { // the first is in the detail
		fmt.Fprintf(w, "also: %s\n", hold)
	}
	if v.NextDue != nil && v.Counts.WouldSend == 0 {
		fmt.Fprintf(w, "the next row is due at %s\n", v.NextDue.Format("2006-01-02 15:04 MST"))
	}
	var others []claim.PreviewRow
	for _, r := range v.Rows {
		if r.Outcome != claim.Would {
			others = append(others, r)
		}
		if r.Message != nil {
			printMessage(w, r, whole)
		}
	}
	if len(others) > 0 {
		tw := tabwriter.NewWriter(w, 2, 8, 2, ' ', 0)
		fmt.Fprintln(tw, "\nWOULD NOT GO\tKEY\tADDRESS\tWHY\tWHAT TO DO")
		for _, r := range others {
			fmt.Fprintf(tw, "row %d\t%s\t%s\t%s\t%s\n", r.Row, plain(r.Key), plain(r.Email), plain(r.Reason), r.Advice)
		}
		if err := tw.Flush(); err != nil {
			return err
		}
	}
	if v.LeftOut.Rows > 0 {
		fmt.Fprintf(w, "and %d more\n", v.LeftOut.Rows)
	}
	if t := v.Test; t != nil {
		fmt.Fprintf(w, "\nsent to %s as a test, Message-ID %s: %s\n", t.To, t.MessageID, plain(t.SMTPReply))
	}
	return nil
}

// printMessage writes one message for people.
func printMessage(w io.Writer, r claim.PreviewRow, whole bool) {
	hidden := ""
	if r.Hidden {
		hidden = "  (the row is hidden)"
	}
	fmt.Fprintf(w, "\nrow %d  %s%s\n", r.Row, plain(r.Key), hidden)
	for _, f := range messageFields(r.Message) {
		fmt.Fprintf(w, "  %-11s %s\n", f.Name, plain(f.Value))
	}
	printText(w, r.Message.Text, whole)
	if r.Message.HTML != "" {
		fmt.Fprintf(w, "  (an HTML part of %d bytes: --open shows it)\n", len(r.Message.HTML))
	}
}

// printText writes the text part, or how it begins.
func printText(w io.Writer, text string, whole bool) {
	const some = 12
	lines := strings.Split(strings.TrimRight(strings.ReplaceAll(text, "\r\n", "\n"), "\n"), "\n")
	if text == "" {
		return
	}
	fmt.Fprintln(w)
	for i, line := range lines {
		if i == some && !whole && len(lines) > some+1 {
			fmt.Fprintf(w, "  … %d more lines: --row shows all\n", len(lines)-some)
			return
		}
		fmt.Fprintln(w, strings.TrimRight("  | "+plain(line), " "))
	}
}

// field is one header field as people read it.
type field struct{ Name, Value string }

// messageFields are the fields that a message has.
func messageFields(m *claim.PreviewMessage) []field {
	var fields []field
	for _, f := range []field{
		{"to", cmp.Or(m.To, "(none)")}, {"cc", m.Cc}, {"bcc", m.Bcc}, {"reply-to", m.ReplyTo}, {"subject", m.Subject}, {"unsubscribe", m.Unsubscribe},
	} {
		if f.Value != "" {
			fields = append(fields, f)
		}
	}
	return fields
}
