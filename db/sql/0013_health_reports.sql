-- Reports of the fleet's health: the daily ones, and those that agents and tools upload.

-- body: canonical JSON of schemas/health-report.json, or of a report made here.
CREATE TABLE health_reports (
    id INTEGER NOT NULL PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('daily', 'upload')),
    source TEXT NOT NULL,
    grade TEXT NOT NULL,
    body TEXT NOT NULL,
    created_us INTEGER NOT NULL
) STRICT;
CREATE INDEX health_reports_kind ON health_reports (kind, id);
