package job

import (
	"fmt"
	"log/slog"
)

const redacted = "[redacted]"

// Secret is a value that must not be shown. Every way of printing it says
// "[redacted]"; Reveal is the one way to the value.
type Secret string

// Reveal returns the value itself.
func (s Secret) Reveal() string { return string(s) }

// String hides the value.
func (Secret) String() string { return redacted }

// GoString hides the value from %#v.
func (Secret) GoString() string { return redacted }

// Format hides the value from every verb, also from those that do not fit a string:
// fmt prints the operand of a wrong verb as it is.
func (Secret) Format(f fmt.State, _ rune) { _, _ = fmt.Fprint(f, redacted) }

// MarshalJSON hides the value.
func (Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }

// MarshalText hides the value from encoders that write text.
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// LogValue hides the value from slog.
func (Secret) LogValue() slog.Value { return slog.StringValue(redacted) }
