//go:build unix

package ledger_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/ledger"
)

// The test binary is also the other process: with LEDGER_CHILD set it does one of
// children with the ledger at LEDGER_PATH.

func TestMain(m *testing.M) {
	name := os.Getenv("LEDGER_CHILD")
	if name == "" {
		os.Exit(m.Run())
	}
	s, err := ledger.Open(context.Background(), os.Getenv("LEDGER_PATH"), ledger.Options{})
	if err == nil {
		err = children()[name](context.Background(), s)
	}
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

func children() map[string]func(context.Context, *ledger.DB) error {
	return map[string]func(context.Context, *ledger.DB) error{"take": takeAll, "send": sendForEver, "ping": ping}
}

func ping(ctx context.Context, s *ledger.DB) error { return s.Ping(ctx) }

// racedKeys is how many keys the processes race for.
const racedKeys = 100

// takeAll waits for a line, then takes every key it can and prints those it got.
func takeAll(ctx context.Context, s *ledger.DB) error {
	run, err := beginChild(ctx, s)
	if err != nil {
		return err
	}
	fmt.Println("ready")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return err
	}
	for i := range racedKeys {
		got, err := s.Take(ctx, run, []claim.Take{take(run, fmt.Sprint(i))})
		if err != nil {
			return err
		}
		if got[0] {
			fmt.Println(i)
		}
	}
	return nil
}

// sendForEver moves key after key to sending, and prints each once the ledger has
// answered.
func sendForEver(ctx context.Context, s *ledger.DB) error {
	run, err := beginChild(ctx, s)
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		k := take(run, fmt.Sprint(i))
		if _, err := s.Take(ctx, run, []claim.Take{k}); err != nil {
			return err
		}
		for _, way := range [][2]claim.State{{claim.Claimed, claim.Confirmed}, {claim.Confirmed, claim.Sending}} {
			moved, err := s.Move(ctx, run, []claim.Move{{
				MessageKey: k.MessageKey, Claim: k.Claim, From: way[:1], To: way[1], Lease: true,
				Attempt: &claim.Attempt{Number: 1, At: time.Now()},
			}})
			if err != nil {
				return err
			}
			if !moved[0] {
				return fmt.Errorf("key %d did not move to %s", i, way[1])
			}
		}
		fmt.Println(i)
	}
}

func beginChild(ctx context.Context, s *ledger.DB) (claim.RunRef, error) {
	rec, _, err := s.Begin(ctx, claim.RunRequest{Job: "reviews", ID: fmt.Sprint(os.Getpid()), Lease: time.Hour}, time.Now())
	return rec.RunRef, err
}

// child is a started process and its two ends.
type child struct {
	*exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func start(t *testing.T, name, path string, uid int) *child {
	t.Helper()
	exe := "/proc/self/exe" // works for another user too, who may not see the file's folder
	if runtime.GOOS != "linux" {
		exe = os.Args[0]
	}
	c := &child{Cmd: exec.CommandContext(t.Context(), exe)}
	c.Env = append(os.Environ(), "LEDGER_CHILD="+name, "LEDGER_PATH="+path)
	if uid != os.Getuid() {
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	}
	var err error
	if c.in, err = c.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.out = bufio.NewReader(out)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Wait() })
	return c
}

func (c *child) line(t *testing.T) string {
	t.Helper()
	line, err := c.out.ReadString('\n')
	if err != nil {
		t.Fatalf("the child ended: %v", err)
	}
	return strings.TrimSpace(line)
}

// TestTwoProcesses: of several processes on one file, each key is won by one.
func TestTwoProcesses(t *testing.T) {
	path := newPath(t)
	children := make([]*child, 3)
	for i := range children { // all at once: one of them makes the schema
		children[i] = start(t, "take", path, os.Getuid())
	}
	for _, c := range children {
		if line := c.line(t); line != "ready" {
			t.Fatal(line)
		}
	}
	for _, c := range children {
		if _, err := io.WriteString(c.in, "go\n"); err != nil {
			t.Fatal(err)
		}
	}
	won := map[string]int{}
	for _, c := range children {
		all, err := io.ReadAll(c.out)
		if err != nil {
			t.Fatal(err)
		}
		for key := range strings.FieldsSeq(string(all)) {
			won[key]++
		}
	}
	if len(won) != racedKeys {
		t.Errorf("%d keys were given, want %d: %v", len(won), racedKeys, won)
	}
	for key, n := range won {
		if n != 1 {
			t.Errorf("key %s was given %d times", key, n)
		}
	}
}

// TestKilled: what Move has answered is there after the process was killed.
func TestKilled(t *testing.T) {
	for _, lines := range []int{5, 13, 29} {
		path := newPath(t)
		c := start(t, "send", path, os.Getuid())
		var answered []string
		for range lines {
			answered = append(answered, c.line(t))
		}
		if err := c.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		rest, _ := io.ReadAll(c.out) // what it said until it died
		if whole := strings.LastIndexByte(string(rest), '\n'); whole >= 0 {
			answered = append(answered, strings.Fields(string(rest[:whole]))...)
		}
		_ = c.Wait()
		checkSending(t, path, answered)
	}
}

// checkSending makes sure that the ledger holds these keys as sending, each with
// its attempt.
func checkSending(t *testing.T, path string, keys []string) {
	t.Helper()
	s := open(t, path, ledger.Options{})
	defer s.Close()
	ms, err := s.Lookup(t.Context(), claim.Book{Job: "reviews", Spreadsheet: "S1"}, keys)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		m := ms[key]
		if m.State != claim.Sending {
			t.Errorf("key %s is %q, want sending", key, m.State)
		}
		if as, err := s.Attempts(t.Context(), m.MessageKey); err != nil || len(as) != 1 {
			t.Errorf("attempts of key %s: %v, %v", key, as, err)
		}
	}
}

// TestNotWritable: as a user who may not write the file or its folder.
func TestNotWritable(t *testing.T) {
	uid := os.Getuid()
	if uid == 0 {
		uid = 65534 // root may write everything, so another user has to try
	}
	tests := []struct {
		name         string
		exists       bool
		file, folder os.FileMode
		want         string
	}{
		{"read-only file", true, 0o444, 0o777, "must be writable by this user"},
		{"unreadable file", true, 0o000, 0o777, "must be able to write"},
		{"read-only folder", false, 0, 0o555, "must be writable by this user"},
		{"read-only folder with a ledger", true, 0o666, 0o555, "must be writable by this user"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			folder, err := os.MkdirTemp("", "ledger") // t.TempDir lies in a folder of its owner alone
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				_ = os.Chmod(folder, 0o700)
				_ = os.RemoveAll(folder)
			})
			path := filepath.Join(folder, "sheetclaim.db")
			if tt.exists {
				open(t, path, ledger.Options{}).Close()
				if err := os.Chmod(path, tt.file); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Chmod(folder, tt.folder); err != nil {
				t.Fatal(err)
			}
			said, _ := io.ReadAll(start(t, "ping", path, uid).out)
			if !strings.Contains(string(said), tt.want) {
				t.Errorf("got  %swant %s", said, tt.want)
			}
		})
	}
}
