package sheets

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/sheetsemu"
)

// What the emulator has of Google's own refusals is told to people as something to
// do.
func TestRefusalsAreExplained(t *testing.T) {
	for name, tc := range map[string]struct {
		status int
		body   string
		want   string
	}{
		"scopes":      {403, sheetsemu.ScopesBody(), "scope"},
		"office file": {400, sheetsemu.OfficeFileBody(), "Excel"},
		"switched off": {
			403, sheetsemu.ServiceDisabledBody("1234567890"), "enable the Sheets API in project",
		},
		"not found": {404, sheetsemu.NotFoundBody(), "not found"},
	} {
		t.Run(name, func(t *testing.T) {
			emu := sheetsemu.New(sheetsemu.Options{})
			emu.Create("S", "S")
			emu.Script(sheetsemu.Rule{Fault: sheetsemu.Fault{Answer: sheetsemu.Status(tc.status, tc.body)}})
			c, err := New(context.Background(), Config{Transport: emu.Transport("test")})
			if err != nil {
				t.Fatal(err)
			}
			_, err = c.Read(context.Background(), claim.Target{Spreadsheet: "S", Range: "Sheet1"}, claim.Ask{})
			var sheet *claim.SheetError
			if !errors.As(err, &sheet) || !sheet.Setup || sheet.Advice == "" || !strings.Contains(sheet.Error(), tc.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}
