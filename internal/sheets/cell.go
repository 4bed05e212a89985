package sheets

import (
	"math"
	"strconv"

	api "google.golang.org/api/sheets/v4"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// cellFields is what toCell needs of a cell. userEnteredValue comes whole: its
// absence beside a value is what tells a cell that an ARRAYFORMULA spills into.
const cellFields = "userEnteredValue,effectiveValue,formattedValue,effectiveFormat(numberFormat(type))"

// toCell reads one cell of grid data (documented: CellData). A text is taken as it
// is stored, since a number format such as @" kg" shows more than the cell holds
// and a claim text must be found again exactly.
func toCell(d *api.CellData) claim.Cell {
	if d == nil {
		return claim.Cell{}
	}
	entered, value := d.UserEnteredValue, d.EffectiveValue
	c := claim.Cell{Shown: d.FormattedValue}
	c.Formula = entered != nil && entered.FormulaValue != nil || entered == nil && value != nil
	switch {
	case value == nil:
		c.Shown = ""
	case value.StringValue != nil:
		c.Shown = *value.StringValue
		if c.Shown != "" {
			c.Kind = claim.Text
		}
	case value.BoolValue != nil:
		c.Kind, c.Bool = claim.Bool, *value.BoolValue
	case value.ErrorValue != nil:
		c.Kind = claim.Error
	case value.NumberValue != nil:
		setNumber(&c, *value.NumberValue, d.EffectiveFormat)
	}
	return c
}

// setNumber makes c a number, or a date where its format says so. A format of type
// TIME shows no day, so that a value under it is left a number: nobody who looks
// at the sheet could tell which day is meant.
func setNumber(c *claim.Cell, n float64, format *api.CellFormat) {
	c.Kind, c.Number = claim.Number, n
	if c.Shown == "" {
		c.Shown = strconv.FormatFloat(n, 'f', -1, 64)
	}
	if format == nil || format.NumberFormat == nil || math.Abs(n) > maxSerial {
		return
	}
	switch format.NumberFormat.Type {
	case "DATE", "DATE_TIME":
		c.Kind = claim.Date
	}
}

// maxSerial is about the year 9999, where sheets stop to show dates.
const maxSerial = 2_958_466
