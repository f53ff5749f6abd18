-- Rollouts, their waves and the plans nodes were given.

-- Texts of plans by their digest, kept while a release or a rollout that can be taken back names
-- them (rollouts_drop_unused). A digest covers the node's name: no two nodes share a text.
CREATE TABLE plans (
    digest TEXT NOT NULL PRIMARY KEY,
    body TEXT NOT NULL,
    knobs INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What a node was given, while changes are staged. With a rollout the plan waits for its
-- confirmation (timeout_s) and good is the plan before; without one digest is good.
CREATE TABLE node_releases (
    node TEXT NOT NULL PRIMARY KEY REFERENCES nodes (name) ON DELETE CASCADE,
    digest TEXT NOT NULL REFERENCES plans (digest),
    good TEXT NOT NULL REFERENCES plans (digest),
    rollout INTEGER NOT NULL,
    timeout_s INTEGER NOT NULL,
    given_by INTEGER NOT NULL,
    refused TEXT NOT NULL
) STRICT, WITHOUT ROWID;
-- A plan that is deleted is looked for in both.
CREATE INDEX node_releases_digest ON node_releases (digest);
CREATE INDEX node_releases_good ON node_releases (good);

-- head: what fleet/rollout.h keeps of a rollout beside its nodes, with the times that remain.
CREATE TABLE rollouts (
    id INTEGER NOT NULL PRIMARY KEY,
    state TEXT NOT NULL,
    active INTEGER NOT NULL CHECK (active IN (0, 1)),
    revision INTEGER NOT NULL,
    head TEXT NOT NULL,
    created_us INTEGER NOT NULL,
    updated_us INTEGER NOT NULL
) STRICT;
CREATE INDEX rollouts_active ON rollouts (id) WHERE active = 1;

CREATE TABLE rollout_nodes (
    rollout INTEGER NOT NULL REFERENCES rollouts (id) ON DELETE CASCADE,
    node TEXT NOT NULL,
    wave INTEGER NOT NULL,
    state TEXT NOT NULL,
    target TEXT NOT NULL,
    before TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (rollout, node)
) STRICT, WITHOUT ROWID;

ALTER TABLE receipts ADD COLUMN rollout TEXT NOT NULL DEFAULT '';
