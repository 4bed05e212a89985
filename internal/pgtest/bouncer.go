//go:build unix

package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	osexec "os/exec"
	"path/filepath"
	"testing"
	"time"
)

// errNoBouncer says that there is no pooler to start.
var errNoBouncer = fmt.Errorf("%w: no PgBouncer is installed (Debian: apt-get install pgbouncer)", errMissing)

// Bouncer starts a PgBouncer before the server of an address, in one of its pool modes,
// and answers the address that leads through it. It keeps so many sessions at the server.
func Bouncer(t testing.TB, address, mode string, sessions int) string {
	t.Helper()
	bin, err := osexec.LookPath("pgbouncer")
	if err != nil {
		Need(t, errNoBouncer)
	}
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{}
	if s.dir, err = os.MkdirTemp("", "pgtest"); err != nil { //nolint:usetesting // that lies in a folder which the pooler's user cannot enter
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(s.dir) })
	if s.port, err = freePort(); err != nil {
		t.Fatal(err)
	}
	password, _ := u.User.Password()
	config := fmt.Sprintf(`[databases]
* = host=%s port=%s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = trust
auth_file = %s
pool_mode = %s
default_pool_size = %d
`, u.Hostname(), u.Port(), s.port, filepath.Join(s.dir, "users"), mode, sessions)
	for name, text := range map[string]string{"users": fmt.Sprintf("%q %q\n", u.User.Username(), password), "pgbouncer.ini": config} {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o644); err != nil { //nolint:gosec // read by the user that it runs as
			t.Fatal(err)
		}
	}
	if err := errors.Join(s.notRoot(), os.Chmod(s.dir, 0o755)); err != nil { //nolint:gosec // as above
		t.Fatal(err)
	}
	cmd := osexec.CommandContext(t.Context(), bin, "-q", filepath.Join(s.dir, "pgbouncer.ini")) //nolint:gosec // the pooler, with a file of ours
	cmd.SysProcAttr, cmd.Dir = s.as, "/"
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	u.Host, u.RawQuery = fmt.Sprintf("127.0.0.1:%d", s.port), "sslmode=disable" // it refuses most other parameters
	for range 100 {
		if err = exec(u.String(), "SELECT 1"); err == nil {
			return u.String()
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatal(err)
	return ""
}

// freePort answers a port of the loopback that was free a moment ago.
func freePort() (int, error) {
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}
