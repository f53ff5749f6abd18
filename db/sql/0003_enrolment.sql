-- Join tokens and certificates of agents.

-- One join token a node: a newer one takes the place of the older. key is the SHA-256 of the public
-- key that used it, '' = nobody yet: whoever lost the answer may ask again, with that key only.
CREATE TABLE join_tokens (
    node TEXT NOT NULL PRIMARY KEY REFERENCES nodes (name) ON DELETE CASCADE,
    hash TEXT NOT NULL UNIQUE,
    key TEXT NOT NULL,
    created_us INTEGER NOT NULL,
    expires_us INTEGER NOT NULL
) STRICT;

-- Certificates that count. One that is not here is revoked, whatever it says of itself.
CREATE TABLE certificates (
    fingerprint TEXT NOT NULL PRIMARY KEY CHECK (length(fingerprint) = 64),
    node TEXT NOT NULL REFERENCES nodes (name) ON DELETE CASCADE,
    serial TEXT NOT NULL,
    origin TEXT NOT NULL CHECK (origin IN ('join', 'renewal')),
    created_us INTEGER NOT NULL,
    expires_us INTEGER NOT NULL
) STRICT;
CREATE INDEX certificates_by_node ON certificates (node);
