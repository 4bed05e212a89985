// Package sheetsemu is an in-memory emulator of the Google Sheets API v4.
//
// It answers the methods of spreadsheets, spreadsheets.values and
// spreadsheets.developerMetadata with the bodies that the real service gives,
// as far as these are known from its documentation, from recorded traffic and
// from written-up probes; docs/EMULATOR.md lists where it departs and what is
// unknown. Google's own Go client works over it unchanged:
//
//	emu := sheetsemu.New(sheetsemu.Options{Seed: 7, Faults: sheetsemu.Realistic})
//	err := emu.LoadCSV("S1", "Letters", file)
//	client := &http.Client{Transport: emu.Transport("worker-1")}
//	srv, err := sheets.NewService(ctx, option.WithHTTPClient(client))
//
// What makes it worth having is what goes wrong. A write is applied or not and
// answered or not, as two independent switches (see [Fault]); a read can show
// an older state; the quota is counted by the injected clock. Faults are
// scripted with [Emulator.Script] or drawn by chance from one seed.
//
// A person who works in the same sheet is played with [Emulator.Edit], at any
// moment, or between two calls with [Emulator.Before] and [Emulator.After].
//
// The in-process transport opens no socket, honours the request's context and
// keeps no goroutine beyond a call, save a late application that ends by
// itself, so that it runs inside testing/synctest bubbles.
package sheetsemu
