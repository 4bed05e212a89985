package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/mail"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/job"
	"github.com/sheetclaim/sheetclaim/internal/sheets"
)

// interview finds out what a first configuration needs: by flags, by asking, by
// guessing.
type interview struct {
	*initCmd
	m       *Main
	lines   *bufio.Scanner // nil: nobody is asked
	headers []string       // of the sheet, where it could be read
}

// question is one thing to find out.
type question struct {
	flag  string
	text  string
	value *string
	guess string
	check func(string) (string, error) // tidies an answer, or says what was expected
}

// none is how a person says that there is none.
const none = "-"

// starter asks everything.
func (i *interview) starter(ctx context.Context) (job.Starter, error) {
	if err := i.all([]question{
		{"spreadsheet", "Spreadsheet: its address in the browser, or its id", &i.Spreadsheet, "", checkSpreadsheet},
		{"range", "Tab and columns, such as Visits!A1:H; without a tab, the first", &i.Range, "A1:Z", checkRange},
		{"credentials", "JSON key of a Google service account (- for the credentials of this machine)", &i.Credentials, "google.json", anything},
	}); err != nil {
		return job.Starter{}, err
	}
	i.readHeaders(ctx)
	if err := i.all([]question{
		{"key-column", "Column that tells rows apart (booking, invoice or order number)", &i.KeyColumn, job.GuessHeader("key", i.headers), i.checkHeader},
		{"email-column", "Column with the address", &i.EmailColumn, job.GuessHeader("email", i.headers), i.checkHeader},
		{"status-column", "Column for the status, which sheetclaim writes", &i.StatusColumn, job.GuessHeader("status", i.headers), i.checkHeader},
		{"due-column", "Column that says when a row is due (- for none: at once)", &i.DueColumn, orNone(job.GuessHeader("due", i.headers)), i.checkHeader},
		{"from", "Sender, such as Acme <hello@example.com>", &i.From, "", checkAddress},
	}); err != nil {
		return job.Starter{}, err
	}
	sender := bare(i.From)
	if err := i.all([]question{{"smtp-host", "Mail server", &i.SMTPHost, job.GuessHost(sender), anything}}); err != nil {
		return job.Starter{}, err
	}
	user := sender
	if job.IsLocal(i.SMTPHost) {
		user = none
	}
	err := i.all([]question{
		{"smtp-port", "Its port", &i.SMTPPort, "587", checkPort},
		{"smtp-user", "Login at the mail server (- for none)", &i.SMTPUser, user, anything},
		{"alert", "Address for alerts", &i.Alert, sender, checkAddress},
		{"subject", "Subject of the first message", &i.Subject, "A message about {{" + i.KeyColumn + "}}", anything},
	})
	port, _ := strconv.Atoi(i.SMTPPort) // checkPort has seen it
	return job.Starter{
		Credentials: orEmpty(i.Credentials), Spreadsheet: i.Spreadsheet, Range: i.Range, Job: i.Job,
		Key: i.KeyColumn, Email: i.EmailColumn, Status: i.StatusColumn, Due: orEmpty(i.DueColumn),
		Host: i.SMTPHost, Port: port, Username: orEmpty(i.SMTPUser), PasswordFile: i.SMTPPasswordFile,
		From: i.From, Alerts: []string{i.Alert}, Subject: i.Subject,
	}, err
}

// all goes through questions.
func (i *interview) all(qs []question) error {
	for _, q := range qs {
		if err := i.one(q); err != nil {
			return err
		}
	}
	return nil
}

// one settles a question: a flag is not asked again, and without anybody to ask the
// guess counts.
func (i *interview) one(q question) error {
	if *q.value != "" || i.lines == nil {
		if *q.value == "" {
			*q.value = q.guess
		}
		if *q.value == "" {
			return fmt.Errorf("--%s is missing: %s", q.flag, q.text)
		}
		value, err := q.check(*q.value)
		if err != nil {
			return fmt.Errorf("--%s: %w", q.flag, err)
		}
		*q.value = value
		return nil
	}
	for {
		prompt := q.text
		if q.guess != "" {
			prompt += " [" + q.guess + "]"
		}
		fmt.Fprint(i.m.Stdout, prompt+": ")
		if !i.lines.Scan() {
			return errors.Join(errors.New("the answers ended early, and nothing was written"), i.lines.Err())
		}
		answer := strings.TrimSpace(i.lines.Text())
		if answer == "" {
			answer = q.guess
		}
		if answer == "" {
			continue
		}
		value, err := q.check(answer)
		if err == nil {
			*q.value = value
			return nil
		}
		fmt.Fprintf(i.m.Stdout, "  %v\n", err)
	}
}

// readHeaders reads the header row, to guess columns by, where the sheet can be read
// already. Nothing else is read, and nothing is written.
func (i *interview) readHeaders(ctx context.Context) {
	const patience = 20 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cfg := sheets.Config{CredentialsFile: orEmpty(i.Credentials), Now: i.m.Now, Log: i.m.log}
	if host, ok := i.m.Env("SHEETS_EMULATOR_HOST"); ok && host != "" {
		cfg.CredentialsFile, cfg.Endpoint = "", "http://"+strings.TrimPrefix(host, "http://")
	} else if _, err := os.Stat(cfg.CredentialsFile); err != nil {
		return // it is to be put there later
	}
	client, err := sheets.New(ctx, cfg)
	var g *claim.Grid
	if err == nil {
		g, err = client.Read(ctx, claim.Target{Spreadsheet: i.Spreadsheet, Range: i.Range}, claim.Ask{Rows: []int{}})
	}
	if err != nil {
		fmt.Fprintf(i.m.Stderr, "The sheet could not be read yet, so the columns are guesses: %v\n", err)
		return
	}
	for _, h := range g.HeaderTexts() {
		if strings.TrimSpace(h) != "" {
			i.headers = append(i.headers, h)
		}
	}
	fmt.Fprintf(i.m.Stdout, "The sheet has the columns %s.\n", strings.Join(i.headers, ", "))
}

// checkHeader takes the name of a column that is there, as far as that is known.
func (i *interview) checkHeader(answer string) (string, error) {
	if len(i.headers) == 0 || answer == none {
		return answer, nil
	}
	for _, h := range i.headers {
		if job.Normalize(h) == job.Normalize(answer) {
			return h, nil
		}
	}
	return "", fmt.Errorf("expected one of the columns %s, found %q", strings.Join(i.headers, ", "), answer)
}

// next says what is left to do.
func (i *interview) next(path string, s job.Starter) error {
	lines := []string{fmt.Sprintf("Wrote %s.", path), "What is left to do:"}
	if s.Credentials != "" && len(i.headers) == 0 {
		lines = append(lines, "  - put the key of the service account at "+s.Credentials+", and share the sheet with its address as an editor")
	}
	if len(i.headers) == 0 {
		lines = append(lines, fmt.Sprintf("  - compare the names under columns with the sheet's header, which could not be read: %s, %s, %s", s.Key, s.Email, s.Status))
	}
	switch {
	case s.Username != "" && s.PasswordFile != "":
		lines = append(lines, "  - put the mail password into "+s.PasswordFile)
	case s.Username != "":
		lines = append(lines, "  - set the environment variable SMTP_PASSWORD")
	}
	lines = append(lines, "  - write the message: message.text in the file", "  - sheetclaim check, then sheetclaim preview")
	_, err := io.WriteString(i.m.Stdout, strings.Join(lines, "\n")+"\n")
	return err
}

func anything(answer string) (string, error) { return answer, nil }

func checkSpreadsheet(answer string) (string, error) {
	if id, ok := job.SpreadsheetID(answer); ok {
		return id, nil
	}
	return "", fmt.Errorf("expected an address such as https://docs.google.com/spreadsheets/d/…/edit, or the id between /d/ and /edit, found %q", answer)
}

func checkRange(answer string) (string, error) {
	_, err := sheets.ParseRange(answer)
	return answer, err
}

func checkAddress(answer string) (string, error) {
	if _, err := mail.ParseAddress(answer); err != nil {
		return "", fmt.Errorf("expected a mail address such as Acme <hello@example.com>, found %q", answer)
	}
	return answer, nil
}

func checkPort(answer string) (string, error) {
	if n, err := strconv.Atoi(answer); err != nil || n < 1 || n > 65535 {
		return "", fmt.Errorf("expected a port such as 587 or 465, found %q", answer)
	}
	return answer, nil
}

// bare is the address alone.
func bare(address string) string {
	a, err := mail.ParseAddress(address)
	if err != nil {
		return ""
	}
	return a.Address
}

func orNone(s string) string {
	if s == "" {
		return none
	}
	return s
}

func orEmpty(s string) string {
	if s == none {
		return ""
	}
	return s
}
