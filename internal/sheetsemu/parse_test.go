package sheetsemu

import (
	"strings"
	"testing"
	"time"
)

func TestTyping(t *testing.T) {
	tests := []struct {
		typed, locale string
		entered       any
		shown, format string
	}{
		{"hello", "", "hello", "hello", ""},
		{"007", "", 7.0, "7", ""},
		{"'0123", "", "0123", "0123", ""},
		{"+39055", "", 39055.0, "39055", ""},
		{"+39 055", "", "+39 055", "+39 055", ""},
		{"-1.50", "", -1.5, "-1.5", ""},
		{"1,234", "", 1234.0, "1,234", "NUMBER #,##0"},
		{"1,234.5", "", 1234.5, "1,234.50", "NUMBER #,##0.00"},
		{"12%", "", 0.12, "12%", "PERCENT 0%"},
		{"$100.15", "", 100.15, "$100.15", `CURRENCY "$"#,##0.00`},
		{"1e5", "", 100000.0, "1.00E+05", "SCIENTIFIC 0.00E+00"},
		{"12345678901234567890", "", 12345678901234567890.0, "1.23457E+19", ""},
		{"0.1", "", 0.1, "0.1", ""},
		{"true", "", true, "TRUE", ""},
		{"vero", "it_IT", true, "VERO", ""},
		{"FALSE", "it_IT", false, "FALSO", ""},
		{"2020-01-01", "", 43831.0, "2020-01-01", "DATE yyyy-mm-dd"},
		{"1/2/2020", "", 43832.0, "1/2/2020", "DATE m/d/yyyy"},
		{"1/2/2020", "it_IT", 43862.0, "01/02/2020", "DATE dd/mm/yyyy"},
		{"31/12/2020", "", "31/12/2020", "31/12/2020", ""},
		{"1-2", "", 46024.0, "1/2/2026", "DATE m/d/yyyy"},
		{"2020-01-01 12:00", "", 43831.5, "2020-01-01 12:00", "DATE_TIME yyyy-mm-dd h:mm"},
		{"2020-01-01T12:00:00Z", "", "2020-01-01T12:00:00Z", "2020-01-01T12:00:00Z", ""},
		{"2020-02-30", "", "2020-02-30", "2020-02-30", ""},
		{"Jan 5, 2020", "", 43835.0, "Jan 5, 2020", "DATE mmm d, yyyy"},
		{"6:30 pm", "", 18.5 / 24, "6:30 PM", "TIME h:mm am/pm"},
		{"sent 2026-11-30 12:00", "", "sent 2026-11-30 12:00", "sent 2026-11-30 12:00", ""},
		{"=1+2*3", "", "=1+2*3", "7", ""},
		{"=", "", "=", "=", ""},
	}
	now := func() time.Time { return time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC) }
	for _, tt := range tests {
		t.Run(tt.typed+" "+tt.locale, func(t *testing.T) {
			emu := New(Options{Now: now, Locale: tt.locale})
			emu.Create("S1", "x")
			emu.Edit("S1", func(b *Book) { b.Tab("Sheet1").Set("A1", tt.typed) })
			got := emu.Snapshot("S1").Tabs[0].Cells["A1"]
			if got.Entered != tt.entered || got.Shown != tt.shown || got.Format != tt.format {
				t.Errorf("got %#v\nwant %#v shown %q as %q", got, tt.entered, tt.shown, tt.format)
			}
		})
	}
}

func TestFormats(t *testing.T) {
	const noon = 43831.5 + 7.0/86400 // 2020-01-01 12:00:07
	tests := []struct {
		number        float64
		kind, pattern string
		want          string
	}{
		{noon, "DATE", "dddd, d mmmm yyyy", "Wednesday, 1 January 2020"},
		{noon, "DATE", "ddd dd/mm/yy", "Wed 01/01/20"},
		{noon, "DATE", "", "1/1/2020"},
		{noon, "DATE_TIME", "yyyy-mm-dd hh:mm:ss", "2020-01-01 12:00:07"},
		{noon, "TIME", "h:mm am/pm", "12:00 PM"},
		{noon, "DATE", `yyyy"年"m"月"`, "2020年1月"},
		{1234.5, "NUMBER", "#,##0.00", "1,234.50"},
		{-1234.5, "NUMBER", "#,##0", "-1,234"},
		{0.256, "PERCENT", "0.0%", "25.6%"},
		{5, "NUMBER", "000", "005"},
		{1.5, "NUMBER", "0.##", "1.5"},
		{3, "CURRENCY", `[$€]0.00`, "€3.00"},
		{1e15, "", "", "1E+15"},
		{1.0 / 3, "", "", "0.3333333333"},
	}
	for _, tt := range tests {
		if got := formatNumber(tt.number, numberFormat{tt.kind, tt.pattern}, "en_US"); got != tt.want {
			t.Errorf("%v as %s %q: %q, want %q", tt.number, tt.kind, tt.pattern, got, tt.want)
		}
	}
}

func TestFormulas(t *testing.T) {
	tests := []struct{ formula, want string }{
		{"=A1", "k"},
		{"=A9", ""},
		{`=IF(A1<>"","x","")`, "x"},
		{`=IF(A9<>"","x","")`, ""},
		{"=B1", "2020-01-01"},
		{"=B1+1", "2020-01-02"},
		{"=C1*2-3/2", "82.5"},
		{"=SUM(C1:C3)+1", "43"},
		{`="a"&A1&"""q"`, `ak"q`},
		{"=UPPER(A1)", "K"},
		{"='Other tab'!A1", "there"},
		{"=FROBNICATE(A1)", "#NAME?"},
		{"=1/0", "#DIV/0!"},
		{"=A1+1", "#VALUE!"},
		{"=(1", "#ERROR!"},
		{"=nothing", "#NAME?"},
		{"=D1", "#REF!"}, // itself
		{"=TODAY()", "11/30/2026"},
		{`=IFERROR(1/0,"none")`, "none"},
		{"=NOT(TRUE)", "FALSE"},
		{"=50%", "0.5"},
	}
	now := func() time.Time { return time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC) }
	for _, tt := range tests {
		emu := New(Options{Now: now})
		emu.Create("S1", "x")
		emu.Edit("S1", func(b *Book) {
			tab := b.Tab("Sheet1")
			tab.Set("A1", "k")
			tab.Set("B1", "2020-01-01")
			tab.Set("C1", "42")
			b.AddTab("Other tab").Set("A1", "there")
			tab.Set("D1", tt.formula)
		})
		if got := emu.Snapshot("S1").Tabs[0].Cells["D1"].Shown; got != tt.want {
			t.Errorf("%s shows %q, want %q", tt.formula, got, tt.want)
		}
	}
}

func TestFormulasFollow(t *testing.T) {
	emu := New(Options{})
	emu.Create("S1", "x")
	emu.Edit("S1", func(b *Book) {
		tab := b.Tab("Sheet1")
		tab.Set("A5", "k")
		tab.Set("B1", `=A5&Sheet1!$A$5&"A5"`)
		tab.Set("B2", "=SUM(A1:A9)")
		tab.InsertRows(3, 2)
		tab.InsertColumns("A", 1)
	})
	cells := emu.Snapshot("S1").Tabs[0].Cells
	if got := cells["C1"].Entered; got != `=B7&Sheet1!$B$7&"A5"` {
		t.Errorf("formula %v", got)
	}
	if got := cells["C2"].Entered; got != "=SUM(B1:B11)" {
		t.Errorf("formula %v", got)
	}
	emu.Edit("S1", func(b *Book) { b.Tab("Sheet1").DeleteRows(7, 1) })
	if got := emu.Snapshot("S1").Tabs[0].Cells["C1"].Shown; got != "#REF!" && !strings.HasPrefix(got, "#") {
		t.Errorf("a deleted cell shows %q", got)
	}
}

func TestRanges(t *testing.T) {
	b := New(Options{}).newBook("S1", "x")
	b.sheets = []*sheet{newSheet(b.own, 0, "Sheet1", 1000, 26), newSheet(b.own, 1, "It's D3", 10, 4), newSheet(b.own, 2, "D3", 10, 4)}
	tests := map[string]string{
		"Sheet1":            "Sheet1!A1:Z1000",
		"'Sheet1'":          "Sheet1!A1:Z1000",
		"Sheet1!A1:A":       "Sheet1!A1:A1000",
		"Sheet1!A1:1":       "Sheet1!A1:Z1",
		"Sheet1!A2:2":       "Sheet1!A2:Z2",
		"Sheet1!B:C":        "Sheet1!B1:C1000",
		"Sheet1!D4:A1":      "Sheet1!A1:D4",
		"Sheet1!A999:B2000": "Sheet1!A999:B1000",
		"B2":                "Sheet1!B2",
		"'It''s D3'!A1:B2":  "'It''s D3'!A1:B2",
		"It's D3!A1":        "'It''s D3'!A1",
		"'D3'":              "'D3'!A1:D10",
		"D3":                "Sheet1!D3",
		"sheet1!a1":         "Sheet1!A1",
	}
	for text, want := range tests {
		s, a, err := b.lookup(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := rangeText(s, a); got != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
	for _, text := range []string{"NOPE!A1", "Sheet1!A0", "Sheet1!", "nothing", ""} {
		if s, a, err := b.lookup(text); err == nil {
			t.Errorf("%q is %s", text, rangeText(s, a))
		}
	}
}
