package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/mattn/go-isatty"

	"github.com/sheetclaim/sheetclaim/internal/job"
)

type initCmd struct {
	Spreadsheet      string `help:"Address or id of the spreadsheet." placeholder:"URL"`
	Range            string `help:"Tab and columns; the first row is the header." placeholder:"Visits!A1:H"`
	Credentials      string `help:"JSON key of a service account; - for Application Default Credentials." placeholder:"FILE"`
	KeyColumn        string `help:"Header of the column that tells rows apart." placeholder:"HEADER"`
	EmailColumn      string `help:"Header of the column with the addresses." placeholder:"HEADER"`
	StatusColumn     string `help:"Header of the column that sheetclaim writes." placeholder:"HEADER"`
	DueColumn        string `help:"Header of the column that says when a row is due; - for none." placeholder:"HEADER"`
	From             string `help:"Sender, such as \"Acme <hello@example.com>\"."`
	SMTPHost         string `name:"smtp-host" help:"Mail server." placeholder:"HOST"`
	SMTPPort         string `name:"smtp-port" help:"Its port: 587, or 465." placeholder:"PORT"`
	SMTPUser         string `name:"smtp-user" help:"Login at the mail server; - for none." placeholder:"NAME"`
	SMTPPasswordFile string `name:"smtp-password-file" help:"File with the password, in place of the variable SMTP_PASSWORD." placeholder:"FILE"`
	Alert            string `help:"Address for alerts." placeholder:"ADDRESS"`
	Subject          string `help:"Subject of the first message."`
	Job              string `help:"Name of the job." default:"mail"`
	Yes              bool   `help:"Ask nothing: take the guesses for what is left out."`
	Force            bool   `help:"Overwrite a file that is there."`
	Example          bool   `help:"Write the long commented example."`
}

// Help is the long help of init.
func (initCmd) Help() string {
	return `Asks on a terminal what no flag says. Without a terminal and without flags it writes the
commented example, to be filled in. Passwords are never asked for: the file names an environment
variable or a file.`
}

// Run writes a configuration to start from. It never overwrites one unasked.
func (c *initCmd) Run(ctx context.Context, m *Main, opts *cli) error {
	if _, err := os.Lstat(opts.Config); !c.Force && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s exists already: move it away, name another file with --config, or overwrite it with --force", opts.Config)
	}
	asks := isTerminal(m.Stdin) && !c.Yes
	if c.Example || !asks && c.Spreadsheet == "" && c.From == "" && c.SMTPHost == "" {
		if err := c.write(opts.Config, job.Example()); err != nil {
			return err
		}
		_, err := fmt.Fprintf(m.Stdout, "Wrote %s. Fill it in, then: sheetclaim config check\n", opts.Config)
		return err
	}
	i := &interview{initCmd: c, m: m}
	if asks {
		i.lines = bufio.NewScanner(m.Stdin)
	}
	starter, err := i.starter(ctx)
	if err != nil {
		return err
	}
	data, err := starter.File()
	if err != nil {
		return err
	}
	if err := wellFormed(opts.Config, data); err != nil {
		return err
	}
	if err := c.write(opts.Config, data); err != nil {
		return err
	}
	return i.next(opts.Config, starter)
}

// write makes the file; a temporary one first would not help, as there is nothing to
// lose.
func (c *initCmd) write(path string, data []byte) error {
	flags := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if c.Force {
		flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	f, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return fmt.Errorf("the configuration cannot be written: %w", err)
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("the configuration cannot be written: %w", err)
	}
	return nil
}

// wellFormed reads a configuration as config check does, but for files and variables
// that need not be there yet.
func wellFormed(path string, data []byte) error {
	_, err := job.Parse(path, data, func(string) (string, bool) { return "set later", true })
	var problems, left job.Problems
	if !errors.As(err, &problems) {
		return err
	}
	for _, p := range problems {
		if !strings.HasSuffix(p.Path, "_file") && p.Path != job.EmulatorVariable && p.Path != "smtp.password" {
			left = append(left, p)
		}
	}
	if len(left) == 0 {
		return nil
	}
	return fmt.Errorf("these answers make no configuration:\n%w", left)
}

// isTerminal reports whether a person sits at a stream.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}
