//go:build unix

package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/key"
	"github.com/sheetclaim/sheetclaim/internal/ledger"
	"github.com/sheetclaim/sheetclaim/internal/pgtest"
)

// fewKeys are enough to see that the measurement works.
const fewKeys = 1000

// TestManyKeys fills a ledger with done keys that ended in the last 60 days, and measures
// its size, claims and the prune of the older half: few here, ten million with make
// scale, which prints the table of docs/SCALE.md.
func TestManyKeys(t *testing.T) {
	t.Parallel()
	keys, program, postgres := fewKeys, "sheetclaim", func() string { return pgtest.Address(t) }
	if text := os.Getenv("SHEETCLAIM_KEYS"); text != "" {
		var err error
		if keys, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
		program, postgres = buildProgram(t, t.TempDir()), durablePostgres(t)
	}
	t.Log("| ledger | keys | size | bytes a key | new key: median, 99 % | done key: median, 99 % | as a command: new, done | prune of half |")
	sqlite := filepath.Join(t.TempDir(), "keys.db")
	measureMany(t, crowd{keys, program, "sqlite:" + sqlite, "sqlite", sqlite, fillSQLite, `SELECT page_count * page_size FROM pragma_page_count, pragma_page_size`})
	if keys > fewKeys {
		if err := os.Remove(sqlite); err != nil { // room for the next
			t.Error(err)
		}
	}
	address := postgres()
	measureMany(t, crowd{keys, program, address, "pgx", address, fillPostgres, `SELECT pg_total_relation_size('keys')`})
}

// crowd is a ledger with many keys.
type crowd struct {
	keys           int
	program        string
	ledger         string
	driver, source string // past the ledger
	fill, size     string // statements
}

// The parameters are the first and the last number, and how many there will be.
const (
	fillSQLite = `WITH RECURSIVE c(n) AS (SELECT ?1 UNION ALL SELECT n + 1 FROM c WHERE n < ?2),
		d AS (SELECT n, unixepoch() - 60 * 86400 + n * 60 * 86400 / ?3 AS at FROM c)
		INSERT INTO keys (key, state, token, owner, note, takeover, claimed_at, lease_until, ended_at, result)
		SELECT printf('stripe:evt_%012d', n), 'done', lower(hex(randomblob(13))), 'n8n', '', 'expired',
			strftime('%Y-%m-%dT%H:%M:%S.000000000Z', at - 2, 'unixepoch'), strftime('%Y-%m-%dT%H:%M:%S.000000000Z', at + 898, 'unixepoch'),
			strftime('%Y-%m-%dT%H:%M:%S.000000000Z', at, 'unixepoch'), '{"invoice": 4711}' FROM d`
	fillPostgres = `INSERT INTO keys (key, state, token, owner, note, takeover, claimed_at, lease_until, ended_at, result)
		SELECT 'stripe:evt_' || lpad(n::text, 12, '0'), 'done', substr(md5(random()::text), 1, 26), 'n8n', '', 'expired',
			to_char(at - interval '2 s', f), to_char(at + interval '898 s', f), to_char(at, f), '{"invoice": 4711}'
		FROM (SELECT n, now() - interval '60 days' + n * (interval '60 days' / $3::bigint) AS at, 'YYYY-MM-DD"T"HH24:MI:SS.US"000Z"' AS f
			FROM generate_series($1::bigint, $2::bigint) n) d`
)

func measureMany(t *testing.T, c crowd) {
	t.Helper()
	s, err := ledger.OpenURL(t.Context(), c.ledger, ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c.fillUp(t)
	size := c.number(t, c.size)
	tries := min(1000, c.keys/100)
	free, ended := c.claims(t, s.Keys(), tries)
	freeBy, endedBy := c.commands(t, min(20, tries/10))
	began := time.Now()
	out, err := exec.CommandContext(t.Context(), c.program, "key", "--ledger", c.ledger, "prune", "30").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	took := time.Since(began)
	left := c.number(t, `SELECT count(*) FROM keys WHERE state = 'done'`)
	if want, some := int64(c.keys/2), int64(5+c.keys/1000); left < want-some || left > want+some { // they have aged meanwhile
		t.Errorf("%d of %d keys are left: %s", left, c.keys, out)
	}
	t.Logf("| %s | %d | %d MB | %d | %s | %s | %s, %s | %.1f s |", c.driver, c.keys, size>>20, size/int64(c.keys),
		spread(free), spread(ended), middle(freeBy), middle(endedBy), took.Seconds())
}

// fillUp fills the ledger past its own code, which would take an hour.
func (c crowd) fillUp(t *testing.T) {
	t.Helper()
	db, err := sql.Open(c.driver, c.source)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	const atOnce = 200_000
	for from := 1; from <= c.keys; from += atOnce {
		if _, err := db.ExecContext(t.Context(), c.fill, from, min(from+atOnce-1, c.keys), c.keys); err != nil {
			t.Fatal(err)
		}
	}
	if c.driver == "pgx" { // as the server does by itself, some time later
		if _, err := db.ExecContext(t.Context(), `VACUUM ANALYZE keys`); err != nil {
			t.Fatal(err)
		}
	}
}

func (c crowd) number(t *testing.T, query string) (n int64) {
	t.Helper()
	db, err := sql.Open(c.driver, c.source)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// anyone is one of the keys of the ledger.
func (c crowd) anyone() string {
	return fmt.Sprintf("stripe:evt_%012d", 1+rand.IntN(c.keys))
}

// claims measures claims of new and of done keys by one caller.
func (c crowd) claims(t *testing.T, keys *ledger.Keys, tries int) (free, ended []time.Duration) {
	t.Helper()
	for i := range 2 * tries {
		name, took, wantWon := c.anyone(), &ended, false
		if i%2 == 0 {
			name, took, wantWon = strings.Replace(name, "evt", fmt.Sprint("new", i), 1), &free, true
		}
		want, err := key.Claim{Key: name, Owner: "bench"}.Checked()
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		a, err := keys.Claim(t.Context(), want)
		*took = append(*took, time.Since(began))
		if err != nil || a.Won != wantWon {
			t.Fatalf("%s: %+v, %v", name, a, err)
		}
	}
	return free, ended
}

// commands measures the same by command, with the start of the program.
func (c crowd) commands(t *testing.T, tries int) (free, ended []time.Duration) {
	t.Helper()
	w := byCommand{c.program, c.ledger}
	measure := func(name string) (bool, time.Duration) {
		began := time.Now()
		_, err := w.claim(context.WithoutCancel(t.Context()), name)
		took := time.Since(began)
		var exit *exec.ExitError
		if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != exitSome) {
			t.Fatalf("%s: %v", name, err)
		}
		return err == nil, took
	}
	for i := range tries {
		won, took := measure(fmt.Sprint("github:", i))
		free = append(free, took)
		lost, took := measure(c.anyone())
		if ended = append(ended, took); !won || lost {
			t.Fatalf("a new key was won: %v; a done one: %v", won, lost)
		}
	}
	return free, ended
}

func middle(took []time.Duration) string { return share(took, 50) }
func spread(took []time.Duration) string { return share(took, 50) + ", " + share(took, 99) }

// share answers how long so many of a hundred took at most.
func share(took []time.Duration, percent int) string {
	slices.Sort(took)
	return fmt.Sprintf("%.1f ms", took[len(took)*percent/100].Seconds()*1000)
}
