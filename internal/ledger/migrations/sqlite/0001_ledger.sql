-- Everything that people may want to read is text: states are words, and times are
-- RFC 3339 in UTC with nine decimals, so that comparing the text compares the
-- times. No time is ''. Maps and documents are JSON.

PRAGMA application_id = 1936221233; -- "shc1"

-- The one row that says which ledger this is.
CREATE TABLE meta (
  only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
  ledger   TEXT    NOT NULL,
  count    INTEGER NOT NULL, -- claim batches opened so far; goes into the fence
  made_at  TEXT    NOT NULL,
  went_back_at TEXT NOT NULL DEFAULT '', -- when the fence showed that this file is older than the sheet
  ping_at  TEXT    NOT NULL DEFAULT ''
) STRICT;

CREATE TABLE runs (
  seq         INTEGER PRIMARY KEY AUTOINCREMENT,
  job         TEXT    NOT NULL,
  id          TEXT    NOT NULL,
  params      TEXT    NOT NULL,
  instance    TEXT    NOT NULL,
  state       TEXT    NOT NULL CHECK (state IN ('running', 'finished')),
  lease_until TEXT    NOT NULL,
  started_at  TEXT    NOT NULL,
  ended_at    TEXT    NOT NULL DEFAULT '',
  pins        INTEGER NOT NULL DEFAULT 0, -- 1: the finished run keeps its name
  document    TEXT    NOT NULL
) STRICT;
CREATE INDEX runs_by_start ON runs (job, started_at);
CREATE INDEX runs_by_name ON runs (job, id, seq);
CREATE UNIQUE INDEX runs_one_running ON runs (job, id) WHERE state = 'running';

CREATE TABLE messages (
  job          TEXT    NOT NULL,
  spreadsheet  TEXT    NOT NULL,
  key          TEXT    NOT NULL,
  generation   INTEGER NOT NULL CHECK (generation >= 1),
  state        TEXT    NOT NULL CHECK (state IN ('claimed', 'confirmed', 'sending',
                 'handed_out', 'settled', 'marked', 'verified', 'returning', 'returned')),
  outcome      TEXT    NOT NULL,
  attempts     INTEGER NOT NULL,
  retry_at     TEXT    NOT NULL,
  run_seq      INTEGER NOT NULL,
  run_id       TEXT    NOT NULL,
  claimed_at   TEXT    NOT NULL,
  claim        TEXT    NOT NULL,
  mark         TEXT    NOT NULL,
  a1_range     TEXT    NOT NULL,
  tab_id       INTEGER NOT NULL,
  tab_title    TEXT    NOT NULL,
  row_number   INTEGER NOT NULL,
  before_claim TEXT    NOT NULL,
  status       TEXT    NOT NULL,
  reason       TEXT    NOT NULL,
  message_id   TEXT    NOT NULL,
  reply        TEXT    NOT NULL,
  settled_at   TEXT    NOT NULL,
  from_status  TEXT    NOT NULL, -- what the cell shows until status is written; '': the claim text
  wish         INTEGER NOT NULL, -- 1: a person wants it sent again
  settled_by   TEXT    NOT NULL, -- who settled an unknown
  changed_at   TEXT    NOT NULL,
  PRIMARY KEY (job, spreadsheet, key, generation)
) STRICT, WITHOUT ROWID;
CREATE INDEX messages_by_run ON messages (run_seq);
CREATE INDEX messages_open ON messages (job) WHERE state NOT IN ('verified', 'returned');

CREATE INDEX messages_waiting ON messages (job, spreadsheet)
  WHERE wish OR outcome = 'unknown' AND settled_by = '';

CREATE TABLE attempts (
  seq         INTEGER PRIMARY KEY AUTOINCREMENT,
  job         TEXT    NOT NULL,
  spreadsheet TEXT    NOT NULL,
  key         TEXT    NOT NULL,
  generation  INTEGER NOT NULL,
  number      INTEGER NOT NULL,
  claim       TEXT    NOT NULL,
  verdict     TEXT    NOT NULL, -- '' while the final dot is under way
  step        TEXT    NOT NULL,
  reply       TEXT    NOT NULL,
  message_id  TEXT    NOT NULL,
  at          TEXT    NOT NULL,
  UNIQUE (job, spreadsheet, key, generation, number, claim)
) STRICT;

CREATE TABLE batches (
  count       INTEGER PRIMARY KEY, -- this ledger's count, as it stands in the fence
  mark        TEXT    NOT NULL,
  job         TEXT    NOT NULL,
  run_seq     INTEGER NOT NULL,
  run_id      TEXT    NOT NULL,
  spreadsheet TEXT    NOT NULL,
  a1_range    TEXT    NOT NULL,
  tab_id      INTEGER NOT NULL,
  tab_title   TEXT    NOT NULL,
  n           INTEGER NOT NULL,
  claims      TEXT    NOT NULL,
  before_rows TEXT    NOT NULL,
  seen_rows   TEXT    NOT NULL,
  opened_at   TEXT    NOT NULL,
  answer      TEXT    NOT NULL DEFAULT '' CHECK (answer IN ('', 'applied', 'refused')),
  answered_at TEXT    NOT NULL DEFAULT ''
) STRICT;
CREATE UNIQUE INDEX batches_open ON batches (mark) WHERE answer = '';
CREATE INDEX batches_by_mark ON batches (mark);
CREATE INDEX batches_applied ON batches (spreadsheet, tab_id, answered_at) WHERE answer = 'applied';

-- What happened, in order. Nothing here is ever changed.
CREATE TABLE events (
  number      INTEGER PRIMARY KEY AUTOINCREMENT,
  at          TEXT    NOT NULL,
  job         TEXT    NOT NULL,
  spreadsheet TEXT    NOT NULL,
  key         TEXT    NOT NULL,
  generation  INTEGER NOT NULL,
  run_id      TEXT    NOT NULL,
  from_state  TEXT    NOT NULL,
  to_state    TEXT    NOT NULL,
  text        TEXT    NOT NULL
) STRICT;
CREATE INDEX events_beside ON events (job, at) WHERE to_state = '';
CREATE INDEX events_by_job ON events (job, number);
CREATE INDEX events_settled ON events (job, number) WHERE text LIKE 'settled as %';

CREATE TABLE alerts (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  at     TEXT    NOT NULL,
  kind   TEXT    NOT NULL,
  job    TEXT    NOT NULL,
  run_id TEXT    NOT NULL,
  cause  TEXT    NOT NULL,
  rows   TEXT    NOT NULL,
  seen   TEXT    NOT NULL,
  done   TEXT    NOT NULL,
  todo   TEXT    NOT NULL
) STRICT;
CREATE INDEX alerts_by_cause ON alerts (job, kind, cause);
CREATE INDEX alerts_by_run ON alerts (job, run_id);

-- One row for each route on which an alert is due.
CREATE TABLE deliveries (
  alert        INTEGER NOT NULL,
  route        TEXT    NOT NULL,
  tries        INTEGER NOT NULL DEFAULT 0,
  next_try     TEXT    NOT NULL DEFAULT '',
  problem      TEXT    NOT NULL DEFAULT '',
  delivered_at TEXT    NOT NULL DEFAULT '',
  reserved_by    TEXT NOT NULL DEFAULT '', -- by which delivery, so that no two deliver at once
  reserved_until TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (alert, route)
) STRICT, WITHOUT ROWID;
CREATE INDEX deliveries_due ON deliveries (route, next_try) WHERE delivered_at = '';

-- What was reported once, and in which form.
CREATE TABLE reports (
  job  TEXT NOT NULL,
  name TEXT NOT NULL,
  text TEXT NOT NULL,
  at   TEXT NOT NULL,
  PRIMARY KEY (job, name)
) STRICT, WITHOUT ROWID;

-- Claim texts found in a sheet whose runs are not ours, and since when.
CREATE TABLE sightings (
  job         TEXT NOT NULL,
  spreadsheet TEXT NOT NULL,
  key         TEXT NOT NULL,
  text        TEXT NOT NULL,
  since       TEXT NOT NULL,
  PRIMARY KEY (job, spreadsheet, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE pauses (
  job   TEXT PRIMARY KEY,
  until TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TRIGGER events_stay BEFORE UPDATE ON events
BEGIN SELECT RAISE(ABORT, 'events are never changed'); END;
CREATE TRIGGER events_remain BEFORE DELETE ON events
BEGIN SELECT RAISE(ABORT, 'events are never deleted'); END;
CREATE TRIGGER attempts_remain BEFORE DELETE ON attempts
BEGIN SELECT RAISE(ABORT, 'attempts are never deleted'); END;
CREATE TRIGGER messages_remain BEFORE DELETE ON messages
BEGIN SELECT RAISE(ABORT, 'messages are never deleted'); END;
