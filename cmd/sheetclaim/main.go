// Command sheetclaim mails the due rows of a Google Sheet at most once each, and
// never loses one silently.
package main

import (
	"context"
	"os"
	"runtime/debug"
	_ "time/tzdata" // job zones must not depend on what the machine has installed
)

// memoryAim is what the collector works towards while the largest sheets are read. It
// is no limit: what is needed is taken. GOMEMLIMIT takes its place.
const memoryAim = 160 << 20

func main() {
	if _, set := os.LookupEnv("GOMEMLIMIT"); !set {
		debug.SetMemoryLimit(memoryAim)
	}
	os.Exit(NewMain().Run(context.Background(), os.Args[1:]))
}
