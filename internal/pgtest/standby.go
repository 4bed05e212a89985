//go:build unix

package pgtest

import (
	"errors"
	"fmt"
	"net/url"
	"os"
)

// Standby starts a server that follows s. When it is synchronous, a commit of s is
// answered once the standby has it, too.
func (s *Server) Standby(synchronous bool) (*Server, error) {
	b := &Server{bin: s.bin, as: s.as}
	var err error
	if b.dir, err = os.MkdirTemp("", "pgtest"); err != nil {
		return nil, err
	}
	source := fmt.Sprintf("host=127.0.0.1 port=%d user=tests application_name=standby", s.port)
	err = errors.Join(b.notRoot(), b.run("pg_basebackup", "-D", b.data(), "-d", source, "-R", "-X", "stream", "-c", "fast", "--no-sync"))
	if err == nil {
		err = b.Up()
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(b.dir))
	}
	if synchronous {
		err = errors.Join(exec(s.Address(), "ALTER SYSTEM SET synchronous_standby_names = '*'"), exec(s.Address(), "SELECT pg_reload_conf()"))
	}
	return b, errors.Join(err, b.guard())
}

// Promote makes a standby the primary.
func (s *Server) Promote() error { return s.run("pg_ctl", "-D", s.data(), "-w", "-t", "60", "promote") }

// Either answers an address that names two servers and asks for the one that takes writes.
func Either(a, b *Server, schema string) string {
	u, err := url.Parse(a.Address())
	if err != nil {
		panic(err) // it is one of ours
	}
	u.Host = fmt.Sprintf("127.0.0.1:%d,127.0.0.1:%d", a.port, b.port)
	return fmt.Sprintf("%s&target_session_attrs=read-write&search_path=%s", u, schema)
}
