package claim_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// A tab of more than 2,000 rows is read whole once; after that only the columns that
// the job uses, and before the claim only the rows around the chosen ones.
func TestSH22BigTab(t *testing.T) {
	t.Parallel()
	rows := dueRows(2100)
	for i := range rows {
		for c := range 16 {
			rows[i] = append(rows[i], fmt.Sprintf("other %d", c))
		}
		if i > 0 && i%100 != 0 {
			rows[i][3] = "sent"
		}
	}
	inWorld(t, rows, func(w *world) {
		w.alone(settings{"range": tabTitle}, func(in *install) {
			d := in.run("1")
			wantRun(t, d, claim.RunSent, 21)
			if c := d.APICalls; c.Reads != 4 || c.Writes != 2 {
				t.Errorf("calls: %+v", c)
			}
			reads := 0
			for _, c := range w.emu.Log() {
				if c.Status != http.StatusOK {
					t.Errorf("%s: %d %s", c.Kind, c.Status, c.Message)
				}
				if c.Write {
					continue
				}
				if reads++; reads == 1 {
					continue
				}
				for _, a1 := range c.Query["ranges"] {
					cells := strings.TrimPrefix(a1, "'"+tabTitle+"'!")
					if cells != "1:1" && !usedColumns.MatchString(cells) || reads == 2 && cells == "A:D" {
						t.Errorf("read %d fetches %s", reads, a1)
					}
				}
			}
		})
	})
}

// usedColumns fits ranges of the columns that the job of these tests uses.
var usedColumns = regexp.MustCompile(`^[A-D][0-9]*:[A-D][0-9]*$`)
