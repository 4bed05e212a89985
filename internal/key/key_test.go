package key_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/key"
)

// LG05: what a key may be, and the form in which it is kept.
func TestLG05Clean(t *testing.T) {
	longest := strings.Repeat("k", key.MaxKey)
	for text, want := range map[string]string{
		"k": "k", " k\t": "k", "\u00a0k\n": "k", "a b": "a b", "A": "A", "cafe\u0301": "caf\u00e9", "caf\u00e9": "caf\u00e9",
		"stripe:evt_1": "stripe:evt_1", "👩\u200d👧": "👩\u200d👧", "日本": "日本", longest: longest, " " + longest + " ": longest,
	} {
		if got, err := key.Clean(text); got != want || err != nil {
			t.Errorf("%q became %q, %v, want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"", " ", "\n\t\u00a0", "\ufeff", "\u200b \u2060", longest + "k", "a\nb", "a\tb", "a\x00b", "a\u0085b", "\xff", strings.Repeat("é", 257)} {
		var fault *key.FaultError
		if got, err := key.Clean(text); !errors.As(err, &fault) || fault.Field != "key" || got != "" {
			t.Errorf("%.20q became %.20q, %v", text, got, err)
		}
	}
}

func TestClaimThatIsRefused(t *testing.T) {
	for field, c := range map[string]key.Claim{
		"lease":    {Key: "k", Lease: -time.Second},
		"takeover": {Key: "k", Takeover: "perhaps"},
		"owner":    {Key: "k", Owner: "two\nlines"},
		"note":     {Key: "k", Note: strings.Repeat("n", key.MaxNote+1)},
	} {
		var fault *key.FaultError
		if _, err := c.Checked(); !errors.As(err, &fault) || fault.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	for _, unfilled := range []string{"stripe:", "stripe:undefined", "shopify:null:7", "github:{{ $json.headers['x-github-delivery'] }}", "null"} {
		var fault *key.FaultError
		if _, err := (key.Claim{Key: unfilled}).Checked(); !errors.As(err, &fault) || fault.Field != "key" {
			t.Errorf("%s: %v", unfilled, err)
		}
	}
	for _, filled := range []string{"annulled:7", "stripe:undefined_7", "a::b", ":k"} {
		if _, err := (key.Claim{Key: filled}).Checked(); err != nil {
			t.Errorf("%s: %v", filled, err)
		}
	}
	var fault *key.FaultError
	if _, err := (key.Claim{Key: "k", Lease: key.MaxLease + 1}).Checked(); !errors.As(err, &fault) {
		t.Errorf("a lease of more than a year: %v", err)
	}
	c, err := key.Claim{Key: " k "}.Checked()
	if want := (key.Claim{Key: "k", Lease: key.DefaultLease, Takeover: key.TakeExpired, Owner: "unnamed"}); err != nil || c != want {
		t.Errorf("defaults are %+v, %v, want %+v", c, err, want)
	}
}

// A claim without takeover is unknown from the moment its lease ends, written down or
// not; one with takeover stays claimed until somebody takes it over.
func TestEntryAt(t *testing.T) {
	until := time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		policy key.Takeover
		now    time.Time
		want   key.State
	}{
		{key.TakeNever, until.Add(-1), key.Claimed},
		{key.TakeNever, until, key.Unknown},
		{key.TakeExpired, until.Add(time.Hour), key.Claimed},
	} {
		e := key.Entry{State: key.Claimed, Takeover: tt.policy, LeaseUntil: until}.At(tt.now)
		if e.State != tt.want || (e.State == key.Unknown) != e.EndedAt.Equal(until) {
			t.Errorf("%s at %s: %+v", tt.policy, tt.now, e)
		}
	}
}
