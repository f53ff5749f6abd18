-- What operators keep about hardware: switches, and firmware images. The images' bytes are files
-- beside the store; a file without a row is swept at start.

CREATE TABLE switches (
    name TEXT NOT NULL PRIMARY KEY CHECK (name <> ''),
    revision INTEGER NOT NULL,
    body TEXT NOT NULL,
    created_us INTEGER NOT NULL,
    updated_us INTEGER NOT NULL
) STRICT;

-- psids: the boards that the image is for, sorted, ","-joined; '' = any board of the component.
CREATE TABLE firmware_images (
    id TEXT NOT NULL PRIMARY KEY,
    component TEXT NOT NULL CHECK (component <> ''),
    version TEXT NOT NULL CHECK (version <> ''),
    psids TEXT NOT NULL,
    name TEXT NOT NULL,
    size_bytes INTEGER NOT NULL CHECK (size_bytes > 0),
    sha256 TEXT NOT NULL,
    uploaded_by TEXT NOT NULL,
    created_us INTEGER NOT NULL,
    UNIQUE (component, version, psids)
) STRICT;
