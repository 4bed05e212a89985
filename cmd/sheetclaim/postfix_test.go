package main

import (
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/smtpsink"
)

// postfix is a real Postfix in a folder of its own, and the port that takes
// submissions.
type postfix struct{ dir, port string }

// startPostfix uses the one in SHEETCLAIM_POSTFIX, or starts one. Where that is not
// possible the test is skipped, but in CI it fails.
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
	dir := os.Getenv("SHEETCLAIM_POSTFIX")
	if dir == "" {
		for _, program := range []string{"postfix", "dovecot", "openssl", "bash"} {
			if _, err := exec.LookPath(program); err != nil {
				missing("no real mail server to test with: " + program + " is not installed")
			}
		}
		if os.Getuid() != 0 {
			missing("no real mail server to test with: Postfix starts as root only")
		}
		var err error
		// Not t.TempDir: the folder above that is closed to other users.
		if dir, err = os.MkdirTemp("", "postfix"); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		postfixScript(t, "start", dir, freePort(t), freePort(t))
		t.Cleanup(func() { postfixScript(t, "stop", dir) })
	}
	ports, err := os.ReadFile(filepath.Join(dir, "ports"))
	if err != nil {
		t.Fatal(err)
	}
	return postfix{dir: dir, port: strings.Fields(string(ports))[0]}
}

func postfixScript(t *testing.T, args ...string) {
	t.Helper()
	out, err := exec.Command("../../internal/mailer/testdata/postfix-up.sh", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("postfix-up.sh %s: %v\n%s", args[0], err, out)
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

// waitForQueue returns when everything that Postfix has taken is delivered.
func (p postfix) waitForQueue(t *testing.T) {
	t.Helper()
	for range 300 {
		left := 0
		for _, queue := range []string{"incoming", "active", "deferred"} {
			err := filepath.WalkDir(filepath.Join(p.dir, "spool", queue), func(_ string, e fs.DirEntry, err error) error {
				if err == nil && !e.IsDir() {
					left++
				}
				return nil // a message may leave while we look
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if left == 0 {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("Postfix still has mail after 30 s; see %s", filepath.Join(p.dir, "maillog"))
}

// delivered answers the Message-IDs in the Maildir of all strangers, by recipient,
// of the recipients with that tag.
func (p postfix) delivered(t *testing.T, tag string) map[string][]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(p.dir, "mail", "all", "new", "*"))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		m, err := smtpsink.Message{ID: f, Data: b}.Parse()
		if err != nil {
			t.Fatal(err)
		}
		if to := m.Get("Delivered-To"); strings.Contains(to, tag) {
			got[to] = append(got[to], m.Get("Message-Id"))
		}
	}
	return got
}

// Three processes of the program at once, with one ledger, and a Postfix that wants
// STARTTLS and a login: its Maildir has one message per row.
func TestThreeProcessesAndPostfix(t *testing.T) {
	t.Parallel()
	const n = 5
	mta := startPostfix(t)
	tag := fmt.Sprintf("t%d", time.Now().UnixNano())
	rows := dueRows(n)
	for i, row := range rows[1:] {
		row[1] = fmt.Sprintf("guest%d.%s@example.net", i+1, tag)
	}
	s := newStage(t, rows)
	s.smtp = "127.0.0.1:" + mta.port
	config := s.config("one")
	s.edit(config, "tls: none", "tls: starttls, ca_file: "+filepath.Join(mta.dir, "tls", "ca.pem")+", username: alice, password: secret")
	var ps []*process
	for i := range 3 {
		ps = append(ps, startRun(t, config, fmt.Sprintf("p%d", i)))
	}
	var docs []claim.Document
	for _, p := range ps {
		d, code := p.wait(t)
		if code != exitOK && code != exitSome {
			t.Errorf("exit %d: %s\n%s", code, d.Detail, p.err.String())
		}
		docs = append(docs, d)
	}
	if slices.ContainsFunc(docs, func(d claim.Document) bool { return len(d.Doubts) > 0 }) {
		d, _ := s.runJSON(config) // a slow machine may make a run give back; the next one sends
		docs = append(docs, d)
	}
	mta.waitForQueue(t)
	got := mta.delivered(t, tag)
	for _, d := range docs {
		for _, r := range d.Rows {
			if r.Outcome != claim.Sent {
				continue
			}
			if ids := got[r.Email]; !slices.Equal(ids, []string{r.MessageID}) || !strings.HasPrefix(r.SMTPReply, "250 2.0.0 Ok: queued as ") {
				t.Errorf("%s got %q, and the report says %s, %q", r.Email, ids, r.MessageID, r.SMTPReply)
			}
		}
	}
	if len(got) != n {
		t.Errorf("mail for %d rows, want %d: %v", len(got), n, got)
	}
	s.wantStatuses(slices.Repeat([]string{"sent"}, n)...)
	if len(s.sink.Messages()) > 0 {
		t.Error("the mail went elsewhere, too")
	}
}
