-- Tests between nodes: what was ordered, and each test with what it measured. `same` tells the same test of another verification.
CREATE TABLE verifications (
    id INTEGER NOT NULL PRIMARY KEY,
    state TEXT NOT NULL,
    active INTEGER NOT NULL CHECK (active IN (0, 1)),
    verdict TEXT NOT NULL,
    revision INTEGER NOT NULL,
    head TEXT NOT NULL,
    counts TEXT NOT NULL,
    created_us INTEGER NOT NULL,
    updated_us INTEGER NOT NULL
) STRICT;
CREATE TABLE verification_tests (
    verification INTEGER NOT NULL REFERENCES verifications (id) ON DELETE CASCADE,
    place INTEGER NOT NULL,
    same TEXT NOT NULL,
    value INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (verification, place)
) STRICT, WITHOUT ROWID;
CREATE INDEX verification_tests_same ON verification_tests (same, verification) WHERE value >= 0;
