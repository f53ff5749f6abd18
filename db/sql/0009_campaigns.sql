-- Firmware campaigns and their devices.

-- head: what fleet/campaign.h keeps of a campaign beside its devices.
CREATE TABLE campaigns (
    id INTEGER NOT NULL PRIMARY KEY,
    state TEXT NOT NULL,
    active INTEGER NOT NULL CHECK (active IN (0, 1)),
    revision INTEGER NOT NULL,
    image TEXT NOT NULL,
    head TEXT NOT NULL,
    created_us INTEGER NOT NULL,
    updated_us INTEGER NOT NULL
) STRICT;
CREATE INDEX campaigns_active ON campaigns (id) WHERE active = 1;

-- place: from 1, as in the names of tasks. body: versions, problem, the times that remain.
CREATE TABLE campaign_devices (
    campaign INTEGER NOT NULL REFERENCES campaigns (id) ON DELETE CASCADE,
    place INTEGER NOT NULL,
    node TEXT NOT NULL,
    device TEXT NOT NULL,
    wave INTEGER NOT NULL,
    state TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (campaign, place)
) STRICT, WITHOUT ROWID;
