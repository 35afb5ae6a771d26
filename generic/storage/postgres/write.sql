-- Version 2 of the schema: writes have conditions. Programs of version 1 that still run call the function without them.

DROP FUNCTION IF EXISTS triplane.write(bytea[], bytea[], bigint[], float8[]);

-- write executes writes in order, each at a revision. A value of NULL deletes the key. A key must be at its expected
-- revision; 0 or less means that it must not exist. ttls are seconds, 0 means none. A condition is a key that must be at
-- a revision, 0 if it must not exist; NULL is none. For each write it returns whether it was done and at which revision;
-- if not, the revision of the key or 0, and its value unless expected is negative; -1 if its condition does not hold.
CREATE OR REPLACE FUNCTION triplane.write(keys bytea[], vals bytea[], expected bigint[], ttls float8[],
    conditions bytea[] DEFAULT NULL, required bigint[] DEFAULT NULL)
RETURNS TABLE (done boolean, revision bigint, value bytea) LANGUAGE plpgsql AS $$
DECLARE
    begun  bigint;
    next   bigint;
    exists boolean;
    op     record;
    known  record;
BEGIN
    PERFORM triplane.lock();
    begun := triplane.latest();
    next := begun;
    FOR op IN SELECT * FROM unnest(keys, vals, expected, ttls, conditions, required)
            AS u(key, value, expected, ttl, condition, required) LOOP
        IF op.condition IS NOT NULL AND op.required <> coalesce((SELECT CASE WHEN kv.created > 0 THEN kv.revision END
                FROM triplane.kv WHERE kv.key = op.condition ORDER BY kv.revision DESC LIMIT 1), 0) THEN
            done := false;
            revision := -1;
            value := NULL;
            RETURN NEXT;
            CONTINUE;
        END IF;
        SELECT kv.revision, kv.created INTO known
            FROM triplane.kv WHERE kv.key = op.key ORDER BY kv.revision DESC LIMIT 1;
        exists := coalesce(known.created > 0, false);
        revision := (CASE WHEN exists THEN known.revision ELSE 0 END);
        value := NULL;
        done := revision = greatest(op.expected, 0) AND (exists OR op.value IS NOT NULL);
        IF done THEN
            next := next + 1;
            revision := next;
            INSERT INTO triplane.kv VALUES (next, op.key, op.value, coalesce(known.revision, 0),
                CASE WHEN op.value IS NULL THEN 0 WHEN exists THEN known.created ELSE next END);
            IF op.ttl > 0 THEN
                INSERT INTO triplane.expiring VALUES (next, op.key, clock_timestamp() + op.ttl * interval '1 second');
            END IF;
        ELSIF exists AND op.expected >= 0 THEN
            SELECT kv.value INTO value FROM triplane.kv WHERE kv.revision = known.revision;
        END IF;
        RETURN NEXT;
    END LOOP;
    IF next > begun THEN
        PERFORM pg_notify('triplane', next::text);
    END IF;
END
$$;
