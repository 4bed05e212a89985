package job

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Problem is one thing that is wrong in a configuration file.
type Problem struct {
	File         string
	Line, Column int    // counted from 1; 0 when the file as a whole is meant
	Path         string // jobs.review-requests.wait
	Text         string // what was expected, what was found, what to do
}

func (p Problem) String() string {
	at := p.File
	if p.Line > 0 {
		at = fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
	}
	if p.Path == "" {
		return at + ": " + p.Text
	}
	return at + ": " + p.Path + ": " + p.Text
}

// Problems is everything that is wrong in a configuration file, in its order.
type Problems []Problem

// Error has one line for each problem.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

func (ps Problems) sort() {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

// nearest returns the candidate that a misspelt word most likely means, or "".
func nearest(word string, candidates []string) string {
	best, least := "", 1+max(1, utf8.RuneCountInString(word)/3)
	for _, c := range candidates {
		if d := distance(strings.ToLower(word), strings.ToLower(c)); d < least && c != "" {
			best, least = c, d
		}
	}
	return best
}

// didYouMean is a clause with the nearest candidate, or "".
func didYouMean(word string, candidates []string) string {
	if best := nearest(word, candidates); best != "" {
		return fmt.Sprintf(", did you mean %s?", best)
	}
	return ""
}

// distance counts the letters to insert, delete, change or swap with a neighbour to
// turn a into b.
func distance(a, b string) int {
	s, t := []rune(a), []rune(b)
	before, above, row := make([]int, len(t)+1), make([]int, len(t)+1), make([]int, len(t)+1)
	for j := range above {
		above[j] = j
	}
	for i := 1; i <= len(s); i++ {
		row[0] = i
		for j := 1; j <= len(t); j++ {
			change := above[j-1]
			if s[i-1] != t[j-1] {
				change++
			}
			row[j] = min(change, above[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && s[i-1] == t[j-2] && s[i-2] == t[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, above, row = above, row, before
	}
	return above[len(t)]
}
