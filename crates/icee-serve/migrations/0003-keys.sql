-- Keys are each token's own, and go when they are a day old.

-- The name of the token that a request came with; nothing where it came without one.
ALTER TABLE icee.keys ADD COLUMN token text NOT NULL DEFAULT '';
ALTER TABLE icee.keys DROP CONSTRAINT keys_pkey;
ALTER TABLE icee.keys ADD PRIMARY KEY (study, token, key);
CREATE INDEX keys_by_day ON icee.keys (at);
