-- Stretches of time whose ticks made no run and are not made up for.
CREATE TABLE downtimes (
  job   TEXT NOT NULL,
  began TEXT NOT NULL,
  ended TEXT NOT NULL,
  PRIMARY KEY (job, began)
) STRICT, WITHOUT ROWID;
