-- Studies, their lines and sheets, the keys of requests, and tokens.

CREATE TABLE icee.studies (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL,
    -- When it was put away, in seconds since 1970. It can be taken back: set this to NULL again.
    deleted bigint
);

-- A name is one study's at a time.
CREATE UNIQUE INDEX studies_by_name ON icee.studies (name) WHERE deleted IS NULL;

-- What a journal file has, without checksums. Lines are only ever added.
CREATE TABLE icee.lines (
    study integer NOT NULL REFERENCES icee.studies,
    seq bigint NOT NULL,
    line text NOT NULL,
    PRIMARY KEY (study, seq)
);

CREATE TABLE icee.sheets (
    study integer PRIMARY KEY REFERENCES icee.studies,
    -- How its file's name ends: csv or xlsx.
    ending text NOT NULL,
    bytes bytea NOT NULL
);

-- Requests that may be sent twice.
CREATE TABLE icee.keys (
    study integer NOT NULL REFERENCES icee.studies,
    key text NOT NULL,
    -- In seconds since 1970.
    at bigint NOT NULL,
    -- A checksum of what was asked for.
    request text NOT NULL,
    -- Lines that the study had when it began.
    lines bigint NOT NULL,
    -- What was answered; none where it is not done.
    answer text,
    PRIMARY KEY (study, key)
);

CREATE INDEX keys_begun ON icee.keys (study, lines) WHERE answer IS NULL;
CREATE INDEX keys_by_age ON icee.keys (study, at);

CREATE TABLE icee.tokens (
    name text PRIMARY KEY,
    role text NOT NULL,
    -- The SHA-256 of its text.
    hash text NOT NULL,
    created bigint NOT NULL
);
