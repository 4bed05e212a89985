-- How runs lay in time, and what happened beside the moves of messages, is asked
-- for by period.
CREATE INDEX runs_by_start ON runs (job, started_at);
CREATE INDEX events_beside ON events (job, at) WHERE to_state = '';
