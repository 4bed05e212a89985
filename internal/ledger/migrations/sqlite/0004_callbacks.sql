-- Who wants to be told of the end of a run, and how often that was tried.
CREATE TABLE callbacks (
  run_seq   INTEGER NOT NULL,
  url       TEXT    NOT NULL,
  asked_at  TEXT    NOT NULL,
  tries     INTEGER NOT NULL DEFAULT 0,
  first_try TEXT    NOT NULL DEFAULT '',
  next_try  TEXT    NOT NULL DEFAULT '',
  problem   TEXT    NOT NULL DEFAULT '', -- of the last try
  ended_at  TEXT    NOT NULL DEFAULT '',
  PRIMARY KEY (run_seq, url)
) STRICT, WITHOUT ROWID;
CREATE INDEX callbacks_open ON callbacks (next_try) WHERE ended_at = '';
