package ledger_test

import (
	"net"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/sheetclaim/sheetclaim/internal/ledger"
)

// A server that is too old is refused before anything is made in it.
func TestPostgresTooOld(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	asked := make(chan []string, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			asked <- nil
			return
		}
		defer c.Close()
		asked <- (&oldServer{pgproto3.NewBackend(c, c)}).serve()
	}()
	_, err = ledger.OpenPostgres(t.Context(), "postgres://ann:s3cret@"+l.Addr().String()+"/mail?sslmode=disable&pool_max_conns=1", ledger.Options{})
	if err == nil || !strings.Contains(err.Error(), "expected PostgreSQL 13 or later, found 9.6.24; move the ledger to a newer server") {
		t.Errorf("got %v", err)
	}
	l.Close()
	for _, query := range <-asked {
		if !strings.Contains(query, "transaction_read_only") && !strings.Contains(query, "server_version") {
			t.Errorf("it was asked for %q", query)
		}
	}
}

// oldServer speaks as much of the protocol as a client needs to learn its version.
type oldServer struct{ *pgproto3.Backend }

// serve answers the queries that it got.
func (s *oldServer) serve() (queries []string) {
	if _, err := s.ReceiveStartupMessage(); err != nil {
		return nil
	}
	s.Send(&pgproto3.AuthenticationOk{})
	s.ready()
	for {
		m, err := s.Receive()
		if err != nil {
			return queries
		}
		switch m := m.(type) {
		case *pgproto3.Query: // may it be written?
			queries = append(queries, m.String)
			s.row("off")
			s.ready()
		case *pgproto3.Parse:
			queries = append(queries, m.Query)
			s.Send(&pgproto3.ParseComplete{})
		case *pgproto3.Describe:
			s.Send(&pgproto3.ParameterDescription{})
			s.Send(described("number", "name"))
		case *pgproto3.Bind:
			s.Send(&pgproto3.BindComplete{})
		case *pgproto3.Execute:
			s.Send(&pgproto3.DataRow{Values: [][]byte{[]byte("90624"), []byte("9.6.24")}})
			s.Send(&pgproto3.CommandComplete{CommandTag: []byte("SELECT 1")})
		case *pgproto3.Sync:
			s.ready()
		}
	}
}

func (s *oldServer) row(value string) {
	s.Send(described("value"))
	s.Send(&pgproto3.DataRow{Values: [][]byte{[]byte(value)}})
	s.Send(&pgproto3.CommandComplete{CommandTag: []byte("SHOW")})
}

func (s *oldServer) ready() {
	s.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	_ = s.Flush() // a client that is gone is seen at the next message
}

// described are columns of texts.
func described(names ...string) *pgproto3.RowDescription {
	const text = 25 // OID
	var d pgproto3.RowDescription
	for _, n := range names {
		d.Fields = append(d.Fields, pgproto3.FieldDescription{Name: []byte(n), DataTypeOID: text, DataTypeSize: -1})
	}
	return &d
}
