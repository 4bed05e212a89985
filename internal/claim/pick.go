package claim

import (
	"fmt"
	"strings"
	"time"
)

// fitted is a job bound to the header of one read.
type fitted struct {
	Binding
	job  *Job
	cols Columns
	zone *time.Location
	left []Downtime // rows that came due in them are left
}

// candidate is a row that is due and whose status cell lets it be claimed.
type candidate struct {
	row    Row
	key    string
	text   string // of the status cell
	status Status
	passes bool      // where
	due    time.Time // with the delay; zero where the job has no due column
}

// fault is something about one row that a person has to mend. It leaves that row
// alone and stops nothing.
type fault struct {
	row  int
	key  string
	text string
}

// picked is what one read offers.
type picked struct {
	candidates []candidate
	busy       []candidate // due, but the cell carries somebody's claim
	faults     []fault
	hidden     []candidate // due, but left since they are hidden
	passedBy   passedBy
}

// passedBy counts the rows that are not due, by why.
type passedBy struct {
	rows    int       // all that are not blank
	handled int       // their status ends them, or is somebody's own text
	where   int       // do not pass where
	notYet  int       // their time has not come, or they have none
	hidden  int       // hidden, and the job leaves those
	next    time.Time // when the first of notYet becomes due; zero if none has a time
}

// maxKey keeps a key usable as a name in logs, URLs and the ledger.
const maxKey = 512

// pick goes through a read and sorts out which rows are due. It is pure: the
// ledger is asked afterwards, about the candidates only. wishes are keys that a
// person wants sent again.
func (f *fitted) pick(g *Grid, now time.Time, wishes map[string]bool) picked {
	var p picked
	rowsOf := f.rowsByKey(g.Rows)
	for _, row := range g.Rows {
		if row.IsBlank() {
			continue
		}
		p.passedBy.rows++
		c := candidate{row: row, text: row.Cell(f.cols.Status).Shown}
		c.status = f.wished(row, ParseStatus(c.text), wishes)
		switch c.status.Kind {
		case StatusEmpty, StatusFailed, StatusResend, StatusSending:
		case StatusSent, StatusGaveUp, StatusRejected, StatusUnknown, StatusForeign:
			p.passedBy.handled++
			continue
		}
		ready, err := f.isDue(&c, now)
		if row.Hidden && f.job.SkipHidden {
			p.leaveHidden(f, c, ready)
			continue
		}
		if !ready && err == nil {
			p.passedBy.count(c)
			continue
		}
		var keyErr error
		c.key, keyErr = f.key(row)
		switch rows := rowsOf[c.key]; {
		case keyErr != nil:
			err = keyErr
		case len(rows) > 1:
			err = fmt.Errorf("repeated key (rows %s): give each row a key of its own", joinRows(rows))
		}
		switch {
		case c.status.Kind == StatusSending:
			if err == nil {
				p.busy = append(p.busy, c)
			}
		case err != nil:
			p.faults = append(p.faults, fault{row: row.Number, key: c.key, text: err.Error()})
		default:
			p.candidates = append(p.candidates, c)
		}
	}
	return p
}

// leaveHidden notes a hidden row that the job leaves. Its faults are nobody's worry.
func (p *picked) leaveHidden(f *fitted, c candidate, due bool) {
	p.passedBy.hidden++
	if due {
		c.key, _ = f.key(c.row)
		p.hidden = append(p.hidden, c)
	}
}

// count notes a row that is not due.
func (p *passedBy) count(c candidate) {
	if !c.passes {
		p.where++
		return
	}
	p.notYet++
	if !c.due.IsZero() && (p.next.IsZero() || c.due.Before(p.next)) {
		p.next = c.due
	}
}

// String says in words why rows are not due.
func (p passedBy) String() string {
	if p.rows == 0 {
		return "the range has no rows"
	}
	var s strings.Builder
	s.WriteString("of " + counted(p.rows, "row"))
	for _, why := range []struct {
		rows int
		text string
	}{{p.handled, "handled before"}, {p.where, "outside where"}, {p.notYet, "not due yet"}, {p.hidden, "hidden"}} {
		if why.rows > 0 {
			fmt.Fprintf(&s, ", %d %s", why.rows, why.text)
		}
	}
	return s.String()
}

// wished reads the status of a row that a person wants sent again as if "resend"
// stood in its cell. Somebody's own text and a claim stay what they are.
func (f *fitted) wished(row Row, s Status, wishes map[string]bool) Status {
	if len(wishes) == 0 || s.Kind == StatusForeign || s.Kind == StatusSending {
		return s
	}
	if key, err := f.key(row); err == nil && wishes[key] {
		return Status{Kind: StatusResend}
	}
	return s
}

// isDue reports whether a row passes where and its time has come. An error is a
// fault of the row.
func (f *fitted) isDue(c *candidate, now time.Time) (bool, error) {
	ok, err := f.Passes(c.row)
	if err != nil || !ok {
		return false, err
	}
	c.passes = true
	if f.cols.Due < 0 {
		return true, nil
	}
	at, ok, err := dueAt(c.row.Cell(f.cols.Due), f.zone)
	if err != nil || !ok {
		return false, err
	}
	c.due = at.Add(f.job.Delay)
	late := now.Sub(c.due)
	if late < 0 {
		return false, nil
	}
	const allTheSame = "type resend into the status cell to send it all the same"
	since := c.due.In(f.zone).Format(time.RFC3339)
	switch {
	case c.status.Kind == StatusResend:
	case f.job.MaxLateness > 0 && late > f.job.MaxLateness:
		return true, fmt.Errorf("due since %s, longer than max_lateness: %s", since, allTheSame)
	case c.status.Kind == StatusEmpty && isLeft(f.left, c.due):
		return true, fmt.Errorf("due since %s, when the service was down, and catch_up is %s: %s", since, f.job.CatchUp, allTheSame)
	}
	return true, nil
}

// key reads the row's own key. Several key columns are kept apart by "|", with "|"
// and "\" inside a part escaped, so that no two rows can look alike.
func (f *fitted) key(row Row) (string, error) {
	parts := make([]string, len(f.cols.Key))
	for i, col := range f.cols.Key {
		cell := row.Cell(col)
		part := strings.TrimSpace(cell.Value())
		if f.job.Normal != nil {
			part = f.job.Normal(part)
		}
		if part == "" || cell.Kind == Error {
			return "", fmt.Errorf("the key is blank or an error (%q): every row needs a key of its own", cell.Shown)
		}
		if len(f.cols.Key) > 1 {
			part = strings.NewReplacer(`\`, `\\`, `|`, `\|`).Replace(part)
		}
		parts[i] = part
	}
	key := strings.Join(parts, "|")
	if len(key) > maxKey {
		return "", fmt.Errorf("the key has %d bytes, more than %d", len(key), maxKey)
	}
	return key, nil
}

// rowsByKey answers the rows of every key.
func (f *fitted) rowsByKey(rows []Row) map[string][]Row {
	seen := make(map[string][]Row, len(rows))
	for _, row := range rows {
		if key, err := f.key(row); err == nil {
			seen[key] = append(seen[key], row)
		}
	}
	return seen
}

// joinRows writes row numbers for people, the first few of many.
func joinRows(rows []Row) string {
	const most = 5
	var b strings.Builder
	for i, row := range rows {
		if i == most {
			fmt.Fprintf(&b, " and %d more", len(rows)-most)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprint(&b, row.Number)
	}
	return b.String()
}

// formulaIn answers the number of a row that has a formula in a column that the
// job writes; 0 if there is none. Writing there would destroy the formula or be
// undone by it.
func formulaIn(g *Grid, cols Columns) (row int, in writtenColumn) {
	for _, w := range cols.written() {
		if g.Header[w.index].Formula {
			return g.FirstRow, w
		}
		for _, row := range g.Rows {
			if row.Cell(w.index).Formula {
				return row.Number, w
			}
		}
	}
	return 0, writtenColumn{}
}

// choice is what the ledger allows for a candidate.
type choice struct {
	take       bool
	generation int
	attempts   int  // so far, by ledger or cell, whichever is greater
	taken      bool // another run has the row
	doubt      DoubtKind
	why        string // for a doubt or a fault
}

// choose judges a candidate by what the ledger knows of its key.
func choose(job *Job, c candidate, known Message, exists bool, now time.Time) choice {
	if !exists {
		return chooseNew(job, c)
	}
	if !known.State.Ended() {
		return choice{taken: true}
	}
	resend := c.status.Kind == StatusResend
	spent := known.Attempts > 0 || known.Outcome != "" && known.State == Verified
	switch {
	case resend && spent:
		return choice{take: true, generation: known.Generation + 1}
	case known.State == Verified && known.Outcome.Final():
		return chooseEnded(c, known)
	}
	if known.Generation > 1 && !resend && !spent {
		// A wish was given back and then withdrawn; what came before it has ended.
		return choice{doubt: ClearedAfterEnd, why: "the status no longer asks to send again a message that had ended"}
	}
	attempts := max(known.Attempts, c.status.N)
	switch {
	case attempts >= job.MaxAttempts:
		return choice{why: fmt.Sprintf("attempts used up (%d of %d): type resend into the status cell to try again", attempts, job.MaxAttempts)}
	case c.status.Kind == StatusFailed && now.Before(known.RetryAt):
		return choice{}
	}
	return choice{take: true, generation: known.Generation, attempts: attempts}
}

// chooseNew judges a candidate that the ledger has never seen.
func chooseNew(job *Job, c candidate) choice {
	if c.status.Kind == StatusFailed && c.status.N >= job.MaxAttempts {
		return choice{why: fmt.Sprintf("attempts used up (%d of %d): type resend into the status cell to try again", c.status.N, job.MaxAttempts)}
	}
	return choice{take: true, generation: 1, attempts: c.status.N}
}

// chooseEnded judges a candidate whose message the ledger knows to have ended for
// good, while its cell says otherwise.
func chooseEnded(c candidate, known Message) choice {
	at := known.SettledAt.UTC().Format(time.RFC3339)
	if c.status.Kind == StatusEmpty {
		return choice{
			doubt: ClearedAfterEnd,
			why:   fmt.Sprintf("the status is empty, but the message ended as %q at %s", known.Outcome, at),
		}
	}
	return choice{
		doubt: LedgerDisagrees,
		why:   fmt.Sprintf("the status reads %q, but the message ended as %q at %s", c.text, known.Outcome, at),
	}
}
