-- The ledger of keys for any action. It knows nothing of messages.
CREATE TABLE keys (
  key         TEXT    NOT NULL PRIMARY KEY,
  -- Not IN: of more than two values SQLite makes a table, in each statement anew.
  state       TEXT    NOT NULL CHECK (state = 'claimed' OR state = 'done' OR state = 'released' OR state = 'unknown'),
  token       TEXT    NOT NULL, -- of the last claim
  owner       TEXT    NOT NULL,
  note        TEXT    NOT NULL,
  takeover    TEXT    NOT NULL CHECK (takeover IN ('never', 'expired')),
  claimed_at  TEXT    NOT NULL,
  lease_until TEXT    NOT NULL,
  ended_at    TEXT    NOT NULL DEFAULT '',
  claims      INTEGER NOT NULL DEFAULT 1, -- how often it was given to somebody
  took_from   TEXT    NOT NULL DEFAULT '', -- whose claim the last one took over
  result      TEXT    NOT NULL DEFAULT '', -- JSON
  settled_by  TEXT    NOT NULL DEFAULT '',
  why         TEXT    NOT NULL DEFAULT ''
) STRICT, WITHOUT ROWID;
CREATE INDEX keys_ended ON keys (ended_at) WHERE state IN ('done', 'released');
CREATE INDEX keys_leased ON keys (lease_until) WHERE state = 'claimed' AND takeover = 'never';
CREATE INDEX keys_unknown ON keys (key) WHERE state = 'unknown';

-- What happened to a key beside being claimed and done.
CREATE TABLE key_events (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  at     TEXT    NOT NULL,
  key    TEXT    NOT NULL,
  who    TEXT    NOT NULL,
  text   TEXT    NOT NULL
) STRICT;
CREATE INDEX key_events_by_key ON key_events (key, number);
