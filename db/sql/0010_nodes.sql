-- How often an operator ordered a node to try again what it had given up.
CREATE TABLE node_attempts (
    node TEXT NOT NULL PRIMARY KEY REFERENCES nodes (name) ON DELETE CASCADE,
    number INTEGER NOT NULL CHECK (number >= 1)
) STRICT, WITHOUT ROWID;

-- The marking chains that a node followed through its ports last.
CREATE TABLE node_chains (
    node TEXT NOT NULL PRIMARY KEY REFERENCES nodes (name) ON DELETE CASCADE,
    body TEXT NOT NULL,
    received_us INTEGER NOT NULL
) STRICT;
