-- A sheet may be replaced by a newer one; whoever has it as a file knows by this number that it is another.
ALTER TABLE icee.sheets ADD COLUMN version integer NOT NULL DEFAULT 0;
