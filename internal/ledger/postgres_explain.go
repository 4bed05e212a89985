package ledger

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// explain adds to an error what it means for the person who set the ledger up.
func (e *postgresEngine) explain(err error) error {
	if advice := e.advice(err); advice != "" {
		return fmt.Errorf("%s: %w", advice, err)
	}
	return err
}

func (e *postgresEngine) advice(err error) string {
	var connect *pgconn.ConnectError
	switch sqlState(err) {
	case "28P01", "28000":
		return "the server refused the user or the password; mend the address of the ledger, or pg_hba.conf on the server"
	case "3D000":
		return "the server has no database of that name; create it (createdb NAME), or name another"
	case "42501":
		return "the user may not do this; on a new ledger: GRANT CREATE ON DATABASE … TO this user, " +
			"or run sheetclaim ledger migrate once as a user who may"
	case "08P01":
		return "the server does not take a setting in the address of the ledger, or is a pooler that does not; leave it out"
	case "26000", "42P05":
		return "the ledger is behind a pooler that changes sessions between transactions (PgBouncer in transaction mode): " +
			"add default_query_exec_mode=exec to the address of the ledger"
	case "53300":
		return "all connections of the server are in use; raise its max_connections, or add pool_max_conns=4 to the address of the ledger"
	case "25006":
		return "the server takes no writes; name the primary, not a standby"
	case "57P03":
		return "the server is starting or stopping; try again when it is up"
	case "40001", "40P01", "55P03":
		return "other transactions came first each time; is something else writing to the ledger's tables?"
	case "53100":
		return "the server's disk is full; make room"
	case "":
		if errors.As(err, &connect) {
			return "the server cannot be reached; is it up, and are host, port and sslmode in the address of the ledger right?"
		}
		if disconnected(err) {
			return "the connection to the server failed"
		}
	}
	return ""
}

// explainAddress says what is wrong with an address without repeating it.
func explainAddress(address string, err error) error {
	u, bad := url.Parse(address)
	if bad != nil {
		return errors.New("the address cannot be read; expected postgres://USER:PASSWORD@HOST:PORT/DATABASE, " +
			"where signs like @ : / ? # % and blanks in user or password are written as %40 and so on")
	}
	// The library repeats the address first, between backquotes.
	text := err.Error()
	if i := strings.LastIndex(text, "`: "); i >= 0 {
		text = text[i+len("`: "):]
	}
	if password, ok := u.User.Password(); ok && password != "" {
		text = strings.ReplaceAll(text, password, "xxxxx")
	}
	return fmt.Errorf("the address of the ledger is not right: %s; expected postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=verify-full", text)
}
