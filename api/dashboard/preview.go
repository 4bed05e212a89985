package dashboard

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

const (
	previewParts  = 2 << 20         // bytes of texts and HTML on one page
	previewWithin = 2 * time.Minute // to read a sheet, and to write a run down
)

// previewPolicy is the page's policy where messages are shown. A frame made of srcdoc
// has the policy of its page (HTML, section 7.4.2), and mail is styled in line: that
// much is let in, and pictures that the message brings along. Scripts stay the page's
// own, and the frame's sandbox runs none at all.
const previewPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// previewView is what a run of a job would do now.
type previewView struct {
	claim.Preview
	Framed bool   // a message has HTML
	Held   bool   // no run would send anything now, and the detail says why
	Sheet  string // where it is seen; "": not known
	Row    string // the only row that is shown; "": all that are due
	Would  []previewRow
	Others []previewRow // that would not go
}

// previewRow is one row of a preview.
type previewRow struct {
	claim.PreviewRow
	URL string // of the row in the sheet; "": not known
}

// marks are what begins a line of its own in a message's HTML.
var (
	marks   = regexp.MustCompile(`(?i)<(?:p|br|div|tr|h[1-6]|li|hr|pre|blockquote|table|ul|ol)\b`)
	anyMark = regexp.MustCompile(`<[^>]*>`)
)

// FrameHigh is a guess at how high the frame of the row's HTML has to be, in pixels:
// nobody looks into a frame that is shut in, not even to measure it.
func (r previewRow) FrameHigh() int {
	const (
		line, inLine = 27, 60 // pixels, and letters that fit beside the text part
		margin       = 24
		least, most  = 72, 420
	)
	lines := len(marks.FindAllString(r.Message.HTML, -1)) + len(anyMark.ReplaceAllString(r.Message.HTML, ""))/inLine
	return min(most, max(least, margin+lines*line))
}

// Path is the address of a job's preview.
func (v previewView) Path() string { return previewPath(v.Job) }

func previewPath(job string) string { return "/preview/" + url.PathEscape(job) }

// mailJobs are the jobs of a viewer that send mail.
func (v *visit) mailJobs() []Job {
	return slices.DeleteFunc(slices.Clone(v.who.jobs), func(j Job) bool { return j.ClaimOnly })
}

// getPreviews lists the jobs to choose from, where there is a choice.
func (p *Page) getPreviews(v *visit) error {
	if !v.offers("/preview") {
		return notFound()
	}
	jobs := v.mailJobs()
	if len(jobs) == 1 {
		http.Redirect(v.w, v.r, previewPath(jobs[0].Name), http.StatusSeeOther)
		return nil
	}
	paths := make([]previewView, len(jobs))
	for i, j := range jobs {
		paths[i].Job = j.Name
	}
	return v.show(http.StatusOK, "previews", frame{Title: "Preview", Data: paths})
}

// previewJob finds the job that a request names.
func (v *visit) previewJob() (Job, error) {
	jobs := v.mailJobs()
	i := slices.IndexFunc(jobs, func(j Job) bool { return j.Name == v.r.PathValue("job") })
	if i < 0 || v.cfg.Preview == nil {
		return Job{}, notFound()
	}
	return jobs[i], nil
}

// getPreview shows what a run would do now, or the message of one row.
func (p *Page) getPreview(v *visit) error {
	job, err := v.previewJob()
	if err != nil {
		return err
	}
	row := strings.TrimSpace(v.r.URL.Query().Get("row"))
	made, err := v.preview(claim.PreviewRequest{Job: job.Name, Key: row, Parts: previewParts})
	if err != nil {
		return err
	}
	view := previewView{Preview: made, Row: row, Sheet: p.cfg.SheetURL(Place{Spreadsheet: made.Spreadsheet, Tab: made.Tab, TabID: made.TabID})}
	view.Holds = slices.DeleteFunc(slices.Clone(made.Holds), func(hold string) bool { return strings.Contains(made.Detail, hold) })
	view.Held = len(view.Holds) < len(made.Holds)
	for _, r := range made.Rows {
		line := previewRow{r, p.cfg.SheetURL(Place{made.Spreadsheet, made.Tab, made.TabID, made.Range, r.Row})}
		if r.Message != nil {
			view.Would = append(view.Would, line)
			view.Framed = view.Framed || r.Message.HTML != ""
		}
		if r.Outcome != claim.Would {
			view.Others = append(view.Others, line)
		}
	}
	v.w.Header().Set("Content-Security-Policy", previewPolicy)
	return v.show(http.StatusOK, "preview", frame{Title: "Preview of " + job.Name, Data: view})
}

// preview makes one, or says for people why there is none.
func (v *visit) preview(r claim.PreviewRequest) (claim.Preview, error) {
	ctx, cancel := context.WithTimeout(v.r.Context(), previewWithin)
	defer cancel()
	made, err := v.cfg.Preview.Preview(ctx, r)
	if err != nil {
		return made, previewFault(err)
	}
	return made, nil
}

func previewFault(err error) error {
	var e *claim.PreviewError
	switch {
	case errors.Is(err, claim.ErrClosing):
		return closingFault()
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return &fault{status: http.StatusBadGateway, Title: "The sheet did not answer in time", Text: "Nothing was changed. Try again in a moment."}
	case !errors.As(err, &e):
		return err
	case e.Fault == claim.PreviewNoLedger:
		return ledgerFault(err)
	}
	f := &fault{status: http.StatusUnprocessableEntity, Title: "There is no preview", Text: capital(e.Text) + "."}
	switch e.Fault {
	case claim.PreviewNoSheet:
		f.status, f.cause = http.StatusBadGateway, e.Err
	case claim.PreviewNoRow:
		f.status, f.Title = http.StatusNotFound, "No row has this key"
	case claim.PreviewNotSent:
		f.status, f.Title, f.cause = http.StatusBadGateway, "The test was not sent", e.Err
	case claim.PreviewBadTo:
		f.Title = "The test was not sent"
	case claim.PreviewRowFault:
		f.Title = "The row makes no message"
	case claim.PreviewNoLedger:
	}
	return f
}

func closingFault() *fault {
	return &fault{status: http.StatusServiceUnavailable, Title: "The service stops", Text: "Nothing was started. Try again when it is back."}
}

// testView is the end of a test.
type testView struct {
	previewView
	To      string
	Problem *fault // nil: it was sent
}

// postTest sends the message of one row to the viewer, marked as a test.
func (p *Page) postTest(v *visit) error {
	job, err := v.previewJob()
	if err != nil {
		return err
	}
	r := claim.PreviewRequest{
		Job: job.Name, Key: strings.TrimSpace(v.r.PostForm.Get("row")), To: strings.TrimSpace(v.r.PostForm.Get("to")), Parts: 1,
	}
	view, status := testView{To: r.To}, http.StatusOK
	view.Job, view.Row = job.Name, r.Key
	if r.Key == "" || r.To == "" {
		err = &fault{status: http.StatusBadRequest, Title: "The test was not sent", Text: "A test needs the key of a row, and an address to go to."}
	} else {
		view.Preview, err = v.preview(r)
	}
	if errors.As(err, &view.Problem) {
		view.Job, status = job.Name, view.Problem.status
	} else if err != nil {
		return err
	} else {
		p.cfg.Log.Info("test sent", "job", job.Name, "key", r.Key, "by", cmp.Or(v.who.name, "page"))
	}
	return v.show(status, "tested", frame{Title: "Test of " + r.Key, Data: view})
}
