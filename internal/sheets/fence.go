package sheets

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"

	api "google.golang.org/api/sheets/v4"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// The fence is developer metadata on the tab, one entry per claim. Creating an
// entry with an id in use is refused and takes its whole batch down (documented:
// "If you specify an ID that's already in use, the request will be unsuccessful";
// probed with its text). All who see the document see it: visibility PROJECT would
// hide the entries of an installation that logs in by another Google project.
const (
	fenceKey        = "sheetclaim.fence"
	fenceVersion    = "1"
	fenceVisibility = "DOCUMENT"
)

// StampID is the metadata id of number n of a tab: the first four bytes of the
// SHA-256 of "sheetclaim.fence <tab> <n>", both in decimal, taken big-endian with
// the top bit cleared; 1 instead of 0. Ids belong to the whole spreadsheet and
// must be positive 32-bit numbers; plain numbers would make two tabs refuse each
// other for ever. Every program that joins the fence must compute the same, so
// this function never changes.
func StampID(tab int64, n uint64) int64 {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %d", fenceKey, tab, n))
	return max(1, int64(binary.BigEndian.Uint32(sum[:])&0x7fffffff))
}

// stampValue is the value of a fence entry: version, number, mark, ledger, count.
func stampValue(s claim.Stamp) string {
	return fmt.Sprintf("%s %d %s %s %d", fenceVersion, s.N, s.Mark, s.Ledger, s.Count)
}

// parseStamp reads an entry; false for one that is not ours or of another version.
// Only the exact form that stampValue writes is taken.
func parseStamp(m *api.DeveloperMetadata) (claim.Stamp, bool) {
	if m == nil || m.MetadataKey != fenceKey {
		return claim.Stamp{}, false
	}
	parts := strings.Split(m.MetadataValue, " ")
	if len(parts) != 5 || parts[2] == "" || parts[3] == "" {
		return claim.Stamp{}, false
	}
	n, errN := strconv.ParseUint(parts[1], 10, 64)
	count, errCount := strconv.ParseUint(parts[4], 10, 64)
	s := claim.Stamp{ID: m.MetadataId, N: n, Mark: parts[2], Ledger: parts[3], Count: count}
	if errN != nil || errCount != nil || n == 0 || stampValue(s) != m.MetadataValue {
		return claim.Stamp{}, false
	}
	return s, true
}

// stamps are the fence's entries among a tab's metadata, by number.
func stamps(list []*api.DeveloperMetadata) []claim.Stamp {
	var out []claim.Stamp
	for _, m := range list {
		if s, ok := parseStamp(m); ok {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b claim.Stamp) int { return cmp.Or(cmp.Compare(a.N, b.N), cmp.Compare(a.ID, b.ID)) })
	return out
}

// stampRequest creates a fence entry on a tab. The id follows from the number; one
// left to Google would refuse nobody.
func stampRequest(tab int64, s claim.Stamp) *api.Request {
	return &api.Request{CreateDeveloperMetadata: &api.CreateDeveloperMetadataRequest{
		DeveloperMetadata: &api.DeveloperMetadata{
			MetadataId:    StampID(tab, s.N),
			MetadataKey:   fenceKey,
			MetadataValue: stampValue(s),
			Visibility:    fenceVisibility,
			Location:      &api.DeveloperMetadataLocation{SheetId: tab, ForceSendFields: []string{"SheetId"}},
		},
	}}
}

// unstampRequest deletes a fence entry. The key stands beside the id so that an id
// that came to belong to something else deletes nothing of it (documented: a
// lookup matches the intersection of its fields).
func unstampRequest(s claim.Stamp) *api.Request {
	return &api.Request{DeleteDeveloperMetadata: &api.DeleteDeveloperMetadataRequest{
		DataFilter: &api.DataFilter{DeveloperMetadataLookup: &api.DeveloperMetadataLookup{
			MetadataId:  s.ID,
			MetadataKey: fenceKey,
		}},
	}}
}
