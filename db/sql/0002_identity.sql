-- Users, their sessions and what tokens may do.

-- name is "NAME" of staff, "NAME@TENANT" of a tenant's people: so no tenant meets another's names.
CREATE TABLE users (
    name TEXT NOT NULL PRIMARY KEY,
    tenant TEXT NOT NULL,
    role TEXT NOT NULL,
    description TEXT NOT NULL,
    password_hash TEXT NOT NULL,
    disabled INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    created_us INTEGER NOT NULL,
    updated_us INTEGER NOT NULL,
    password_us INTEGER NOT NULL
) STRICT;
CREATE INDEX users_by_tenant ON users (tenant, name);

CREATE TABLE sessions (
    id TEXT NOT NULL PRIMARY KEY,
    hash TEXT NOT NULL UNIQUE,
    owner TEXT NOT NULL REFERENCES users (name) ON DELETE CASCADE,
    created_us INTEGER NOT NULL,
    seen_us INTEGER NOT NULL,
    expires_us INTEGER NOT NULL
) STRICT;
CREATE INDEX sessions_by_owner ON sessions (owner, created_us);

-- owner is the user whose token it is; scopes are bits (1 read, 2 write); sources are address
-- prefixes with commas between; used_us is written now and then only.
ALTER TABLE tokens ADD COLUMN owner TEXT NOT NULL DEFAULT '';
ALTER TABLE tokens ADD COLUMN scopes INTEGER NOT NULL DEFAULT 3;
ALTER TABLE tokens ADD COLUMN sources TEXT NOT NULL DEFAULT '';
ALTER TABLE tokens ADD COLUMN created_by TEXT NOT NULL DEFAULT '';
ALTER TABLE tokens ADD COLUMN used_us INTEGER NOT NULL DEFAULT 0;
CREATE INDEX tokens_by_owner ON tokens (owner, id) WHERE owner <> '';
