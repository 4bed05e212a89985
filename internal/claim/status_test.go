package claim

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestParseStatus(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		text string
		want Status
	}{
		{"", Status{Kind: StatusEmpty}},
		{" \u00a0\n", Status{Kind: StatusEmpty}},
		{"sending 4711/k3f9a2c1.7", Status{Kind: StatusSending, Run: "4711", Token: "k3f9a2c1.7"}},
		{"sending 4711", Status{Kind: StatusSending, Run: "4711"}},
		{"sent", Status{Kind: StatusSent}},
		{" Sent ", Status{Kind: StatusSent}},
		{"ReSend ", Status{Kind: StatusResend}},
		{"failed 2/3: 451 later", Status{Kind: StatusFailed, N: 2, Max: 3}},
		{"failed 2/3", Status{Kind: StatusForeign}},
		{"failed because of rain", Status{Kind: StatusForeign}},
		{"failed 0/3: x", Status{Kind: StatusForeign}},
		{"failed -1/3: x", Status{Kind: StatusForeign}},
		{"gave up 3/3: 451 later", Status{Kind: StatusGaveUp, N: 3, Max: 3}},
		{"gave 3/3: x", Status{Kind: StatusForeign}},
		{"rejected: 550 no", Status{Kind: StatusRejected}},
		{"unknown 4711: reply lost", Status{Kind: StatusUnknown, Run: "4711"}},
		{"unknown", Status{Kind: StatusForeign}},
		{"paid", Status{Kind: StatusForeign}},
	} {
		if got := ParseStatus(tc.text); got != tc.want {
			t.Errorf("%q: got %+v, want %+v", tc.text, got, tc.want)
		}
	}
}

func TestStatusTextIsReadBack(t *testing.T) {
	t.Parallel()
	for outcome, kind := range map[Outcome]StatusKind{
		Sent: StatusSent, Failed: StatusFailed, GaveUp: StatusGaveUp, Rejected: StatusRejected, Unknown: StatusUnknown,
	} {
		text := statusText(outcome, "run-1", 2, 3, "451 4.2.0 later")
		if got := ParseStatus(text); got.Kind != kind {
			t.Errorf("%s is written as %q and read back as %+v", outcome, text, got)
		}
	}
}

func TestOneLine(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"550 5.1.1\r\nno such\tuser": "550 5.1.1 no such user",
		"a\x00b\x1bc":                "a b c",
		"  x  ":                      "x",
	} {
		if got := oneLine(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
	long := oneLine(strings.Repeat("é", 500))
	if len(long) > maxReason || !utf8.ValidString(long) || !strings.HasSuffix(long, "…") {
		t.Errorf("a long reason became %d bytes: %q", len(long), long)
	}
}

func FuzzParseStatus(f *testing.F) {
	for _, s := range []string{"", "sent", "sending a/b.1", "failed 1/3: x", "gave up 3/3: x", "unknown r: x", "rejected: x", "=1+1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		st := ParseStatus(s)
		if (st.Kind == StatusFailed || st.Kind == StatusGaveUp) && (st.N < 1 || st.Max < 1) {
			t.Errorf("%q: %+v", s, st)
		}
	})
}
