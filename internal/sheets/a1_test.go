package sheets

import (
	"strings"
	"testing"
)

func TestParseRange(t *testing.T) {
	for _, tt := range []struct {
		in, out string
		want    Range
	}{
		{"Visits!A1:H", "'Visits'!A:H", Range{Tab: "Visits", EndCol: 8}},
		{"Visits!A2:H", "'Visits'!A2:H", Range{Tab: "Visits", StartRow: 1, EndCol: 8}},
		{"'O''Brien Kunden 2026 é'!A2:H500", "'O''Brien Kunden 2026 é'!A2:H500", Range{"O'Brien Kunden 2026 é", 1, 500, 0, 8}},
		{"Visits", "'Visits'", Range{Tab: "Visits"}},
		{"'Visits '", "'Visits '", Range{Tab: "Visits "}},
		{" Visits ", "'Visits'", Range{Tab: "Visits"}},
		{"A1:H", "A:H", Range{EndCol: 8}},
		{"a:h", "A:H", Range{EndCol: 8}},
		{"B2:F", "B2:F", Range{StartRow: 1, StartCol: 1, EndCol: 6}},
		{"$B$2:$F$9", "B2:F9", Range{StartRow: 1, EndRow: 9, StartCol: 1, EndCol: 6}},
		{"F9:B2", "B2:F9", Range{StartRow: 1, EndRow: 9, StartCol: 1, EndCol: 6}},
		{"2:500", "2:500", Range{StartRow: 1, EndRow: 500}},
		{"C2:500", "C2:500", Range{StartRow: 1, EndRow: 500, StartCol: 2}},
		{"A:ZZZ", "A:ZZZ", Range{EndCol: maxCols}},
		{"Q1", "'Q1'", Range{Tab: "Q1"}}, // a tab, since one cell is no range
		{"D3!A1:D4", "'D3'!A1:D4", Range{Tab: "D3", EndRow: 4, EndCol: 4}},
		{"a!b!A1:C", "'a!b'!A:C", Range{Tab: "a!b", EndCol: 3}},
		{"Kunden: neu", "'Kunden: neu'", Range{Tab: "Kunden: neu"}},
		{"📬 due/now!A1:C", "'📬 due/now'!A:C", Range{Tab: "📬 due/now", EndCol: 3}},
	} {
		got, err := ParseRange(tt.in)
		if err != nil || got != tt.want {
			t.Errorf("ParseRange(%q) = %+v, %v, want %+v", tt.in, got, err, tt.want)
			continue
		}
		if got.String() != tt.out {
			t.Errorf("ParseRange(%q).String() = %s, want %s", tt.in, got, tt.out)
		}
	}
}

func TestParseRangeRefuses(t *testing.T) {
	for in, want := range map[string]string{
		"":                         "empty",
		"!A1:H":                    "the tab before",
		"''!A1:H":                  "no tab between",
		"Visits!":                  "for the whole tab write 'Visits'",
		"'Visits'!":                "for the whole tab write 'Visits'",
		"'O'Brien'!A1:H":           "written twice",
		"'Visits!A1:H":             "closing apostrophe",
		"Visits!A1":                "write it as A1:H",
		"Visits!A1:H1":             "room for the header only; write it as 'Visits'!A:H",
		"Visits!A5:A5":             "write it as 'Visits'!A5:H",
		"Visits!Name:Due":          "past ZZZ",
		"Visits!A1:H0":             "row 0",
		"A1:AAAA5":                 "past ZZZ",
		"A1:H99999999":             "row 99999999",
		"A1:H99999999999999999999": "is not between",
		"A:H5":                     "has no beginning",
		"5:H":                      "has no beginning",
		"Visits!A-1:H":             "not a cell",
		"Visits!A1:H:J":            "not a cell",
		"Visits!:":                 "not a cell",
	} {
		got, err := ParseRange(in)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseRange(%q) = %+v, %v, want an error with %q", in, got, err, want)
		}
	}
}

func TestColumnName(t *testing.T) {
	for col, want := range map[int]string{0: "A", 25: "Z", 26: "AA", 701: "ZZ", 702: "AAA", maxCols - 1: "ZZZ"} {
		if got := columnName(col); got != want {
			t.Errorf("columnName(%d) = %s, want %s", col, got, want)
		}
	}
}

// FuzzA1 checks that what is read is written so that it is read as the same.
func FuzzA1(f *testing.F) {
	for _, s := range []string{"Visits!A1:H", "'O''Brien'!A2:H500", "A:ZZZ", "2:500", "Q1", "'!'!A1:B", "C2:500", "x!y", "$A$1:B"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseRange(text)
		if err != nil {
			return
		}
		again, err := ParseRange(r.String())
		if err != nil || again != r {
			t.Fatalf("%q is %+v, written %q, read again %+v, %v", text, r, r.String(), again, err)
		}
		if r.StartRow < 0 || r.StartCol < 0 || r.EndCol > maxCols || r.EndRow > maxRows ||
			r.EndRow != 0 && r.EndRow < r.StartRow+2 || r.EndCol != 0 && r.EndCol <= r.StartCol {
			t.Fatalf("%q is out of bounds: %+v", text, r)
		}
	})
}
