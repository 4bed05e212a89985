package ledger

import "context"

func (e *postgresEngine) unhurried(ctx context.Context, t *tx) error {
	_, err := t.ExecContext(ctx, `SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0`)
	return err
}

// tables leaves out those that are about the server alone.
func (e *postgresEngine) tables(ctx context.Context, t *tx) ([]table, error) {
	return t.scanTables(ctx, `SELECT table_name, column_name, data_type, is_identity = 'YES' FROM information_schema.columns
		WHERE table_schema = ? AND table_name NOT IN ('migrations', 'connections') ORDER BY table_name, ordinal_position`, e.schema)
}

func (e *postgresEngine) cast(c column) string { return "CAST(CAST(? AS text) AS " + c.kind + ")" }

// imported tells the server which numbers are taken.
func (e *postgresEngine) imported(ctx context.Context, t *tx, tables []table) error {
	for _, b := range tables {
		for _, c := range b.columns {
			if !c.counts {
				continue
			}
			_, err := t.ExecContext(ctx, `SELECT setval(pg_get_serial_sequence('`+b.name+`', '`+c.name+`'),
				(SELECT coalesce(max(`+c.name+`), 0) + 1 FROM `+b.name+`), false)`)
			if err != nil {
				return err
			}
		}
	}
	return nil
}
