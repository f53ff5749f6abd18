-- The audit log and the events: which request made them, and which generation a change became.
-- A row of the audit without a generation (0) changed no desired state; the hash of a row covers
-- the generation only where there is one, so that older rows keep theirs.
ALTER TABLE events ADD COLUMN request_id TEXT NOT NULL DEFAULT '';
ALTER TABLE audit ADD COLUMN generation INTEGER NOT NULL DEFAULT 0;
CREATE INDEX audit_by_request ON audit (request_id, id) WHERE request_id <> '';
CREATE INDEX receipts_by_generation ON receipts (node, generation, id);
