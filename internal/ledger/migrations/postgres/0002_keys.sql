-- The ledger of keys for any action. It knows nothing of messages.
CREATE TABLE keys (
  key         text COLLATE "C" PRIMARY KEY,
  state       text COLLATE "C" NOT NULL CHECK (state IN ('claimed', 'done', 'released', 'unknown')),
  token       text COLLATE "C" NOT NULL, -- of the last claim
  owner       text NOT NULL,
  note        text NOT NULL,
  takeover    text COLLATE "C" NOT NULL CHECK (takeover IN ('never', 'expired')),
  claimed_at  text COLLATE "C" NOT NULL,
  lease_until text COLLATE "C" NOT NULL,
  ended_at    text COLLATE "C" NOT NULL DEFAULT '',
  claims      integer NOT NULL DEFAULT 1, -- how often it was given to somebody
  took_from   text NOT NULL DEFAULT '', -- whose claim the last one took over
  result      text NOT NULL DEFAULT '', -- JSON
  settled_by  text NOT NULL DEFAULT '',
  why         text NOT NULL DEFAULT ''
);
CREATE INDEX keys_ended ON keys (ended_at) WHERE state IN ('done', 'released');
CREATE INDEX keys_leased ON keys (lease_until) WHERE state = 'claimed' AND takeover = 'never';
CREATE INDEX keys_unknown ON keys (key) WHERE state = 'unknown';

-- What happened to a key beside being claimed and done.
CREATE TABLE key_events (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at     text COLLATE "C" NOT NULL,
  key    text COLLATE "C" NOT NULL,
  who    text NOT NULL,
  text   text NOT NULL
);
CREATE INDEX key_events_by_key ON key_events (key, number);
