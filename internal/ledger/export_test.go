package ledger

import (
	"context"
	"time"
)

// DropConnection closes the ledger's connection, as happens when a statement is
// interrupted; the next transaction connects again.
func (s *DB) DropConnection() {
	s.db.SetMaxIdleConns(-1)
	s.db.SetMaxIdleConns(1)
}

// Synchronous answers how the connection writes to disk; 2 is FULL.
func (s *DB) Synchronous(ctx context.Context) (level int, err error) {
	err = s.db.QueryRowContext(ctx, `PRAGMA synchronous`).Scan(&level)
	return level, err
}

// SetPatience changes how long a ledger in Postgres waits for its server.
func (s *DB) SetPatience(d time.Duration) { s.engine.(*postgresEngine).patience = d }
