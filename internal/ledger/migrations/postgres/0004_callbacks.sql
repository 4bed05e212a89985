-- Who wants to be told of the end of a run, and how often that was tried.
CREATE TABLE callbacks (
  run_seq   bigint NOT NULL,
  url       text COLLATE "C" NOT NULL,
  asked_at  text COLLATE "C" NOT NULL,
  tries     bigint NOT NULL DEFAULT 0,
  first_try text COLLATE "C" NOT NULL DEFAULT '',
  next_try  text COLLATE "C" NOT NULL DEFAULT '',
  problem   text NOT NULL DEFAULT '', -- of the last try
  ended_at  text COLLATE "C" NOT NULL DEFAULT '',
  PRIMARY KEY (run_seq, url)
);
CREATE INDEX callbacks_open ON callbacks (next_try) WHERE ended_at = '';
