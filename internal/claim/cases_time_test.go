package claim_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/schedule"
	"github.com/sheetclaim/sheetclaim/internal/sheetsemu"
	"github.com/sheetclaim/sheetclaim/internal/smtpsink"
)

// Cases about zones, windows, ticks and downtimes, in simulated time.

// tick asks for the run of a tick.
func (in *install) tick(when time.Time) *claim.Ticket {
	in.w.t.Helper()
	return in.start(schedule.RunID(when), func(r *claim.Request) { r.Tick = true })
}

// sleepUntil lets simulated time pass.
func sleepUntil(when time.Time) { time.Sleep(time.Until(when)) }

// The job's zone comes before the sheet's, and the server's counts for nothing; a dry
// run shows the moment with its offset.
func TestTM02ZoneOfTheJobComesFirst(t *testing.T) {
	t.Parallel()
	rows := dueRows(1)
	rows[1][2] = "2026-11-30 09:00"
	for name, tt := range map[string]struct{ zone, due string }{
		"the job's":   {"Australia/Sydney", "2026-11-30T09:00:00+11:00"},
		"the sheet's": {"", "2026-11-30T09:00:00-05:00"},
	} {
		t.Run(name, func(t *testing.T) {
			due, err := time.Parse(time.RFC3339, tt.due)
			if err != nil {
				t.Fatal(err)
			}
			inWorldAt(t, due.Add(-time.Second), rows, sheetsemu.Options{TimeZone: "America/New_York"}, smtpsink.Options{UTF8: true}, func(w *world) {
				w.alone(settings{"timezone": tt.zone}, func(in *install) {
					wantRun(t, in.run("early"), claim.RunNothingDue, 0)
					time.Sleep(2 * time.Second)
					d := in.run("dry", func(r *claim.Request) { r.DryRun = true })
					if len(d.Rows) != 1 || d.Rows[0].Due == nil || d.Rows[0].Due.Format(time.RFC3339) != tt.due {
						t.Errorf("rows of the dry run: %+v", d.Rows)
					}
					wantRun(t, in.run("due"), claim.RunSent, 1)
					if log := in.log.String(); !strings.Contains(log, "spreadsheet_zone=America/New_York") || !strings.Contains(log, "zone="+tt.zone) {
						t.Error("the log does not name both zones")
					}
				})
			})
		})
	}
}

// A tick outside the window claims nothing, and says when the window opens.
func TestTM03WindowOnASaturday(t *testing.T) {
	t.Parallel()
	paris, err := time.LoadLocation("Europe/Paris")
	if err != nil {
		t.Fatal(err)
	}
	saturday := time.Date(2026, 11, 28, 10, 0, 0, 0, paris)
	inWorldAt(t, saturday, dueRows(1), sheetsemu.Options{}, smtpsink.Options{UTF8: true}, func(w *world) {
		w.alone(settings{"timezone": "Europe/Paris", "window": `"Mon-Fri 09:00-17:00"`}, func(in *install) {
			d := in.run("1")
			wantRun(t, d, claim.RunNothingDue, 0)
			if !strings.Contains(d.Detail, "2026-11-30T09:00:00+01:00") {
				t.Errorf("detail %q", d.Detail)
			}
			if c := w.emu.Counts("one"); c.Reads+c.Writes != 0 {
				t.Errorf("calls %+v", c)
			}
			w.wantStatus(map[string]string{"k1": ""})
			sleepUntil(time.Date(2026, 11, 30, 9, 0, 0, 0, paris))
			wantRun(t, in.run("2"), claim.RunSent, 1)
		})
	})
}

// backlog is a sheet of a job that runs at nine each day: 400 rows come due for the
// ticks of three days, and one after the last of them.
func backlog(friday time.Time) [][]any {
	rows := [][]any{{"key", "email", "due", "status"}}
	add := func(n int, from time.Time) {
		for i := range n {
			k := len(rows)
			rows = append(rows, []any{fmt.Sprintf("k%d", k), fmt.Sprintf("guest%d@example.com", k), from.Add(time.Duration(i) * time.Minute).Format("2006-01-02 15:04"), ""})
		}
	}
	add(1, friday.Add(-time.Hour))
	add(200, friday.Add(time.Hour))
	add(150, friday.Add(25*time.Hour))
	add(50, friday.Add(49*time.Hour))
	add(1, friday.Add(73*time.Hour))
	return rows
}

func TestTM06BacklogAfterDowntime(t *testing.T) {
	t.Parallel()
	friday := time.Date(2026, 11, 27, 9, 0, 0, 0, time.UTC)
	monday := friday.Add(72 * time.Hour)
	for policy, tt := range map[string]struct {
		first, then, left int // messages of the tick and of the one after it; rows that are left
		late              bool
	}{
		"all":    {100, 100, 0, true},
		"newest": {51, 0, 350, true},
		"none":   {1, 0, 400, false}, // Monday's tick is not made up for: Tuesday's is the first
	} {
		t.Run(policy, func(t *testing.T) {
			inWorldAt(t, friday, backlog(friday), sheetsemu.Options{}, smtpsink.Options{UTF8: true}, func(w *world) {
				s := settings{"schedule": `"0 9 * * *"`, "timezone": "UTC", "catch_up": policy, "limit": "100"}
				w.alone(s, func(in *install) {
					ticket := in.tick(friday)
					<-ticket.Done()
					wantRun(t, ticket.Document(), claim.RunSent, 1)
				})
				sleepUntil(monday.Add(6 * time.Hour)) // the service is down for three days
				w.alone(s, func(in *install) {
					next := monday
					if !tt.late {
						next = monday.Add(24 * time.Hour)
						sleepUntil(next)
					}
					for _, want := range []int{tt.first, tt.then} {
						ticket := in.tick(next)
						<-ticket.Done()
						if d := ticket.Document(); d.Counts.Sent != want || d.Counts.Skipped != tt.left {
							t.Errorf("%s: sent %d, left %d: %s", d.RunID, d.Counts.Sent, d.Counts.Skipped, d.Detail)
						}
						next = next.Add(24 * time.Hour)
						sleepUntil(next)
					}
					if n := in.alerts()[claim.AlertRowFault]; n != 1 {
						t.Errorf("%d alerts about rows, want one with the number of them", n)
					}
					if tt.left == 0 {
						return
					}
					w.emu.Edit(spreadsheet, func(b *sheetsemu.Book) { b.Tab(tabTitle).Set("D3", "resend") })
					ticket := in.tick(next)
					<-ticket.Done()
					if d := ticket.Document(); d.Counts.Sent != 1 || d.Counts.Skipped != tt.left-1 {
						t.Errorf("after resend: %+v", d.Counts)
					}
				})
			})
		})
	}
}

// Two instances whose clocks are a second apart make one run of a tick, also when it
// finds nothing to do.
func TestTickOfTwoInstancesIsOneRun(t *testing.T) {
	t.Parallel()
	nine := time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)
	for _, n := range []int{0, 3} {
		inWorld(t, dueRows(n), func(w *world) {
			s := settings{"schedule": `"*/5 * * * *"`}
			one, two := w.install("one", "shared", s), w.install("two", "shared", s)
			var both sync.WaitGroup
			for i, in := range []*install{one, two} {
				both.Go(func() {
					time.Sleep(time.Duration(i) * time.Second)
					<-in.tick(nine).Done()
				})
			}
			both.Wait()
			<-one.tick(nine).Done() // and once more, long after it
			recs, err := one.ledger.Recent(context.Background(), "test", 10)
			if err != nil || len(recs) != 1 || recs[0].ID != "cron-20261130T0900Z" {
				t.Errorf("%d runs, %v", len(recs), err)
			}
			w.wantSent(guests(n)...)
			one.close()
			two.close()
		})
	}
}

// A tick that finds its predecessor still running leaves the rows to it.
func TestTickBehindItsPredecessor(t *testing.T) {
	t.Parallel()
	nine := time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)
	so := smtpsink.Options{UTF8: true, Rules: []smtpsink.Rule{{Phase: smtpsink.Dot, Action: smtpsink.Slow, Delay: 3 * time.Minute}}}
	inWorldWith(t, dueRows(4), sheetsemu.Options{}, so, func(w *world) {
		w.alone(settings{"schedule": `"*/5 * * * *"`, "limit": "3"}, func(in *install) {
			first := in.tick(nine)
			sleepUntil(nine.Add(5 * time.Minute))
			second := in.tick(nine.Add(5 * time.Minute))
			<-second.Done()
			d := second.Document()
			wantRun(t, d, claim.RunOverlapped, 0)
			if d.Behind != "cron-20261130T0900Z" || !strings.Contains(d.Detail, d.Behind) || in.alerts()[claim.AlertOverlap] != 1 {
				t.Errorf("%+v, alerts %v", d, in.alerts())
			}
			wantRun(t, in.run("by hand"), claim.RunSent, 1) // a caller is no tick
			<-first.Done()
			wantRun(t, first.Document(), claim.RunSent, 3)
			third := in.tick(nine.Add(10 * time.Minute))
			<-third.Done()
			wantRun(t, third.Document(), claim.RunNothingDue, 0)
			w.wantSent(guests(4)...)
		})
	})
}

// A clock that was ahead for an hour has left a downtime behind that ends in a month:
// what comes due until then is sent all the same.
func TestDowntimeOfAClockThatWasAhead(t *testing.T) {
	t.Parallel()
	rows := dueRows(1)
	rows[1][2] = "2026-12-01"
	inWorld(t, rows, func(w *world) {
		w.alone(settings{"schedule": `"0 9 * * *"`, "timezone": "UTC", "catch_up": "none"}, func(in *install) {
			ahead := claim.Downtime{Began: time.Now(), Ended: time.Now().AddDate(0, 1, 0)}
			if err := in.ledger.MissedTicks(context.Background(), "test", ahead); err != nil {
				t.Fatal(err)
			}
			time.Sleep(24 * time.Hour)
			wantRun(t, in.run("1"), claim.RunSent, 1)
		})
	})
}
