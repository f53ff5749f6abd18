-- The first schema. The statements of db/*.c stay inside what SQLite and PostgreSQL share; this
-- file is SQLite's: INTEGER is 64 bits, STRICT checks types. For PostgreSQL it becomes BIGINT
-- without the table options, with COLLATE "C" on keys that are listed in order.
-- Times are microseconds since the epoch; bodies are canonical JSON.

-- current_number 0 = deleted; last_number never goes back, so that no revision number repeats.
CREATE TABLE documents (
    doc TEXT NOT NULL PRIMARY KEY,
    current_number INTEGER NOT NULL CHECK (current_number BETWEEN 0 AND last_number),
    last_number INTEGER NOT NULL CHECK (last_number >= 1)
) STRICT, WITHOUT ROWID;

CREATE TABLE revisions (
    doc TEXT NOT NULL REFERENCES documents (doc),
    number INTEGER NOT NULL,
    body TEXT NOT NULL,
    digest TEXT NOT NULL,
    author TEXT NOT NULL,
    message TEXT NOT NULL,
    origin TEXT NOT NULL,
    created_us INTEGER NOT NULL,
    PRIMARY KEY (doc, number)
) STRICT;

CREATE TABLE tenants (
    name TEXT NOT NULL PRIMARY KEY CHECK (name <> ''),
    revision INTEGER NOT NULL,
    body TEXT NOT NULL,
    created_us INTEGER NOT NULL,
    updated_us INTEGER NOT NULL
) STRICT;

-- A row stays when its job goes (freed_us > 0), because a job that comes back gets its old label.
CREATE TABLE labels (
    label INTEGER NOT NULL PRIMARY KEY CHECK (label BETWEEN 1 AND 65533),
    tenant TEXT NOT NULL,
    job TEXT NOT NULL,
    freed_us INTEGER NOT NULL,
    UNIQUE (tenant, job)
) STRICT;
CREATE INDEX labels_by_freed ON labels (freed_us, label) WHERE freed_us > 0;

CREATE TABLE placements (
    tenant TEXT NOT NULL REFERENCES tenants (name),
    job TEXT NOT NULL CHECK (job <> ''),
    label INTEGER NOT NULL UNIQUE REFERENCES labels (label),
    revision INTEGER NOT NULL,
    body TEXT NOT NULL,
    updated_us INTEGER NOT NULL,
    PRIMARY KEY (tenant, job)
) STRICT;

CREATE TABLE nodes (
    name TEXT NOT NULL PRIMARY KEY CHECK (name <> ''),
    revision INTEGER NOT NULL,
    body TEXT NOT NULL,
    token_hash TEXT NOT NULL,
    created_us INTEGER NOT NULL,
    updated_us INTEGER NOT NULL
) STRICT;

-- What a node last said, a row a kind, so that a small state report does not rewrite the inventory.
CREATE TABLE node_reports (
    node TEXT NOT NULL REFERENCES nodes (name) ON DELETE CASCADE,
    kind TEXT NOT NULL CHECK (kind IN ('inventory', 'state', 'receipt')),
    body TEXT NOT NULL,
    received_us INTEGER NOT NULL,
    PRIMARY KEY (node, kind)
) STRICT;

CREATE TABLE receipts (
    id INTEGER NOT NULL PRIMARY KEY,
    node TEXT NOT NULL REFERENCES nodes (name) ON DELETE CASCADE,
    generation INTEGER NOT NULL,
    digest TEXT NOT NULL,
    observed TEXT NOT NULL,
    result TEXT NOT NULL,
    body TEXT NOT NULL,
    received_us INTEGER NOT NULL
) STRICT;
CREATE INDEX receipts_by_node ON receipts (node, id);

CREATE TABLE generations (
    number INTEGER NOT NULL PRIMARY KEY,
    cause TEXT NOT NULL,
    created_us INTEGER NOT NULL
) STRICT;

-- Numbers that must not repeat although the rows that bore them are gone.
CREATE TABLE counters (
    name TEXT NOT NULL PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE tokens (
    id TEXT NOT NULL PRIMARY KEY,
    hash TEXT NOT NULL UNIQUE,
    role TEXT NOT NULL,
    tenant TEXT NOT NULL,
    description TEXT NOT NULL,
    created_us INTEGER NOT NULL,
    expires_us INTEGER NOT NULL
) STRICT;
CREATE INDEX tokens_by_tenant ON tokens (tenant) WHERE tenant <> '';

-- tenant is the T of a subject "tenant/T...", for the tenant's own view of the log.
CREATE TABLE audit (
    id INTEGER NOT NULL PRIMARY KEY,
    time_us INTEGER NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    subject TEXT NOT NULL,
    tenant TEXT NOT NULL,
    request_id TEXT NOT NULL,
    reason TEXT NOT NULL,
    before_text TEXT NOT NULL,
    after_text TEXT NOT NULL,
    prev_hash TEXT NOT NULL,
    hash TEXT NOT NULL
) STRICT;
CREATE INDEX audit_by_tenant ON audit (tenant, id) WHERE tenant <> '';

CREATE TABLE events (
    id INTEGER NOT NULL PRIMARY KEY,
    time_us INTEGER NOT NULL,
    kind TEXT NOT NULL,
    subject TEXT NOT NULL,
    body TEXT NOT NULL
) STRICT;

CREATE TABLE idempotency (
    key TEXT NOT NULL PRIMARY KEY,
    request TEXT NOT NULL,
    status INTEGER NOT NULL,
    body TEXT NOT NULL,
    created_us INTEGER NOT NULL
) STRICT;
CREATE INDEX idempotency_by_age ON idempotency (created_us);
