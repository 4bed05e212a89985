package main

import (
	"flag"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// The test binary is the command, too: stories and tests with real processes start
// it under its own name.
func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", "10"); err != nil { // these tests mostly wait
		panic(err)
	}
	testscript.Main(m, map[string]func(){"sheetclaim": main, "delivery-worker": deliveryWorker})
}

func TestStories(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{Dir: "testdata/script"})
}
