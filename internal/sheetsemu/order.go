package sheetsemu

import (
	"cmp"
	"strings"
)

// compareOrder sorts as the web interface does: numbers, then text without
// case, then booleans, then errors; blanks come last.
func compareOrder(a, b value) int {
	rank := map[valueKind]int{kindNumber: 0, kindText: 1, kindBool: 2, kindError: 3, kindEmpty: 4}
	if a.kind != b.kind {
		return cmp.Compare(rank[a.kind], rank[b.kind])
	}
	switch a.kind {
	case kindNumber:
		return cmp.Compare(a.num, b.num)
	case kindText:
		return strings.Compare(strings.ToLower(a.text), strings.ToLower(b.text))
	case kindBool:
		return cmp.Compare(boolRank(a.truth), boolRank(b.truth))
	case kindError, kindEmpty, kindFormula:
	}
	return 0
}

func boolRank(b bool) int {
	if b {
		return 1
	}
	return 0
}
