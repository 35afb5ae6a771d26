
-- What follows is for queries and reports. The server does not use it.

-- fields returns the fields of a protobuf message: content is that of strings and messages, number that of
-- integers.
CREATE FUNCTION triplane.fields(message bytea) RETURNS TABLE (field int, content bytea, number bigint)
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    at    int := 0;
    size  int := octet_length(message);
    tag   bigint;
    part  bigint;
    shift int;
BEGIN
    WHILE at < size LOOP
        FOR i IN 1..2 LOOP -- the tag, then an integer or the length
            part := 0;
            shift := 0;
            LOOP
                part := part | ((get_byte(message, at) & 127)::bigint << shift);
                at := at + 1;
                shift := shift + 7;
                EXIT WHEN get_byte(message, at - 1) < 128;
            END LOOP;
            IF i = 1 THEN
                tag := part;
                EXIT WHEN tag & 7 IN (1, 5);
            END IF;
        END LOOP;
        field := tag >> 3;
        content := NULL;
        number := NULL;
        CASE tag & 7
            WHEN 0 THEN number := part;
            WHEN 1 THEN at := at + 8;
            WHEN 2 THEN
                content := substring(message FROM at + 1 FOR part::int);
                at := at + part::int;
            WHEN 5 THEN at := at + 4;
        END CASE;
        RETURN NEXT;
    END LOOP;
END
$$;

-- pairs returns the map of a field of a protobuf message.
CREATE FUNCTION triplane.pairs(message bytea, of int) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
    SELECT jsonb_object_agg(
        (SELECT convert_from(content, 'UTF8') FROM triplane.fields(entry.content) WHERE field = 1),
        coalesce((SELECT convert_from(content, 'UTF8') FROM triplane.fields(entry.content) WHERE field = 2), ''))
    FROM triplane.fields(message) entry WHERE field = of
$$;

-- time returns the time in a field of a protobuf message, as JSON has it.
CREATE FUNCTION triplane.time(message bytea) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT to_char(to_timestamp(number) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
    FROM triplane.fields(message) WHERE field = 1
$$;

-- metadata returns the most important fields of an ObjectMeta in protobuf.
CREATE FUNCTION triplane.metadata(message bytea) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
    SELECT jsonb_strip_nulls(jsonb_build_object(
        'name', max(convert_from(content, 'UTF8')) FILTER (WHERE field = 1),
        'namespace', nullif(max(convert_from(content, 'UTF8')) FILTER (WHERE field = 3), ''),
        'uid', max(convert_from(content, 'UTF8')) FILTER (WHERE field = 5),
        'generation', nullif(max(number) FILTER (WHERE field = 7), 0),
        'creationTimestamp', max(triplane.time(content)) FILTER (WHERE field = 8),
        'deletionTimestamp', max(triplane.time(content)) FILTER (WHERE field = 9),
        'labels', triplane.pairs(message, 11),
        'annotations', triplane.pairs(message, 12),
        'finalizers', jsonb_agg(convert_from(content, 'UTF8')) FILTER (WHERE field = 14)))
    FROM triplane.fields(message)
$$;

-- object returns a stored object: all of it if it is JSON, the type and the metadata if it is protobuf, NULL if it is
-- encrypted or in another encoding.
CREATE FUNCTION triplane.object(value bytea) RETURNS jsonb LANGUAGE plpgsql IMMUTABLE COST 1000 AS $$
DECLARE
    type jsonb;
    raw  bytea;
BEGIN
    IF get_byte(value, 0) = 123 THEN
        RETURN convert_from(value, 'UTF8')::jsonb;
    ELSIF substring(value FOR 4) <> '\x6b387300' THEN
        RETURN NULL;
    END IF;
    SELECT jsonb_build_object(
            'apiVersion', (SELECT convert_from(t.content, 'UTF8') FROM triplane.fields(f.content) t WHERE t.field = 1),
            'kind', (SELECT convert_from(t.content, 'UTF8') FROM triplane.fields(f.content) t WHERE t.field = 2))
        INTO type FROM triplane.fields(substring(value FROM 5)) f WHERE f.field = 1;
    SELECT f.content INTO raw FROM triplane.fields(substring(value FROM 5)) f WHERE f.field = 2;
    RETURN type || jsonb_build_object('metadata',
        (SELECT triplane.metadata(f.content) FROM triplane.fields(raw) f WHERE f.field = 1 LIMIT 1));
EXCEPTION WHEN others THEN
    RETURN NULL;
END
$$;

-- objects has the current objects of the server.
CREATE VIEW triplane.objects AS
SELECT convert_from(key, 'UTF8') AS key, revision,
    triplane.object(value) ->> 'apiVersion' AS api_version,
    triplane.object(value) ->> 'kind' AS kind,
    triplane.object(value) #>> '{metadata,namespace}' AS namespace,
    triplane.object(value) #>> '{metadata,name}' AS name,
    CASE WHEN get_byte(value, 0) = 123 THEN 'json' WHEN substring(value FOR 4) = '\x6b387300' THEN 'protobuf'
        WHEN substring(value FOR 8) = 'k8s:enc:' THEN 'encrypted' ELSE 'other' END AS encoding,
    triplane.object(value) AS object
FROM (SELECT DISTINCT ON (key) key, revision, value, created FROM triplane.kv ORDER BY key, revision DESC) latest
WHERE created > 0 AND octet_length(value) > 0;
