package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/sheetsemu"
	"github.com/sheetclaim/sheetclaim/internal/smtpsink"
)

type demoCmd struct {
	Keep     bool   `help:"Leave everything running until a signal comes, with the page's address printed."`
	Scenario string `help:"What to play: overlap (three runs at once), or doubts (then a lost answer and a run that stops too); the latter with --keep." enum:"overlap,doubts," default:"" placeholder:"NAME"`
}

// What the demo can play.
const (
	scenarioOverlap = "overlap" // three runs at once
	scenarioDoubts  = "doubts"  // and then a lost answer, and a run that stops on a doubt
)

const (
	demoSheet = "demo-sheet"
	demoTab   = "Visits"
	demoRuns  = 3
	demoAlert = "ops@example.com"
)

// demoConfig is the configuration that the demo writes and reads like any other.
const demoConfig = `# written by sheetclaim demo
ledger: sqlite:sheetclaim.db
google:
  endpoint: %q                 # the emulator; left out, it is Google
smtp:
  host: 127.0.0.1              # the mail catcher
  port: %s
  tls: none
  from: "Café Morgenrot <hello@example.com>"
alerts:
  email: [` + demoAlert + `]
api:
  listen: 127.0.0.1:0
jobs:
  review-requests:
    spreadsheet: ` + demoSheet + `
    range: "` + demoTab + `!A1:G"
    columns: {key: Booking, email: E-mail, status: Review status, due: Visited at, note: Note}
    where: 'visit_status == "completed"'
    delay: 48h
    wait: 3s                     # 15s with the real Google
    message:
      subject: "How was your visit, {{First name}}?"
      text: |
        Hello {{First name}},

        thank you for coming by. Would you tell us how you liked it?
      html: |
        <p>Hello {{First name}},</p><p>thank you for coming by. Would you tell us how you liked it?</p>
`

// demo is what runs in the demo's one process.
type demo struct {
	m    *Main
	emu  *sheetsemu.Emulator
	sink *smtpsink.Sink
	dir  string
	url  string // of the emulator
	api  string
}

// Run shows the main job: three runs at once on one sheet, one mail per row.
func (c *demoCmd) Run(ctx context.Context, m *Main, opts *cli) (err error) {
	if opts.LogLevel == "info" {
		m.log = newLogger(m.Stderr, opts.LogFormat, "error") // the tables tell the story
	}
	d := &demo{m: m}
	scenario := cmp.Or(c.Scenario, scenarioOverlap)
	if c.Keep {
		scenario = cmp.Or(c.Scenario, scenarioDoubts)
	}
	stop, err := d.start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	fmt.Fprintf(m.Stdout, "Asking for %d runs of the same job at the same moment …\n\n", demoRuns)
	docs, err := d.runAtOnce(ctx)
	if err != nil {
		return err
	}
	ok := d.report(docs)
	if scenario == scenarioDoubts {
		if err := d.playDoubts(ctx); err != nil {
			return err
		}
	}
	if c.Keep {
		fmt.Fprintf(m.Stdout, "\nStill running; press Ctrl-C to stop.\n  the page        %s/\n  ask for a run   curl -X POST %s/v1/runs\n  the sheet       %s/_emu/sheets/%s/%s.html\n  all files       %s\n",
			d.api, d.api, d.url, demoSheet, demoTab, d.dir)
		<-ctx.Done()
	}
	if !ok {
		return &statusError{code: exitSome, text: "the demo did not end as it should; please report this with the output above"}
	}
	return nil
}

// start brings up emulator, mail catcher and service.
func (d *demo) start(ctx context.Context) (stop func() error, err error) {
	if d.dir, err = os.MkdirTemp("", "sheetclaim-demo-"); err != nil {
		return nil, err
	}
	now := d.m.Now()
	d.emu = sheetsemu.New(sheetsemu.Options{Now: d.m.Now, Faults: sheetsemu.Faults{Latency: 40 * time.Millisecond, Jitter: 60 * time.Millisecond}})
	if err := d.emu.Put(demoSheet, demoTab, demoRows(now)); err != nil {
		return nil, err
	}
	server, err := d.emu.Listen("127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	d.url = server.URL
	if d.sink, err = smtpsink.New(smtpsink.Options{UTF8: true}); err != nil {
		return nil, err
	}
	addr, err := d.sink.Listen("127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	path := filepath.Join(d.dir, "sheetclaim.yaml")
	_, port, _ := net.SplitHostPort(addr.String())
	if err := os.WriteFile(path, fmt.Appendf(nil, demoConfig, server.URL, port), 0o600); err != nil {
		return nil, err
	}
	ended, cancel, err := d.serve(ctx, path)
	if err != nil {
		return nil, err
	}
	w := tabwriter.NewWriter(d.m.Stdout, 2, 8, 2, ' ', 0)
	fmt.Fprintf(w, "sheetclaim demo: everything in this one process\n\n  sheet\t%s\tthe Google Sheets API, in memory\n  mail catcher\t%s\ttakes every message, sends none on\n  service\t%s\tits page; ledger and configuration in %s\n\n", server.URL, addr, d.api, d.dir)
	return func() error {
		cancel()
		err := <-ended
		d.sink.Close()
		return errors.Join(err, server.Close(), os.RemoveAll(d.dir))
	}, w.Flush()
}

// serve starts the real service and waits until it listens.
func (d *demo) serve(ctx context.Context, path string) (ended chan error, cancel context.CancelFunc, err error) {
	service := *d.m
	ready := make(chan string, 1)
	service.Ready = func(addrs map[string]string) { ready <- addrs["api"] }
	service.Env = func(name string) (string, bool) { return "", false } // no setting of this machine leaks in
	cfg, err := service.load(path)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel = context.WithCancel(ctx)
	ended = make(chan error, 1)
	go func() { ended <- service.serve(ctx, cfg) }()
	select {
	case d.api = <-ready:
		return ended, cancel, nil
	case err := <-ended:
		cancel()
		return nil, nil, err
	}
}

// demoRows is a booking list: ten visits to ask about, and two that are not.
func demoRows(now time.Time) [][]any {
	rows := [][]any{{"Booking", "First name", "E-mail", "Visit status", "Visited at", "Review status", "Note"}}
	for i, name := range []string{"Ada", "Zoë", "Jörg", "Siân", "Łukasz", "Renée", "O'Brien", "Aïcha", "Ömer 🌞", "Ines", "李", "Tomás"} {
		visit, status := "completed", ""
		switch i {
		case 3:
			visit = "cancelled"
		case 5:
			status = "sent"
		}
		at := now.UTC().AddDate(0, 0, i-20).Format("2006-01-02") + " 18:30"
		rows = append(rows, []any{fmt.Sprintf("B-%d", 1001+i), name, fmt.Sprintf("guest%d@example.com", i+1), visit, at, status, ""})
	}
	return rows
}

// runAtOnce asks for the runs over HTTP, as automations do.
func (d *demo) runAtOnce(ctx context.Context) ([]claim.Document, error) {
	docs := make([]claim.Document, demoRuns)
	errs := make([]error, demoRuns)
	var all sync.WaitGroup
	for i := range docs {
		all.Go(func() { docs[i], errs[i] = d.ask(ctx, fmt.Sprintf("demo-%d", i+1)) })
	}
	all.Wait()
	return docs, errors.Join(errs...)
}

func (d *demo) ask(ctx context.Context, id string) (doc claim.Document, err error) {
	err = d.post(ctx, "/v1/runs", fmt.Sprintf(`{"job": "review-requests", "run_id": %q}`, id), &doc)
	return doc, err
}

// post sends a request to the service and reads its answer.
func (d *demo) post(ctx context.Context, path, body string, answer any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.api+path, bytes.NewBufferString(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	const longest = 5 * time.Minute // more than api.max_wait
	resp, err := (&http.Client{Timeout: longest}).Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return json.NewDecoder(resp.Body).Decode(answer)
}

// report prints what became of each run, row and message, and answers whether it is
// what sheetclaim promises.
func (d *demo) report(docs []claim.Document) bool {
	overlapped := 0
	w := tabwriter.NewWriter(d.m.Stdout, 2, 8, 2, ' ', 0)
	fmt.Fprintln(w, "RUN\tOUTCOME\tWHAT IT SAYS")
	by := map[string]string{}
	for _, doc := range docs {
		fmt.Fprintf(w, "%s\t%s\t%s\n", doc.RunID, doc.Outcome, doc.Detail)
		if doc.Outcome == claim.RunOverlapped {
			overlapped++
		}
		for _, r := range doc.Rows {
			if r.Outcome == claim.Sent {
				by[r.Key] = doc.RunID
			}
		}
	}
	caught, alerts := d.caught()
	fmt.Fprintln(w, "\nROW\tBOOKING\tVISIT\tSTATUS\tSENT BY\tMESSAGES CAUGHT")
	ok := overlapped == demoRuns-1
	for i, row := range d.emu.Grid(demoSheet, demoTab) {
		if i == 0 {
			continue
		}
		row = append(row, "", "", "")
		sender := by[row[0]]
		if sender == "" && row[5] == "sent" {
			sender = "earlier" // no run of the demo
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%d\n", i+1, row[0], row[3], row[5], sender, caught[row[2]])
		want := 0
		if by[row[0]] != "" {
			want = 1
		}
		due := row[3] == "completed" && row[0] != "B-1006"
		ok = ok && caught[row[2]] == want && due == (want == 1) && (!due || row[5] == "sent")
	}
	_ = w.Flush()
	fmt.Fprintf(d.m.Stdout, "\n%d alert%s caught: %s\n", len(alerts), plural(len(alerts)), strings.Join(alerts, "; "))
	if ok && len(alerts) == 1 {
		fmt.Fprintf(d.m.Stdout, "%d runs wanted the same rows at the same moment. Every due row got exactly one message.\n", demoRuns)
		return true
	}
	return false
}

// caught answers the messages by recipient and the alerts by subject. Alerts go out
// beside the runs, so they are waited for a little.
func (d *demo) caught() (map[string]int, []string) {
	by := map[string]int{}
	var alerts []string
	for range 50 {
		by, alerts = map[string]int{}, nil
		for _, msg := range d.sink.Messages() {
			to := strings.Join(msg.To, ", ")
			if to != demoAlert {
				by[to]++
				continue
			}
			if p, err := msg.Parse(); err == nil {
				alerts = append(alerts, p.Get("Subject"))
			}
		}
		if len(alerts) > 0 {
			break
		}
		if wait(context.Background(), 200*time.Millisecond) != nil {
			break
		}
	}
	return by, alerts
}

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}
