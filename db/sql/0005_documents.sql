-- Long work (server/operations) and keys of this store.
-- A running operation's progress is in memory; what a restart finds running was interrupted.
CREATE TABLE operations (
    id TEXT NOT NULL PRIMARY KEY,
    kind TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN
        ('running', 'succeeded', 'failed', 'cancelled', 'interrupted')),
    actor TEXT NOT NULL,
    done INTEGER NOT NULL,
    total INTEGER NOT NULL,
    result TEXT NOT NULL,
    created_us INTEGER NOT NULL,
    finished_us INTEGER NOT NULL
) STRICT;

-- Keys that the store makes for itself, in hex. They authenticate what the server hands out and
-- gets back (page tokens); nobody logs in with them.
CREATE TABLE store_keys (
    name TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;
