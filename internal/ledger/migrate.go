package ledger

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
)

// migrations are applied in the order of their names, each once; the number of
// those applied is the schema's version (PRAGMA user_version). A file that was
// ever released is not edited any more.
//
//go:embed migrations/*.sql
var migrations embed.FS

// applicationID marks the file as ours (PRAGMA application_id).
const applicationID = 1936221233

// checkOwner makes sure that the file is a ledger or empty, before anything is
// written to it. It needs one state of the file: another process may be making the
// schema at this moment.
func (t *tx) checkOwner(ctx context.Context) error {
	var id, tables int
	if err := t.QueryRowContext(ctx, `PRAGMA application_id`).Scan(&id); err != nil {
		return err
	}
	if err := t.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_schema`).Scan(&tables); err != nil {
		return err
	}
	if tables > 0 && id != applicationID {
		return errors.New("expected a ledger of sheetclaim, found the SQLite database of another program; name another file")
	}
	return nil
}

// migrate brings the schema to the newest version.
func (t *tx) migrate(ctx context.Context) error {
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return err
	}
	var version int
	if err := t.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&version); err != nil {
		return err
	}
	if version > len(names) {
		return fmt.Errorf("expected schema version %d or older, found %d: a newer sheetclaim has used this ledger; run that version or a later one",
			len(names), version)
	}
	for i, name := range names[version:] {
		text, err := migrations.ReadFile(name)
		if err != nil {
			return err
		}
		if _, err := t.ExecContext(ctx, string(text)); err != nil {
			return fmt.Errorf("apply %s: %w", name, err)
		}
		// A pragma takes no bound parameter; this is a number of our own.
		if _, err := t.ExecContext(ctx, fmt.Sprintf(`PRAGMA user_version = %d`, version+i+1)); err != nil {
			return fmt.Errorf("apply %s: %w", name, err)
		}
	}
	return nil
}
