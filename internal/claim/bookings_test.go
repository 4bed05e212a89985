package claim_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/sheetsemu"
)

// A booking list as an office keeps it: accents, emoji, apostrophes, blanks, formulas,
// a header with a hard space, dates in another time zone, a tab that needs quotes.
func TestBookingList(t *testing.T) {
	t.Parallel()
	const title = "O'Brien Kunden 2026"
	inWorld(t, dueRows(0), func(w *world) {
		f, err := os.Open("../../testdata/" + title + ".csv")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := w.emu.LoadCSV(spreadsheet, title, f); err != nil {
			t.Fatal(err)
		}
		w.emu.Edit(spreadsheet, func(b *sheetsemu.Book) { b.SetTimeZone("Pacific/Auckland") })
		before := w.emu.Grid(spreadsheet, title)
		s := settings{
			"range":   `"'O''Brien Kunden 2026'!A1:L"`,
			"columns": "{key: booking, email: E-Mail, status: review status, due: visited at, claimed_by: claimed by}",
			"where":   `'visit_status == "completed" and guests > 1'`,
			"delay":   "48h", "limit": "500", "first_run_limit": "0",
			"message": `{subject: "How was it, {{First name}}?", text: "Dear {{First name}} {{Last name}}, {{Total}} for {{Guests}}. {{Remarks}}", html: "<p>{{Remarks}}</p>"}`,
		}
		w.alone(s, func(in *install) { wantRun(t, in.run("4711"), claim.RunSent, len(w.sink.Messages())) })
		w.checkBookings(before, w.emu.Grid(spreadsheet, title))
	})
}

// checkBookings compares the list before and after, cell by cell.
func (w *world) checkBookings(before, after [][]string) {
	t := w.t
	auckland, err := time.LoadLocation("Pacific/Auckland")
	if err != nil {
		t.Fatal(err)
	}
	sent := w.sent()
	due := 0
	for i := range before {
		row := append(slices.Clone(before[i]), make([]string, 12)...)[:12]
		now := append(slices.Clone(after[i]), make([]string, 12)...)[:12]
		visited, err := time.ParseInLocation("2006-01-02 15:04:05", row[5], auckland)
		if err != nil {
			visited, err = time.ParseInLocation("2006-01-02 15:04", row[5], auckland)
		}
		isDue := err == nil && row[4] == "completed" && row[6] != "1" && row[8] == "" && !time.Now().Before(visited.Add(48*time.Hour))
		if isDue {
			due++
			row[8], row[11] = "sent", "4711"
		}
		if want, got := strings.Join(row, "|"), strings.Join(now, "|"); got != want {
			t.Errorf("row %d:\n got %s\nwant %s", i+1, got, want)
		}
		if n := sent[row[3]]; isDue != (n == 1) || n > 1 {
			t.Errorf("row %d got %d messages, due %t", i+1, n, isDue)
		}
	}
	if due < 50 {
		t.Errorf("only %d rows of the list are due", due)
	}
}
