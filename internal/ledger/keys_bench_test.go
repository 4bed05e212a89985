package ledger_test

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/sheetclaim/sheetclaim/internal/key"
	"github.com/sheetclaim/sheetclaim/internal/ledger"
)

// BenchmarkKeys claims a key and says that it is done, each on disk before the answer,
// from several callers at once.
func BenchmarkKeys(b *testing.B) {
	for _, callers := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			s, err := ledger.Open(b.Context(), b.TempDir()+"/sheetclaim.db", ledger.Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			keys := s.Keys()
			var next atomic.Int64
			b.SetParallelism(max(1, callers/runtime.GOMAXPROCS(0)))
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					c, err := key.Claim{Key: fmt.Sprint(next.Add(1)), Owner: "bench"}.Checked()
					if err != nil {
						b.Error(err)
					}
					a, err := keys.Claim(b.Context(), c)
					if err != nil || !a.Won {
						b.Errorf("%s was not won: %v", c.Key, err)
					}
					if err := keys.End(b.Context(), key.End{Key: c.Key, Token: a.Token, State: key.Done}); err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
}
