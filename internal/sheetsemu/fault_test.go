package sheetsemu

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/api/googleapi"
	"google.golang.org/api/sheets/v4"
)

// write sends one small batch and gives the error that the caller sees.
func write(ctx context.Context, srv *sheets.Service, text string) error {
	_, err := srv.Spreadsheets.BatchUpdate("S1", &sheets.BatchUpdateSpreadsheetRequest{
		Requests: []*sheets.Request{writeCell(1, 2, text)},
	}).Context(ctx).Do()
	return err
}

func read(ctx context.Context, srv *sheets.Service) (string, error) {
	v, err := srv.Spreadsheets.Values.Get("S1", "Letters!C2").Context(ctx).Do()
	if err != nil || len(v.Values) == 0 {
		return "", err
	}
	return fmt.Sprint(v.Values[0][0]), nil
}

// TestFaults plays every pair of the two switches.
func TestFaults(t *testing.T) {
	status := func(code int) func(error) bool {
		return func(err error) bool {
			var e *googleapi.Error
			return errors.As(err, &e) && e.Code == code
		}
	}
	answered := func(err error) bool { return err == nil }
	lost := func(err error) bool { return errors.Is(err, io.ErrUnexpectedEOF) }
	garbled := func(err error) bool { return err != nil && !status(0)(err) }
	tests := []struct {
		name    string
		fault   Fault
		seen    func(error) bool
		applied bool
	}{
		{"calm", Fault{}, answered, true},
		{"applied, lost", Fault{Answer: Lost}, lost, true},
		{"not applied, lost", Fault{Apply: Never, Answer: Lost}, lost, false},
		{"applied, 503", Fault{Answer: Status(503, "")}, status(503), true},
		{"not applied, 503", Fault{Apply: Never, Answer: Status(503, "")}, status(503), false},
		{"applied, cut", Fault{Answer: Cut}, garbled, true},
		{"applied, page", Fault{Answer: HTML}, garbled, true},
		{"not applied, 200", Fault{Apply: Never}, answered, false},
		{"slow", Fault{Answer: Slow(time.Minute)}, answered, true},
		{"silent", Fault{Answer: Silent}, lost, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				emu := letters(t, Options{})
				emu.Script(Rule{Match: Match{Kind: "batchUpdate"}, Fault: tt.fault})
				if err := write(t.Context(), client(t, emu, "w1"), "x"); !tt.seen(err) {
					t.Errorf("the caller saw %v", err)
				}
				if applied := len(emu.Grid("S1", "Letters")[1]) == 3; applied != tt.applied {
					t.Errorf("applied %t, want %t", applied, tt.applied)
				}
				if c := emu.Log()[0]; c.Applied != tt.applied || c.Kind != KindBatchUpdate || !c.Write {
					t.Errorf("log: %+v", c)
				}
			})
		})
	}
}

func TestLateApplication(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		emu := letters(t, Options{})
		srv := client(t, emu, "w1")
		emu.Script(Rule{Match: Match{Kind: "batchUpdate", Nth: 1}, Fault: Fault{Apply: Late(5 * time.Second), Answer: Lost}})
		start := time.Now()
		if err := write(t.Context(), srv, "late"); err == nil {
			t.Error("the lost answer arrived")
		}
		if got, err := read(t.Context(), srv); got != "" || err != nil {
			t.Errorf("applied at once: %q %v", got, err)
		}
		emu.Wait()
		if waited := time.Since(start); waited != 5*time.Second {
			t.Errorf("applied after %v", waited)
		}
		if got, _ := read(t.Context(), srv); got != "late" {
			t.Errorf("shows %q", got)
		}
	})
}

// TestCallerGivesUp has the caller leave before the request arrives: it is
// applied all the same.
func TestCallerGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		emu := letters(t, Options{})
		srv := client(t, emu, "w1")
		emu.Script(Rule{Match: Match{Writes: true}, Fault: Fault{Delay: 10 * time.Second}})
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
		defer cancel()
		start := time.Now()
		if err := write(ctx, srv, "x"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the caller saw %v", err)
		}
		if gone := time.Since(start); gone != 4*time.Second {
			t.Errorf("gave up after %v", gone)
		}
		emu.Wait()
		if c := emu.Log()[0]; !c.Applied || c.AppliedAt.Sub(start) != 10*time.Second || c.Status != 0 {
			t.Errorf("log: applied %t after %v, status %d", c.Applied, c.AppliedAt.Sub(start), c.Status)
		}
	})
}

func TestStaleRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		emu := letters(t, Options{})
		srv := client(t, emu, "w1")
		time.Sleep(10 * time.Second)
		for _, text := range []string{"one", "two", "three"} {
			if err := write(t.Context(), srv, text); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Second)
		}
		for age, want := range map[time.Duration]string{0: "three", time.Second: "three", 3 * time.Second: "two", 5 * time.Second: "one", 9 * time.Second: ""} {
			emu.SetFaults(Calm)
			emu.Script(Rule{Match: Match{Reads: true}, Fault: Fault{Stale: age}})
			if got, err := read(t.Context(), srv); got != want || err != nil {
				t.Errorf("%v ago: %q %v, want %q", age, got, err, want)
			}
		}
	})
}

func TestScriptCounts(t *testing.T) {
	emu := letters(t, Options{})
	srv := client(t, emu, "w1")
	emu.Script(Rule{Match: Match{Kind: KindBatchUpdate, Nth: 2, Count: 2}, Fault: Fault{Answer: Status(500, "")}})
	var got []bool
	for range 5 {
		got = append(got, write(t.Context(), srv, "x") == nil)
	}
	if fmt.Sprint(got) != "[true false false true true]" {
		t.Errorf("answers %v", got)
	}
}

func TestQuota(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		emu := letters(t, Options{Quota: 3, Users: map[string]string{"w1": "robot@example.org", "w2": "robot@example.org"}})
		one, two := client(t, emu, "w1"), client(t, emu, "w2")
		for i, srv := range []*sheets.Service{one, two, one} {
			if _, err := read(t.Context(), srv); err != nil {
				t.Fatalf("read %d: %v", i, err)
			}
		}
		_, err := read(t.Context(), two)
		wantRefusal(t, err, 429, "Quota exceeded for quota metric 'Read requests' and limit 'Read requests per minute per user' of service 'sheets.googleapis.com' for consumer 'project_number:603366585132'.")
		if err := write(t.Context(), two, "x"); err != nil {
			t.Errorf("writes count apart: %v", err)
		}
		time.Sleep(time.Minute)
		if _, err := read(t.Context(), two); err != nil {
			t.Errorf("a minute later: %v", err)
		}
		if got := emu.Counts("w2"); got != (Counts{Reads: 3, Writes: 1}) {
			t.Errorf("counts %+v", got)
		}
	})
}

// TestHooksEditBetween has a person insert a row right before the second batch.
func TestHooksEditBetween(t *testing.T) {
	emu := letters(t, Options{})
	srv := client(t, emu, "w1")
	remove := emu.Before(func(c *Call) {
		if c.Kind == KindBatchUpdate && c.Nth == 2 {
			emu.Edit("S1", func(b *Book) { b.Tab("Letters").InsertRows(2, 1) })
		}
	})
	for _, text := range []string{"first", "second"} {
		if err := write(t.Context(), srv, text); err != nil {
			t.Fatal(err)
		}
	}
	remove()
	grid := emu.Grid("S1", "Letters")
	if grid[1][2] != "second" || grid[2][2] != "first" {
		t.Errorf("grid %q", grid)
	}
}

// TestChanceIgnoresInterleaving draws the same faults however callers mix.
func TestChanceIgnoresInterleaving(t *testing.T) {
	draws := func(concurrent bool) map[string]string {
		out := map[string]string{}
		synctest.Test(t, func(t *testing.T) {
			emu := letters(t, Options{Seed: 42, Faults: Realistic, Quota: -1})
			work := func(caller string) {
				srv := client(t, emu, caller)
				for range 100 {
					_ = write(t.Context(), srv, caller)
				}
			}
			var wg sync.WaitGroup
			for _, caller := range []string{"a", "b", "c"} {
				if concurrent {
					wg.Go(func() { work(caller) })
				} else {
					work(caller)
				}
			}
			wg.Wait()
			emu.Wait()
			for _, c := range emu.Log() {
				out[c.Caller] += fmt.Sprintf("%+v\n", c.Fault)
			}
		})
		return out
	}
	one, many := draws(false), draws(true)
	for caller, want := range one {
		if many[caller] != want {
			t.Errorf("caller %s was drawn other faults", caller)
		}
	}
	if !strings.Contains(one["a"]+one["b"]+one["c"], "503") {
		t.Error("300 realistic writes had no fault")
	}
}
