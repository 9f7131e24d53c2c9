-- Studies, their lines and sheets, and tokens.

CREATE TABLE icee.studies (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL,
    -- When it was deleted, in seconds since 1970. Set this to NULL to bring it back.
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

-- Every version of a study's sheet that was read.
CREATE TABLE icee.sheets (
    study integer NOT NULL REFERENCES icee.studies,
    -- The SHA-256 of its bytes.
    hash text NOT NULL,
    bytes bytea NOT NULL,
    -- The order in which versions were read.
    seq bigint GENERATED ALWAYS AS IDENTITY,
    PRIMARY KEY (study, hash)
);

CREATE TABLE icee.tokens (
    name text PRIMARY KEY,
    role text NOT NULL,
    -- The SHA-256 of its text.
    hash text NOT NULL,
    created bigint NOT NULL
);

-- When the first token was made: from then on every request needs one, also when the last was revoked.
CREATE TABLE icee.asked (since bigint NOT NULL);
