-- Since when the label is this job's: what was counted under it before is another job's. 0 = no other job had it, as far as
-- this was kept.
ALTER TABLE labels ADD COLUMN taken_us INTEGER NOT NULL DEFAULT 0;
