package sheets

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	api "google.golang.org/api/sheets/v4"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

func TestToCell(t *testing.T) {
	for name, tt := range map[string]struct {
		in   string
		want claim.Cell
	}{
		"blank":              {`{}`, claim.Cell{}},
		"format alone":       {`{"effectiveFormat":{"numberFormat":{"type":"DATE"}}}`, claim.Cell{}},
		"text":               {`{"userEnteredValue":{"stringValue":"a"},"effectiveValue":{"stringValue":"a"},"formattedValue":"a"}`, claim.Cell{Kind: claim.Text, Shown: "a"}},
		"text as stored":     {`{"userEnteredValue":{"stringValue":"a"},"effectiveValue":{"stringValue":"a"},"formattedValue":"a kg"}`, claim.Cell{Kind: claim.Text, Shown: "a"}},
		"number":             {`{"userEnteredValue":{"numberValue":1900000000000000},"effectiveValue":{"numberValue":1900000000000000},"formattedValue":"1.9E+15"}`, claim.Cell{Kind: claim.Number, Shown: "1.9E+15", Number: 1.9e15}},
		"zero":               {`{"userEnteredValue":{"numberValue":0},"effectiveValue":{"numberValue":0}}`, claim.Cell{Kind: claim.Number, Shown: "0"}},
		"SH15 date":          {`{"userEnteredValue":{"numberValue":46027.375},"effectiveValue":{"numberValue":46027.375},"formattedValue":"05/01/2026 09:00","effectiveFormat":{"numberFormat":{"type":"DATE_TIME"}}}`, claim.Cell{Kind: claim.Date, Shown: "05/01/2026 09:00", Number: 46027.375}},
		"time of day":        {`{"userEnteredValue":{"numberValue":0.375},"effectiveValue":{"numberValue":0.375},"formattedValue":"09:00","effectiveFormat":{"numberFormat":{"type":"TIME"}}}`, claim.Cell{Kind: claim.Number, Shown: "09:00", Number: 0.375}},
		"date out of reach":  {`{"userEnteredValue":{"numberValue":1e12},"effectiveValue":{"numberValue":1e12},"formattedValue":"1e12","effectiveFormat":{"numberFormat":{"type":"DATE"}}}`, claim.Cell{Kind: claim.Number, Shown: "1e12", Number: 1e12}},
		"SH17 checkbox":      {`{"userEnteredValue":{"boolValue":false},"effectiveValue":{"boolValue":false},"formattedValue":"FALSO"}`, claim.Cell{Kind: claim.Bool, Shown: "FALSO"}},
		"SH17 ticked":        {`{"userEnteredValue":{"boolValue":true},"effectiveValue":{"boolValue":true},"formattedValue":"VERO"}`, claim.Cell{Kind: claim.Bool, Shown: "VERO", Bool: true}},
		"SH17 text":          {`{"userEnteredValue":{"stringValue":"FALSE"},"effectiveValue":{"stringValue":"FALSE"},"formattedValue":"FALSE"}`, claim.Cell{Kind: claim.Text, Shown: "FALSE"}},
		"SH19 formula":       {`{"userEnteredValue":{"formulaValue":"=IF(F2<>\"\",\"done\",\"\")"},"effectiveValue":{"stringValue":"done"},"formattedValue":"done"}`, claim.Cell{Kind: claim.Text, Shown: "done", Formula: true}},
		"SH19 shows nothing": {`{"userEnteredValue":{"formulaValue":"=IF(F2<>\"\",\"done\",\"\")"},"effectiveValue":{"stringValue":""}}`, claim.Cell{Formula: true}},
		"SH19 no value":      {`{"userEnteredValue":{"formulaValue":"=\"\""}}`, claim.Cell{Formula: true}},
		"SH19 spilled":       {`{"effectiveValue":{"stringValue":"done"},"formattedValue":"done"}`, claim.Cell{Kind: claim.Text, Shown: "done", Formula: true}},
		"SH19 spilled ''":    {`{"effectiveValue":{"stringValue":""}}`, claim.Cell{Formula: true}},
		"error":              {`{"userEnteredValue":{"formulaValue":"=1/0"},"effectiveValue":{"errorValue":{"type":"DIVIDE_BY_ZERO"}},"formattedValue":"#DIV/0!"}`, claim.Cell{Kind: claim.Error, Shown: "#DIV/0!", Formula: true}},
		"loading":            {`{"userEnteredValue":{"formulaValue":"=IMPORTDATA(A1)"},"effectiveValue":{"errorValue":{"type":"LOADING"}},"formattedValue":"Loading..."}`, claim.Cell{Kind: claim.Error, Shown: "Loading...", Formula: true}},
		"made by formula":    {`{"userEnteredValue":{"formulaValue":"=NOW()"},"effectiveValue":{"numberValue":46027.375},"formattedValue":"x","effectiveFormat":{"numberFormat":{"type":"DATE"}}}`, claim.Cell{Kind: claim.Date, Shown: "x", Number: 46027.375, Formula: true}},
	} {
		t.Run(name, func(t *testing.T) {
			var d api.CellData
			if err := json.Unmarshal([]byte(tt.in), &d); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, toCell(&d)); diff != "" {
				t.Error(diff)
			}
		})
	}
	if got := toCell(nil); got != (claim.Cell{}) {
		t.Errorf("toCell(nil) = %+v", got)
	}
}
