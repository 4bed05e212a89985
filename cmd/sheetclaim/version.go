package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// version is set by the linker for a release.
var version = "dev"

type versionCmd struct{}

// Run prints what was built, from what, and with what.
func (versionCmd) Run(m *Main) error {
	_, err := fmt.Fprintf(m.Stdout, "sheetclaim %s (commit %s, %s, %s/%s)\n", version, commit(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

// commit is what was built; "unknown" where the build does not say.
func commit() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				return s.Value
			}
		}
	}
	return "unknown"
}
