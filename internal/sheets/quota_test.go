package sheets

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestQuota(t *testing.T) {
	ctx := context.Background()
	must := func(t *testing.T, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	run := func(name string, f func(t *testing.T, q *quota, since func() time.Duration)) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				f(t, newQuota(4, 2, time.Now), func() time.Duration { return time.Since(began) })
			})
		})
	}

	run("no minute sees more than the limit", func(t *testing.T, q *quota, since func() time.Duration) {
		var at []time.Duration
		for range 10 {
			must(t, q.read(ctx, false))
			at = append(at, since())
			time.Sleep(time.Second)
		}
		for i := 4; i < len(at); i++ {
			if at[i]-at[i-4] < period {
				t.Errorf("calls %d to %d within %s", i-4, i, at[i]-at[i-4])
			}
		}
		if at[3] != 3*time.Second || at[4] != period {
			t.Errorf("waited for nothing: %v", at)
		}
	})
	run("reads and writes apart", func(t *testing.T, q *quota, since func() time.Duration) {
		for range 4 {
			must(t, q.read(ctx, false))
		}
		must(t, q.write(ctx))
		if since() != 0 {
			t.Errorf("a write waited for reads: %s", since())
		}
	})
	run("a fenced read waits for the write of its claim", func(t *testing.T, q *quota, since func() time.Duration) {
		must(t, q.write(ctx))
		time.Sleep(10 * time.Second)
		must(t, q.read(ctx, true))
		must(t, q.read(ctx, false))
		if since() != 10*time.Second {
			t.Errorf("waited until %s", since())
		}
		must(t, q.read(ctx, true)) // waits for the first write to leave the period
		if since() != period {
			t.Errorf("waited until %s, want %s", since(), period)
		}
	})
	run("the held write is the claim's", func(t *testing.T, q *quota, since func() time.Duration) {
		must(t, q.read(ctx, true))
		time.Sleep(3 * time.Second)
		q.redeem() // at once, and in the place of the held one
		must(t, q.write(ctx))
		if since() != 3*time.Second {
			t.Errorf("waited until %s", since())
		}
		must(t, q.write(ctx)) // the claim was made at 3 s, so this one waits for it
		if since() != period+3*time.Second {
			t.Errorf("waited until %s", since())
		}
	})
	run("a held write that is given back is free", func(t *testing.T, q *quota, since func() time.Duration) {
		must(t, q.read(ctx, true))
		must(t, q.read(ctx, true))
		q.release()
		must(t, q.write(ctx))
		if since() != 0 {
			t.Errorf("waited until %s", since())
		}
	})
	run("a 429 holds everybody", func(t *testing.T, q *quota, since func() time.Duration) {
		q.close(time.Now().Add(65 * time.Second))
		q.close(time.Now().Add(time.Second)) // never earlier
		done := make(chan time.Duration, 2)
		go func() { must(t, q.write(ctx)); done <- since() }()
		go func() { must(t, q.read(ctx, false)); done <- since() }()
		for range 2 {
			if at := <-done; at != 65*time.Second {
				t.Errorf("waited until %s", at)
			}
		}
	})
	run("no wait that the context would not live through", func(t *testing.T, q *quota, since func() time.Duration) {
		must(t, q.write(ctx))
		must(t, q.write(ctx))
		short, cancel := context.WithTimeout(ctx, 30*time.Second)
		defer cancel()
		if err := q.write(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("err = %v", err)
		}
		if since() != 0 {
			t.Errorf("waited until %s for nothing", since())
		}
	})
	run("a cancelled wait ends", func(t *testing.T, q *quota, since func() time.Duration) {
		must(t, q.write(ctx))
		must(t, q.write(ctx))
		ended, cancel := context.WithCancel(ctx)
		time.AfterFunc(5*time.Second, cancel)
		if err := q.write(ended); !errors.Is(err, context.Canceled) || since() != 5*time.Second {
			t.Errorf("err = %v after %s", err, since())
		}
	})
}

func TestMargin(t *testing.T) {
	for limit, want := range map[int]int{60: 57, 300: 285, 10: 10, 1: 1} {
		if got := margin(limit); got != want {
			t.Errorf("margin(%d) = %d, want %d", limit, got, want)
		}
	}
}
