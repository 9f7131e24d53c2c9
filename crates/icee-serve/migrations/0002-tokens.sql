-- When the first token was made: from then on nobody is let in without one, also when the last was revoked.
CREATE TABLE icee.asked (since bigint NOT NULL);
INSERT INTO icee.asked SELECT min(created) FROM icee.tokens HAVING count(*) > 0;
