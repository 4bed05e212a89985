package main

import (
	"bytes"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// nobody is the user of the image, see the Dockerfile.
const nobody = 65532

// image is a folder that holds what the image of the Dockerfile holds: the static
// program and a folder to write in, no shell, no libraries, no /proc.
type image struct {
	t   *testing.T
	dir string
}

func newImage(t *testing.T) *image {
	t.Helper()
	i := &image{t, filepath.Join(t.TempDir(), "root")}
	program := filepath.Join(i.dir, "usr/local/bin/sheetclaim")
	build := exec.Command("go", "build", "-trimpath", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, dir := range []string{"data", "etc/sheetclaim"} {
		if err := os.MkdirAll(filepath.Join(i.dir, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chown(filepath.Join(i.dir, "data"), nobody, nobody); err != nil {
		t.Fatal(err)
	}
	for at := i.dir; at != os.TempDir(); at = filepath.Dir(at) { // the way to it, too
		if err := os.Chmod(at, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return i
}

// command is a command of the program as the image runs it.
func (i *image) command(said *bytes.Buffer, args ...string) *exec.Cmd {
	cmd := exec.Command("/usr/local/bin/sheetclaim", args...)
	cmd.Dir = "/"
	cmd.Env = []string{"SHEETCLAIM_CONFIG=/etc/sheetclaim/sheetclaim.yaml"}
	cmd.Stdout, cmd.Stderr = said, said
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: i.dir, Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	return cmd
}

// file copies a file of the stage into the image, for all to read.
func (i *image) file(from, to string) {
	i.t.Helper()
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(filepath.Join(i.dir, to), b, 0o644)
	}
	if err != nil {
		i.t.Fatal(err)
	}
}

// The program needs nothing but itself: as a user without rights, in a root that it
// cannot write, with nothing else in it, it serves, is healthy, mails, and stops in
// good order.
func TestRunsAsInTheImage(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can change the root of a process")
	}
	s := newStage(t, dueRows(2))
	config := s.secured("timezone: Europe/Berlin")
	port := freePort(t)
	s.edit(config, "127.0.0.1:0", "0.0.0.0:"+port)
	s.edit(config, "sqlite:one.db", "sqlite:/data/sheetclaim.db")
	i := newImage(t)
	i.file(config, "etc/sheetclaim/sheetclaim.yaml")
	i.file(filepath.Join(s.dir, "ca.pem"), "etc/sheetclaim/ca.pem")

	var log bytes.Buffer
	serve := i.command(&log, "serve")
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	stopped := false
	defer func() {
		if !stopped {
			_ = serve.Process.Kill()
			_ = serve.Wait()
		}
	}()
	healthy := func() error {
		var said bytes.Buffer
		if err := i.command(&said, "health", "--ready").Run(); err != nil {
			return errors.New(err.Error() + ": " + said.String())
		}
		return nil
	}
	var err error
	for range 100 {
		if err = healthy(); err == nil {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if err != nil {
		t.Fatalf("it does not become healthy: %v", err)
	}
	v := &service{t: t, url: "http://127.0.0.1:" + port}
	v.must(http.StatusOK, "POST", "/v1/runs", `{}`)
	s.wantOneEach(2)
	if err := serve.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	err, stopped = serve.Wait(), true
	if err != nil || !strings.Contains(log.String(), "stopped") {
		t.Errorf("%v: %s", err, log.String())
	}
	if healthy() == nil {
		t.Error("it is still healthy")
	}
	if err := filepath.Walk(i.dir, func(path string, info os.FileInfo, err error) error {
		if owner, ok := info.Sys().(*syscall.Stat_t); ok && owner.Uid == nobody && !strings.HasPrefix(path, filepath.Join(i.dir, "data")) {
			t.Errorf("%s was written outside of the volume", path)
		}
		return err
	}); err != nil {
		t.Error(err)
	}
}
