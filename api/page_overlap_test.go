package api_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sheetclaim/sheetclaim/api"
	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// past is the history of a job in the last hour: two runs that meet, one of a minute
// later that goes on, and a claim of another tool.
func past(since time.Time) claim.History {
	at := func(m int) time.Time { return since.Add(time.Duration(m) * time.Minute) }
	return claim.History{
		Since: since, Until: at(60),
		Runs: []claim.Span{
			{Run: "first", Began: at(0), Until: at(30), Ended: true, Claimed: true},
			{Run: "second", Began: at(15), Until: at(25), Ended: true},
			{Run: "third", Began: at(31), Until: at(60)},
		},
		Foreign: []claim.ForeignClaim{{At: at(45), Key: "B-7"}},
	}
}

// withPast makes servers remember a history of each job.
func withPast(h func(since time.Time) claim.History) func(*api.Config) {
	return func(c *api.Config) {
		c.History = func(_ context.Context, _ string, since time.Time) (claim.History, error) { return h(since), nil }
		c.Overlap = func(context.Context, string) (claim.Overlap, error) { return h(noon).Overlap(40 * time.Minute), nil }
	}
}

func TestPageOverlap(t *testing.T) {
	v := visit(t, newServer(t, &book{}, withPast(past)))
	page := v.want(200, "/overlap?last=hour", "runs overlap regularly", "over half of the interval", "1 of 3", "75 %", "30 min", "40 min", "B-7",
		`<rect class="run" x="0" y="2" width="500" height="12">`,     // half of the hour
		`<rect class="late" x="250" y="18" width="166" height="12">`, // a lane lower: it met the first
		`<rect class="run" x="516" y="2" width="484" height="12">`,   // back in the first lane
		`<rect class="other" x="750" y="36" width="2" height="12">`, "third: 29 min, not ended", `href="/runs/reviews/second"`,
		`<a href="/overlap?last=week">7 days</a>`, `<strong aria-current="true">1 hour</strong>`)
	if n := strings.Count(page, `class="late" x`) - strings.Count(page, `class="late" x="0" y="2" width="375" height="6"`); n != 1 {
		t.Errorf("%d bars stand out", n)
	}
	v.want(200, "/overlap", `<strong aria-current="true">24 hours</strong>`)
	v.want(200, "/overlap?last=ever", `<strong aria-current="true">1 hour</strong>`)

	quiet := visit(t, newServer(t, &book{}, withPast(func(since time.Time) claim.History {
		return claim.History{Since: since, Until: since.Add(time.Hour)}
	})))
	quiet.want(200, "/overlap", "not known yet", "No run began in this time", "No run has claimed a row since")
	visit(t, newServer(t, &book{})).want(404, "/overlap")
	broken := visit(t, newServer(t, &book{}, withPast(past), func(c *api.Config) {
		c.History = func(context.Context, string, time.Time) (claim.History, error) {
			return claim.History{}, errors.New("away")
		}
	}))
	broken.want(503, "/overlap", "The ledger did not answer")
}

// A viewer sees the runs of the token's jobs alone.
func TestPageOverlapRights(t *testing.T) {
	v := visit(t, twoTenants(t, &desk{}, withPast(past)))
	v.login(secret)
	if page := v.want(200, "/overlap", "reviews"); strings.Contains(page, "invoices") {
		t.Errorf("the other tenant's job is shown:\n%s", page)
	}
}

func TestPageOverlapEscapes(t *testing.T) {
	v := visit(t, newServer(t, &book{}, withPast(func(since time.Time) claim.History {
		h := past(since)
		for i := range h.Runs {
			h.Runs[i].Run = hostileCell
		}
		h.Foreign[0].Key = hostileCell
		return h
	})))
	harmless(t, "/overlap", v.want(200, "/overlap"))
}

// A busy week is drawn with its newest runs, and says so.
func TestPageOverlapIsBounded(t *testing.T) {
	v := visit(t, newServer(t, &book{}, withPast(func(since time.Time) claim.History {
		h := claim.History{Since: since, Until: since.Add(time.Hour)}
		for i := range 1000 { // each goes on for all the time
			h.Runs = append(h.Runs, claim.Span{Run: "r", Began: since.Add(time.Duration(i) * time.Second), Until: h.Until})
		}
		return h
	})))
	page := v.want(200, "/overlap", "200 older runs are not drawn", `height="132"`)
	if n := strings.Count(page, `height="12"></rect></a>`); n != 800 {
		t.Errorf("%d bars are drawn", n)
	}
}
