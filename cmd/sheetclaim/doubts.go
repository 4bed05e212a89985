package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/text/unicode/norm"

	"github.com/sheetclaim/sheetclaim/api"
	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/job"
	"github.com/sheetclaim/sheetclaim/internal/ledger"
)

type doubtsCmd struct {
	Job  string `help:"Only this job." placeholder:"JOB"`
	JSON bool   `name:"json" help:"Print the document of GET /v1/messages alone on stdout."`
}

// Run lists what waits for a person. It opens nothing but the ledger.
func (c *doubtsCmd) Run(ctx context.Context, m *Main, opts *cli) (err error) {
	cfg, err := m.load(opts.Config)
	if err != nil {
		return err
	}
	jobs := cfg.JobNames()
	if c.Job != "" {
		name, err := theJob(cfg, c.Job)
		if err != nil {
			return err
		}
		jobs = []string{name}
	}
	d, err := m.openDesk(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.ledger.Close()) }()
	var waiting []claim.Message
	for _, name := range jobs {
		ms, err := d.Waiting(ctx, claim.Book{Job: name})
		if err != nil {
			return err
		}
		waiting = append(waiting, ms...)
	}
	list := api.ListMessages(waiting)
	if c.JSON {
		enc := json.NewEncoder(m.Stdout)
		enc.SetIndent("", "  ")
		return enc.Encode(list)
	}
	printDoubts(m.Stdout, cfg, list.Messages)
	return nil
}

// whereToLook says where a person finds out what became of a message.
func whereToLook(v api.MessageView) string {
	if v.MessageID == "" { // only rows that a caller was handed have none
		return "look where the caller of that run did its work (in n8n: under Executions)"
	}
	return "look in the Sent folder or in the log of the mail server for Message-ID " + plain(v.MessageID)
}

// printDoubts writes for people what waits: what to look for, and the two answers.
func printDoubts(w io.Writer, cfg *job.Config, list []api.MessageView) {
	var wished []string
	n := 0
	for _, v := range list {
		if v.State == api.WaitsResend {
			wished = append(wished, fmt.Sprintf("%s (job %s)", plain(v.Key), v.Job))
			continue
		}
		n++
		fmt.Fprintf(w, "%s, row %d of the tab %s (job %s)\n", plain(v.Key), v.Row, plain(v.Tab), v.Job)
		fmt.Fprintf(w, "  unknown since %s, run %s: %s\n", v.SettledAt.Local().Format(time.RFC3339), v.RunID, plain(v.Reason))
		fmt.Fprintln(w, "  "+whereToLook(v))
		fmt.Fprintf(w, "  it is there:      %s\n", answerOf(cfg, list, v, "--sent"))
		fmt.Fprintf(w, "  it is not there:  %s\n\n", answerOf(cfg, list, v, "--resend"))
	}
	switch n {
	case 0:
		fmt.Fprintln(w, "No message waits for a person.")
	case 1:
		fmt.Fprintln(w, "1 message waits for a person. It is never sent again by itself.")
	default:
		fmt.Fprintf(w, "%d messages wait for a person. They are never sent again by themselves.\n", n)
	}
	if len(wished) > 0 {
		fmt.Fprintf(w, "Sent again by the next run: %s\n", strings.Join(wished, ", "))
	}
}

// answerOf is the command that answers for a message. It names job and spreadsheet
// only where the key alone would not do.
func answerOf(cfg *job.Config, list []api.MessageView, v api.MessageView, word string) string {
	args := []string{"sheetclaim settle", quoted(v.Key), word, "--why '…'"}
	if len(cfg.Jobs) > 1 {
		args = append(args, "--job", quoted(v.Job))
	}
	elsewhere := func(o api.MessageView) bool {
		return o.Job == v.Job && o.Key == v.Key && o.Spreadsheet != v.Spreadsheet
	}
	if slices.ContainsFunc(list, elsewhere) {
		args = append(args, "--spreadsheet", quoted(v.Spreadsheet))
	}
	return strings.Join(args, " ")
}

// quoted is a text as a word of the shell.
func quoted(s string) string {
	s = plain(s)
	if s != "" && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:@/+-") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

type settleCmd struct {
	Key         string `arg:"" help:"The key of the message's row, as doubts shows it."`
	Sent        bool   `xor:"word" required:"" help:"It went out: the row is marked sent."`
	Resend      bool   `xor:"word" required:"" help:"Send it again: the next run does."`
	Why         string `required:"" help:"What you saw; it is kept with the settlement." placeholder:"TEXT"`
	Job         string `help:"The job; may be left out where only one is configured." placeholder:"JOB"`
	Spreadsheet string `help:"Needed where the key waits in several, or to send a message again that has ended." placeholder:"ID"`
}

// Help is the long help of settle.
func (settleCmd) Help() string {
	return `A message of unknown fate waits for a person: look for its Message-ID (sheetclaim
doubts shows it) in the Sent folder or in the log of the mail server, then say what you
saw. Who said it and why are kept in the ledger.`
}

// Run takes a person's word. Only after --sent, and after that word is in the ledger,
// is anything but the ledger opened.
func (c *settleCmd) Run(ctx context.Context, m *Main, opts *cli) error {
	cfg, name, err := m.loadJob(opts.Config, c.Job)
	if err != nil {
		return err
	}
	word := claim.Settlement{
		Book: claim.Book{Job: name, Spreadsheet: c.Spreadsheet}, Key: c.Key, Word: claim.WordResend, Who: "cli:" + m.user(), Why: c.Why,
	}
	if c.Sent {
		word.Word = claim.WordSent
	}
	settled, err := m.settle(ctx, cfg, word)
	if err != nil {
		return err
	}
	if !c.Sent {
		fmt.Fprintf(m.Stdout, "%s: the next run of %s sends it again.\n", plain(c.Key), name)
		return nil
	}
	if err := m.markNow(ctx, cfg, settled); err != nil {
		fmt.Fprintf(m.Stdout, "%s is settled as sent. The sheet could not be marked now; the next run marks it: %s\n", plain(c.Key), plain(err.Error()))
		return nil
	}
	fmt.Fprintf(m.Stdout, "%s is settled as sent, and the sheet has been marked; a cell that somebody changed meanwhile stays as it is.\n", plain(c.Key))
	return nil
}

// settle takes a person's word and answers the message as it was, if it waited.
func (m *Main) settle(ctx context.Context, cfg *job.Config, word claim.Settlement) (_ claim.Message, err error) {
	d, err := m.openDesk(ctx, cfg)
	if err != nil {
		return claim.Message{}, err
	}
	defer func() { err = errors.Join(err, d.ledger.Close()) }()
	waiting, err := d.waitingAs(ctx, word)
	if err != nil {
		return claim.Message{}, err
	}
	err = d.Settle(ctx, word)
	var several *api.SeveralError
	switch {
	case errors.As(err, &several):
		return claim.Message{}, fmt.Errorf("%w: name one with --spreadsheet", err)
	case errors.Is(err, claim.ErrNoMessage) && word.Spreadsheet == "":
		return claim.Message{}, fmt.Errorf("no message of the key %q waits in the job %s: 'sheetclaim doubts' lists those that do; name the --spreadsheet to send one again that has ended", word.Key, word.Job)
	case errors.Is(err, claim.ErrNoMessage):
		return claim.Message{}, fmt.Errorf("the job %s knows no message of the key %q in the spreadsheet %s: compare them with 'sheetclaim doubts'", word.Job, word.Key, word.Spreadsheet)
	case errors.Is(err, claim.ErrNotUnknown):
		return claim.Message{}, fmt.Errorf("the message %q does not wait to be settled as sent: its end is known, or it was settled before; 'sheetclaim doubts' lists those that wait", word.Key)
	case err != nil || len(waiting) == 0:
		return claim.Message{}, err
	}
	return waiting[0], nil
}

// markNow marks the sheet of a message that was settled as sent, and says why it
// could not.
func (m *Main) markNow(ctx context.Context, cfg *job.Config, was claim.Message) (err error) {
	const patience = 45 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	p, err := m.open(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	if err := p.service.Worker().Recover(ctx, p.service.Jobs[was.Job], claim.RunRef{Job: was.Job, ID: "settle"}); err != nil {
		return err
	}
	m.deliver(ctx, p)
	known, err := p.ledger.Lookup(ctx, was.Book, []string{was.Key})
	if err != nil {
		return err
	}
	if now := known[was.Key]; now.Generation == was.Generation && !now.State.Ended() {
		return errors.New("its run has not ended, or Google still shows the old text")
	}
	return nil
}

// user is who sits at the command line.
func (m *Main) user() string {
	for _, name := range []string{"USER", "LOGNAME", "USERNAME"} {
		if who, ok := m.Env(name); ok && who != "" {
			return who
		}
	}
	if id := os.Getuid(); id >= 0 { // -1 on Windows
		return "uid-" + strconv.Itoa(id)
	}
	return "somebody"
}

// desk is where messages wait for a person's word: the api.Desk over a ledger.
type desk struct {
	ledger *ledger.DB
	home   map[string]string // each job's own spreadsheet
}

var _ api.Desk = desk{}

func newDesk(l *ledger.DB, cfg *job.Config) desk {
	d := desk{ledger: l, home: map[string]string{}}
	for name, spec := range cfg.Jobs {
		d.home[name] = spec.Spreadsheet
	}
	return d
}

// openDesk opens the ledger alone.
func (m *Main) openDesk(ctx context.Context, cfg *job.Config) (desk, error) {
	l, err := ledger.OpenURL(ctx, cfg.Ledger.Reveal(), ledger.Options{})
	if err != nil {
		return desk{}, err
	}
	return newDesk(l, cfg), nil
}

// Waiting implements api.Desk.
func (d desk) Waiting(ctx context.Context, b claim.Book) ([]claim.Message, error) {
	return d.ledger.Waiting(ctx, b)
}

// Settle implements api.Desk. A key that waits in one spreadsheet needs no more. One
// that waits nowhere is looked up in the job's own when it is to be settled as sent,
// only to say what became of it; sending again what has ended takes the spreadsheet's
// name, so that a request that is repeated does not send twice.
func (d desk) Settle(ctx context.Context, s claim.Settlement) error {
	waiting, err := d.waitingAs(ctx, s)
	if err != nil {
		return err
	}
	s.Key = asKey(s.Key)
	switch {
	case len(waiting) > 1:
		several := &api.SeveralError{Key: s.Key}
		for _, m := range waiting {
			several.Spreadsheets = append(several.Spreadsheets, m.Spreadsheet)
		}
		return several
	case len(waiting) == 0 && s.Spreadsheet == "" && s.Word == claim.WordSent:
		s.Spreadsheet = d.home[s.Job]
	}
	return claim.Settle(ctx, d.ledger, s)
}

// waitingAs answers the messages that wait under a settlement's key.
func (d desk) waitingAs(ctx context.Context, s claim.Settlement) ([]claim.Message, error) {
	waiting, err := d.ledger.Waiting(ctx, s.Book)
	key := asKey(s.Key)
	return slices.DeleteFunc(waiting, func(m claim.Message) bool { return m.Key != key }), err
}

// asKey brings a key that a person typed to the form in which a sheet's is kept.
func asKey(key string) string { return norm.NFC.String(strings.TrimSpace(key)) }
