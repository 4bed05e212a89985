// Command sheetclaim mails the due rows of a Google Sheet at most once each, and
// never loses one silently.
package main

import (
	"context"
	"os"
	_ "time/tzdata" // job zones must not depend on what the machine has installed
)

func main() {
	os.Exit(NewMain().Run(context.Background(), os.Args[1:]))
}
