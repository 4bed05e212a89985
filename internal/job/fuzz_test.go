package job_test

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/job"
)

// FuzzConfig: no file makes the reader panic, every problem has a place in the file,
// and no error shows what came from the environment.
func FuzzConfig(f *testing.F) {
	f.Add(minimal)
	f.Add(contractExample)
	f.Add(string(job.Example()))
	f.Add("a: &a [*a]\n<<: *a\nsmtp: {<<: [*a, {b: c}]}\n")
	f.Add("jobs: {a: {where: \"${SECRET} ==\", window: \"Mon-Fri 09:00-17:00\", schedule: \"*/5 * * * *\"}}")
	f.Add("? [a]\n: |\n  b\n--- !!x 'c'\n...\n")
	const secret = "topsecretvalue"
	f.Fuzz(func(t *testing.T, text string) {
		lines := strings.Count(text, "\n") + strings.Count(text, "\r") + 1
		c, err := job.Parse("fuzz.yaml", []byte(text), environment("SECRET", secret, "SMTP_PASSWORD", secret))
		if err == nil {
			for _, name := range c.JobNames() {
				if _, err := c.Job(name); err != nil {
					t.Errorf("the job %s of a good file is refused: %v", name, err)
				}
			}
			return
		}
		if strings.Contains(err.Error(), secret) {
			t.Errorf("the error shows a secret: %v", err)
		}
		var ps job.Problems
		if !errors.As(err, &ps) || len(ps) == 0 {
			t.Fatalf("unexpected kind of error: %v", err)
		}
		for _, p := range ps {
			if p.Line > lines || p.Line < 0 {
				t.Errorf("line %d of %d: %v", p.Line, lines, p)
			}
		}
	})
}

// FuzzTemplate: whatever the template and the cell, nothing panics, HTML from a cell
// does not get into the HTML part, and a draft has no line break in its subject.
func FuzzTemplate(f *testing.F) {
	for _, template := range []string{
		"Hi {{First name}}", "{{.first_name | upper}}", "{{if .first_name}}a{{else}}b{{end}}", "{{col \"First name\"}}",
		"{{- First name -}}", "{{/* c */}}{{\"}}\"}}", "{{range 3}}{{$.first_name}}{{end}}", "{{with .first_name}}{{.}}{{end}}",
		"{{define \"x\"}}{{.}}{{end}}{{template \"x\" .first_name}}", "{{First name | default \"x\" | nl2br}}", "{{printf \"%s\" .first_name}}",
		"{{end date}}{{", "{{$x := .id}}{{$x}}", "**{{First name}}**\n\n- {{id}}\n",
	} {
		f.Add(template, "Ada")
		f.Add(template, "</p><script>x</script>\r\n{{y}} `*_")
	}
	f.Fuzz(func(t *testing.T, template, cell string) {
		if !utf8.ValidString(template) || strings.Contains(template, "raw") {
			return
		}
		for _, body := range []string{"html", "markdown"} {
			b, err := bindMessage(map[string]string{"subject": template, body: template}, "First name")
			if err != nil {
				continue
			}
			d, err := b.Draft(claim.Row{Cells: []claim.Cell{text("k"), text("a@x.test"), {}, text(cell)}})
			if err == nil && strings.ContainsAny(d.Subject, "\r\n") {
				t.Errorf("subject = %q", d.Subject)
			}
			if strings.Contains(cell, "<script>") && !strings.Contains(template, "<") && strings.Contains(d.HTML, "<script>") {
				t.Errorf("%s of %q with %q = %q", body, template, cell, d.HTML)
			}
		}
	})
}

// FuzzHeader: comparing headers has no memory and no surprises.
func FuzzHeader(f *testing.F) {
	for _, h := range []string{"First name \u00a0", "Send\ndate", "2nd name", "Straße", "İstanbul", "नाम", "%%%", "a__b", "Cafe\u0301", "00I\u0307\u0338"} {
		f.Add(h)
	}
	f.Fuzz(func(t *testing.T, h string) {
		n, id := job.Normalize(h), job.Identifier(h)
		if job.Normalize(n) != n {
			t.Errorf("%q: normalised again %q becomes %q", h, n, job.Normalize(n))
		}
		if job.Normalize("\u00a0"+h+"\r\n") != n {
			t.Errorf("%q: blanks around it matter", h)
		}
		if job.Identifier(id) != id {
			t.Errorf("%q: the identifier %q becomes %q", h, id, job.Identifier(id))
		}
		if id == "" {
			return
		}
		// An identifier is one in both languages, unless it is a word of theirs.
		if _, err := bindMessage(map[string]string{"subject": "s", "text": "{{." + id + "}}"}, h); err != nil && !strings.Contains(err.Error(), "could mean the columns") {
			t.Errorf("%q: .%s in a template: %v", h, id, err)
		}
	})
}
