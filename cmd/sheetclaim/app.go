package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"github.com/sheetclaim/sheetclaim/internal/key"
)

// Exit statuses. run says more in its help.
const (
	exitOK    = 0
	exitSome  = 1 // a run ended partial or stopped
	exitError = 2 // usage, configuration, or nothing could be tried
)

// Main is the program as a value: what production starts is what tests start.
type Main struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Env            func(name string) (string, bool)
	Now            func() time.Time
	// Exit ends the process at once; the second signal does that.
	Exit func(code int)
	// Ready is told the addresses that a serving command listens on; nil: nobody asks.
	Ready func(addrs map[string]string)
	// Browse opens a file in the browser; nil: there is none.
	Browse func(ctx context.Context, path string) error

	log    *slog.Logger
	ignore func() // leaves signals to the command
}

// NewMain is the program as the operating system starts it.
func NewMain() *Main {
	return &Main{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Env: os.LookupEnv, Now: time.Now, Exit: os.Exit, Browse: browse,
	}
}

// keyCLI is the part of the command line that scripts start many times a second: it is
// understood alone, since building the whole takes as long as the rest of a claim.
type keyCLI struct {
	globals

	Key  keyCmd  `cmd:"" help:"Claim a key before any action that must happen at most once."`
	Once onceCmd `cmd:"" help:"Run a command at most once per key."`
}

// globals are the flags of every command.
type globals struct {
	Config    string `help:"Configuration file; sheetclaim.yaml when left out." default:"sheetclaim.yaml" env:"SHEETCLAIM_CONFIG" type:"path" placeholder:"FILE"`
	LogFormat string `help:"text or json, on stderr." enum:"text,json" default:"text"`
	LogLevel  string `help:"debug, info, warn or error." enum:"debug,info,warn,error" default:"${level}"`
}

// cli is the command line.
type cli struct {
	Demo    demoCmd    `cmd:"" help:"Show it: emulator, mail catcher, ledger and service in one process; three runs at once on a sample sheet."`
	Serve   serveCmd   `cmd:"" help:"Serve the HTTP API and start scheduled runs."`
	Run     runCmd     `cmd:"" help:"Run a job once, now."`
	Check   checkCmd   `cmd:"" help:"Look at everything that a run needs, and say what to do about what is wrong."`
	Preview previewCmd `cmd:"" help:"Show what a run would send now, rendered; touch nothing."`
	Doubts  doubtsCmd  `cmd:"" help:"List the messages that wait for a person."`
	Settle  settleCmd  `cmd:"" help:"Say what became of a message that waits: it was sent, or send it again."`

	keyCLI

	Ledger   ledgerCmd   `cmd:"" help:"Move the ledger between SQLite and Postgres, and bring its tables up to date."`
	Init     initCmd     `cmd:"" help:"Write a commented configuration to start from."`
	Cfg      cfgCmd      `cmd:"" name:"config" help:"Look at the configuration."`
	Emulator emulatorCmd `cmd:"" help:"Serve the Google Sheets API on a port, in memory."`
	Health   healthCmd   `cmd:"" help:"Ask a running service whether it is well."`
	Version  versionCmd  `cmd:"" help:"Print version, commit and Go version."`

	Completion completionCmd `cmd:"" help:"Print the completion script of a shell."`
	Complete   completeCmd   `cmd:"" hidden:""`
	Man        manCmd        `cmd:"" hidden:""`
}

// statusError ends a command with a status and, when text is set, a text on stderr.
type statusError struct {
	code int
	text string
}

func (e *statusError) Error() string { return e.text }

// Run parses the arguments, carries out the command and answers the exit status.
func (m *Main) Run(ctx context.Context, args []string) int {
	ctx, stop := m.signals(ctx)
	defer stop()
	if slices.Equal(args, []string{"--version"}) { // as other programs have it
		args = []string{"version"}
	}
	var c cli
	parser, err := m.parser(ctx, &c, args)
	if err != nil {
		return m.fail(err)
	}
	return m.carryOut(parser, &c, args)
}

// parser makes the parser of the command line.
func (m *Main) parser(ctx context.Context, c *cli, args []string) (*kong.Kong, error) {
	grammar := any(c)
	if len(args) > 0 && (args[0] == "key" || args[0] == "once") {
		grammar = &c.keyCLI
	}
	return kong.New(grammar,
		kong.Name("sheetclaim"),
		kong.Description("Mails the due rows of a Google Sheet at most once each, and never loses one silently."),
		kong.Writers(m.Stdout, m.Stderr),
		kong.Vars{"level": "info", "takeover": string(key.TakeExpired)},
		kong.Exit(func(code int) { panic(&statusError{code: code}) }),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(m, &c.keyCLI),
	)
}

// carryOut runs the parsed command. kong ends --help by its Exit hook, which is
// caught here.
func (m *Main) carryOut(parser *kong.Kong, c *cli, args []string) (code int) {
	defer func() {
		if r := recover(); r != nil {
			end, ok := r.(*statusError)
			if !ok {
				panic(r)
			}
			code = end.code
		}
	}()
	kctx, err := parser.Parse(args)
	if err != nil {
		m.misunderstood(err)
		return usageStatus(err)
	}
	c.Config = cmp.Or(c.Config, "sheetclaim.yaml") // SHEETCLAIM_CONFIG may be there and empty
	m.log = newLogger(m.Stderr, c.LogFormat, c.LogLevel)
	return m.fail(kctx.Run(c, parser))
}

// misunderstood says what of the arguments cannot be understood, and where to read what
// can.
func (m *Main) misunderstood(err error) {
	command := "sheetclaim"
	var e *kong.ParseError
	if errors.As(err, &e) && e.Context.Selected() != nil {
		command = e.Context.Selected().FullPath()
	}
	// A value that may be left out is the empty one for kong.
	text := strings.Replace(err.Error(), `must be one of "",`, "must be one of ", 1)
	fmt.Fprintf(m.Stderr, "sheetclaim: %s\nTry '%s --help': it lists what can stand there.\n", text, command)
}

// usageStatus is the exit status of arguments that cannot be understood. Those of once
// must not look like its command's own.
func usageStatus(err error) int {
	var e *kong.ParseError
	if errors.As(err, &e) && e.Context.Selected() != nil && e.Context.Selected().Name == "once" {
		return exitOwn
	}
	return exitError
}

// fail tells people what went wrong and answers the exit status.
func (m *Main) fail(err error) int {
	if err == nil {
		return exitOK
	}
	var end *statusError
	if errors.As(err, &end) {
		if end.text != "" {
			fmt.Fprintln(m.Stderr, "sheetclaim: "+end.text)
		}
		return end.code
	}
	fmt.Fprintf(m.Stderr, "sheetclaim: %v\n", err)
	return exitError
}

// signals ends the context at the first SIGINT or SIGTERM, and the process at the
// second.
func (m *Main) signals(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	ch := make(chan os.Signal, 2)
	signal.Notify(ch, os.Interrupt, syscall.SIGTERM)
	m.ignore = func() { signal.Stop(ch) }
	go func() {
		for n := 0; ; n++ {
			sig, ok := <-ch
			if !ok {
				return
			}
			if n > 0 {
				m.Exit(signalled(sig))
			}
			cancel()
		}
	}()
	return ctx, func() { signal.Stop(ch); close(ch); cancel() }
}

// signalled is the exit status of a process that a signal ended, as shells have it.
func signalled(sig os.Signal) int {
	const base = 128
	if n, ok := sig.(syscall.Signal); ok {
		return base + int(n)
	}
	return base
}
