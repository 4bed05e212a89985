-- Stretches of time whose ticks made no run and are not made up for.
CREATE TABLE downtimes (
  job   text COLLATE "C" NOT NULL,
  began text COLLATE "C" NOT NULL,
  ended text COLLATE "C" NOT NULL,
  PRIMARY KEY (job, began)
);
