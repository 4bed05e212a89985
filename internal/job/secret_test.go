package job_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sheetclaim/sheetclaim/internal/job"
)

func TestEnvironment(t *testing.T) {
	c := mustParse(t, strings.NewReplacer("Hello\n", "\"$${X} costs ${X} and ${Y}\"\n", "  host:", "  port: ${PORT}\n  host:").Replace(minimal),
		"X", "${Y}", "Y", "y", "PORT", "2525")
	if got, want := c.Jobs["j"].Message.Subject, "${X} costs ${Y} and y"; got != want {
		t.Errorf("subject = %q, want %q: what a variable holds is not expanded again", got, want)
	}
	if c.SMTP.Port != 2525 {
		t.Errorf("port = %d", c.SMTP.Port)
	}
}

func TestSecretFiles(t *testing.T) {
	text := strings.Replace(minimal, "  host:", "  username: u\n  password_file: pw\n  host:", 1)
	path := write(t, map[string]string{"sheetclaim.yaml": text, "pw": "two\nlines\r\n"})
	c, err := job.Load(path, environment())
	if err != nil {
		t.Fatal(err)
	}
	if got := c.SMTP.Password.Reveal(); got != "two\nlines" {
		t.Errorf("password = %q", got)
	}
}

func TestSecretsAreNotPrinted(t *testing.T) {
	const secret = "hunter2"
	c := mustParse(t, strings.Replace(minimal, "  host:", "  username: u\n  password: ${S}\n  host:", 1), "S", secret)
	var all strings.Builder
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%T"} {
		fmt.Fprintf(&all, verb+verb+verb+verb, c, c.SMTP, c.SMTP.Password, c.Ledger)
	}
	text, err := c.SMTP.Password.MarshalJSON()
	fmt.Fprint(&all, string(text), err, c.SMTP.Password.LogValue(), c.LogValue())
	if strings.Contains(all.String(), secret) || strings.Contains(all.String(), fmt.Sprintf("%x", secret)) {
		t.Error(all.String())
	}
}
