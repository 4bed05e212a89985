package sheetsemu

import (
	"html/template"
	"io"
	"sync"
)

// lookPage shows a tab to people. Cells are shown as text; each row can be linked to.
var lookPage = sync.OnceValue(func() *template.Template { return template.Must(template.New("look").Parse(lookHTML)) })

const lookHTML = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{.Tab}} · emulator</title>
<style>
:root { color-scheme: light dark }
body { margin: 1rem; font: 15px/1.4 system-ui, sans-serif }
table { border-collapse: collapse } caption { text-align: left; padding-bottom: .5rem }
th, td { border: 1px solid #8884; padding: .25rem .6rem; text-align: left; white-space: pre-wrap }
th { font-weight: 400; opacity: .7 } tr:target td { background: #fdba7444 }
</style>
</head>
<body>
<table>
<caption>{{.Tab}} of {{.Spreadsheet}}, in the emulator's memory</caption>
{{range .Rows}}<tr id="row-{{.Number}}"><th scope="row">{{.Number}}</th>{{range .Cells}}<td>{{.}}</td>{{end}}</tr>
{{end}}</table>
</body>
</html>
`

// lookRow is a row with its number as people count.
type lookRow struct {
	Number int
	Cells  []string
}

// writeHTML writes a tab as a page for people.
func (e *Emulator) writeHTML(id, tab string, w io.Writer) error {
	grid, err := e.texts(id, tab)
	if err != nil {
		return err
	}
	rows := make([]lookRow, len(grid))
	for i, cells := range grid {
		rows[i] = lookRow{i + 1, cells}
	}
	return lookPage().Execute(w, map[string]any{"Spreadsheet": id, "Tab": tab, "Rows": rows})
}
