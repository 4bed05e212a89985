//go:build unix

package pgtest

import (
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// Server is a Postgres server of the tests' own, in a temporary folder.
type Server struct {
	bin, dir string
	port     int
	settings []string             // beside the usual ones
	as       *syscall.SysProcAttr // initdb and postgres refuse to be root's
}

// Start makes a cluster and starts its server on a free port of the loopback, to run
// until this process ends, however it ends. Commits do not wait for the disk, since no
// test cuts the power; a measurement asks for "fsync=on".
func Start(settings ...string) (*Server, error) {
	bin, err := binaries()
	if err != nil {
		return nil, err
	}
	s := &Server{bin: bin, settings: settings}
	if s.dir, err = os.MkdirTemp("", "pgtest"); err != nil {
		return nil, err
	}
	if err := errors.Join(s.notRoot(), s.init()); err != nil {
		return nil, errors.Join(err, os.RemoveAll(s.dir))
	}
	// Somebody may take the free port before the server does.
	for range 3 {
		if err = s.Up(); err == nil {
			return s, s.guard()
		}
		s.port = 0
	}
	return nil, errors.Join(err, os.RemoveAll(s.dir))
}

// lives keeps the pipes of all guards from being collected, and closed, too early.
var lives sync.Map

// guard starts a shell that waits for the end of this process, seen by the end of its
// input, and then stops the server and removes its folder.
func (s *Server) guard() error {
	cmd := osexec.Command("sh", "-c", `trap "" HUP INT TERM; read -r _; "$0/pg_ctl" -D "$1/data" -m immediate stop; rm -rf "$1"`, s.bin, s.dir) //nolint:gosec,noctx // our own folders; it outlives any test's context
	cmd.SysProcAttr, cmd.Dir = s.as, "/"
	life, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	lives.Store(life, true)
	return cmd.Start()
}

// binaries finds the folder of initdb, where Debian puts it or on the path.
func binaries() (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil {
		return "", err
	}
	if len(found) > 0 {
		slices.SortFunc(found, func(a, b string) int { return major(a) - major(b) })
		return filepath.Dir(found[len(found)-1]), nil
	}
	path, err := osexec.LookPath("initdb")
	if err != nil {
		return "", errMissing
	}
	return filepath.Dir(path), nil
}

// major is the version in /usr/lib/postgresql/15/bin/initdb.
func major(path string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
	return n
}

// notRoot lets another user own the cluster where the tests are root's.
func (s *Server) notRoot() error {
	if os.Getuid() != 0 {
		return nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		s.as = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
		return os.Chown(s.dir, uid, gid)
	}
	return fmt.Errorf("%w: there is no user postgres or nobody to run it as", errMissing)
}

func (s *Server) init() error {
	return s.run("initdb", "-D", s.data(), "-U", "tests", "-A", "trust", "-E", "UTF8", "--locale=C", "-N")
}

// Up starts the server, on the port that it had before, and waits until it answers.
func (s *Server) Up() error {
	if s.port == 0 {
		var err error
		if s.port, err = freePort(); err != nil {
			return err
		}
	}
	// The last one of a name counts.
	settings := append([]string{"listen_addresses=127.0.0.1", "unix_socket_directories=''", "fsync=off", "max_connections=200"}, s.settings...)
	options := fmt.Sprintf("-p %d -c %s", s.port, strings.Join(settings, " -c "))
	return s.run("pg_ctl", "-D", s.data(), "-l", filepath.Join(s.dir, "log"), "-o", options, "-w", "-t", "60", "start")
}

// Down stops the server as hard as a kill does: nothing is finished.
func (s *Server) Down() error {
	return s.run("pg_ctl", "-D", s.data(), "-m", "immediate", "-w", "-t", "60", "stop")
}

// Address answers the address of its database.
func (s *Server) Address() string {
	return fmt.Sprintf("postgres://tests@127.0.0.1:%d/postgres?sslmode=disable", s.port)
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// run runs one of the server's programs. Its output goes to a file, since the server
// that pg_ctl leaves behind would hold a pipe open.
func (s *Server) run(name string, args ...string) error {
	out, err := os.CreateTemp("", "pgtest-"+name)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(out.Name()) }()
	defer out.Close()
	cmd := osexec.Command(filepath.Join(s.bin, name), args...) //nolint:gosec,noctx // programs of the server, which outlives any test's context
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr, cmd.Dir = out, out, s.as, s.dir
	if err := cmd.Run(); err != nil {
		said, _ := os.ReadFile(out.Name())
		log, _ := os.ReadFile(filepath.Join(s.dir, "log"))
		return fmt.Errorf("%s: %w\n%s%s", name, err, said, log)
	}
	return nil
}
