package claim_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/sheetsemu"
	"github.com/sheetclaim/sheetclaim/internal/smtpsink"
)

const rounds = 20

// together starts one run in each installation and waits for all.
func together(ins []*install, id string) []claim.Document {
	tickets := make([]*claim.Ticket, len(ins))
	for i, in := range ins {
		tickets[i] = in.start(fmt.Sprintf("%s-%d", id, i))
	}
	docs := make([]claim.Document, len(ins))
	for i, t := range tickets {
		<-t.Done()
		docs[i] = t.Document()
	}
	return docs
}

// threeInstalls runs f with three installations.
func (w *world) threeInstalls(ledgers [3]string, s settings, f func(ins []*install)) {
	var ins []*install
	for i, l := range ledgers {
		ins = append(ins, w.install(fmt.Sprintf("p%d", i), l, s))
	}
	f(ins)
	for _, in := range ins {
		in.close()
	}
}

func TestOV01ThreeRunsOneLedger(t *testing.T) {
	t.Parallel()
	for round := range rounds {
		inWorld(t, dueRows(3), func(w *world) {
			w.threeInstalls([3]string{"one", "one", "one"}, nil, func(ins []*install) {
				outcomes := map[claim.RunOutcome]int{}
				for _, d := range together(ins, "r") {
					outcomes[d.Outcome]++
				}
				if outcomes[claim.RunSent] != 1 || outcomes[claim.RunOverlapped] != 2 {
					t.Errorf("round %d: outcomes %v, want one sent and two overlapped", round, outcomes)
				}
				w.wantSent(guests(3)...)
				w.wantStatus(map[string]string{"k1": "sent", "k2": "sent", "k3": "sent"})
				if n := ins[0].alerts()[claim.AlertOverlap]; n != 2 {
					t.Errorf("round %d: %d overlap alerts queued, want one for each losing run, which delivery groups", round, n)
				}
			})
		})
	}
}

func TestOV02RunsSecondsApart(t *testing.T) {
	t.Parallel()
	so := smtpsink.Options{Rules: []smtpsink.Rule{{Phase: smtpsink.Dot, Action: smtpsink.Slow, Delay: 1500 * time.Millisecond}}}
	inWorldWith(t, dueRows(10), sheetsemu.Options{}, so, func(w *world) {
		w.alone(nil, func(in *install) {
			var tickets []*claim.Ticket
			began := time.Now()
			for i, offset := range []time.Duration{0, time.Second, 12 * time.Second, 35 * time.Second} {
				time.Sleep(time.Until(began.Add(offset)))
				tickets = append(tickets, in.start(fmt.Sprintf("r%d", i)))
			}
			sent := 0
			for _, tk := range tickets {
				<-tk.Done()
				sent += tk.Document().Counts.Sent
			}
			if sent != 10 {
				t.Errorf("the runs report %d sent rows, want 10", sent)
			}
			w.wantSent(guests(10)...)
		})
	})
}

func TestOV03TwoTemplatesMilliSecondsApart(t *testing.T) {
	t.Parallel()
	inWorld(t, dueRows(4), func(w *world) {
		a := w.install("old", "one", settings{"message": `{subject: "from old {{key}}", text: "x"}`})
		b := w.install("new", "one", settings{"message": `{subject: "from new {{key}}", text: "x"}`})
		first := a.start("old-1")
		time.Sleep(20 * time.Millisecond)
		second := b.start("new-1")
		<-first.Done()
		<-second.Done()
		w.wantSent(guests(4)...)
		winner, loser := first.Document(), second.Document()
		word := "from old"
		if winner.Counts.Sent == 0 {
			winner, loser, word = loser, winner, "from new"
		}
		wantRun(t, winner, claim.RunSent, 4)
		for _, m := range w.sink.Messages() {
			if p, err := m.Parse(); err != nil || !strings.HasPrefix(p.Get("Subject"), word) {
				t.Errorf("a message is not the winner's: %q %v", p.Get("Subject"), err)
			}
		}
		for _, r := range loser.Rows {
			if r.Outcome != claim.Taken {
				t.Errorf("the loser reports %s for %s, want taken", r.Outcome, r.Key)
			}
		}
		a.close()
		b.close()
	})
}

func TestOV04TenCallsWithoutAName(t *testing.T) {
	t.Parallel()
	inWorld(t, dueRows(5), func(w *world) {
		w.alone(nil, func(in *install) {
			var tickets []*claim.Ticket
			for i := range 10 {
				tickets = append(tickets, in.start(fmt.Sprintf("made-%d", i)))
			}
			outcomes := map[claim.RunOutcome]int{}
			for _, tk := range tickets {
				<-tk.Done()
				outcomes[tk.Document().Outcome]++
			}
			if outcomes[claim.RunSent] != 1 || outcomes[claim.RunOverlapped] != 9 {
				t.Errorf("outcomes %v, want one sent and nine overlapped", outcomes)
			}
			w.wantSent(guests(5)...)
		})
	})
}

func TestManyCallsWithOneNameAreOneRun(t *testing.T) {
	t.Parallel()
	inWorld(t, dueRows(2), func(w *world) {
		w.alone(nil, func(in *install) {
			seqs := map[int64]bool{}
			var tickets []*claim.Ticket
			for range 20 {
				tk := in.start("4711")
				seqs[tk.Run.Seq] = true
				tickets = append(tickets, tk)
			}
			for _, tk := range tickets {
				<-tk.Done()
				wantRun(t, tk.Document(), claim.RunSent, 2)
			}
			if len(seqs) != 1 {
				t.Errorf("one name made %d runs", len(seqs))
			}
			if again := in.start("4711"); !again.Replayed {
				t.Error("a finished run was not replayed")
			}
			if _, err := in.svc.Start(context.Background(), claim.Request{Job: "test", RunID: "4711", Limit: 1}); err == nil {
				t.Error("the same name with another limit was not refused")
			}
			w.wantSent(guests(2)...)
		})
	})
}

func TestOV05SeparateLedgers(t *testing.T) {
	t.Parallel()
	for round := range rounds {
		inWorld(t, dueRows(5), func(w *world) {
			w.threeInstalls([3]string{"a", "b", "c"}, nil, func(ins []*install) {
				w.jitter(time.Second)
				docs := together(ins, "r")
				w.quiet(ins)
				w.wantSent(guests(5)...)
				w.noClaims()
				for _, d := range docs {
					if len(d.Doubts) > 0 && d.Counts.Sent > 0 {
						t.Logf("round %d: %s stopped on %s after %d", round, d.RunID, d.Doubts[0].Kind, d.Counts.Sent)
					}
				}
			})
		})
	}
}

// Without the fence, a run whose read-to-claim time exceeds the limit gives back
// and sends nothing.
func TestOV05TooSlowWithoutFence(t *testing.T) {
	t.Parallel()
	inWorld(t, dueRows(5), func(w *world) {
		w.alone(nil, func(in *install) {
			in.sheet = withoutFence
			w.emu.Script(sheetsemu.Rule{
				Match: sheetsemu.Match{Kind: sheetsemu.KindBatchUpdate, Nth: 1},
				Fault: sheetsemu.Fault{Answer: sheetsemu.Slow(6 * time.Second)},
			})
			d := in.run("slow")
			wantRun(t, d, claim.RunStopped, 0)
			if len(d.Doubts) == 0 || d.Doubts[0].Kind != claim.TooSlow {
				t.Errorf("doubts %v, want too_slow", d.Doubts)
			}
			w.noClaims()
			w.wantSent()
		})
	})
}

// Without the fence, wait and second read keep our runs and a tool that claims by
// plain writes apart.
func TestForeignClaimerWithoutFence(t *testing.T) {
	t.Parallel()
	stopped := 0
	for round := range rounds {
		inWorld(t, dueRows(6), func(w *world) {
			w.threeInstalls([3]string{"a", "b", "c"}, nil, func(ins []*install) {
				rng := rand.New(rand.NewPCG(uint64(round), 1))
				for _, in := range ins {
					in.sheet = withoutFence
				}
				w.jitter(500 * time.Millisecond)
				foreign := newForeign(w, rand.New(rand.NewPCG(uint64(round), 2)))
				done := make(chan bool)
				go func() { foreign.run(); close(done) }()
				time.Sleep(time.Duration(rng.Int64N(int64(4 * time.Second))))
				for _, d := range together(ins, "r") {
					if d.Outcome == claim.RunStopped {
						stopped++
					}
				}
				<-done
				w.quiet(ins)
				got := w.sent()
				for to, n := range foreign.sent {
					got[to] += n
				}
				for _, to := range guests(6) {
					if got[to] != 1 {
						t.Errorf("round %d: %s got %d messages (%d by the other tool)", round, to, got[to], foreign.sent[to])
					}
				}
			})
		})
	}
	t.Logf("%d of %d runs stopped on a doubt in %d rounds", stopped, 3*rounds, rounds)
}

// quiet runs until a run finds nothing to do.
func (w *world) quiet(ins []*install) {
	w.t.Helper()
	for try := range 10 {
		d := ins[0].run(fmt.Sprintf("quiet-%d", try))
		if d.Outcome == claim.RunNothingDue {
			return
		}
		time.Sleep(time.Minute)
	}
	w.t.Error("the sheet does not come to rest")
}

// noClaims fails when a claim of ours is left in the sheet.
func (w *world) noClaims() {
	w.t.Helper()
	for _, row := range w.emu.Grid(spreadsheet, tabTitle) {
		for _, text := range row {
			if s := claim.ParseStatus(text); s.Kind == claim.StatusSending && s.Token != "" {
				w.t.Errorf("a claim is left in the sheet: %q", row)
			}
		}
	}
}

// jitter slows every call by a random time.
func (w *world) jitter(most time.Duration) {
	w.emu.SetFaults(sheetsemu.Faults{Latency: most / 4, Jitter: most})
}

// unfenced is a sheet client whose claims never meet in the fence.
type unfenced struct{ claim.Sheet }

func withoutFence(s claim.Sheet) claim.Sheet { return unfenced{s} }

func (u unfenced) Claim(ctx context.Context, g *claim.Grid, b claim.Batch) (*claim.Grid, error) {
	b.Stamp.N = rand.Uint64() >> 1
	return u.Sheet.Claim(ctx, g, b)
}

func (u unfenced) Read(ctx context.Context, t claim.Target, ask claim.Ask) (*claim.Grid, error) {
	g, err := u.Sheet.Read(ctx, t, ask)
	if g != nil {
		g.Fence = nil
	}
	return g, err
}

// foreign is a tool of the kind that the guides describe for n8n: it reads the
// sheet, writes "sending <id>" into empty cells by plain writes, waits, reads back,
// and mails the rows that still carry its text.
type foreign struct {
	w    *world
	rng  *rand.Rand
	sent map[string]int
}

func newForeign(w *world, rng *rand.Rand) *foreign {
	return &foreign{w: w, rng: rng, sent: map[string]int{}}
}

func (f *foreign) pause(most time.Duration) { time.Sleep(time.Duration(f.rng.Int64N(int64(most)))) }

func (f *foreign) run() {
	const text = "sending 4712"
	grid := f.w.emu.Grid(spreadsheet, tabTitle)
	f.pause(3 * time.Second) // between its read and its writes anything may happen
	for i := 1; i < len(grid); i++ {
		if len(grid[i]) < 4 || grid[i][3] == "" {
			f.w.emu.Edit(spreadsheet, func(b *sheetsemu.Book) { b.Tab(tabTitle).Set(fmt.Sprintf("D%d", i+1), text) })
			f.pause(300 * time.Millisecond)
		}
	}
	time.Sleep(15 * time.Second)
	for i, row := range f.w.emu.Grid(spreadsheet, tabTitle) {
		if len(row) > 3 && row[3] == text {
			f.sent[row[1]]++
			f.w.emu.Edit(spreadsheet, func(b *sheetsemu.Book) { b.Tab(tabTitle).Set(fmt.Sprintf("D%d", i+1), "sent") })
		}
	}
}

func TestOV12DelayedClaim(t *testing.T) {
	t.Parallel()
	inWorld(t, dueRows(4), func(w *world) {
		w.threeInstalls([3]string{"a", "b", "c"}, nil, func(ins []*install) {
			// B's claim reaches the sheet only when its confirmation would have been too
			// late already.
			w.emu.Script(sheetsemu.Rule{
				Match: sheetsemu.Match{Kind: sheetsemu.KindBatchUpdate, Caller: "p1", Nth: 1},
				Fault: sheetsemu.Fault{Delay: 50 * time.Second},
			})
			docs := together(ins, "r")
			if docs[1].Counts.Sent != 0 {
				t.Errorf("the delayed run sent %d", docs[1].Counts.Sent)
			}
			time.Sleep(2 * time.Minute)
			w.quiet(ins)
			w.wantSent(guests(4)...)
			w.noClaims()
		})
	})
}

// Alone with its delayed claim, a run finds out that it was not applied, sees to it
// that it never will be, and claims anew.
func TestLateClaimOfOneRun(t *testing.T) {
	t.Parallel()
	inWorld(t, dueRows(4), func(w *world) {
		w.alone(nil, func(in *install) {
			w.emu.Script(sheetsemu.Rule{
				Match: sheetsemu.Match{Kind: sheetsemu.KindBatchUpdate, Nth: 1},
				Fault: sheetsemu.Fault{Apply: sheetsemu.Late(50 * time.Second), Answer: sheetsemu.Lost},
			})
			wantRun(t, in.run("1"), claim.RunSent, 4)
			time.Sleep(2 * time.Minute)
			w.noClaims()
			w.wantSent(guests(4)...)
		})
	})
}
