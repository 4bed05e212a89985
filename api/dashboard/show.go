package dashboard

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"net/url"
	"path"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// frame is what stands around each view.
type frame struct {
	Title  string
	Live   string // address of the stream that keeps the view up to date; "": it stands still
	Reload bool   // without a script the view reloads itself
	Data   any

	// Filled in by show:
	Here   string // path of the view's entry in the navigation
	Nav    []navEntry
	Viewer string // name of the token; "" without tokens, or before the login
	Form   string // the token of forms
	Acts   bool   // the viewer may start, send and settle
}

// navEntry is one entry of the navigation.
type navEntry struct {
	Path, Name string
	Here       bool
	Waiting    int // messages or keys that wait for a person
}

//go:embed views
var viewFiles embed.FS

// templates are the views by name, each with the layout and with the parts that views
// share.
var templates = sync.OnceValue(parseViews)

func parseViews() map[string]*template.Template {
	funcs := template.FuncMap{
		"when": when, "clock": clock, "took": took, "capital": capital, "plural": plural, "runPath": runPath, "kind": kindOf, "rowLabel": rowOutcomeOf, "keyLabel": keyStateOf,
	}
	shared := template.Must(template.New("").Funcs(funcs).ParseFS(viewFiles, "views/layout.html", "views/parts.html"))
	all := map[string]*template.Template{}
	names, err := fs.Glob(viewFiles, "views/*.html")
	if err != nil {
		panic(err) // the pattern is ours
	}
	for _, name := range names {
		t := template.Must(template.Must(shared.Clone()).ParseFS(viewFiles, name))
		all[strings.TrimSuffix(path.Base(name), ".html")] = t
	}
	return all
}

// show answers a view inside the layout.
func (v *visit) show(status int, view string, f frame) error {
	if v.who != nil {
		f.Viewer, f.Form, f.Acts = v.who.name, v.formToken(), v.who.acts
		f.Nav = v.nav(v.r.Context())
	}
	var page bytes.Buffer
	if err := templates()[view].ExecuteTemplate(&page, "layout", f); err != nil {
		return err
	}
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.w.WriteHeader(status)
	_, _ = v.w.Write(page.Bytes()) // the reader may be gone
	return nil
}

// nav makes the navigation. A ledger that does not answer leaves the count out: the
// view itself says so.
func (v *visit) nav(ctx context.Context) []navEntry {
	var entries []navEntry
	for _, e := range views {
		if !v.offers(e.Path) {
			continue
		}
		entry := navEntry{Path: e.Path, Name: e.Name, Here: v.r.URL.Path == e.Path || e.Path != "/" && strings.HasPrefix(v.r.URL.Path, e.Path+"/")}
		switch e.Path {
		case "/doubts":
			if doubts, _, err := v.waiting(ctx); err == nil {
				entry.Waiting = len(doubts)
			}
		case "/keys":
			entry.Waiting, _ = v.unknownKeys(ctx, v.who)
		}
		entries = append(entries, entry)
	}
	return entries
}

// part renders one named part of a view, for streams.
func part(view, name string, data any) (string, error) {
	var b strings.Builder
	err := templates()[view].ExecuteTemplate(&b, name, data)
	return b.String(), err
}

// when is a moment as a date with its time: in UTC here, in the viewer's zone once the
// script has run. Nothing in it comes from outside.
func when(t time.Time) template.HTML {
	return moment(t, "", "2006-01-02 15:04:05 UTC")
}

// clock is the time of a moment alone, to the second.
func clock(t time.Time) template.HTML {
	return moment(t, ` data-form="clock"`, "15:04:05 UTC")
}

func moment(t time.Time, form, layout string) template.HTML {
	if t.IsZero() {
		return ""
	}
	t = t.UTC()
	return template.HTML(fmt.Sprintf(`<time datetime="%s" title="%s"%s>%s</time>`, //nolint:gosec // formatted times and constants
		t.Format(time.RFC3339), t.Format("2006-01-02 15:04:05 UTC"), form, t.Format(layout)))
}

// took is a duration for people.
func took(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < 2*time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < 2*time.Hour:
		return fmt.Sprintf("%.0f min", d.Minutes())
	case d < 48*time.Hour:
		return fmt.Sprintf("%.0f h", d.Hours())
	}
	return fmt.Sprintf("%.0f days", d.Hours()/24)
}

// capital begins a sentence that is kept in lower case.
func capital(s string) string {
	first, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(first)) + strings.TrimSuffix(s[size:], ".")
}

func plural(n int, one, more string) string {
	if n == 1 {
		return fmt.Sprintf("%d %s", n, one)
	}
	return fmt.Sprintf("%d %s", n, more)
}

// googleURL is a place in Google's own page of a sheet. Its fragment is what that page
// writes itself ("Get link to this cell").
func googleURL(p Place) string {
	if p.Spreadsheet == "" {
		return ""
	}
	u := "https://docs.google.com/spreadsheets/d/" + url.PathEscape(p.Spreadsheet) + "/edit"
	if p.TabID == nil {
		return u
	}
	u += fmt.Sprintf("#gid=%d", *p.TabID)
	if p.Row > 0 {
		u += "&range=" + rowOf(p.Range, p.Row)
	}
	return u
}

// columnsOf finds the first and the last column of a range as people write it: A and H
// of Visits!A1:H.
var columnsOf = regexp.MustCompile(`(?:^|!)([A-Za-z]{1,3})\d*:([A-Za-z]{1,3})\d*$`)

// rowOf is one row of a range, or of the whole tab where the range names no columns.
func rowOf(a1 string, row int) string {
	if ends := columnsOf.FindStringSubmatch(a1); ends != nil {
		return fmt.Sprintf("%s%d:%s%d", strings.ToUpper(ends[1]), row, strings.ToUpper(ends[2]), row)
	}
	return fmt.Sprintf("%d:%d", row, row)
}

// runPath is where a run is shown.
func runPath(d claim.Document) string {
	return "/runs/" + url.PathEscape(d.Job) + "/" + url.PathEscape(d.RunID)
}
