-- The id of the request that won the last claim, by which the same request is known again.
ALTER TABLE keys ADD COLUMN request_id TEXT NOT NULL DEFAULT '';
