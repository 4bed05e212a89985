package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"
)

// manCmd prints the manual page, which release archives hold.
type manCmd struct{}

// Run writes the page in the macros of man(7).
func (manCmd) Run(m *Main, k *kong.Kong) error {
	var text strings.Builder
	p := page{&text}
	p.line(`.TH SHEETCLAIM 1 "" "sheetclaim %s"`, roff(version))
	p.line(".SH NAME\nsheetclaim \\- mails the due rows of a Google Sheet at most once each")
	p.line(".SH SYNOPSIS\n.B sheetclaim\n.RI [ flags ] \" command \" [ flags ]")
	p.line(".SH DESCRIPTION\n%s", roff(k.Model.Help))
	p.line(".SH FLAGS OF ALL COMMANDS")
	p.flags(k.Model.Flags)
	p.line(".SH COMMANDS")
	for _, command := range k.Model.Leaves(true) {
		p.line(".SS %s", roff(strings.TrimPrefix(command.FullPath(), k.Model.Name+" ")))
		p.line("%s", roff(command.Help))
		p.text(command.Detail)
		for _, arg := range command.Positional {
			p.line(".TP\n.I %s\n%s", roff(strings.ToUpper(arg.Name)), roff(arg.Help))
		}
		p.flags(command.Flags)
	}
	p.line(".SH FILES\n.TP\n.I sheetclaim.yaml\nThe configuration; sheetclaim init writes a commented one.")
	_, err := io.WriteString(m.Stdout, text.String())
	return err
}

// page writes macros of man(7).
type page struct{ w io.Writer }

func (p page) line(format string, args ...any) { fmt.Fprintf(p.w, format+"\n", args...) }

// text writes help as it is laid out.
func (p page) text(s string) {
	if s != "" {
		p.line(".PP\n.nf\n%s\n.fi", roff(s))
	}
}

func (p page) flags(flags []*kong.Flag) {
	for _, f := range flags {
		if f.Hidden {
			continue
		}
		value := ""
		if !f.IsBool() {
			value = " \\fI" + roff(f.FormatPlaceHolder()) + "\\fR"
		}
		from := ""
		if len(f.Envs) > 0 {
			from = " (" + strings.Join(f.Envs, ", ") + ")"
		}
		p.line(".TP\n\\fB\\-\\-%s\\fR%s\n%s", roff(f.Name), value, roff(f.Help+from))
	}
}

// roff escapes a text for man(7): backslashes, hyphens that are to be copied, and
// lines that would be taken for macros.
func roff(s string) string {
	lines := strings.Split(strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s), "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}
