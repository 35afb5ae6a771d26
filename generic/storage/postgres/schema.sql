-- Version 1 of the schema. One transaction runs it under the lock of migrations.

CREATE TABLE triplane.kv (
    revision bigint PRIMARY KEY,
    key      bytea  NOT NULL,
    value    bytea,           -- NULL: the key was deleted
    previous bigint NOT NULL, -- revision of the row before of the same key, 0 if there was none
    created  bigint NOT NULL  -- revision that created the key, 0 if the row is a deletion
);
CREATE UNIQUE INDEX kv_key ON triplane.kv (key, revision DESC) INCLUDE (created);
ALTER TABLE triplane.kv SET (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05,
    toast.autovacuum_vacuum_scale_factor = 0.05);

-- Keys with a time to live. A row is deleted when it expires, or when the key has another revision by then.
CREATE TABLE triplane.expiring (
    revision bigint PRIMARY KEY,
    key      bytea NOT NULL,
    expires  timestamptz NOT NULL
);
CREATE INDEX expiring_expires ON triplane.expiring (expires);

CREATE TABLE triplane.store (
    one       boolean PRIMARY KEY DEFAULT true CHECK (one),
    version   int NOT NULL,
    identity  text NOT NULL DEFAULT '',     -- the database that wrote last, see adopt
    compacted bigint NOT NULL DEFAULT 0,    -- revisions before it cannot be read
    removed   bigint NOT NULL DEFAULT 0,    -- up to which superseded rows have been deleted
    target    bigint NOT NULL DEFAULT 1,    -- the next compaction
    stepped   timestamptz NOT NULL DEFAULT clock_timestamp() -- when target was set
);
INSERT INTO triplane.store (version) VALUES (1);
INSERT INTO triplane.kv VALUES (1, '', NULL, 0, 0);

-- lock serializes writes until the transaction has been committed, so that a reader that sees a revision sees all
-- revisions before it.
CREATE FUNCTION triplane.lock() RETURNS void LANGUAGE sql AS
'SELECT pg_advisory_xact_lock(1953653104, 1)';

-- latest returns the latest revision.
CREATE FUNCTION triplane.latest() RETURNS bigint LANGUAGE sql STABLE AS
'SELECT revision FROM triplane.kv ORDER BY revision DESC LIMIT 1';

-- expire deletes up to a number of expired keys and returns how many entries of expiring it has removed. One session
-- does so at a time.
CREATE FUNCTION triplane.expire(most int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    due   record;
    known record;
    begun bigint;
    next  bigint;
    count int := 0;
BEGIN
    PERFORM FROM triplane.expiring WHERE expires <= clock_timestamp() LIMIT 1;
    IF NOT FOUND OR NOT pg_try_advisory_xact_lock(1953653104, 2) THEN
        RETURN 0;
    END IF;
    PERFORM triplane.lock();
    begun := triplane.latest();
    next := begun;
    FOR due IN DELETE FROM triplane.expiring WHERE revision IN (SELECT e.revision FROM triplane.expiring e
            WHERE e.expires <= clock_timestamp() ORDER BY e.expires LIMIT most) RETURNING revision, key LOOP
        count := count + 1;
        SELECT kv.revision INTO known FROM triplane.kv WHERE kv.key = due.key ORDER BY kv.revision DESC LIMIT 1;
        IF known.revision = due.revision THEN
            next := next + 1;
            INSERT INTO triplane.kv VALUES (next, due.key, NULL, known.revision, 0);
        END IF;
    END LOOP;
    IF next > begun THEN
        PERFORM pg_notify('triplane', next::text);
    END IF;
    RETURN count;
END
$$;

-- remove deletes rows that no revision from the compacted one on shows, of at most a number of revisions. It returns
-- whether there may be more. The row of the latest revision remains, because latest reads it.
CREATE FUNCTION triplane.remove(most int) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    low  bigint;
    high bigint;
    last bigint;
BEGIN
    IF NOT pg_try_advisory_xact_lock(1953653104, 3) THEN
        RETURN false;
    END IF;
    SELECT s.removed, least(s.compacted, triplane.latest() - 1) INTO low, last FROM triplane.store s;
    SELECT max(n.revision) INTO high FROM (SELECT kv.revision FROM triplane.kv
        WHERE kv.revision > low AND kv.revision <= last ORDER BY kv.revision LIMIT most) n;
    IF high IS NULL THEN
        RETURN false;
    END IF;
    DELETE FROM triplane.kv WHERE revision IN (SELECT n.previous FROM triplane.kv n
        WHERE n.revision > low AND n.revision <= high AND n.previous > 0);
    DELETE FROM triplane.kv WHERE revision > low AND revision <= high AND created = 0;
    UPDATE triplane.store SET removed = high;
    RETURN high < last;
END
$$;

-- adopt is called with the identity of the database by each new session. If another database wrote before, this one
-- was promoted or restored and may lack revisions that clients have seen. Then the revisions continue after a gap,
-- and those before are compacted, so that all clients list again.
CREATE FUNCTION triplane.adopt(here text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    there text;
    next  bigint;
BEGIN
    SELECT s.identity INTO there FROM triplane.store s;
    IF there = here THEN
        RETURN false;
    END IF;
    PERFORM triplane.lock();
    SELECT s.identity INTO there FROM triplane.store s FOR UPDATE;
    IF there = here THEN
        RETURN false;
    END IF;
    next := triplane.latest();
    IF there NOT IN ('', 'copied') THEN
        next := next + 1000000;
        INSERT INTO triplane.kv VALUES (next, '', NULL, 0, 0);
        UPDATE triplane.store SET compacted = next, target = next;
        PERFORM pg_notify('triplane', next::text);
    END IF;
    UPDATE triplane.store SET identity = here;
    RETURN there NOT IN ('', 'copied');
END
$$;
