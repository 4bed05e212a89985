package main

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/sheetclaim/sheetclaim/internal/ledger"
)

const checkLedger = "ledger"

// checkedBook is the ledger that the checks ask: the configured one, or an empty one in
// a temporary folder while that one has not been made.
type checkedBook struct {
	*ledger.DB
	id    string
	fresh bool // the configured one does not exist yet
	dir   string
}

func (b *checkedBook) close() {
	_ = b.Close() // nothing was written that matters
	if b.dir != "" {
		_ = os.RemoveAll(b.dir) // the system clears its temporary folder too
	}
}

// ledger looks at the book. One that is not there is not made.
func (k *checker) ledger(ctx context.Context) {
	url := k.cfg.Ledger.Reveal()
	path, isFile := strings.CutPrefix(url, "sqlite:")
	book := &checkedBook{}
	if _, err := os.Stat(path); isFile && errors.Is(err, fs.ErrNotExist) {
		if err := canMake(path); err != nil {
			k.r.Fail(checkLedger, "", "the ledger cannot be made: "+err.Error(), "make the folder, let this user write in it, or name another file under ledger")
			return
		}
		book.fresh = true
		if book.dir, err = os.MkdirTemp("", "sheetclaim-check-"); err != nil {
			k.r.Fail(checkLedger, "", "no temporary folder can be made: "+err.Error(), "look at TMPDIR and the disk")
			return
		}
		url = "sqlite:" + filepath.Join(book.dir, "empty.db")
	}
	var err error
	if book.DB, err = ledger.OpenURL(ctx, url, ledger.Options{}); err == nil {
		book.id, err = book.ID(ctx)
		k.book = book
	}
	if err == nil {
		err = book.Ping(ctx)
	}
	switch kind := networkFS(path); {
	case err != nil:
		k.r.Fail(checkLedger, "", err.Error(), "do what the message says; without its ledger a job does not run")
	case isFile && kind != "":
		k.r.Warn(checkLedger, "", path+" is on a network file system ("+kind+"), where SQLite's locks may not hold", "put the ledger on a local disk")
	case book.fresh:
		k.r.Ok(checkLedger, "", path+" is not there yet; the first run makes it")
	default:
		k.r.Ok(checkLedger, "", k.cfg.LedgerName()+" opens and can be written")
	}
}

// canMake tries whether a file can be made beside the one that is to come.
func canMake(path string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".sheetclaim-check-*")
	if err != nil {
		return err
	}
	f.Close()
	return os.Remove(f.Name())
}

// quiet is a log for parts whose findings are told otherwise.
func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }
