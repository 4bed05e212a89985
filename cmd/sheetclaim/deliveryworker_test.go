package main

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/sheetclaim/sheetclaim/api"
)

// deliveryWorker is the process of one worker: it reads events from its input, one a
// line, and answers each with won or refused. Its arguments are the way to keep
// duplicates away, the ledger (a service's address for HTTP), and the folder in which
// the effects are counted.
func deliveryWorker() {
	w := &deliverer{ledger: os.Args[2], dir: os.Args[3]}
	handle := map[string]func(string) (bool, error){
		"no check": w.noCheck, "look up first": w.lookUpFirst, "unique column": w.uniqueColumn,
		"key claim and done": w.command, "once": w.once, "HTTP": w.overHTTP, "act": w.act,
	}[os.Args[1]]
	if os.Args[1] == "act" { // as the command of once
		if _, err := w.act(os.Args[4]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		won, err := handle(lines.Text())
		switch {
		case err != nil:
			fmt.Println("error:", err)
		case won:
			fmt.Println("won")
		default:
			fmt.Println("refused")
		}
	}
}

type deliverer struct{ ledger, dir string }

// act is what must happen once: 20 ms of work, and an effect that can be counted.
func (w *deliverer) act(event string) (bool, error) {
	time.Sleep(20 * time.Millisecond)
	f, err := os.OpenFile(filepath.Join(w.dir, "effects"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return false, err
	}
	defer f.Close()
	_, err = f.WriteString(event + "\n") // one short write, so that lines stay whole
	return true, err
}

func (w *deliverer) noCheck(event string) (bool, error) { return w.act(event) }

// table opens the table of those that need no ledger.
func (w *deliverer) table(column string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", filepath.Join(w.dir, "seen.db")+"?_busy_timeout=20000")
	if err == nil {
		_, err = db.Exec(`CREATE TABLE IF NOT EXISTS seen (event ` + column + `)`)
	}
	return db, err
}

// lookUpFirst acts when the event is not in the table, and then adds it.
func (w *deliverer) lookUpFirst(event string) (bool, error) {
	db, err := w.table("TEXT")
	if err != nil {
		return false, err
	}
	defer db.Close()
	var n int
	if err := db.QueryRow(`SELECT count(*) FROM seen WHERE event = ?`, event).Scan(&n); err != nil || n > 0 {
		return false, err
	}
	if _, err := w.act(event); err != nil {
		return false, err
	}
	_, err = db.Exec(`INSERT INTO seen VALUES (?)`, event)
	return true, err
}

// uniqueColumn adds the event first and acts when that was possible. An event whose
// worker dies in between is lost.
func (w *deliverer) uniqueColumn(event string) (bool, error) {
	db, err := w.table("TEXT PRIMARY KEY")
	if err != nil {
		return false, err
	}
	defer db.Close()
	res, err := db.Exec(`INSERT INTO seen VALUES (?) ON CONFLICT DO NOTHING`, event)
	if err != nil {
		return false, err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return false, err
	}
	return w.act(event)
}

// sheetclaim runs the command on the ledger, and answers its output and exit status.
func (w *deliverer) sheetclaim(args ...string) (string, int, error) {
	cmd := exec.Command("sheetclaim", args...)
	cmd.Env = append(os.Environ(), "SHEETCLAIM_LEDGER="+w.ledger)
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if code := exit.ExitCode(); code == exitSome || code == exitBusy {
			return "", code, nil
		}
		err = fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	return strings.TrimSpace(string(out)), 0, err
}

// command claims, acts and says so, each in a process of its own.
func (w *deliverer) command(event string) (bool, error) {
	token, code, err := w.sheetclaim("key", "claim", event)
	if err != nil || code != 0 {
		return false, err
	}
	if _, err := w.act(event); err != nil {
		return false, err
	}
	_, code, err = w.sheetclaim("key", "done", event, token)
	if err == nil && code != 0 {
		err = fmt.Errorf("done ended with %d", code)
	}
	return true, err
}

// once leaves all of that to one process. Its status is 0 for done now and for done
// before, so the answer goes by the effect: the command says that it acted.
func (w *deliverer) once(event string) (bool, error) {
	out, _, err := w.sheetclaim("once", event, "--", "sh", "-c", `delivery-worker act "$0" "$1" "$2" && echo acted`, w.ledger, w.dir, event)
	return out == "acted", err
}

// overHTTP claims, acts and says so by requests to the service.
func (w *deliverer) overHTTP(event string) (bool, error) {
	var got api.ClaimedKey
	if err := w.post("claim", map[string]string{"key": event}, &got); err != nil || !got.Won {
		return false, err
	}
	if _, err := w.act(event); err != nil {
		return false, err
	}
	return true, w.post("done", map[string]string{"key": event, "token": got.Token}, &api.EndedKey{})
}

func (w *deliverer) post(action string, body map[string]string, into any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, w.ledger+"/v1/keys/"+action, strings.NewReader(string(text)))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %s", action, resp.Status)
	}
	return json.NewDecoder(resp.Body).Decode(into)
}
