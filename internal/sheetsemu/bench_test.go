package sheetsemu

import (
	"fmt"
	"testing"

	"google.golang.org/api/googleapi"
)

// BenchmarkClaimCycle is what a run costs on a sheet of 500 rows: one read of
// all, and one batch.
func BenchmarkClaimCycle(b *testing.B) {
	emu := New(Options{Quota: -1})
	rows := [][]any{{"key", "email", "status"}}
	for i := range 500 {
		rows = append(rows, []any{fmt.Sprintf("k%d", i), "a@example.org", ""})
	}
	if err := emu.Put("S1", "Letters", rows); err != nil {
		b.Fatal(err)
	}
	srv := client(b, emu, "w1")
	for b.Loop() {
		if _, err := srv.Spreadsheets.Get("S1").Ranges("Letters!A2:C").Fields(googleapi.Field(gridFields)).Do(); err != nil {
			b.Fatal(err)
		}
		if err := write(b.Context(), srv, "x"); err != nil {
			b.Fatal(err)
		}
	}
}
