package mailer

import (
	"bufio"
	"strings"
	"testing"
)

func TestReadReply(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"250 2.0.0 ok\r\n", "250 2.0.0 ok"},
		{"250 ok\n", "250 ok"},
		{"250\r\n", "250"},
		{"250 \r\n", "250"},
		{"250-2.0.0 a\r\n250-2.0.0 b\r\n250 2.0.0 c\r\n", "250 2.0.0 a b c"},
		{"550-5.7.1 [1.2.3.4 12] spam,\r\n550 5.7.1 see https://x.test a.b.c\r\n", "550 5.7.1 [1.2.3.4 12] spam, see https://x.test a.b.c"},
		{"550-5.1.1 a\r\n550 5.7.1 b\r\n", "550 5.1.1 a 5.7.1 b"},
		{"451 4.3.0 a\tb\x07\xffc\r\n", "451 4.3.0 a b ?c"},
		{"250 " + strings.Repeat("x", 600) + "\r\n", "250 " + strings.Repeat("x", 500) + "…"},
		{"250 ok", ""},
		{"25", ""},
		{"", ""},
		{"\r\n", ""},
		{"250-a\r\n", ""},
		{"250-a\r\n", ""},
		{"250-a\r\n550 b\r\n", ""},
		{"250ok\r\n", ""},
		{"199 x\r\n", ""},
		{"600 x\r\n", ""},
		{"2x0 x\r\n", ""},
		{"+OK\r\n", ""},
		{strings.Repeat("250-x\r\n", 200), ""},
		{"250 " + strings.Repeat("x", 10_000) + "\r\n", ""},
	} {
		r, err := readReply(bufio.NewReader(strings.NewReader(tc.in)))
		switch {
		case tc.want == "" && err == nil:
			t.Errorf("%.40q: got %q, want an error", tc.in, r)
		case tc.want != "" && (err != nil || r.String() != tc.want):
			t.Errorf("%.40q: got %q, %v; want %q", tc.in, r, err, tc.want)
		}
	}
}

// FuzzReadReply: only a whole reply in the 200s may count as one.
func FuzzReadReply(f *testing.F) {
	f.Add("250 ok\r\n")
	f.Add("250-a\r\n250 b\r\n")
	f.Add("550 5.1.1 no")
	f.Fuzz(func(t *testing.T, in string) {
		r, err := readReply(bufio.NewReader(strings.NewReader(in)))
		if err != nil {
			return
		}
		if !strings.Contains(in, "\n") || r.code < 200 || r.code > 599 || strings.ContainsAny(r.String(), "\r\n") {
			t.Errorf("%q was taken for %q", in, r)
		}
	})
}
