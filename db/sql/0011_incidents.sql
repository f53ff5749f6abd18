-- What rules of health raised, until and after it was cleared.

-- kind, device, number, label: the subject as fleet/health.h has it. port: that it is about, "" = unknown. root: the incident
-- that explains it, 0 = none. count: how often it came again. cleared_us: 0 = open. acknowledged_us: 0 = nobody did.
CREATE TABLE incidents (
    id INTEGER NOT NULL PRIMARY KEY,
    rule TEXT NOT NULL,
    subject TEXT NOT NULL,
    node TEXT NOT NULL,
    tenant TEXT NOT NULL,
    job TEXT NOT NULL,
    kind INTEGER NOT NULL,
    device TEXT NOT NULL,
    number INTEGER NOT NULL,
    label INTEGER NOT NULL,
    port TEXT NOT NULL,
    severity TEXT NOT NULL CHECK (severity IN ('warning', 'critical')),
    root INTEGER NOT NULL,
    message TEXT NOT NULL,
    observed TEXT NOT NULL,
    passes TEXT NOT NULL,
    hint TEXT NOT NULL,
    count INTEGER NOT NULL CHECK (count >= 1),
    opened_us INTEGER NOT NULL,
    changed_us INTEGER NOT NULL,
    cleared_us INTEGER NOT NULL,
    acknowledged_us INTEGER NOT NULL,
    acknowledged_by TEXT NOT NULL,
    acknowledged_why TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX incidents_open ON incidents (rule, subject) WHERE cleared_us = 0;
CREATE INDEX incidents_of_subject ON incidents (subject, rule);
CREATE INDEX incidents_of_node ON incidents (node, id);
CREATE INDEX incidents_of_tenant ON incidents (tenant, id) WHERE tenant <> '';
CREATE INDEX incidents_of_root ON incidents (root, id) WHERE root <> 0;

-- Findings that somebody accepts for a time. rule "" = every rule; subject: it and what is below it.
CREATE TABLE exclusions (
    id INTEGER NOT NULL PRIMARY KEY,
    rule TEXT NOT NULL,
    subject TEXT NOT NULL,
    reason TEXT NOT NULL,
    created_by TEXT NOT NULL,
    created_us INTEGER NOT NULL,
    expires_us INTEGER NOT NULL
) STRICT;
