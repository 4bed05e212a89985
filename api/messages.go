package api

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// What a listed message waits for: a person's word, or the next run.
const (
	WaitsUnknown = "unknown" // nobody knows whether it went out
	WaitsResend  = "resend"  // a person wants it sent again
)

// MessageView is a message that waits.
type MessageView struct {
	Job         string    `json:"job"`
	Spreadsheet string    `json:"spreadsheet"`
	Tab         string    `json:"tab"`
	Row         int       `json:"row"` // when it was claimed
	Key         string    `json:"key"`
	Generation  int       `json:"generation"`
	State       string    `json:"state"`
	RunID       string    `json:"run_id"`
	Attempts    int       `json:"attempts"`
	MessageID   string    `json:"message_id,omitempty"`
	Reason      string    `json:"reason,omitempty"`
	SettledAt   time.Time `json:"settled_at,omitzero"` // when its outcome was written down
	Advice      string    `json:"advice"`
}

// MessageList is the document of GET /v1/messages.
type MessageList struct {
	Messages []MessageView `json:"messages"`
}

// ListMessages makes the document of messages that wait, the oldest first.
func ListMessages(ms []claim.Message) MessageList {
	list := MessageList{Messages: make([]MessageView, len(ms))}
	for i, m := range ms {
		list.Messages[i] = MessageView{
			Job: m.Job, Spreadsheet: m.Spreadsheet, Tab: m.Tab.Title, Row: m.Row, Key: m.Key, Generation: m.Generation,
			State: WaitsUnknown, RunID: m.Run.ID, Attempts: m.Attempts, MessageID: m.MessageID, Reason: m.Reason, SettledAt: m.SettledAt,
			Advice: m.Advice() + ", or send that word to POST /v1/messages/settle",
		}
		if m.Wish {
			list.Messages[i].State, list.Messages[i].Advice = WaitsResend, "there is nothing to do: the next run sends it again"
		}
	}
	slices.SortStableFunc(list.Messages, func(a, b MessageView) int { return a.SettledAt.Compare(b.SettledAt) })
	return list
}

// getMessages lists the messages that wait, of the jobs that the caller may see.
func (s *Server) getMessages(c echo.Context) error {
	query := c.Request().URL.Query()
	states := []string{WaitsUnknown, WaitsResend}
	if query.Has("state") {
		state := query.Get("state")
		if !slices.Contains(states, state) {
			return refuse(codeQueryInvalid, "expected state=unknown or state=resend, found %s: correct it, or leave it out", brief(state)).at("state").allow(states)
		}
		states = []string{state}
	}
	who := callOf(c).caller
	jobs := who.jobNames()
	if query.Has("job") {
		job, ok := who.job(query.Get("job"))
		if !ok {
			return jobUnknown(who, query.Get("job"))
		}
		jobs = []string{job.Name}
	}
	var waiting []claim.Message
	for _, job := range jobs {
		ms, err := s.cfg.Desk.Waiting(c.Request().Context(), claim.Book{Job: job})
		if err != nil {
			return deskProblem(err)
		}
		waiting = append(waiting, ms...)
	}
	list := ListMessages(waiting)
	list.Messages = slices.DeleteFunc(list.Messages, func(m MessageView) bool { return !slices.Contains(states, m.State) })
	return write(c, http.StatusOK, echo.MIMEApplicationJSON, list)
}

// settledView is the answer to a settlement.
type settledView struct {
	Settled bool   `json:"settled"`
	Job     string `json:"job"`
	Key     string `json:"key"`
	Outcome string `json:"outcome"`
	Detail  string `json:"detail"` // what happens next
}

// postSettle takes a person's word on a message that waits.
func (s *Server) postSettle(c echo.Context) error {
	req := &wordRequest{
		allowed:  []string{"job", "key", "spreadsheet", "outcome", "why"},
		outcomes: []string{string(claim.WordSent), string(claim.WordResend)},
		of:       "a message", from: "GET /v1/messages",
	}
	job, err := req.read(c)
	if err != nil {
		return err
	}
	who := callOf(c).caller
	word := claim.Settlement{
		Book: claim.Book{Job: job.Name, Spreadsheet: req.Spreadsheet}, Key: *req.Key, Word: claim.Word(req.Outcome),
		Who: cmp.Or(who.name, "api"), Why: req.Why,
	}
	if err := s.cfg.Desk.Settle(c.Request().Context(), word); err != nil {
		return settleProblem(word, err)
	}
	s.cfg.Log.Info("settled", "job", word.Job, "key", word.Key, "as", word.Word, "by", word.Who)
	answer := settledView{Settled: true, Job: word.Job, Key: word.Key, Outcome: req.Outcome, Detail: "the next run sends it again"}
	if word.Word == claim.WordSent {
		answer.Detail = "the sheet is marked as soon as it can be reached"
		s.cfg.Settled(word.Job)
	}
	return write(c, http.StatusOK, echo.MIMEApplicationJSON, answer)
}

// settleProblem says why a word was not taken.
func settleProblem(word claim.Settlement, err error) error {
	var several *SeveralError
	switch {
	case errors.As(err, &several):
		return refuse(codeSheetRequired, "%s: name one as spreadsheet", several.Error()).at("spreadsheet").allow(several.Spreadsheets)
	case errors.Is(err, claim.ErrNoMessage) && word.Spreadsheet != "":
		return refuse(codeMessageUnknown, "the job %s knows no message of the key %s in the spreadsheet %s: compare them with GET /v1/messages", word.Job, brief(word.Key), brief(word.Spreadsheet))
	case errors.Is(err, claim.ErrNoMessage):
		return refuse(codeMessageUnknown, "no message of the key %s waits in the job %s: GET /v1/messages lists those that do; name the spreadsheet to send one again that has ended", brief(word.Key), word.Job)
	case errors.Is(err, claim.ErrNotUnknown):
		return refuse(codeNotUnknown, "the message %s does not wait to be settled as sent: its end is known, or it was settled before; GET /v1/messages lists those that wait", brief(word.Key))
	case errors.Is(err, claim.ErrNotEnded):
		return refuse(codeUnderWay, "%s", claim.ErrNotEnded)
	case errors.Is(err, claim.ErrNoReason):
		return refuse(codeFieldRequired, "expected a reason as why, found none: %s", claim.ErrNoReason).at("why")
	}
	return deskProblem(err)
}

// deskProblem is ledgerProblem where no run is asked for.
func deskProblem(err error) *problem {
	return refuse(codeLedger, "the ledger did not answer: try again in a moment, the log says more").because(err).after(5 * time.Second)
}
