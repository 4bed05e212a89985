package job

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/text/unicode/norm"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/schedule"
)

// Job makes what the method needs of a job. The target is the job's own; a caller
// that was allowed another range or spreadsheet puts it in.
func (c *Config) Job(name string) (*claim.Job, error) {
	s, ok := c.Jobs[name]
	if !ok {
		known := c.JobNames()
		return nil, fmt.Errorf("there is no job %q%s; the configuration has %s", name, didYouMean(name, known), strings.Join(known, ", "))
	}
	msg, problems := compileMessage(s.Message)
	if len(problems) > 0 && !s.ClaimOnly {
		return nil, fmt.Errorf("job %s: %w", name, problems[0])
	}
	return &claim.Job{
		Name:          name,
		Target:        claim.Target{Spreadsheet: s.Spreadsheet, Range: s.Range},
		Zone:          s.zone,
		Delay:         s.Delay,
		MaxLateness:   s.MaxLateness,
		Limit:         s.Limit,
		Wait:          s.Wait,
		Lease:         s.Lease,
		OnDoubt:       s.OnDoubt,
		MaxAttempts:   s.MaxAttempts,
		RetryAfter:    s.RetryAfter,
		FirstRunLimit: s.FirstRunLimit,
		SkipHidden:    s.SkipHidden,
		ClaimOnly:     s.ClaimOnly,
		CatchUp:       s.CatchUp,
		Missed:        s.missed(),
		Normal:        norm.NFC.String,
		Open:          s.open(),
		Bind: func(header []string, zone *time.Location) (claim.Binding, error) {
			return bind(s, msg, header, zone)
		},
	}, nil
}

// open answers the send window as the method asks for it; nil without one.
func (s *Spec) open() func(time.Time, *time.Location) (bool, time.Time) {
	if s.Window.IsZero() {
		return nil
	}
	return func(t time.Time, zone *time.Location) (bool, time.Time) {
		t = t.In(zone)
		return s.Window.Contains(t), s.Window.Next(t)
	}
}

// missed answers the missed ticks of the schedule as the method asks for them; nil
// without one.
func (s *Spec) missed() func(string, time.Time, *time.Location) ([]time.Time, bool) {
	if s.Schedule == "" {
		return nil
	}
	return func(lastRun string, now time.Time, zone *time.Location) ([]time.Time, bool) {
		if s.NeedsClock() && zone == nil {
			return nil, false
		}
		ticks, _ := schedule.Missed(s.Schedule, cmp.Or(s.Clock(), zone), lastRun, now) // it was read when the file was
		return ticks, true
	}
}

// BindError says what of a job does not fit a header.
type BindError struct {
	Problems []string
	Found    string // the headers that are there, in quotes
}

func (e *BindError) Error() string {
	return fmt.Sprintf("%s; the headers found are %s", strings.Join(e.Problems, "; "), e.Found)
}

// binding is a job fitted to one header. It may be used by several goroutines.
type binding struct {
	columns claim.Columns
	used    []int
	header  *header
	zone    *time.Location
	where   *condition // nil: every row passes
	message *message
	// The columns that the condition and the message use.
	whereUses, messageUses []use
}

// use is a column under the name that a condition or template has for it.
type use struct {
	key string
	col int
}

var _ claim.Binding = (*binding)(nil)

func bind(s *Spec, msg *message, texts []string, zone *time.Location) (*binding, error) {
	if zone == nil {
		zone = time.UTC
	}
	b := &binding{header: newHeader(texts), zone: zone, message: msg}
	if b.header.isBlank() {
		return nil, errors.New("the first row of the range is empty: expected the header row, check the range")
	}
	e := &BindError{Found: b.header.list()}
	idents := map[string]int{}
	b.columns = b.mapColumns(s.Columns, e)
	if s.Where != "" {
		where, err := compileWhere(s.Where, zone)
		if err != nil {
			return nil, fmt.Errorf("where: %w", err)
		}
		b.where = where
		for i := range where.refs {
			where.refs[i].at = "where"
		}
		b.whereUses = b.resolve(where.refs, idents, e)
	}
	b.messageUses = b.resolve(msg.refs(), idents, e)
	if len(e.Problems) > 0 {
		return nil, e
	}
	slices.Sort(b.used)
	b.used = slices.Compact(b.used)
	return b, nil
}

// mapColumns finds the configured columns.
func (b *binding) mapColumns(names ColumnNames, e *BindError) claim.Columns {
	find := func(key, name string) int {
		if strings.TrimSpace(name) == "" {
			return -1
		}
		cols := b.header.named(Normalize(name))
		switch len(cols) {
		case 1:
			b.used = append(b.used, cols[0])
			return cols[0]
		case 0:
			hint := b.header.suggest(ref{name: name, header: true})
			e.Problems = append(e.Problems, fmt.Sprintf("columns.%s: there is no column %q%s", key, name, hint))
		default:
			e.Problems = append(e.Problems, fmt.Sprintf("columns.%s: %q could mean the columns %s, rename one of them", key, name, b.header.places(cols)))
		}
		return -1
	}
	var key []int
	for _, name := range names.Key {
		key = append(key, find("key", name))
	}
	return claim.Columns{
		Key: key, Email: find("email", names.Email), Status: find("status", names.Status), Due: find("due", names.Due),
		Note: find("note", names.Note), SentAt: find("sent_at", names.SentAt), ClaimedAt: find("claimed_at", names.ClaimedAt),
		ClaimedBy: find("claimed_by", names.ClaimedBy), Attempt: find("attempts", names.Attempts),
	}
}

// resolve finds the columns of references, each key once and in their order. Two
// columns of one identifier are not both used, however exactly each is named: who
// reads {{First name}} and {{first-name}} takes them for the same. idents holds the
// columns that are used already, by their identifiers.
func (b *binding) resolve(refs []ref, idents map[string]int, e *BindError) []use {
	var uses []use
	seen := map[string]bool{}
	for _, r := range refs {
		if seen[r.key()] {
			continue
		}
		seen[r.key()] = true
		col, err := b.header.find(r)
		if err != nil {
			e.Problems = append(e.Problems, err.Error())
			continue
		}
		if ident := b.header.idents[col]; ident != "" {
			if other, ok := idents[ident]; ok && other != col {
				e.Problems = append(e.Problems, fmt.Sprintf("%s: %s and a column used before have one identifier, %s: the columns %s, rename one of them",
					r.at, r.text, ident, b.header.places([]int{other, col})))
			}
			idents[ident] = col
		}
		uses = append(uses, use{r.key(), col})
		b.used = append(b.used, col)
	}
	return uses
}

func (b *binding) Columns() claim.Columns { return b.columns }

func (b *binding) Used() []int { return slices.Clone(b.used) }

// Passes evaluates where. It depends on the row alone, not on the time.
func (b *binding) Passes(r claim.Row) (bool, error) {
	if b.where == nil {
		return true, nil
	}
	values := make(map[string]any, len(b.whereUses))
	for _, u := range b.whereUses {
		cell := r.Cell(u.col)
		if err := b.readable(cell, u.col); err != nil {
			return false, err
		}
		values[u.key] = cellValue(cell, b.zone)
	}
	return b.where.passes(values)
}

// Draft renders the message with the texts that the sheet shows.
func (b *binding) Draft(r claim.Row) (claim.Draft, error) {
	values := make(map[string]string, len(b.messageUses))
	for _, u := range b.messageUses {
		cell := r.Cell(u.col)
		if err := b.readable(cell, u.col); err != nil {
			return claim.Draft{}, err
		}
		values[u.key] = cell.Shown
	}
	d, err := b.message.draft(values)
	if err != nil {
		return claim.Draft{}, err
	}
	d.To = r.Cell(b.columns.Email).Value()
	return d, nil
}

// readable refuses a formula's error, which nobody wants to mail or to judge by.
func (b *binding) readable(c claim.Cell, col int) error {
	if c.Kind != claim.Error {
		return nil
	}
	return fmt.Errorf("the column %q shows the error %s: repair its formula", b.header.shown[col], c.Shown)
}
