package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/check"
	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/job"
	"github.com/sheetclaim/sheetclaim/internal/mailer"
	"github.com/sheetclaim/sheetclaim/internal/sheets"
)

// Names of the checks of a job's sheet.
const (
	checkLogin   = "google login"
	checkSheet   = "sheet"
	checkHeaders = "headers"
	checkStatus  = "status column"
	checkWrite   = "writing"
	checkFence   = "fence"
)

// google looks at the login and at the sheet of every job.
func (k *checker) google(ctx context.Context, jobs []string, mail *mailer.SMTP) {
	said := false
	for _, name := range jobs {
		s, err := k.newSheet(ctx, name)
		if k.client == nil {
			found, todo := sheetWords(err)
			k.r.FailSetup(checkLogin, "", found, todo)
			return
		}
		if err != nil {
			k.r.FailSetup(check.Configuration, name, err.Error(), "")
			continue
		}
		s.mail = mail
		err = s.read(ctx)
		if sheets.IsLogin(err) {
			found, todo := sheetWords(err)
			k.r.FailSetup(checkLogin, "", found, todo)
			return // the others would fare no better
		}
		if !said {
			k.r.Ok(checkLogin, "", whoLogsIn(k.cfg.Google, k.client.Account()))
			said = true
		}
		if err != nil {
			found, todo := sheetWords(err)
			k.r.FailSetup(checkSheet, name, found, todo)
			continue
		}
		s.look(ctx)
	}
}

// newSheet readies the look at a job's sheet, with the client of the checker.
func (k *checker) newSheet(ctx context.Context, name string) (_ *sheetCheck, err error) {
	if k.client == nil {
		if k.client, err = k.m.newClient(ctx, k.cfg, nil); err != nil {
			return nil, err
		}
	}
	spec, err := k.cfg.Job(name)
	return &sheetCheck{checker: k, job: spec}, err
}

// whoLogsIn names the account.
func whoLogsIn(g job.Google, account string) string {
	switch {
	case g.Emulated():
		return "none is needed at " + g.Endpoint
	case account != "":
		return "as " + account
	case g.CredentialsFile != "":
		return "with " + g.CredentialsFile
	}
	return "with the Application Default Credentials of this machine"
}

// sheetWords are what was found and what to do.
func sheetWords(err error) (found, todo string) {
	var words *claim.SheetError
	if errors.As(err, &words) {
		return words.Problem, words.Advice
	}
	return err.Error(), ""
}

// sheetCheck looks at one job's sheet.
type sheetCheck struct {
	*checker
	job      *claim.Job
	mail     *mailer.SMTP
	grid     *claim.Grid
	readTook time.Duration
}

// read fetches the range with the fence, as a claim does.
func (s *sheetCheck) read(ctx context.Context) (err error) {
	began := s.m.Now()
	s.grid, err = s.client.Read(ctx, s.job.Target, claim.Ask{Fence: true})
	s.took = s.m.Now().Sub(began)
	if err == nil {
		s.readTook = s.m.Now().Sub(s.grid.Began)
	}
	return err
}

// look goes through what a run needs of the sheet.
func (s *sheetCheck) look(ctx context.Context) {
	name := s.job.Name
	s.r.Ok(checkSheet, name, fmt.Sprintf("the tab %q has %s below its header, time zone %s", s.grid.Tab.Title, check.Count(len(s.grid.Rows), "row"), cmp.Or(s.grid.Zone, "unknown")))
	cols, err := s.job.Fits(s.grid)
	formulas := errors.Is(err, claim.ErrFormulas)
	if err != nil && !formulas {
		s.r.Fail(checkHeaders, name, err.Error(), "correct the names in the job, or the header row of the sheet")
		return
	}
	s.r.Ok(checkHeaders, name, "columns, where and templates fit the header")
	s.column(ctx, cols, err)
	s.write(ctx, cols)
	s.fence(ctx)
	if s.book == nil || s.mail == nil || formulas {
		return // a run would end there, and it has been said why
	}
	s.due(ctx)
	s.pace(ctx)
}

// column looks for what keeps our texts out of the columns that are written.
func (s *sheetCheck) column(ctx context.Context, cols claim.Columns, formulas error) {
	name := s.job.Name
	if formulas != nil {
		s.r.Fail(checkStatus, name, formulas.Error(), "")
	}
	in, err := s.client.Inspect(ctx, s.grid, cols.Written())
	if err != nil {
		found, todo := sheetWords(err)
		s.r.Warn(checkStatus, name, "its rules could not be read: "+found, todo)
		return
	}
	bad := formulas != nil
	for _, at := range cols.Written() {
		rules, title := in.Columns[at], s.grid.Header[at].Shown
		if rules.Protected != "" {
			bad = true
			s.r.Fail(checkStatus, name, fmt.Sprintf("the column %q is protected against this account (%s)", title, rules.Protected),
				"under Data > Protect sheets and ranges let "+cmp.Or(s.client.Account(), "the account")+" edit it")
		}
		if rules.Strict > 0 {
			bad = true
			s.r.Warn(checkStatus, name, fmt.Sprintf("the column %q takes only %s (%s, from row %d on): texts such as \"sending …\" and a typed resend are refused or flagged", title, rules.Rule, check.Count(rules.Strict, "cell"), rules.StrictRow),
				"under Data > Data validation remove the rule, or let it show a warning in place of rejecting")
		}
		if rules.Typed != "" {
			bad = true
			s.r.Warn(checkStatus, name, fmt.Sprintf("the column %q has a type in the table %q, which may refuse texts", title, rules.Typed), "set the type of the column to none or text")
		}
	}
	if !bad {
		s.r.Ok(checkStatus, name, "no formulas, dropdowns or protection in the columns that are written")
	}
}

// write tries whether the account may write, by the same request that marks a row, for
// a text that is nowhere: nothing matches, so that no cell changes. It is also the
// other half of the round trip.
func (s *sheetCheck) write(ctx context.Context, cols claim.Columns) {
	took := s.readTook
	if len(s.grid.Rows) > 2000 { // a claim reads its own rows of a large tab alone
		began := s.m.Now()
		rows := make([]int, min(s.job.Limit, len(s.grid.Rows)))
		for i := range rows {
			rows[i] = s.grid.Rows[i].Number
		}
		if _, err := s.client.Read(ctx, s.job.Target, claim.Ask{Tab: &s.grid.Tab, Rows: rows, Fence: true}); err == nil {
			took = s.m.Now().Sub(began)
		}
	}
	nowhere := "sheetclaim check " + randomText(20)
	var rs []claim.Replacement
	for _, at := range cols.Written() {
		rs = append(rs, claim.Replacement{Column: at, From: nowhere, To: nowhere})
	}
	began := s.m.Now()
	_, err := s.client.Replace(ctx, s.grid, rs)
	took += s.m.Now().Sub(began)
	if err != nil {
		found, todo := sheetWords(err)
		s.r.Fail(checkWrite, s.job.Name, found, todo)
		return
	}
	s.r.Ok(checkWrite, s.job.Name, "the account may write (a replacement that matches nothing was taken)")
	s.r.Round(s.job.Name, took, s.job.Wait)
}

// fence looks whether claims of other ledgers stand on the tab, and whether ours do.
func (s *sheetCheck) fence(ctx context.Context) {
	own := ""
	if s.book != nil && !s.book.fresh {
		own = s.book.id
	}
	others := map[string]int{}
	for _, stamp := range s.grid.Fence {
		if stamp.Ledger != own {
			others[stamp.Ledger]++
		}
	}
	if own != "" && len(s.grid.Fence) == 0 {
		n, err := s.book.FenceBefore(ctx, s.grid.Spreadsheet, s.grid.Tab.ID, s.m.Now())
		if err == nil && n > 0 {
			s.r.Fail(checkFence, s.job.Name, fmt.Sprintf("this ledger has claimed on the tab (number %d), and the read shows no entry of the fence", n),
				"nothing is sent twice, but claims may be refused: report this with the output of check --live-race")
			return
		}
	}
	if len(others) > 0 {
		claims := 0
		for _, n := range others {
			claims += n
		}
		s.r.Warn(checkFence, s.job.Name, fmt.Sprintf("%s on this tab made with %s than the one configured here", check.Count(claims, "claim"), check.Count(len(others), "other ledger")),
			"let all instances share one ledger: with private ones a status that is cleared by hand is sent again. If the old ledger was replaced on purpose, the entries fade away with new claims")
		return
	}
	s.r.Ok(checkFence, s.job.Name, fmt.Sprintf("%s in it, none by another ledger", check.Count(len(s.grid.Fence), "claim")))
}

// due makes a dry run over all rows, whatever the window and the limit.
func (s *sheetCheck) due(ctx context.Context) {
	all := *s.job
	all.Open, all.Limit, all.FirstRunLimit = nil, max(1, len(s.grid.Rows)), 0
	sheet, calls := s.client.Counting()
	w := &claim.Worker{Sheet: sheet, Ledger: s.book, Mailer: s.mail, Now: s.m.Now, Wait: wait, NewMark: func() string { return randomText(8) }, Calls: calls, Log: quiet()}
	doc := w.Carry(ctx, &all, claim.Order{Run: claim.RunRef{Job: s.job.Name, ID: "check"}, DryRun: true})
	ran, err := s.book.Ran(ctx, s.job.Name)
	if err != nil {
		s.r.Fail(checkLedger, s.job.Name, err.Error(), "")
		return
	}
	s.r.Due(s.job, doc, ran)
	for _, d := range doc.Doubts {
		s.r.Warn(check.DueRows, s.job.Name, fmt.Sprintf("row %d (%s): %s", d.Row, d.Kind, d.Detail), d.Kind.Advice())
	}
}

// pace says how the job's runs fit into the time between their starts.
func (s *sheetCheck) pace(ctx context.Context) {
	o, err := s.m.overlap(ctx, &parts{cfg: s.cfg, ledger: s.book.DB}, s.job.Name)
	if err != nil {
		s.r.Warn(check.Schedule, s.job.Name, err.Error(), "")
		return
	}
	s.r.Pace(s.job.Name, o)
}
