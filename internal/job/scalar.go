package job

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Rate is a number of messages per time. The zero value is no limit.
type Rate struct {
	Count int
	Per   time.Duration
}

// String writes a rate as the file does: 30/m.
func (r Rate) String() string {
	for unit, per := range rateUnits {
		if r.Per == per {
			return fmt.Sprintf("%d/%s", r.Count, unit)
		}
	}
	return ""
}

var rateUnits = map[string]time.Duration{
	"s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour,
}

// UnmarshalText reads 30/m; the units are s, m, h and d.
func (r *Rate) UnmarshalText(text []byte) error {
	count, unit, ok := strings.Cut(string(text), "/")
	per := rateUnits[strings.TrimSpace(unit)]
	n, err := strconv.Atoi(strings.TrimSpace(count))
	if !ok || per == 0 || err != nil || n < 1 {
		return errors.New("expected a number of messages per s, m, h or d, such as 30/m")
	}
	*r = Rate{Count: n, Per: per}
	return nil
}

// maxDays is about the longest time that a time.Duration holds.
const maxDays = 100_000

// ParseDuration reads a time of zero or more as Go writes it, with d for 24 hours in
// front: 90s, 48h, 2d, 1d12h.
func ParseDuration(s string) (time.Duration, error) {
	if isDigits(s) && strings.Trim(s, "0") != "" {
		return 0, fmt.Errorf("expected a time with its unit, write %ss, %sm, %sh or %sd", s, s, s, s)
	}
	var total time.Duration
	rest := s
	if count, after, ok := strings.Cut(s, "d"); ok && isNumber(count) {
		n, err := strconv.ParseFloat(count, 64)
		if err != nil || n > maxDays {
			return 0, errors.New("expected a time of at most 100000d")
		}
		total, rest = time.Duration(n*float64(24*time.Hour)), after
		if rest == "" {
			return total, nil
		}
	}
	d, err := time.ParseDuration(rest)
	if err != nil {
		return 0, errors.New("expected a time such as 90s, 15m, 48h or 2d")
	}
	if d < 0 || total+d < 0 {
		return 0, errors.New("expected a time of zero or more")
	}
	return total + d, nil
}

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// isNumber reports whether a text is a decimal number, as 2 or 1.5.
func isNumber(s string) bool {
	whole, part, dotted := strings.Cut(s, ".")
	return isDigits(whole) && (!dotted || isDigits(part))
}

// isVariable reports whether a text can be the name of an environment variable.
func isVariable(s string) bool {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"
	return s != "" && strings.Trim(s, letters+"0123456789") == "" && strings.Contains(letters, s[:1])
}

// expand puts the environment's values in place of ${NAME}; $${ stands for a plain
// ${. It also answers which values it took, by name.
func expand(s string, env func(string) (string, bool)) (out string, taken map[string]string, err error) {
	var b strings.Builder
	taken = map[string]string{}
	for {
		i := strings.Index(s, "${")
		if i < 0 {
			b.WriteString(s)
			return b.String(), taken, nil
		}
		if i > 0 && s[i-1] == '$' {
			b.WriteString(s[:i-1] + "${")
			s = s[i+2:]
			continue
		}
		name, after, closed := strings.Cut(s[i+len("${"):], "}")
		if !closed || !isVariable(name) {
			return "", nil, errors.New("expected ${NAME} with the name of an environment variable, write $${ for a plain ${")
		}
		value, ok := env(name)
		if !ok {
			return "", nil, fmt.Errorf("the environment variable %s is not set, set it or take the value from a file", name)
		}
		b.WriteString(s[:i] + value)
		s, taken[name] = after, value
	}
}
