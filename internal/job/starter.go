package job

import (
	"bytes"
	_ "embed"
	"strconv"
	"strings"
	"sync"
	"text/template"
)

// Starter is what a first configuration is made of, for one job.
type Starter struct {
	Credentials             string // file; "": Application Default Credentials
	Spreadsheet, Range      string
	Job                     string
	Key, Email, Status, Due string // headers; Due "": every row is due
	Host                    string
	Port                    int
	Username                string // "": no login
	PasswordFile            string // "": from the environment
	From                    string
	Alerts                  []string
	Subject                 string
}

// unwritten stands in a first configuration where the message has to be written.
const unwritten = "write here what your message says."

// Placeholder stands where the message has to be written.
func (Starter) Placeholder() string { return unwritten }

// Unwritten reports whether the message is still that of a first configuration.
func (m MessageSource) Unwritten() bool { return strings.Contains(m.Text, unwritten) }

//go:embed starter.yaml.tmpl
var starterText string

// starter has delimiters of its own, since the file is about templates.
var starter = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("starter").Delims("[[", "]]").Funcs(template.FuncMap{"q": quoted}).Parse(starterText))
})

// File is the commented configuration. Load accepts it once the files and the
// environment variables that it names are there, if the values are what they should be.
func (s Starter) File() ([]byte, error) {
	var b bytes.Buffer
	err := starter().Execute(&b, s)
	return b.Bytes(), err
}

// TLS is the way to encrypt that goes with the port.
func (s Starter) TLS() TLS {
	switch {
	case s.Port == smtpPorts[ImplicitTLS]:
		return ImplicitTLS
	case isLoopback(s.Host) && s.Port != smtpPorts[StartTLS]:
		return NoTLS
	}
	return StartTLS
}

// AlertList is a list of YAML.
func (s Starter) AlertList() string {
	items := make([]string, len(s.Alerts))
	for i, a := range s.Alerts {
		items[i] = quoted(a)
	}
	return "[" + strings.Join(items, ", ") + "]"
}

// quoted writes a text as YAML reads it back, whatever is in it.
func quoted(s string) string { return strconv.Quote(strings.ReplaceAll(s, "${", "$${")) }

// SpreadsheetID takes the id out of what was copied from a browser; ok is false when
// there is none.
func SpreadsheetID(text string) (id string, ok bool) {
	id = strings.TrimSpace(text)
	if m := sheetAddress().FindStringSubmatch(id); m != nil {
		id = m[1]
	}
	return id, spreadsheetID().MatchString(id)
}

// GuessHost guesses the mail server of an address.
func GuessHost(address string) string {
	domain := strings.ToLower(address[strings.LastIndexByte(address, '@')+1:])
	switch domain {
	case "gmail.com", "googlemail.com":
		return "smtp.gmail.com"
	case "outlook.com", "hotmail.com", "live.com":
		return "smtp-mail.outlook.com"
	}
	return "smtp." + domain
}

// headerGuesses are names that people give to columns, the likeliest first.
var headerGuesses = map[string][]string{
	"key": {
		"key", "booking", "booking id", "booking number", "booking no", "order", "order id", "order number", "order no",
		"invoice", "invoice id", "invoice number", "invoice no", "id", "number", "no", "reference",
	},
	"email":  {"email", "e-mail", "mail", "email address", "e-mail address", "customer email", "guest email"},
	"status": {"mail status", "email status", "e-mail status", "send status", "sent status", "review status", "reminder status", "mail sent", "sent", "status"},
	"due":    {"due", "due at", "due date", "send at", "send on", "visited at", "visit date", "date"},
}

// GuessHeader answers the header that is likely to be meant by a role: key, email,
// status or due. Without headers it answers the usual name, except for due.
func GuessHeader(role string, headers []string) string {
	for _, guess := range headerGuesses[role] {
		for _, h := range headers {
			if strings.ReplaceAll(Normalize(h), "_", " ") == guess {
				return h
			}
		}
	}
	if len(headers) == 0 && role != "due" {
		return map[string]string{"key": "Key", "email": "Email", "status": "Status"}[role]
	}
	return ""
}

// IsLocal reports whether a mail server is on this machine.
func IsLocal(host string) bool { return isLoopback(host) }
