package ledger_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/sheetclaim/sheetclaim/internal/key"
	"github.com/sheetclaim/sheetclaim/internal/ledger"
)

// BenchmarkKeys claims a key and says that it is done, each on disk before the
// answer.
func BenchmarkKeys(b *testing.B) {
	for _, callers := range []int{1, 8, 64, 256} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			s, err := ledger.Open(b.Context(), b.TempDir()+"/sheetclaim.db", ledger.Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			keys := s.Keys()
			var next atomic.Int64
			done := make(chan error, callers)
			for range callers {
				go func() {
					for {
						n := next.Add(1)
						if n > int64(b.N) {
							done <- nil
							return
						}
						c, err := key.Claim{Key: fmt.Sprint(n), Owner: "bench"}.Checked()
						if err == nil {
							var a key.Answer
							if a, err = keys.Claim(b.Context(), c); err == nil {
								err = keys.End(b.Context(), key.End{Key: c.Key, Token: a.Token, State: key.Done})
							}
						}
						if err != nil {
							done <- err
							return
						}
					}
				}()
			}
			for range callers {
				if err := <-done; err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
