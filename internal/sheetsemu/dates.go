package sheetsemu

import (
	"math"
	"strconv"
	"strings"
	"sync"
	"time"
)

// epoch is day 0 of the serial numbers (documented).
var epoch = time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)

const secondsPerDay = 24 * 60 * 60

// serial is the number of the wall-clock time that t shows; zones play no part.
func serial(t time.Time) float64 {
	_, offset := t.Zone()
	wall := t.UTC().Add(time.Duration(offset) * time.Second)
	seconds := wall.Unix() - epoch.Unix()
	day := math.Floor(float64(seconds) / secondsPerDay)
	rest := float64(seconds) - day*secondsPerDay
	return day + rest/secondsPerDay
}

// fromSerial rounds to the second.
func fromSerial(f float64) time.Time {
	days := math.Floor(f)
	seconds := math.Round((f - days) * secondsPerDay)
	return epoch.AddDate(0, 0, int(days)).Add(time.Duration(seconds) * time.Second)
}

// zones remembers what was loaded; loading reads a file each time.
var zones sync.Map // string to *time.Location

// zone falls back to UTC for a name that the machine does not know.
func zone(name string) *time.Location {
	if loc, ok := zones.Load(name); ok {
		return loc.(*time.Location)
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		loc = time.UTC
	}
	zones.Store(name, loc)
	return loc
}

// dayFirst says whether a locale writes 31/12 and not 12/31.
func dayFirst(locale string) bool {
	switch locale {
	case "", "en_US", "en_PH", "en_ZA":
		return false
	}
	return true
}

// formatDate fills a date pattern: y, m, d, h, s, am/pm and literals. An m
// next to hours or seconds means minutes (documented).
func formatDate(f float64, pattern string) string {
	t := fromSerial(f)
	twelve := strings.Contains(strings.ToLower(pattern), "am/pm") || strings.Contains(strings.ToLower(pattern), "a/p")
	var out strings.Builder
	afterHour := false
	for i := 0; i < len(pattern); {
		if pattern[i] == '"' {
			if end := strings.IndexByte(pattern[i+1:], '"'); end >= 0 {
				out.WriteString(pattern[i+1 : i+1+end])
				i += end + 2
				continue
			}
		}
		if pattern[i] == '\\' && i+1 < len(pattern) {
			out.WriteByte(pattern[i+1])
			i += 2
			continue
		}
		if rest := strings.ToLower(pattern[i:]); strings.HasPrefix(rest, "am/pm") {
			out.WriteString(strings.ToUpper(t.Format("pm")))
			i += len("am/pm")
			continue
		}
		letter, n := pattern[i]|0x20, 1
		for i+n < len(pattern) && pattern[i+n]|0x20 == letter {
			n++
		}
		minutes := letter == 'm' && n <= 2 && (afterHour || nextIsSecond(pattern[i+n:]))
		if text, ok := datePart(t, letter, n, minutes, twelve); ok && isLetter(pattern[i]) {
			out.WriteString(text)
			afterHour = letter == 'h'
		} else {
			out.WriteString(pattern[i : i+n])
		}
		i += n
	}
	return out.String()
}

func isLetter(b byte) bool { b |= 0x20; return b >= 'a' && b <= 'z' }

func nextIsSecond(rest string) bool {
	return strings.HasPrefix(strings.TrimLeft(rest, ":"), "s")
}

func datePart(t time.Time, letter byte, n int, minutes, twelve bool) (string, bool) {
	switch letter {
	case 'y':
		if n <= 2 {
			return t.Format("06"), true
		}
		return t.Format("2006"), true
	case 'm':
		if minutes {
			return padded(t.Minute(), n), true
		}
		return monthPart(t, n), true
	case 'd':
		switch {
		case n == 3:
			return t.Format("Mon"), true
		case n >= 4:
			return t.Format("Monday"), true
		}
		return padded(t.Day(), n), true
	case 'h':
		hour := t.Hour()
		if twelve {
			hour = (hour+11)%12 + 1
		}
		return padded(hour, n), true
	case 's':
		return padded(t.Second(), n), true
	}
	return "", false
}

func monthPart(t time.Time, n int) string {
	switch {
	case n == 3:
		return t.Format("Jan")
	case n == 4:
		return t.Format("January")
	case n >= 5:
		return t.Format("January")[:1]
	}
	return padded(int(t.Month()), n)
}

func padded(v, n int) string {
	s := strconv.Itoa(v)
	if n >= 2 && len(s) < 2 {
		return "0" + s
	}
	return s
}
