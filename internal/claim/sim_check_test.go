package claim_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/sheetsemu"
	"github.com/sheetclaim/sheetclaim/internal/smtpsink"
)

// ours reports whether a text is a claim of sheetclaim's.
func ours(text string) bool {
	st := claim.ParseStatus(text)
	return st.Kind == claim.StatusSending && st.Token != ""
}

// stakes notes what a run knows when it claims.
func (s *sim) stakes(g *claim.Grid, b claim.Batch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	read := map[string]string{}
	for _, row := range g.Rows {
		read[row.Cell(simKey).Shown] = row.Cell(simStatus).Shown
	}
	for _, c := range b.Cells {
		if c.Column != simStatus {
			continue
		}
		st := staked{began: g.Began, at: time.Now(), held: c.Held, read: read, mark: b.Stamp.Mark}
		for _, row := range g.Rows {
			if row.Number == c.Row {
				st.key, st.saw = row.Cell(simKey).Shown, row.Cell(simStatus).Shown
			}
		}
		s.staked[c.Text] = st
	}
}

// sight looks at the sheet; no edit falls between the look and its count.
func (s *sim) sight() sighted {
	for {
		s.mu.Lock()
		edits := s.edits
		s.mu.Unlock()
		g := s.grid()
		s.mu.Lock()
		same := s.edits == edits
		s.mu.Unlock()
		if same {
			return sighted{g, edits}
		}
	}
}

// watch judges every change that a write of ours makes, cell by cell.
func (s *sim) watch() {
	s.emu.Before(func(c *sheetsemu.Call) {
		if c.Kind != sheetsemu.KindBatchUpdate {
			return
		}
		now := s.sight()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.before[c.N] = now
	})
	s.emu.After(func(c *sheetsemu.Call) {
		if c.Kind != sheetsemu.KindBatchUpdate {
			return
		}
		now := s.sight()
		s.mu.Lock()
		defer s.mu.Unlock()
		was := s.before[c.N]
		delete(s.before, c.N)
		for n := range s.before {
			s.before[n] = now // what this call did is not the doing of another at the same instant
		}
		if !c.Applied {
			return
		}
		if was.edits != now.edits {
			s.counts["calls that were not judged, since somebody edited at the same instant"]++
			return
		}
		for i := range max(len(was.grid), len(now.grid)) {
			a, b := rowOr(was.grid, i), rowOr(now.grid, i)
			for col := range max(len(a), len(b)) {
				if cellOr(a, col) != cellOr(b, col) {
					s.changed(c, cellOr(b, simTag), col, cellOr(a, col), cellOr(b, col))
				}
			}
		}
	})
}

func rowOr(g [][]string, i int) []string {
	if i < len(g) {
		return g[i]
	}
	return make([]string, simWidth)
}

func cellOr(row []string, i int) string {
	if i < len(row) {
		return row[i]
	}
	return ""
}

// changed judges one change of one cell. The caller holds the lock.
func (s *sim) changed(c *sheetsemu.Call, tag string, col int, was, is string) {
	sh := s.byTag[tag]
	key := ""
	if sh != nil {
		key = sh.key
	}
	s.note("%s: call %d: row %q column %c: %q -> %q", c.Caller, c.N, key, 'A'+col, was, is)
	switch {
	case col == simNote && s.plan.note && (ours(is) || ours(was) || s.ofUnknown(was)):
		return
	case col != simStatus:
		s.violate("promise 3: %s changed column %c of %q from %q to %q", c.Caller, 'A'+col, key, was, is)
	case s.putBack(sh, was, is):
	case ours(is):
		s.claimed(c, sh, was, is)
	case ours(was):
		s.unclaimed(c, sh, was, is)
	case claim.ParseStatus(was).Kind == claim.StatusUnknown:
		// A late answer.
	default:
		s.violate("promise 3: %s changed the status of %q from %q to %q", c.Caller, key, was, is)
	}
}

// ofUnknown reports whether a note is that of an unknown of ours, which goes when the doubt
// is settled. It names the claim.
func (s *sim) ofUnknown(note string) bool {
	token := note[strings.LastIndexByte(note, '(')+1:]
	for text := range s.staked {
		if strings.HasSuffix(note, ")") && strings.HasSuffix(text, "/"+strings.TrimSuffix(token, ")")) {
			return true
		}
	}
	return false
}

// putBack reports whether a text of others comes back that a claim had taken the
// place of.
func (s *sim) putBack(sh *shadow, was, is string) bool {
	if sh == nil {
		return false
	}
	o, ok := s.lost[sh.tag]
	switch {
	case !ok || o.claim != was:
		return false
	case o.text == is:
		s.counts["texts of others put back"]++
	case o.moved && o.known && o.read == is:
		s.excuse("rows moved under the claim, and the text there had changed since the last read: what the read showed was put back", "%s: %q instead of %q", sh.key, is, o.text)
	default:
		return false
	}
	delete(s.lost, sh.tag)
	return true
}

func (s *sim) claimed(c *sheetsemu.Call, sh *shadow, was, is string) {
	st := s.staked[is]
	key := ""
	if sh != nil {
		key = sh.key
	}
	moved := key != st.key
	if moved {
		s.counts["claims that landed beside their row"]++
	}
	if was == "" || !moved && was == st.held {
		return
	}
	if sh == nil {
		s.violate("promise 3: %s claimed over %q in a row without a tag", c.Caller, was)
		return
	}
	o := overwritten{text: was, claim: is, moved: moved}
	o.read, o.known = st.read[key]
	last := sh.typed[len(sh.typed)-1]
	age := time.Since(st.began)
	o.typed = (moved || st.saw == "") && last.text == was && last.at.After(st.began.Add(-readLag))
	switch {
	case o.typed && age <= readLag:
		s.excuse("a text typed into an empty cell between the last read and the claim", "%s: %q under %q, typed %s ago, read %s ago", key, was, is, time.Since(last.at), age)
	case o.typed && st.at.Sub(st.began) <= readLag: // young when it was sent, and on its way too long
		sh.late = append(sh.late, time.Now())
		s.excuse("a text typed into an empty cell under a claim that was applied late", "%s: %q under %q, typed %s ago, read %s ago", key, was, is, time.Since(last.at), age)
	case moved:
		s.counts["texts of others under claims beside their row"]++
	default:
		s.violate("promise 3: %s claimed %s over %q, which stood there before the read %s ago", c.Caller, key, was, age)
	}
	s.lost[sh.tag] = o
}

func (s *sim) unclaimed(c *sheetsemu.Call, sh *shadow, was, is string) {
	if sh == nil {
		return
	}
	o, ok := s.lost[sh.tag]
	if !ok || o.claim != was {
		return
	}
	delete(s.lost, sh.tag)
	if !o.typed && !ours(o.text) { // of a claim of ours the ledger knows what is to become
		s.violate("promise 3: %s: %q stood under %q and got %q back", sh.key, o.text, was, is)
	}
}

// accepted are the messages that the mail server took, by key and generation.
type taken struct {
	key string
	gen int
	smtpsink.Message
}

var messageIDOf = regexp.MustCompile(`(?m)^Message-I[Dd]: *\r?\n? *<(sc\.[0-9a-f]+)@`)

func (s *sim) accepted() []taken {
	names := map[string]taken{}
	for _, sh := range s.rows {
		for gen := 1; gen <= sh.resends+2; gen++ {
			sum := sha256.Sum256([]byte(strings.Join([]string{"test", spreadsheet, sh.key, fmt.Sprint(gen)}, "\x00")))
			names["sc."+hex.EncodeToString(sum[:16])] = taken{key: sh.key, gen: gen}
		}
	}
	var all []taken
	for _, m := range s.sink.Messages() {
		found := messageIDOf.FindSubmatch(m.Data)
		if found == nil {
			s.violate("a message without a Message-ID of ours: %.300q", m.Data)
			continue
		}
		tk, ok := names[string(found[1])]
		if !ok {
			s.violate("promise 1: a message to %v of a generation that nobody asked for", m.To)
			continue
		}
		tk.Message = m
		all = append(all, tk)
	}
	return append(all, s.worked...)
}

// check judges the end. Nothing runs any more.
func (s *sim) check(procs []*proc) {
	grid := s.grid()
	var ms []claim.Message
	alerts := map[string]map[claim.AlertKind][]string{} // key -> kind -> causes
	s.alerts = alerts
	for _, p := range procs {
		of, err := p.led.Messages(context.Background(), "test")
		if err != nil {
			s.t.Fatal(err)
		}
		ms = append(ms, of...)
		as, err := p.led.Alerts(context.Background())
		if err != nil {
			s.t.Fatal(err)
		}
		for _, a := range as {
			for _, row := range a.Rows {
				if alerts[row.Key] == nil {
					alerts[row.Key] = map[claim.AlertKind][]string{}
				}
				alerts[row.Key][a.Kind] = append(alerts[row.Key][a.Kind], a.Cause)
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.accepted()
	s.counts["messages"] += len(all)
	s.checkOnce(all, ms)
	rows := s.checkCells(grid)
	for _, sh := range s.rows {
		if row := rows[sh.tag]; row != nil && !sh.gone {
			s.checkEnd(sh, row, all, ms, alerts[sh.key])
		}
	}
}

// told reports whether an alert about a key was kept, of a kind, or about a doubt.
func (s *sim) told(key string, kind claim.AlertKind, doubt claim.DoubtKind) bool {
	of := s.alerts[key]
	return len(of[kind]) > 0 || slices.Contains(of[claim.AlertDoubt], string(doubt))
}

// checkOnce is the first sentence of the promise.
func (s *sim) checkOnce(all []taken, ms []claim.Message) {
	perGen := map[string]int{}
	for _, tk := range all {
		perGen[fmt.Sprint(tk.key, "/", tk.gen)]++
		if !slices.ContainsFunc(s.rows, func(sh *shadow) bool { return sh.key == tk.key && slices.Contains(sh.emails, tk.To[0]) }) {
			s.violate("promise 1: a message for %s went to %v", tk.key, tk.To)
		}
		if !slices.ContainsFunc(ms, func(m claim.Message) bool {
			return m.Key == tk.key && m.Generation == tk.gen && (m.Outcome == claim.Sent || m.Outcome == claim.Unknown)
		}) {
			s.violate("promise 2: generation %d of %s was accepted, and no ledger says sent or unknown", tk.gen, tk.key)
		}
	}
	if s.plan.shared {
		for what, n := range perGen {
			if n > 1 {
				s.violate("promise 1: %s was accepted %d times", what, n)
			}
		}
	}
	for _, sh := range s.rows {
		var times []time.Time
		for _, tk := range all {
			if tk.key == sh.key {
				times = append(times, tk.At)
			}
		}
		byUs := len(times)
		s.counts["messages by the foreign tool"] += len(sh.foreign)
		times = append(times, sh.foreign...)
		slices.SortFunc(times, time.Time.Compare)
		if len(times) <= 1+sh.resends {
			continue
		}
		cleared := slices.ContainsFunc(sh.cleared, func(at time.Time) bool { return at.Before(times[len(times)-1]) })
		switch {
		case cleared && !s.plan.shared:
			s.excuse("separate ledgers, and a status cleared by hand", "%s: %d messages", sh.key, len(times))
		case cleared && len(sh.foreign) > 0:
			s.excuse("a status of the foreign tool cleared by hand", "%s: %d messages, %d by us", sh.key, len(times), byUs)
		case len(sh.late) > 0 && len(sh.foreign) > 0 && sh.late[0].Before(times[len(times)-1]):
			s.excuse("a foreign tool's text lost under a claim that was applied late", "%s: %d messages, %d by us", sh.key, len(times), byUs)
		default:
			s.violate("promise 1: %s: %d messages (%d by us) for %d wishes, at %v", sh.key, len(times), byUs, 1+sh.resends, times)
		}
	}
}

// checkCells is the third sentence, and that no claim is left.
func (s *sim) checkCells(grid [][]string) map[string][]string {
	rows := map[string][]string{}
	for i, row := range grid {
		for col, text := range row {
			if !ours(text) {
				continue
			}
			left := s.lost[row[simTag]]
			if (left.claim == text || col == simNote) && left.moved && s.told(row[simKey], claim.AlertStaleClaim, claim.ClaimMisplaced) {
				s.excuse("a claim that landed on a row whose former text no ledger had kept", "%s: %q under %q", row[simKey], left.text, text)
			} else {
				s.violate("promise 4: a claim is left in row %d (%s), column %c: %q", i+1, row[simKey], 'A'+col, text)
			}
		}
		if i == 0 {
			continue
		}
		tag := row[simTag]
		if tag == "" {
			if strings.Join(row, "") != "" {
				s.violate("promise 3: row %d was empty: %q", i+1, row)
			}
			continue
		}
		if rows[tag] != nil {
			s.violate("promise 3: two rows with tag %s", tag)
		}
		rows[tag] = row
	}
	for _, sh := range s.rows {
		row := rows[sh.tag]
		switch {
		case sh.gone && row == nil:
			continue
		case sh.gone || row == nil:
			s.violate("promise 3: row %s: gone %t, row %q", sh.key, sh.gone, row)
			continue
		}
		want := []string{sh.key, sh.email, sh.due, row[simStatus], sh.tag, sh.remark}
		if !slices.Equal(row[:simNote], want) {
			s.violate("promise 3: row %q, want %q", row, want)
		}
	}
	return rows
}

// checkEnd is the second sentence.
func (s *sim) checkEnd(sh *shadow, row []string, all []taken, ms []claim.Message, alerts map[claim.AlertKind][]string) {
	text := row[simStatus]
	st := claim.ParseStatus(text)
	sent := slices.ContainsFunc(all, func(tk taken) bool { return tk.key == sh.key })
	wrote := func(t string) bool {
		return slices.ContainsFunc(sh.typed, func(ty typed) bool { return strings.TrimSpace(ty.text) == strings.TrimSpace(t) })
	}
	has := func(kind claim.AlertKind) bool { return len(alerts[kind]) > 0 }
	known := slices.ContainsFunc(ms, func(m claim.Message) bool { return m.Key == sh.key })
	left := s.lost[sh.tag].claim == text // judged by checkCells
	if !known && !left && text != sh.typed[len(sh.typed)-1].text {
		s.violate("promise 3: no run held %s, and its status is %q", sh.key, text)
	}
	due := sh.due == duePast
	switch st.Kind {
	case claim.StatusSent:
		if !sent && len(sh.foreign) == 0 && !wrote("sent") {
			s.violate("promise 2: %s is marked sent, and nobody sent it", sh.key)
		}
	case claim.StatusGaveUp:
		if !has(claim.AlertGaveUp) {
			s.violate("promise 2: %s gave up without an alert", sh.key)
		}
	case claim.StatusRejected:
		if !has(claim.AlertRejected) {
			s.violate("promise 2: %s was rejected without an alert", sh.key)
		}
	case claim.StatusUnknown:
		if !has(claim.AlertUnknown) {
			s.violate("promise 2: %s is unknown without an alert", sh.key)
		}
	case claim.StatusForeign:
		if !wrote(text) {
			s.violate("promise 3: status of %s is %q, which nobody wrote", sh.key, text)
		}
	case claim.StatusSending:
		if !ours(text) && !wrote(text) {
			s.violate("promise 3: status of %s is %q, which nobody wrote", sh.key, text)
		}
	case claim.StatusEmpty, claim.StatusFailed, claim.StatusResend:
		fault := has(claim.AlertRowFault) || slices.Contains(alerts[claim.AlertDoubt], string(claim.ClearedAfterEnd)) || slices.Contains(alerts[claim.AlertDoubt], string(claim.LedgerDisagrees))
		if due && !fault {
			s.violate("promise 2: %s is due, its status is %q, nobody took it up and no alert says why", sh.key, text)
		}
		if sent && !fault && st.Kind != claim.StatusResend && due {
			s.violate("promise 2: %s was sent and is eligible (%q)", sh.key, text)
		}
	}
}

// dump answers what happened, in order.
func (s *sim) dump(only string) string {
	type line struct {
		at   time.Time
		text string
	}
	var lines []line
	for _, e := range s.events {
		lines = append(lines, line(e))
	}
	for _, c := range s.emu.Log() {
		lines = append(lines, line{c.Time, fmt.Sprintf("%s: call %d %s: applied %t at %s, status %d %s, fault %+v", c.Caller, c.N, c.Kind, c.Applied, stampOf(c.AppliedAt), c.Status, c.Message, c.Fault)})
	}
	for _, l := range s.sink.Dialog(0) {
		lines = append(lines, line{l.At, fmt.Sprintf("mail %d: %s", l.Conn, l)})
	}
	slices.SortStableFunc(lines, func(a, b line) int { return a.at.Compare(b.at) })
	var b strings.Builder
	for _, l := range lines {
		if only == "" || strings.Contains(l.text, only) {
			fmt.Fprintf(&b, "%s %s\n", stampOf(l.at), strings.TrimRight(l.text, "\n"))
		}
	}
	return b.String()
}

func stampOf(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("15:04:05.000")
}
