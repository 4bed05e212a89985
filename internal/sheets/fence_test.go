package sheets

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	api "google.golang.org/api/sheets/v4"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// TestStampID pins the function: other programs compute the same.
func TestStampID(t *testing.T) {
	for _, tt := range []struct {
		tab  int64
		n    uint64
		want int64
	}{{0, 1, 1480128399}, {0, 2, 1737378775}, {1234567890, 1, 739810821}, {0, 1<<64 - 1, 1622125220}} {
		if got := StampID(tt.tab, tt.n); got != tt.want {
			t.Errorf("StampID(%d, %d) = %d, want %d", tt.tab, tt.n, got, tt.want)
		}
	}
	for n := range uint64(1000) {
		if id := StampID(7, n); id < 1 || id > 1<<31-1 {
			t.Fatalf("StampID(7, %d) = %d is no positive int32", n, id)
		}
	}
}

func TestParseStamp(t *testing.T) {
	stamp := claim.Stamp{ID: 9, N: 41, Mark: "k3xw9q2m", Ledger: "led1", Count: 17}
	if stampValue(stamp) != "1 41 k3xw9q2m led1 17" {
		t.Fatal(stampValue(stamp))
	}
	got, ok := parseStamp(&api.DeveloperMetadata{MetadataId: 9, MetadataKey: fenceKey, MetadataValue: stampValue(stamp)})
	if !ok || got != stamp {
		t.Errorf("parsed %+v, %v", got, ok)
	}
	for _, value := range []string{
		"", "1", "2 41 m l 17", "1 41 m l", "1 41 m l 17 x", "1 041 m l 17", "1 +41 m l 17", "1 -1 m l 17", "1 0 m l 17",
		"1 41  l 17", "1 41 m  17", " 1 41 m l 17", "1 41 m l 17 ", "1 41 m l x", "1 18446744073709551616 m l 17", "1\t41 m l 17",
	} {
		if s, ok := parseStamp(&api.DeveloperMetadata{MetadataKey: fenceKey, MetadataValue: value}); ok {
			t.Errorf("%q was taken for %+v", value, s)
		}
	}
}

func TestStampsAreSorted(t *testing.T) {
	list := []*api.DeveloperMetadata{
		{MetadataId: 3, MetadataKey: fenceKey, MetadataValue: "1 12 b l 2"},
		{MetadataId: 1, MetadataKey: "somebody.else", MetadataValue: "1 99 b l 2"},
		nil,
		{MetadataId: 2, MetadataKey: fenceKey, MetadataValue: "1 9 a l 1"},
		{MetadataId: 4, MetadataKey: fenceKey, MetadataValue: "2 100 a l 1"},
	}
	want := []claim.Stamp{{ID: 2, N: 9, Mark: "a", Ledger: "l", Count: 1}, {ID: 3, N: 12, Mark: "b", Ledger: "l", Count: 2}}
	if diff := cmp.Diff(want, stamps(list)); diff != "" {
		t.Error(diff)
	}
}
