package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// The test binary is the command, too: stories and tests with real processes start
// it under its own name.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"sheetclaim": main})
}

func TestStories(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script"})
}
