package job_test

import (
	"strings"
	"testing"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/job"
)

func TestDraftFaults(t *testing.T) {
	tests := []struct {
		name    string
		message map[string]string
		cell    claim.Cell
		want    string
	}{
		{"line break in subject", map[string]string{"subject": "Hi {{c}}", "text": "t"}, text("a\nb"), `message.subject has a line break in this row, which a header field cannot hold, found "Hi a\nb": remove it from the cell`},
		{"line break in address", map[string]string{"subject": "s", "text": "t", "cc": "{{c}}x"}, text("a\r\nBcc: b"), `message.cc has a line break in this row, which a header field cannot hold, found "a\r\nBcc: bx": remove it from the cell`},
		{"empty subject", map[string]string{"subject": "{{c}}", "text": "t"}, text(" "), `message.subject is empty in this row: fill the cells that it uses`},
		{"empty body", map[string]string{"subject": "s", "text": "{{c}}"}, claim.Cell{}, `the body of the message is empty in this row: fill the cells that it uses`},
		{"error of a formula", map[string]string{"subject": "s", "text": "{{c}}"}, claim.Cell{Kind: claim.Error, Shown: "#REF!"}, `the column "c" shows the error #REF!: repair its formula`},
		{"verb that does not fit", map[string]string{"subject": "s", "text": "\n{{printf \"%d\" .c}}"}, text("5"), `message.text line 2: error calling printf: printf "%d" does not fit its values: cells are texts, use %s`},
		{"kinds that do not compare", map[string]string{"subject": "s", "html": "{{if gt .c 5}}x{{end}}"}, text("5"), `message.html line 1: error calling gt: incompatible types for comparison: string and int`},
		{"slice", map[string]string{"subject": "s", "text": "{{slice .c 0 5}}"}, text("a"), `message.text line 1: error calling slice: index out of range: 5`},
		{"too long", map[string]string{"subject": "s", "text": "{{range 10000}}{{$.c}}{{end}}"}, text(strings.Repeat("x", 2000)), `message.text: the text is longer than 10 MiB`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b, err := bindMessage(tt.message, "c")
			if err != nil {
				t.Fatal(err)
			}
			_, err = b.Draft(claim.Row{Cells: []claim.Cell{text("k"), text("a@x.test"), {}, tt.cell}})
			if err == nil || err.Error() != tt.want {
				t.Errorf("error = %v\nwant    %s", err, tt.want)
			}
		})
	}
}

func TestTemplateErrors(t *testing.T) {
	tests := []struct{ name, template, want string }{
		{"SH01 typo", "Hi {{Fist name}},", `message.text line 1: {{Fist name}} is no column, did you mean "First name"?; the headers found are "id", "email", "status", "First name", "a-b", "A B", "a  b"`},
		{"SH01 typo in a branch that is not taken", "{{if false}}\n{{Fist name}}{{end}},", `message.text line 2: {{Fist name}} is no column, did you mean "First name"?; the headers found are "id", "email", "status", "First name", "a-b", "A B", "a  b"`},
		{"identifier", "Hi {{.fist_name}}", `message.text line 1: .fist_name is no column, did you mean first_name?; the headers found are "id", "email", "status", "First name", "a-b", "A B", "a  b"`},
		{"col", "Hi {{col \"x\"}}", `message.text line 1: col "x" is no column; the headers found are "id", "email", "status", "First name", "a-b", "A B", "a  b"`},
		{"pipeline", "Hi {{Fist name | upper}}", `message.text line 1: {{Fist name}} is no column, did you mean "First name"?; the headers found are "id", "email", "status", "First name", "a-b", "A B", "a  b"`},
		{"nothing near", "Hi {{Telephone}}", `message.text line 1: {{Telephone}} is no column; the headers found are "id", "email", "status", "First name", "a-b", "A B", "a  b"`},
		{"in define", "{{define \"a\"}}{{.x_y}}{{end}}x", `message.text line 1: .x_y is no column; the headers found are "id", "email", "status", "First name", "a-b", "A B", "a  b"`},
		{"two at once", "{{Foo}} {{.bar}} {{Foo}}", `message.text line 1: {{Foo}} is no column; message.text line 1: .bar is no column; the headers found are "id", "email", "status", "First name", "a-b", "A B", "a  b"`},
		{"two columns", "{{A B}}", `message.text line 1: {{A B}} could mean the columns 6 ("A B") and 7 ("a  b"), rename one of them; the headers found are "id", "email", "status", "First name", "a-b", "A B", "a  b"`},
		{"two columns by identifier", "{{.a_b}}", `message.text line 1: .a_b could mean the columns 5 ("a-b") and 6 ("A B") and 7 ("a  b"), rename one of them; the headers found are "id", "email", "status", "First name", "a-b", "A B", "a  b"`},
		{"keyword", "{{end}}", "c.yaml:11:13: jobs.j.message.text: line 1 of the template: unexpected {{end}}"},
		{"function as a column", "{{len}}", `c.yaml:11:13: jobs.j.message.text: line 1 of the template: len is a function with 1 or more values, found 0; for a column of that name write {{col "len"}}`},
		{"words in a condition", "{{if First name}}x{{end}}", `c.yaml:11:13: jobs.j.message.text: line 1 of the template: there is no function First; inside of if, with, functions and parentheses a column is written .first_name or (col "First name")`},
		{"unknown function", "{{.first_name | uper}}", `c.yaml:11:13: jobs.j.message.text: line 1 of the template: there is no function uper, did you mean upper?; inside of if, with, functions and parentheses a column is written .first_name or (col "First name")`},
		{"call", "{{call .first_name}}", `c.yaml:11:13: jobs.j.message.text: line 1 of the template: there is no function call; inside of if, with, functions and parentheses a column is written .first_name or (col "First name")`},
		{"no end", "\n{{if .first_name}}x", "c.yaml:11:13: jobs.j.message.text: line 2 of the template: an {{end}} is missing"},
		{"not closed", "a {{First name", "c.yaml:11:13: jobs.j.message.text: line 1 of the template: {{ is not closed, }} is missing"},
		{"empty action", "a {{}}", "c.yaml:11:13: jobs.j.message.text: line 1 of the template: missing value for command"},
		{"dot alone", "{{.}}", "c.yaml:11:13: jobs.j.message.text: line 1 of the template: the dot is the whole row here, write a column such as .first_name"},
		{"dollar alone", "{{$}}", "c.yaml:11:13: jobs.j.message.text: line 1 of the template: $ is the whole row, write a column such as $.first_name"},
		{"range over the row", "{{range $k, $v := .}}{{$k}}{{end}}", "c.yaml:11:13: jobs.j.message.text: line 1 of the template: the dot is the whole row here, write a column such as .first_name"},
		{"field inside with", "{{with .first_name}}{{.id}}{{end}}", "c.yaml:11:13: jobs.j.message.text: line 1 of the template: the dot is a value here, as inside with and range: write $.id for the column"},
		{"field of a value", "{{.first_name.x}}", "c.yaml:11:13: jobs.j.message.text: line 1 of the template: a value is a text and has no fields, found .first_name.x"},
		{"field of a variable", "{{$x := .id}}{{$x.y}}", "c.yaml:11:13: jobs.j.message.text: line 1 of the template: $x is a text and has no fields, write $.y for the column"},
		{"field of a group", "{{(print .id).y}}", "c.yaml:11:13: jobs.j.message.text: line 1 of the template: a value is a text and has no fields, remove .y"},
		{"method", "{{.first_name.String}}", "c.yaml:11:13: jobs.j.message.text: line 1 of the template: a value is a text and has no fields, found .first_name.String"},
		{"col without quotes", "{{col .id}}", `c.yaml:11:13: jobs.j.message.text: line 1 of the template: col takes one header in quotes, such as {{col "First name"}}`},
		{"col piped", "{{\"id\" | col}}", `c.yaml:11:13: jobs.j.message.text: line 1 of the template: col takes one header in quotes, such as {{col "First name"}}`},
		{"col as an argument", "{{print col \"id\"}}", `c.yaml:11:13: jobs.j.message.text: line 1 of the template: put col and its header in parentheses: (col "First name")`},
		{"col in a value's template", "{{define \"x\"}}{{col \"id\"}}{{end}}{{template \"x\" .id}}", `c.yaml:11:13: jobs.j.message.text: line 1 of the template: a template that is not given the row has no columns, call it with {{template "name" .}}`},
		{"template of a value", "{{define \"x\"}}{{.id}}{{end}}{{template \"x\" .id}}", "c.yaml:11:13: jobs.j.message.text: line 1 of the template: the dot is a value here, as inside with and range: write $.id for the column"},
		{"no template", "{{template \"x\" .}}", `c.yaml:11:13: jobs.j.message.text: line 1 of the template: there is no template "x", define it in the same text`},
		{"only definitions", "{{define \"x\"}}y{{end}}", "c.yaml:11:13: jobs.j.message.text: it only defines templates, and has no text of its own"},
		{"long loop", "{{range 1000000000}}x{{end}}", "c.yaml:11:13: jobs.j.message.text: line 1 of the template: expected a range of at most 10000 rounds, found 1000000000"},
		{"misspelt function", "{{uper .id}}", `c.yaml:11:13: jobs.j.message.text: line 1 of the template: there is no function uper, did you mean upper?; inside of if, with, functions and parentheses a column is written .first_name or (col "First name")`},
		{"empty definition", "{{define \"x\"}}{{end}}{{/* y */}}", "c.yaml:11:13: jobs.j.message.text: it only defines templates, and has no text of its own"},
		{"apostrophe in an action", "{{.id 'x}}", "c.yaml:11:13: jobs.j.message.text: line 1 of the template: unterminated character constant"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := bindMessage(map[string]string{"subject": "s", "text": tt.template}, "First name", "a-b", "A B", "a  b")
			if err == nil {
				t.Fatal("no error")
			}
			if err.Error() != tt.want {
				t.Errorf("error = %v\nwant    %s", err, tt.want)
			}
		})
	}
}

func TestTwoUsedHeadersOfOneIdentifier(t *testing.T) {
	headers := []string{"x y", "X/Y"}
	if _, err := bindMessage(map[string]string{"subject": "s", "text": "{{X/Y}} {{X/Y}}"}, headers...); err != nil {
		t.Errorf("one of them is used: %v", err)
	}
	want := `message.text line 1: {{X/Y}} and a column used before have one identifier, x_y: the columns 4 ("x y") and 5 ("X/Y"), ` +
		`rename one of them; the headers found are "id", "email", "status", "x y", "X/Y"`
	_, err := bindMessage(map[string]string{"subject": "{{x y}}", "text": "{{X/Y}}"}, headers...)
	if err == nil || err.Error() != want {
		t.Errorf("error = %v\nwant    %s", err, want)
	}
}

func TestHTMLThatCannotBeEscaped(t *testing.T) {
	_, err := bindMessage(map[string]string{"subject": "s", "html": "<p>\n<a href='{{if .id}}x'>{{end}}"})
	want := "c.yaml:10:13: jobs.j.message.html: line 2 of the template: {{if}} branches end in different contexts"
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error = %v\nwant    %s…", err, want)
	}
}

func TestTemplateFilesAreNamedInErrors(t *testing.T) {
	path := write(t, map[string]string{
		"sheetclaim.yaml": strings.Replace(minimal, "text: Hello", "html_file: mails/review.html", 1),
	})
	if _, err := job.Load(path, environment()); err == nil || !strings.Contains(err.Error(), `the file "mails/review.html" cannot be read: no such file or directory`) {
		t.Errorf("error = %v", err)
	}
	path = write(t, map[string]string{
		"sheetclaim.yaml": strings.Replace(minimal, "text: Hello", "html_file: review.html", 1), "review.html": "<p>Gr\xfc\xdfe",
	})
	if _, err := job.Load(path, environment()); err == nil || !strings.Contains(err.Error(), `the file "review.html" is not UTF-8: save it in that encoding`) {
		t.Errorf("error = %v", err)
	}
	path = write(t, map[string]string{
		"sheetclaim.yaml": strings.Replace(minimal, "text: Hello", "html_file: review.html", 1), "review.html": "\ufeff<p>\n{{Fist name}}",
	})
	c, err := job.Load(path, environment())
	if err != nil {
		t.Fatal(err)
	}
	j, err := c.Job("j")
	if err != nil {
		t.Fatal(err)
	}
	_, err = j.Bind([]string{"id", "email", "status", "First name"}, nil)
	want := `message.html_file (review.html) line 2: {{Fist name}} is no column, did you mean "First name"?; the headers found are "id", "email", "status", "First name"`
	if err == nil || err.Error() != want {
		t.Errorf("error = %v\nwant    %s", err, want)
	}
}
