package job_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

func TestOddCells(t *testing.T) {
	t.Run("SH23", func(t *testing.T) {
		cell := "p\"w\\1\tx\n{{y}} %d &<"
		d, err := draft(map[string]string{"subject": "s", "text": "{{pw}}", "html": "<p>{{pw}}</p>"}, cells{"pw": cell})
		if err != nil {
			t.Fatal(err)
		}
		if d.Text != cell {
			t.Errorf("text = %q", d.Text)
		}
		if want := "<p>p&#34;w\\1\tx\n{{y}} %d &amp;&lt;</p>"; d.HTML != want {
			t.Errorf("html = %q, want %q", d.HTML, want)
		}
	})
}

func TestEscapingByPart(t *testing.T) {
	t.Run("MS05", func(t *testing.T) {
		d, err := draft(map[string]string{
			"subject": "For {{name}}", "text": "For {{name}}", "reply_to": "\"{{name}}\" <r@x.test>",
			"html": "For {{name}}|{{name | raw}}|<a href=\"/?q={{name}}\">|{{raw .name}}",
		}, cells{"name": "C&A <b>Ltd</b>"})
		if err != nil {
			t.Fatal(err)
		}
		want := claim.Draft{
			To: "a@x.test", Subject: "For C&A <b>Ltd</b>", Text: "For C&A <b>Ltd</b>", ReplyTo: "\"C&A <b>Ltd</b>\" <r@x.test>",
			HTML: "For C&amp;A &lt;b&gt;Ltd&lt;/b&gt;|C&A <b>Ltd</b>|<a href=\"/?q=C%26A%20%3cb%3eLtd%3c%2fb%3e\">|C&A <b>Ltd</b>",
		}
		if diff := cmp.Diff(want, d); diff != "" {
			t.Error(diff)
		}
	})
}

func TestLineBreaks(t *testing.T) {
	t.Run("SH24", func(t *testing.T) {
		row := cells{"c": "line<1>\r\nline2"}
		d, err := draft(map[string]string{"subject": "s", "text": "{{c}}|{{c | nl2br}}", "html": "{{c}}|{{c | nl2br}}|{{nl2br .c}}"}, row)
		if err != nil {
			t.Fatal(err)
		}
		if want := "line<1>\r\nline2|line<1>\r\nline2"; d.Text != want {
			t.Errorf("text = %q", d.Text)
		}
		if want := "line&lt;1&gt;\r\nline2|line&lt;1&gt;<br>\nline2|line&lt;1&gt;<br>\nline2"; d.HTML != want {
			t.Errorf("html = %q, want %q", d.HTML, want)
		}
	})
}

func TestUnsubscribeURL(t *testing.T) {
	tests := []struct{ template, cell, want, fault string }{
		{"https://u.test/?k={{k}}", "k1", "https://u.test/?k=k1", ""},
		{"https://u.test/{{k}}?k={{.k}}\n", "a b&c/ü+1", "https://u.test/a%20b%26c%2F%C3%BC%2B1?k=a%20b%26c%2F%C3%BC%2B1", ""},
		{"https://u.test/{{if eq .k \"a b\"}}x{{end}}", "a b", "https://u.test/x", ""},
		{"{{raw .k}}", "https://u.test/?a=b&c=d", "https://u.test/?a=b&c=d", ""},
		{"http://127.0.0.1/{{k}}", "x", "http://127.0.0.1/x", ""},
		{"https://u.test/?k={{k}}", "a\nb", "https://u.test/?k=a%0Ab", ""},
		{"{{k}}", "https://u.test/", "", `message.unsubscribe_url is no https address in this row, found "https%3A%2F%2Fu.test%2F": a cell that is a whole address needs {{raw .name}}`},
		{"{{raw .k}}", "http://u.test/", "", `message.unsubscribe_url is no https address in this row, found "http://u.test/": a cell that is a whole address needs {{raw .name}}`},
	}
	for _, tt := range tests {
		t.Run("MS09 "+tt.template+" with "+tt.cell, func(t *testing.T) {
			d, err := draft(map[string]string{"subject": "s", "text": "t", "unsubscribe_url": tt.template}, cells{"k": tt.cell})
			fault := ""
			if err != nil {
				fault = err.Error()
			}
			if d.Unsubscribe != tt.want || fault != tt.fault {
				t.Errorf("got %q, %s", d.Unsubscribe, fault)
			}
		})
	}
}

func TestMarkdown(t *testing.T) {
	tests := []struct{ name, source, cell, html, text string }{
		{"plain", "Hello **{{c}}**", "Ada", "<p>Hello <strong>Ada</strong></p>\n", "Hello **Ada**"},
		{"MS05 HTML in the cell", "Hi {{c}}", "C&A <b>Ltd</b>", "<p>Hi C&amp;A &lt;b&gt;Ltd&lt;/b&gt;</p>\n", "Hi C&A <b>Ltd</b>"},
		{
			"markdown in the cell", "{{c}}", "# a *b* [c](https://x.test) 1. `d` &amp; ~~e~~ https://x.test",
			"<p># a *b* [c](https://x.test) 1. `d` &amp;amp; ~~e~~ https://x.test</p>\n", "# a *b* [c](https://x.test) 1. `d` &amp; ~~e~~ https://x.test",
		},
		{"blocks in the cell", "x {{c}}", "a\n\n    code\n\n- b", "<p>x a\ncode\n- b</p>\n", "x a\n\n    code\n\n- b"},
		{"SH24 line breaks", "{{c | nl2br}}", "a\nb", "<p>a<br>\nb</p>\n", "a\nb"},
		{"raw is markdown and no HTML", "{{raw .c}}", "*a* <b>b</b>", "<p><em>a</em> <!-- raw HTML omitted -->b<!-- raw HTML omitted --></p>\n", "*a* <b>b</b>"},
		{"link", "[go]({{c}})", "https://x.test/?a=b_c&d=(e)", "<p><a href=\"https://x.test/?a=b_c&amp;d=(e)\">go</a></p>\n", "[go](https://x.test/?a=b_c&d=(e))"},
		{"link that runs a program", "[go]({{c}})", "javascript:alert(1)", "<p><a href=\"\">go</a></p>\n", "[go](javascript:alert(1))"},
		{"table", "|a|\n|-|\n|{{c}}|", "x|y", "<table>\n<thead>\n<tr>\n<th>a</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td>x|y</td>\n</tr>\n</tbody>\n</table>\n", "|a|\n|-|\n|x|y|"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d, err := draft(map[string]string{"subject": "s", "markdown": tt.source}, cells{"c": tt.cell})
			if err != nil {
				t.Fatal(err)
			}
			if d.HTML != tt.html || d.Text != tt.text {
				t.Errorf("html = %q\nwant   %q\ntext = %q\nwant   %q", d.HTML, tt.html, d.Text, tt.text)
			}
		})
	}
}
