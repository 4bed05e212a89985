package job

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Window is the part of a week in which a job claims rows. The zero Window is always
// open.
type Window struct {
	text  string
	spans []span
}

// span is open on its days from one minute of the day to another, which is not part
// of it; an end before the start lies in the day after.
type span struct {
	days       [7]bool // by time.Weekday
	start, end int     // minutes since midnight
}

const minutesOfDay = 24 * 60

var spanText = lazily(`(?i)^(?:([a-z]{3})(?:\s*-\s*([a-z]{3}))?\s+)?(\d{1,2}):(\d{2})\s*-\s*(\d{1,2}):(\d{2})$`)

var weekdays = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

// UnmarshalText reads "Mon-Fri 09:00-17:00, Sat 10:00-12:00". Without days it means
// every day; "22:00-06:00" ends on the next day.
func (w *Window) UnmarshalText(text []byte) error {
	*w = Window{text: strings.TrimSpace(string(text))}
	if w.text == "" {
		return nil
	}
	for part := range strings.SplitSeq(w.text, ",") {
		s, err := parseSpan(strings.TrimSpace(part))
		if err != nil {
			return err
		}
		w.spans = append(w.spans, s)
	}
	return nil
}

func parseSpan(text string) (span, error) {
	m := spanText().FindStringSubmatch(text)
	if m == nil {
		return span{}, errors.New("expected days and times such as \"Mon-Fri 09:00-17:00\", several divided by commas")
	}
	from, to := slices.Index(weekdays, strings.ToLower(m[1])), slices.Index(weekdays, strings.ToLower(m[2]))
	switch {
	case m[1] == "":
		from, to = 0, 6
	case from < 0 || m[2] != "" && to < 0:
		return span{}, errors.New("expected the days Mon, Tue, Wed, Thu, Fri, Sat and Sun")
	case m[2] == "":
		to = from
	}
	var s span
	for d := from; ; d = (d + 1) % 7 {
		s.days[d] = true
		if d == to {
			break
		}
	}
	var ok1, ok2 bool
	s.start, ok1 = minuteOfDay(m[3], m[4])
	s.end, ok2 = minuteOfDay(m[5], m[6])
	if !ok1 || !ok2 || s.start == minutesOfDay {
		return span{}, errors.New("expected times of day from 00:00 to 24:00")
	}
	if s.start == s.end {
		return span{}, fmt.Errorf("expected an end other than the start, write 00:00-24:00 for the whole day")
	}
	return s, nil
}

func minuteOfDay(hour, minute string) (int, bool) {
	h, _ := strconv.Atoi(hour)
	m, _ := strconv.Atoi(minute)
	n := 60*h + m
	return n, m < 60 && n <= minutesOfDay
}

// String is the window as it was written.
func (w Window) String() string { return w.text }

// IsZero reports whether the window is always open.
func (w Window) IsZero() bool { return len(w.spans) == 0 }

// Contains reports whether the window is open at t, by the clock of t's own zone.
func (w Window) Contains(t time.Time) bool {
	if w.IsZero() {
		return true
	}
	today := int(t.Weekday())
	yesterday := (today + 6) % 7
	now := 60*t.Hour() + t.Minute()
	return slices.ContainsFunc(w.spans, func(s span) bool {
		if s.start < s.end {
			return s.days[today] && s.start <= now && now < s.end
		}
		return s.days[today] && s.start <= now || s.days[yesterday] && now < s.end
	})
}

// Next is the first moment from t on at which the window is open. It looks at each
// minute instead of computing the start, which need not exist on a day when clocks
// change.
func (w Window) Next(t time.Time) time.Time {
	if w.Contains(t) {
		return t
	}
	next := t.Truncate(time.Minute)
	for range 9 * minutesOfDay {
		next = next.Add(time.Minute)
		if w.Contains(next) {
			break
		}
	}
	return next
}
