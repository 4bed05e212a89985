package mailer

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/smtpsink"
)

// postfix is a real Postfix, started by testdata/postfix-up.sh.
type postfix struct {
	dir               string
	submission, smtps int
}

// startPostfix uses the one in SHEETCLAIM_POSTFIX, or starts one. Where that is not
// possible the test is skipped, but in CI it fails: a peer that is not ours is part
// of the proof.
func startPostfix(t *testing.T) postfix {
	t.Helper()
	missing := func(why string) {
		t.Helper()
		if os.Getenv("CI") == "true" {
			t.Fatal(why)
		}
		t.Skip(why)
	}
	if testing.Short() {
		t.Skip("not in short mode: it starts a real mail server")
	}
	if dir := os.Getenv("SHEETCLAIM_POSTFIX"); dir != "" {
		return readPorts(t, dir)
	}
	for _, program := range []string{"postfix", "dovecot", "openssl", "bash"} {
		if _, err := exec.LookPath(program); err != nil {
			missing("no real mail server to test with: " + program + " is not installed")
		}
	}
	if os.Getuid() != 0 {
		missing("no real mail server to test with: Postfix starts as root only")
	}
	// Not t.TempDir: the folder above that is closed to other users.
	dir, err := os.MkdirTemp("", "postfix")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	script(t, "start", dir, fmt.Sprint(freePort(t)), fmt.Sprint(freePort(t)))
	t.Cleanup(func() { script(t, "stop", dir) })
	return readPorts(t, dir)
}

func script(t *testing.T, args ...string) {
	t.Helper()
	// Not t.Context: it has ended when the server is to be stopped.
	cmd := exec.Command("testdata/postfix-up.sh", args...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("postfix-up.sh %s: %v\n%s", args[0], err, out)
	}
}

func readPorts(t *testing.T, dir string) postfix {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "ports"))
	if err != nil {
		t.Fatal(err)
	}
	p := postfix{dir: dir}
	if _, err := fmt.Sscan(string(b), &p.submission, &p.smtps); err != nil {
		t.Fatal(err)
	}
	return p
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func (p postfix) mailer(t *testing.T, edit ...func(*Config)) *SMTP {
	t.Helper()
	return newMailer(t, nil, append([]func(*Config){func(c *Config) {
		c.Port, c.TLS, c.CAFile = p.submission, STARTTLS, filepath.Join(p.dir, "tls", "ca.pem")
		c.Username, c.Password = "alice", "secret"
	}}, edit...)...)
}

// delivered waits until a message with this id is in a Maildir.
func (p postfix) delivered(t *testing.T, box, id string) smtpsink.Parsed {
	t.Helper()
	for range 100 {
		files, err := filepath.Glob(filepath.Join(p.dir, "mail", box, "new", "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			m, err := smtpsink.Message{ID: f, Data: b}.Parse()
			if err == nil && m.Get("Message-Id") == id {
				return m
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("no message %s in %s after 10 s", id, box)
	return smtpsink.Parsed{}
}

func TestPostfix(t *testing.T) {
	p := startPostfix(t)
	id := fmt.Sprintf("t%d", time.Now().UnixNano())
	n := 0
	letter := func(t *testing.T, m *SMTP, to, text string) claim.Letter {
		t.Helper()
		n++
		d := draft(to)
		d.ID = fmt.Sprintf("%s.%d", id, n)
		d.Subject, d.Text, d.HTML = "Grüße, Ada", text, "<p>"+strings.Repeat("y", 3000)+"</p>"
		return compose(t, m, d)
	}
	const body = ".\n.test\n..end\n" + "Größe"

	for name, edit := range map[string]func(*Config){
		"starttls": func(*Config) {},
		"implicit": func(c *Config) { c.Port, c.TLS = p.smtps, Implicit },
	} {
		t.Run(name, func(t *testing.T) {
			m := p.mailer(t, edit)
			if err := m.Login(t.Context()); err != nil {
				t.Fatal(err)
			}
			for _, box := range []string{"alice", "bob"} {
				l := letter(t, m, box+"@example.net", body)
				res := m.Send(t.Context(), l, claim.Hooks{})
				want(t, res, claim.Accepted, false, "dot", 250)
				if !strings.HasPrefix(res.Reply, "250 2.0.0 Ok: queued as ") {
					t.Errorf("reply %q", res.Reply)
				}
				got := p.delivered(t, box, l.MessageID)
				if normalize(got.Text) != normalize(body) && strings.TrimRight(got.Text, "\r\n") != normalize(body) {
					t.Errorf("text %q", got.Text)
				}
				if got.Get("Subject") != "Grüße, Ada" || !strings.HasPrefix(got.HTML, "<p>yyy") {
					t.Errorf("subject %q, HTML %.40q", got.Get("Subject"), got.HTML)
				}
			}
		})
	}

	t.Run("utf8", func(t *testing.T) {
		m := p.mailer(t)
		l := letter(t, m, "jörg@example.net", body)
		want(t, m.Send(t.Context(), l, claim.Hooks{}), claim.Accepted, false, "dot", 250)
		p.delivered(t, "all", l.MessageID)
	})

	t.Run("refusals on one connection", func(t *testing.T) {
		m := p.mailer(t, func(c *Config) { c.Connections = 1 })
		for _, tc := range []struct {
			to, text string
			verdict  claim.Verdict
			account  bool
			step     string
			code     int
			reply    string
		}{
			{"nouser@example.net", body, claim.Refused, false, "rcpt", 550, "550 5.1.1"},
			{"greylist@example.net", body, claim.Deferred, false, "rcpt", 450, "450 4.2.0"},
			{"full@example.net", body, claim.Deferred, false, "rcpt", 452, "452 4.2.2"},
			{"shutdown@example.net", body, claim.Deferred, true, "rcpt", 421, "421 4.3.2"},
			{"bob@example.net, nouser@example.net", body, claim.Refused, false, "rcpt", 550, "nouser@example.net 550 5.1.1"},
			{"bob@example.net", "lab: refuse this\n", claim.Refused, false, "dot", 550, "550 5.7.1"},
		} {
			res := m.Send(t.Context(), letter(t, m, tc.to, tc.text), claim.Hooks{})
			want(t, res, tc.verdict, tc.account, tc.step, tc.code)
			if !strings.HasPrefix(res.Reply, tc.reply) {
				t.Errorf("%s: reply %q", tc.to, res.Reply)
			}
		}
		l := letter(t, m, "bob@example.net", body)
		want(t, m.Send(t.Context(), l, claim.Hooks{}), claim.Accepted, false, "dot", 250)
		p.delivered(t, "bob", l.MessageID)
	})

	t.Run("account", func(t *testing.T) {
		blocked := p.mailer(t, func(c *Config) { c.From = "blocked@example.org" })
		want(t, blocked.Send(t.Context(), letter(t, blocked, "bob@example.net", body), claim.Hooks{}),
			claim.Deferred, true, "rcpt", 554)
		wrong := p.mailer(t, func(c *Config) { c.Password = "wrong" })
		wantAccountError(t, wrong.Login(t.Context()), "login", "535 5.7.8", "smtp.password")
		stranger := p.mailer(t, func(c *Config) { c.CAFile = "" })
		wantAccountError(t, stranger.Login(t.Context()), "connect", "x509", "ca_file")
	})
}
