package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// What packages do before main begins, every command waits for: a script that claims
// keys starts one for each. Templates, patterns and tables are made when they are first
// used. What a package allocates is the same on every machine, other than the time.
func TestPackagesBeginWithLittleWork(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("sheetclaim", "version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	var trace strings.Builder
	cmd.Stderr = &trace
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	const most = 32 << 10 // bytes
	packages := 0
	for line := range strings.Lines(trace.String()) {
		var name string
		var at, took float64
		var bytes int
		// init github.com/… @24 ms, 0.012 ms clock, 3824 bytes, 38 allocs (package runtime)
		if n, _ := fmt.Sscanf(line, "init %s @%f ms, %f ms clock, %d bytes", &name, &at, &took, &bytes); n != 4 || !strings.HasPrefix(name, "github.com/sheetclaim/") {
			continue
		}
		packages++
		if bytes > most {
			t.Errorf("%s allocates %d bytes before main begins, expected at most %d: make it on first use (sync.OnceValue)", name, bytes, most)
		}
	}
	if packages < 3 {
		t.Errorf("the trace shows %d packages of ours:\n%s", packages, trace.String())
	}
}
