package dashboard

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// doubtsView is what waits for a person, and what people said.
type doubtsView struct {
	Doubts []doubtView
	Wishes []claim.Message // that the next run sends again
	Lately []answerView
	Taken  bool // a word was just taken
}

// doubtView is one message of unknown fate, with the evidence.
type doubtView struct {
	claim.Message
	Email string // as its run reported it; "": not known any more
	URL   string // of its row
	Ask   string // the address that asks once more, without the word
}

// RunPath is where the run of the message is shown.
func (d doubtView) RunPath() string {
	return runPath(claim.Document{Job: d.Job, RunID: d.Run.ID})
}

// answerView is what a person said before.
type answerView struct {
	claim.Answer
	Said string // without "settled"
}

// lately is how many answers are listed.
const lately = 10

// getDoubts lists what waits for a person.
func (p *Page) getDoubts(v *visit) error {
	ctx := v.r.Context()
	doubts, wishes, err := v.waiting(ctx)
	if err != nil {
		return ledgerFault(err)
	}
	view := doubtsView{Wishes: wishes, Taken: v.r.URL.Query().Has("taken")}
	for _, m := range doubts {
		view.Doubts = append(view.Doubts, p.viewDoubt(ctx, m))
	}
	for _, j := range v.who.jobs {
		answers, err := p.answers(ctx, j.Name, "")
		if err != nil {
			return ledgerFault(err)
		}
		view.Lately = append(view.Lately, answers...)
	}
	slices.SortStableFunc(view.Lately, func(a, b answerView) int { return b.At.Compare(a.At) })
	view.Lately = view.Lately[:min(lately, len(view.Lately))]
	return v.show(http.StatusOK, "doubts", frame{Title: "Doubts", Data: view})
}

// waiting answers the messages that wait for a person's word and those that the next
// run sends again, of the jobs that the viewer may see, the oldest first.
func (v *visit) waiting(ctx context.Context) (doubts, wishes []claim.Message, err error) {
	return v.waitingOf(ctx, v.who.jobs)
}

func (p *Page) waitingOf(ctx context.Context, jobs []Job) (doubts, wishes []claim.Message, err error) {
	for _, j := range jobs {
		ms, err := p.cfg.Desk.Waiting(ctx, claim.Book{Job: j.Name})
		if err != nil {
			return nil, nil, err
		}
		for _, m := range ms {
			if m.Wish {
				wishes = append(wishes, m)
			} else {
				doubts = append(doubts, m)
			}
		}
	}
	slices.SortStableFunc(doubts, func(a, b claim.Message) int { return a.SettledAt.Compare(b.SettledAt) })
	return doubts, wishes, nil
}

func (p *Page) answers(ctx context.Context, job, key string) ([]answerView, error) {
	all, err := p.cfg.Record.Answers(ctx, job, key, lately)
	views := make([]answerView, len(all))
	for i, a := range all {
		views[i] = answerView{a, strings.TrimPrefix(a.Text, claim.SettledAs)}
	}
	return views, err
}

func (p *Page) viewDoubt(ctx context.Context, m claim.Message) doubtView {
	d := doubtView{Message: m, URL: p.cfg.SheetURL(Place{m.Spreadsheet, m.Tab.Title, &m.Tab.ID, m.Range, m.Row})}
	query := url.Values{"job": {m.Job}, "spreadsheet": {m.Spreadsheet}, "key": {m.Key}, "generation": {strconv.Itoa(m.Generation)}}
	d.Ask = "/doubts/settle?" + query.Encode()
	rec, err := p.cfg.Runs.Find(ctx, m.Job, m.Run.ID)
	if err != nil || rec.Seq != m.Run.Seq {
		return d // the evidence is complete enough without the address
	}
	for _, r := range rec.Document.Rows {
		if r.Key == m.Key {
			d.Email = r.Email
		}
	}
	return d
}

// askView asks once more.
type askView struct {
	doubtView
	Word    claim.Word
	Problem string
}

// askSettle asks once more before a word is taken, and for the reason.
func (p *Page) askSettle(v *visit) error {
	word, err := v.word(v.r.URL.Query())
	if err != nil {
		return err
	}
	return v.ask(http.StatusOK, word, "")
}

func (v *visit) ask(status int, word claim.Settlement, problem string) error {
	doubts, _, err := v.waiting(v.r.Context())
	if err != nil {
		return ledgerFault(err)
	}
	i := slices.IndexFunc(doubts, func(m claim.Message) bool {
		return m.Book == word.Book && m.Key == word.Key && m.Generation == word.Generation
	})
	if i < 0 {
		return v.answered(word)
	}
	view := askView{doubtView: v.viewDoubt(v.r.Context(), doubts[i]), Word: word.Word, Problem: problem}
	return v.show(status, "settle", frame{Title: "Settle " + word.Key, Data: view})
}

// word reads which message is meant and what is said of it.
func (v *visit) word(form url.Values) (claim.Settlement, error) {
	generation, err := strconv.Atoi(form.Get("generation"))
	s := claim.Settlement{
		Book: claim.Book{Job: form.Get("job"), Spreadsheet: form.Get("spreadsheet")}, Key: form.Get("key"), Generation: generation,
		Word: claim.Word(form.Get("word")), Who: cmp.Or(v.who.name, "page"), Why: strings.TrimSpace(form.Get("why")),
	}
	known := slices.ContainsFunc(v.who.jobs, func(j Job) bool { return j.Name == s.Job })
	if err != nil || generation < 1 || !known || s.Word != claim.WordSent && s.Word != claim.WordResend {
		return s, notFound()
	}
	return s, nil
}

// postSettle takes a person's word. It names the generation that was shown, so that one
// that comes twice, or after another's, changes nothing.
func (p *Page) postSettle(v *visit) error {
	word, err := v.word(v.r.PostForm)
	if err != nil {
		return err
	}
	err = p.cfg.Desk.Settle(v.r.Context(), word)
	switch {
	case errors.Is(err, claim.ErrNoReason):
		return v.ask(http.StatusBadRequest, word, "Say what you saw: it is kept with your answer.")
	case errors.Is(err, claim.ErrAnswered), errors.Is(err, claim.ErrNoMessage):
		return v.answered(word)
	case errors.Is(err, claim.ErrNotEnded):
		return &fault{status: http.StatusConflict, Title: "The message is under way", Text: "Nothing was changed. Wait for the end of its run, then try again."}
	case err != nil:
		return ledgerFault(err)
	}
	p.cfg.Log.Info("settled", "job", word.Job, "key", word.Key, "as", word.Word, "by", word.Who)
	if word.Word == claim.WordSent {
		p.cfg.Settled(word.Job)
	}
	http.Redirect(v.w, v.r, "/doubts?taken", http.StatusSeeOther)
	return nil
}

// answered tells that a message waits no more, and what was said of it.
func (v *visit) answered(word claim.Settlement) error {
	f := &fault{status: http.StatusConflict, Title: "This was settled before", Text: "The message of the key " + word.Key + " waits for nobody any more. Nothing was changed by this press."}
	var err error
	if f.Record, err = v.answers(v.r.Context(), word.Job, word.Key); err != nil {
		return ledgerFault(err)
	}
	f.Record = slices.DeleteFunc(f.Record, func(a answerView) bool {
		return a.Spreadsheet != word.Spreadsheet || a.Generation != word.Generation
	})
	return f
}
