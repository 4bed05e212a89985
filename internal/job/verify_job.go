package job

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/schedule"
)

var (
	jobName       = lazily(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
	spreadsheetID = lazily(`^[A-Za-z0-9_-]+$`)
	sheetAddress  = lazily(`^https://docs\.google\.com/spreadsheets/(?:u/[0-9]+/)?d/([A-Za-z0-9_-]+)`)
)

const (
	leastWait  = 5 * time.Second // a shorter one cannot outlast the lag of reads
	leastLease = time.Minute
	mostLimit  = 1000
)

func (r *reader) job(c *Config, name string) {
	s, path := c.Jobs[name], "jobs."+name
	if !jobName().MatchString(name) {
		r.at(path, "expected a job name of up to 64 letters a to z, digits and ._-, found %q", name)
	}
	r.spreadsheet(path+".spreadsheet", &s.Spreadsheet)
	for i := range s.AllowSpreadsheets {
		r.spreadsheet(fmt.Sprintf("%s.allow_spreadsheets[%d]", path, i), &s.AllowSpreadsheets[i])
	}
	r.present(path+".range", s.Range)
	for i, a1 := range s.AllowRanges {
		r.present(fmt.Sprintf("%s.allow_ranges[%d]", path, i), a1)
	}
	r.columns(path, s)
	r.zone(path, s)
	r.pace(path, s, c.Google.Emulated())
	r.times(path, s)
	r.message(path, s)
	if s.Where != "" {
		if _, err := compileWhere(s.Where, time.UTC); err != nil {
			r.at(path+".where", "%v", err)
		}
	}
}

// spreadsheet takes the id out of an address that was copied from a browser.
func (r *reader) spreadsheet(path string, id *string) {
	if *id == "" {
		r.present(path, *id)
		return
	}
	if m := sheetAddress().FindStringSubmatch(*id); m != nil {
		*id = m[1]
	}
	if !spreadsheetID().MatchString(*id) {
		r.at(path, "expected the id of a spreadsheet, which its address has between /d/ and /edit, found %s", r.show(path, *id))
	}
}

func (r *reader) columns(path string, s *Spec) {
	at := path + ".columns"
	if len(s.Columns.Key) == 0 {
		r.at(at+".key", "the value is missing: name the column, or columns, that tell rows apart")
	}
	r.present(at+".email", s.Columns.Email)
	r.present(at+".status", s.Columns.Status)
	if s.Columns.Due == "" {
		for _, key := range []string{"delay", "max_lateness"} {
			if d := map[string]time.Duration{"delay": s.Delay, "max_lateness": s.MaxLateness}[key]; d > 0 {
				r.at(path+"."+key, "it counts from a due column, and columns.due is missing")
			}
		}
	}
	used := map[string]string{}
	for _, role := range s.Columns.roles() {
		where := at + "." + role.key
		if strings.TrimSpace(role.header) == "" {
			if role.key == "key" {
				r.at(where, "the name of a key column is blank")
			}
			continue
		}
		name := Normalize(role.header)
		other, taken := used[name]
		switch {
		case taken && (role.written || other == "status"):
			r.at(where, "the column %s is columns.%s already, expected one that sheetclaim has to itself", r.show(where, role.header), other)
		case taken && role.key == other:
			r.at(where, "the column %s is named twice", r.show(where, role.header))
		}
		used[name] = role.key
	}
}

func (r *reader) zone(path string, s *Spec) {
	path += ".timezone"
	if s.Timezone == "" {
		return
	}
	zone, err := time.LoadLocation(s.Timezone)
	if err != nil || s.Timezone == "Local" {
		r.at(path, "expected a time zone such as Europe/Berlin or UTC, found %s", r.show(path, s.Timezone))
		return
	}
	s.zone = zone
	s.SetClock(zone)
}

// pace checks the numbers that the promise rests on. An emulator answers at once, and
// nobody else writes into it, so that tests may be faster than people.
func (r *reader) pace(path string, s *Spec, emulated bool) {
	r.between(path+".limit", s.Limit, 1, mostLimit)
	r.between(path+".max_attempts", s.MaxAttempts, 1, 1000)
	r.between(path+".first_run_limit", s.FirstRunLimit, 0, 0)
	if s.Wait < leastWait && !emulated {
		r.at(path+".wait", "expected at least %s, found %s: a claim of another tool shows up only after a while", leastWait, s.Wait)
	}
	switch least := max(leastLease, 2*s.Wait+time.Minute); {
	case emulated && s.Lease <= s.Wait:
		r.at(path+".lease", "expected more than wait (%s), found %s", s.Wait, s.Lease)
	case !emulated && s.Lease < least:
		r.at(path+".lease", "expected at least %s (a minute more than twice the wait), found %s: it has to outlast the wait and a slow confirm", least, s.Lease)
	}
	if s.OnDoubt != claim.Stop && s.OnDoubt != claim.Skip {
		r.at(path+".on_doubt", "expected stop or skip, found %s", r.show(path+".on_doubt", string(s.OnDoubt)))
	}
	r.catchUp(path, s)
}

// catchUp holds catch_up to what it counts from: ticks that are missed, and times at
// which rows come due.
func (r *reader) catchUp(path string, s *Spec) {
	path += ".catch_up"
	switch s.CatchUp {
	case claim.CatchAll:
	case claim.CatchNewest, claim.CatchNone:
		if s.Schedule == "" {
			r.at(path, "%s counts the ticks that were missed, and schedule is missing", s.CatchUp)
		}
		if s.Columns.Due == "" {
			r.at(path, "%s goes by when rows came due, and columns.due is missing", s.CatchUp)
		}
	default:
		r.at(path, "expected all, newest or none, found %s", r.show(path, string(s.CatchUp)))
	}
}

func (r *reader) times(path string, s *Spec) {
	if s.Schedule == "" {
		return
	}
	if err := schedule.Validate(s.Schedule); err != nil {
		r.at(path+".schedule", "%v, found %s", err, r.show(path+".schedule", s.Schedule))
	}
}

func (r *reader) message(path string, s *Spec) {
	path += ".message"
	m := s.Message
	switch has := r.has(path); {
	case s.ClaimOnly && has:
		r.at(path, "a job with claim_only: true mails nothing itself: remove the message, or claim_only")
		return
	case s.ClaimOnly:
		if s.Schedule != "" {
			r.at(strings.TrimSuffix(path, ".message")+".schedule", "a job with claim_only: true is started by its callers, with POST /v1/claims: remove the schedule")
		}
		return
	case !has:
		r.at(path, "the section is missing: a message has a subject, and text, html or markdown; a job whose rows callers claim and send themselves has claim_only: true")
		return
	}
	r.present(path+".subject", m.Subject)
	hasText, hasHTML, hasMarkdown := strings.TrimSpace(m.Text) != "", strings.TrimSpace(m.HTML) != "", strings.TrimSpace(m.Markdown) != ""
	switch {
	case !hasText && !hasHTML && !hasMarkdown:
		r.at(path, "the body is missing: give text, html or markdown, or the same with _file")
	case hasMarkdown && (hasText || hasHTML):
		r.at(path+".markdown", "markdown makes the text and the HTML part, remove text and html or markdown")
	}
	_, problems := compileMessage(m)
	for _, p := range problems {
		r.at(path+"."+p.key, "%s", p.withoutPlace())
	}
}

// role is one configured column.
type role struct {
	key     string // as the file names it
	header  string
	written bool
}

// roles lists the configured columns, several for a key of several columns; those
// that are not mapped have a blank header.
func (c ColumnNames) roles() []role {
	var rs []role
	for _, k := range c.Key {
		rs = append(rs, role{"key", k, false})
	}
	return slices.Concat(rs, []role{
		{"email", c.Email, false},
		{"due", c.Due, false},
		{"status", c.Status, true},
		{"note", c.Note, true},
		{"sent_at", c.SentAt, true},
		{"claimed_at", c.ClaimedAt, true},
		{"claimed_by", c.ClaimedBy, true},
		{"attempts", c.Attempts, true},
	})
}
