package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/sheetsemu"
	"github.com/sheetclaim/sheetclaim/internal/smtpsink"
)

// demoStatus is the place of the status column F.
const demoStatus = 5

// playDoubts goes on where the three runs ended: more visits are due, the mail server's
// answer to one message is lost, and then another tool writes over a claim.
func (d *demo) playDoubts(ctx context.Context) error {
	d.book("Noor", "Emil", "Chloé", "Mateo")
	d.sink.SetRules(smtpsink.Rule{Phase: smtpsink.Dot, Action: smtpsink.Drop, Accept: true, Recipient: "guest14@example.com", Times: 1})
	fmt.Fprint(d.m.Stdout, "\nFour more visits are due, and the mail server will not answer to one message …\n")
	lost, err := d.ask(ctx, "demo-4")
	if err != nil {
		return err
	}
	d.sink.SetRules()

	d.book("Hana", "Leif", "Beatriz")
	fmt.Fprint(d.m.Stdout, "Three more are due, and another tool will write over a claim …\n\n")
	meddled := make(chan error, 1)
	go func() { meddled <- d.meddle(ctx, "B-1018") }()
	stopped, err := d.ask(ctx, "demo-5")
	if err := errors.Join(err, <-meddled); err != nil {
		return err
	}
	d.emu.Edit(demoSheet, func(b *sheetsemu.Book) { // what a preview finds fault with
		b.Tab(demoTab).Append("B-1020", "Ewa", "ewa at example.com", "completed", d.visited(), "", "")
	})
	w := tabwriter.NewWriter(d.m.Stdout, 2, 8, 2, ' ', 0)
	fmt.Fprintln(w, "RUN\tOUTCOME\tWHAT IT SAYS")
	for _, doc := range []claim.Document{lost, stopped} {
		fmt.Fprintf(w, "%s\t%s\t%s\n", doc.RunID, doc.Outcome, doc.Detail)
	}
	return errors.Join(w.Flush(), d.playKeys(ctx))
}

// book adds visits to the sheet, as a person types them.
func (d *demo) book(names ...string) {
	at := d.visited()
	d.emu.Edit(demoSheet, func(b *sheetsemu.Book) {
		tab := b.Tab(demoTab)
		for _, name := range names {
			n := len(tab.Rows())
			tab.Append(fmt.Sprintf("B-%d", 1000+n), name, fmt.Sprintf("guest%d@example.com", n), "completed", at, "", "")
		}
	})
}

// visited is when the guests of the later bookings came.
func (d *demo) visited() string {
	return d.m.Now().UTC().AddDate(0, 0, -4).Format(time.DateOnly) + " 18:30"
}

// playKeys claims keys as flows do: a webhook that came twice, an invoice that is being
// made, and a refund whose flow died.
func (d *demo) playKeys(ctx context.Context) error {
	var first, second struct {
		Won   bool   `json:"won"`
		Token string `json:"token"`
	}
	const event = `"key": "stripe:evt_1042"`
	if err := d.post(ctx, "/v1/keys/claim", `{`+event+`, "owner": "webhook"}`, &first); err != nil {
		return err
	}
	if err := d.post(ctx, "/v1/keys/done", fmt.Sprintf(`{%s, "token": %q, "result": {"order": 7}}`, event, first.Token), &struct{}{}); err != nil {
		return err
	}
	if err := d.post(ctx, "/v1/keys/claim", `{`+event+`, "owner": "webhook"}`, &second); err != nil {
		return err
	}
	for _, body := range []string{
		`{"key": "invoice:2026-117", "owner": "billing flow", "lease": "1h", "note": "for Noor"}`,
		`{"key": "refund:B-1014", "owner": "refund flow", "takeover": "never", "lease": "1ms"}`,
	} {
		if err := d.post(ctx, "/v1/keys/claim", body, &struct{}{}); err != nil {
			return err
		}
	}
	if !first.Won || second.Won {
		return errors.New("two callers won the same key, or none did")
	}
	fmt.Fprint(d.m.Stdout, "\nA webhook came twice: its key was won once. Another flow died with its key, which waits for a person.\n")
	return nil
}

// meddle waits for the claim of a row and writes over it.
func (d *demo) meddle(ctx context.Context, key string) error {
	const patience = 30 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		for i, row := range d.emu.Grid(demoSheet, demoTab) {
			if row[0] == key && len(row) > demoStatus && strings.HasPrefix(row[demoStatus], "sending ") {
				d.emu.Edit(demoSheet, func(b *sheetsemu.Book) { b.Tab(demoTab).Set(fmt.Sprintf("F%d", i+1), "asked by the newsletter tool") })
				return nil
			}
		}
		if err := wait(ctx, 50*time.Millisecond); err != nil {
			return fmt.Errorf("the claim of %s did not come: %w", key, err)
		}
	}
}
