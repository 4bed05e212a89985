package job_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/job"
)

// bindMessage binds a job with a message. The header is id, email, status and what is
// given.
func bindMessage(message map[string]string, header ...string) (claim.Binding, error) {
	section, err := yaml.Marshal(map[string]any{"message": message})
	if err != nil {
		return nil, err
	}
	spec, _, _ := strings.Cut(minimal, "    message:")
	for line := range strings.SplitAfterSeq(string(section), "\n") {
		spec += "    " + line
	}
	c, err := job.Parse("c.yaml", []byte(spec), environment())
	if err != nil {
		return nil, err
	}
	j, err := c.Job("j")
	if err != nil {
		return nil, err
	}
	return j.Bind(append([]string{"id", "email", "status"}, header...), nil)
}

// cells are texts by header.
type cells map[string]string

func draft(message map[string]string, row cells) (claim.Draft, error) {
	header := slices.Sorted(maps.Keys(row))
	b, err := bindMessage(message, header...)
	if err != nil {
		return claim.Draft{}, err
	}
	r := claim.Row{Cells: []claim.Cell{text("k1"), text("a@x.test"), {}}}
	for _, h := range header {
		r.Cells = append(r.Cells, text(row[h]))
	}
	return b.Draft(r)
}

// renderText is a text part for a row.
func renderText(t *testing.T, template string, row cells) string {
	t.Helper()
	d, err := draft(map[string]string{"subject": "s", "text": template}, row)
	if err != nil {
		t.Fatalf("%s: %v", template, err)
	}
	return d.Text
}

func TestPlaceholders(t *testing.T) {
	row := cells{
		"First name \u00a0": "Ada", "End": "Friday", "Straße": "Ring 1", "नाम": "अदा", "2nd name": "B.", "Index number": "7",
		"print name": "P", "Customer's \"name\"": "C", "A | B": "AB", "Preis (€)": "9,50 €", "No.": "3", "Title": "Dr", "Send\ndate": "Mon",
		"end date": "31.", "len": "L", "Blank": "", "$ amount": "5 $",
	}
	tests := []struct{ name, template, want string }{
		{"SH01 header with blanks", "Hi {{First name}},", "Hi Ada,"},
		{"SH01 blanks and case in the template", "Hi {{\u00a0 FIRST   NAME }},", "Hi Ada,"},
		{"identifier", "Hi {{.first_name}}", "Hi Ada"},
		{"identifier without its dot", "Hi {{first_name}}", "Hi Ada"},
		{"identifier of the row inside", "{{with .title}}{{.}} {{$.first_name}}{{end}}", "Dr Ada"},
		{"SH04 line break in the header", "{{Send date}}", "Mon"},
		{"line break in the placeholder", "{{Send\ndate}}", "Mon"},
		{"a header that is nearly a keyword", "{{End}}", "Friday"},
		{"a keyword by col", "{{col \"end\"}}", "Friday"},
		{"begins like a keyword", "{{end date}}", "31."},
		{"begins like a function", "{{print name}}", "P"},
		{"a function by col", "{{col \"len\"}}", "L"},
		{"by dot", "{{.len}}", "L"},
		{"other letters", "{{Straße}} {{.straße}} {{STRASSE}}", "Ring 1 Ring 1 Ring 1"},
		{"marks", "{{नाम}} {{.न_म}}", "अदा अदा"},
		{"digit", "{{2nd name}} {{._2nd_name}}", "B. B."},
		{"quotes", "{{Customer's \"name\"}}", "C"},
		{"a pipe in the header", "{{A | B}}", "AB"},
		{"brackets", "{{Preis (€)}}", "9,50 €"},
		{"dot at the end", "{{No.}}", "3"},
		{"title is no function", "{{title}} {{Title}}", "Dr Dr"},
		{"dollar by col", "{{col \"$ amount\"}}", "5 $"},
		{"trim markers", "a \n {{- First name -}} \n b", "aAdab"},
		{"pipeline", "{{First name | upper}}", "ADA"},
		{"pipeline without blanks", "{{First name|lower|printf \"%s!\"}}", "ada!"},
		{"default", "{{Blank | default \"there\"}} {{First name | default \"there\"}}", "there Ada"},
		{"blank cell", "[{{Blank}}]", "[]"},
		{"if", "{{if .blank}}no{{else if eq .first_name \"Ada\"}}yes{{else}}no{{end}}", "yes"},
		{"if with col", "{{if eq (col \"First name\") \"Ada\"}}yes{{end}}", "yes"},
		{"with a fallback", "{{with .blank}}{{.}}{{else}}none{{end}}", "none"},
		{"variable", "{{$n := .first_name}}{{$n}}{{$n = \"x\"}}{{$n}}", "Adax"},
		{"range", "{{range $i := slice .first_name 0 2 | len}}{{$i}}{{end}}", "01"},
		{"define", "{{define \"x\"}}Hi {{First name}} {{.title}}{{end}}{{template \"x\" .}}", "Hi Ada Dr"},
		{"define for a value", "{{define \"x\"}}Hi {{.}}{{end}}{{template \"x\" .title}}", "Hi Dr"},
		{"block", "{{block \"x\" $}}{{.title}}{{end}}", "Dr"},
		{"comment", "a{{/* First {{name}} */}}b", "ab"},
		{"text with braces", "{{\"}}\"}} {{`{{x}}`}}", "}} {{x}}"},
		{"numbers and constants", "{{1}} {{-2}} {{true}}", "1 -2 true"},
		{"printf with a percent sign", "{{printf \"%s %%!\" .title}}", "Dr %!"},
		{"no braces", "} } { { }}", "} } { { }}"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := renderText(t, tt.template, row); got != tt.want {
				t.Errorf("%s = %q, want %q", tt.template, got, tt.want)
			}
		})
	}
}

func TestDraftFields(t *testing.T) {
	b, err := bindMessage(map[string]string{
		"subject": "  No {{Number}}\n", "text": "Since {{since}}, paid: {{.paid}}", "cc": "{{cc}}", "bcc": "b@x.test", "reply_to": "r@x.test",
	}, "Number", "since", "paid", "CC")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{0, 1, 2, 3, 4, 5, 6}, b.Used()); diff != "" {
		t.Error(diff)
	}
	d, err := b.Draft(claim.Row{Cells: []claim.Cell{
		text("k"), text("a@x.test; b@x.test"), {}, {Kind: claim.Number, Number: 1234.5, Shown: "1.234,50 €"}, date("2026-01-05 09:00"), checkbox(true), text("c@x.test"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := claim.Draft{
		To: "a@x.test; b@x.test", Cc: "c@x.test", Bcc: "b@x.test", ReplyTo: "r@x.test",
		Subject: "No 1.234,50 €", Text: "Since 5/1, paid: VERO",
	}
	if diff := cmp.Diff(want, d); diff != "" {
		t.Errorf("templates get what the sheet shows: %s", diff)
	}
}

func TestBindingsAreSafeForConcurrentUse(t *testing.T) {
	b, err := bindMessage(map[string]string{"subject": "{{id}}", "text": "{{id}}", "html": "<p>{{id}}</p>"})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan string)
	for i := range 8 {
		go func() {
			key := strings.Repeat("k", i+1)
			for range 20 {
				d, err := b.Draft(claim.Row{Cells: []claim.Cell{text(key), text("a@x.test")}})
				if err != nil || d.Subject != key || d.HTML != "<p>"+key+"</p>" {
					done <- "mixed up: " + d.Subject
					return
				}
			}
			done <- ""
		}()
	}
	for range 8 {
		if problem := <-done; problem != "" {
			t.Error(problem)
		}
	}
}
