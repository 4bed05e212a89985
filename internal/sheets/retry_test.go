package sheets

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// readIn reads over scripted answers inside a bubble and tells how long it took.
func readIn(ctx context.Context, t *testing.T, answers ...answer) (g *claim.Grid, tries int, took time.Duration, err error) {
	t.Helper()
	c, net := with(t, answers...)
	began := time.Now()
	g, err = c.Read(ctx, visits().Target, claim.Ask{Fence: true})
	return g, len(net.log), time.Since(began), err
}

func TestReadIsTriedAgain(t *testing.T) {
	good := reply(200, headerOnly)
	for _, tt := range doubts {
		if tt.name == "response range refused" {
			continue // not a matter of reads
		}
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				g, tries, took, err := readIn(context.Background(), t, tt.answer, tt.answer, good)
				if err != nil || tries != 3 || took != 4*time.Second {
					t.Fatalf("%d tries in %s: %v", tries, took, err)
				}
				if !g.Began.Equal(began.Add(took)) {
					t.Errorf("age counts from %s, not from the try that succeeded", g.Began.Sub(began))
				}
				_, tries, _, err = readIn(context.Background(), t, tt.answer)
				if words := sheetError(t, err); tries != 3 || words.Setup {
					t.Errorf("%d tries: %v", tries, err)
				}
			})
		})
	}
	t.Run("without holding a write for each try", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := &script{answers: []answer{reply(503, ""), reply(503, ""), good, reply(200, `{"spreadsheetId":"S1","replies":[{}]}`)}}
			c := newClient(t, Config{Transport: s, WritesPerMinute: 2})
			if _, err := c.Read(context.Background(), visits().Target, claim.Ask{Fence: true}); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			if err := writes["replace"](c); err != nil || time.Since(began) != 0 {
				t.Errorf("%v after %s", err, time.Since(began))
			}
		})
	})
	t.Run("no answer in time", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			if _, tries, took, err := readIn(context.Background(), t, hang, good); err != nil || tries != 2 || took != 91500*time.Millisecond {
				t.Errorf("%d tries in %s: %v", tries, took, err)
			}
		})
	})
}

func TestReadIsNotTriedAgain(t *testing.T) {
	for _, tt := range refusals {
		if strings.HasPrefix(tt.name, "quota") {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			_, tries, _, err := readIn(context.Background(), t, tt.answer)
			if sheetError(t, err); tries != 1 {
				t.Errorf("%d tries: %v", tries, err)
			}
		})
	}
	t.Run("GS07 not shared", func(t *testing.T) {
		c, _ := with(t, refuse(403, "PERMISSION_DENIED", "The caller does not have permission"))
		_, err := c.Read(context.Background(), visits().Target, claim.Ask{})
		words := sheetError(t, err)
		if words.Problem != "no access to the spreadsheet" || words.Advice != "share the sheet with the account of the credentials as editor" {
			t.Errorf("%q, advice %q", words.Problem, words.Advice)
		}
	})
	t.Run("when the context has ended", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			_, tries, took, err := readIn(ctx, t, hang)
			if tries != 1 || took != 10*time.Second || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%d tries in %s: %v", tries, took, err)
			}
			sheetError(t, err)
		})
	})
}

func TestGS01(t *testing.T) {
	full := refuse(429, "RESOURCE_EXHAUSTED", "Quota exceeded for quota metric 'Read requests'")
	good := reply(200, headerOnly)
	jitter := 2500 * time.Millisecond // half of the most

	t.Run("429 twice, then 200", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			g, tries, took, err := readIn(context.Background(), t, full, full, good)
			if err != nil || tries != 3 || took != 2*(period+jitter) {
				t.Fatalf("%d tries in %s: %v", tries, took, err)
			}
			if time.Since(g.Began) != 0 {
				t.Errorf("age %s: waiting counts", time.Since(g.Began))
			}
		})
	})
	t.Run("429 for ever", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			_, tries, _, err := readIn(context.Background(), t, full)
			if words := sheetError(t, err); tries != 3 || words.Setup || !strings.Contains(words.Problem, "used up") {
				t.Errorf("%d tries: %v", tries, err)
			}
		})
	})
	t.Run("no time to wait for it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
			defer cancel()
			_, tries, took, err := readIn(ctx, t, full)
			if words := sheetError(t, err); tries != 1 || took != 0 || !strings.Contains(words.Problem, "used up") {
				t.Errorf("%d tries in %s: %v", tries, took, err)
			}
		})
	})
	t.Run("Retry-After", func(t *testing.T) {
		for _, after := range []string{"7", time.Date(2000, 1, 1, 0, 0, 7, 0, time.UTC).Format(http.TimeFormat)} { // bubbles begin at 2000-01-01
			synctest.Test(t, func(t *testing.T) {
				_, tries, took, err := readIn(context.Background(), t, reply(429, "", "Retry-After", after), good)
				if err != nil || tries != 2 || took != 7*time.Second+jitter {
					t.Errorf("%s: %d tries in %s: %v", after, tries, took, err)
				}
			})
		}
	})
	t.Run("Retry-After without end", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			if _, _, took, err := readIn(context.Background(), t, reply(429, "", "Retry-After", "9999999999"), good); err != nil || took != longestRest+jitter {
				t.Errorf("%s: %v", took, err)
			}
		})
	})
	t.Run("a refused write holds every run of the account", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c, net := with(t, full, reply(200, `{"spreadsheetId":"S1","replies":[{}]}`))
			first, _ := c.Counting()
			if err := writes["replace"](first); isUnclear(err) || sheetError(t, err).Setup {
				t.Fatal(err)
			}
			began := time.Now()
			second, _ := c.Counting()
			if err := writes["replace"](second); err != nil || time.Since(began) != period+jitter || len(net.log) != 2 {
				t.Errorf("%v after %s", err, time.Since(began))
			}
		})
	})
	t.Run("a claim does not wait", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c, _ := with(t, full)
			began := time.Now()
			for range 3 {
				if err := writes["claim"](c); isUnclear(err) || time.Since(began) != 0 {
					t.Fatalf("%v after %s", err, time.Since(began))
				}
			}
		})
	})
	t.Run("sixty runs in a minute", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c, net := with(t, good)
			began := time.Now()
			for range 60 {
				if _, err := c.Read(context.Background(), visits().Target, claim.Ask{Fence: true}); err != nil {
					t.Fatal(err)
				}
			}
			if took := time.Since(began); took != period || len(net.log) != 60 {
				t.Errorf("%d reads in %s", len(net.log), took)
			}
		})
	})
}

func TestCounting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := with(t, reply(503, ""), reply(200, headerOnly), refuse(400, "INVALID_ARGUMENT", inUse))
		a, made := c.Counting()
		b, none := c.Counting()
		if _, err := a.Read(context.Background(), visits().Target, claim.Ask{}); err != nil {
			t.Fatal(err)
		}
		if err := writes["claim"](a); !errors.Is(err, claim.ErrFenced) {
			t.Fatal(err)
		}
		if made() != (claim.APICalls{Reads: 2, Writes: 1}) || none() != (claim.APICalls{}) {
			t.Errorf("%+v and %+v", made(), none())
		}
		if b.Account() != "" {
			t.Error(b.Account())
		}
	})
}

// Whoever counts is told of every try, with its result.
func TestEveryTryIsObserved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{answers: []answer{
			reply(503, ""), refuse(429, "RESOURCE_EXHAUSTED", "Quota exceeded"), reply(200, headerOnly),
			refuse(400, "INVALID_ARGUMENT", inUse), fail(errCut), refuse(403, "PERMISSION_DENIED", "no"),
		}}
		var told []string
		c := newClient(t, Config{Transport: s, Observe: func(ctx context.Context, call string) (context.Context, func(string)) {
			return ctx, func(result string) { told = append(told, call+" "+result) }
		}})
		if _, err := c.Read(context.Background(), visits().Target, claim.Ask{}); err != nil {
			t.Fatal(err)
		}
		for _, write := range []string{"claim", "replace", "prune"} {
			if err := writes[write](c); err == nil {
				t.Errorf("%s succeeded", write)
			}
		}
		want := []string{"read unclear", "read throttled", "read ok", "claim fenced", "replace unclear", "prune refused"}
		if !slices.Equal(told, want) {
			t.Errorf("told %q, want %q", told, want)
		}
	})
}
