/// The tables of synced samples.
///
/// `named` is the time at which a UUID was deleted or, if it has a sample, the time of the newest
/// batch that assigned it. Both are effective times of stamps (see `SyncStamps`). `sync_stamps` has
/// the stamps whose effective time differs from their own.
enum SyncSchema {
  static let tables = """
    CREATE TABLE sync_store(epoch bytea NOT NULL, timeline bigint NOT NULL DEFAULT 0);
    INSERT INTO sync_store VALUES (new_epoch());
    CREATE TABLE sync_names(
      id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, text bytea NOT NULL);
    CREATE UNIQUE INDEX sync_texts ON sync_names(sha256(text));
    CREATE TABLE sync_types(
      owner int NOT NULL, type int NOT NULL, count bigint NOT NULL, first bigint NOT NULL,
      last bigint NOT NULL, longest bigint NOT NULL, PRIMARY KEY (owner, type));
    CREATE TABLE sync_sources(
      owner int NOT NULL, type int NOT NULL, source int NOT NULL, count bigint NOT NULL,
      PRIMARY KEY (owner, type, source));
    CREATE TABLE sync_samples(
      owner int NOT NULL, type int NOT NULL, start bigint NOT NULL, key uuid NOT NULL,
      hash bytea NOT NULL, duration bigint NOT NULL, source int NOT NULL, unit int,
      quantity float8, text int, lasted bigint, distance float8, energy float8,
      uuids bigint NOT NULL, raw bytea NOT NULL, PRIMARY KEY (owner, type, start, key));
    CREATE TABLE sync_identities(
      owner int NOT NULL, uuid uuid NOT NULL, type int, start bigint, key uuid,
      named bigint NOT NULL, PRIMARY KEY (owner, uuid));
    CREATE TABLE sync_devices(
      owner int NOT NULL, device int NOT NULL, made bigint NOT NULL, counts bigint NOT NULL,
      PRIMARY KEY (owner, device));
    CREATE TABLE sync_stamps(
      owner int NOT NULL, device int NOT NULL, made bigint NOT NULL, counts bigint NOT NULL,
      PRIMARY KEY (owner, device, made));

    -- Returns the number of a text; NULL if it has none.
    CREATE FUNCTION sync_name(p_text bytea) RETURNS int LANGUAGE sql STABLE AS
    $$ SELECT id FROM sync_names WHERE sha256(text) = sha256(p_text) $$;

    -- Returns the earliest start of a sample that can overlap a time span from $1 on.
    CREATE FUNCTION earliest_start(p_from bigint, p_longest bigint) RETURNS bigint
    LANGUAGE sql IMMUTABLE AS $$
      SELECT CASE WHEN p_from < p_longest - 9223372036854775807 THEN -9223372036854775807
        ELSE p_from - p_longest END
    $$;

    -- Returns the numbers of texts, and assigns one to each new text.
    CREATE FUNCTION number_sync_names(p_texts bytea[]) RETURNS SETOF bigint
    LANGUAGE plpgsql AS $$
    DECLARE v_text bytea; v_id int;
    BEGIN
      FOREACH v_text IN ARRAY p_texts LOOP
        v_id := sync_name(v_text);
        IF v_id IS NULL THEN
          INSERT INTO sync_names(text) VALUES (v_text) ON CONFLICT DO NOTHING;
          v_id := sync_name(v_text);
        END IF;
        RETURN NEXT v_id::bigint;
      END LOOP;
    END $$;

    -- Removes samples, and updates the summaries of their types and sources.
    CREATE FUNCTION remove_sync_samples(
      p_owner int, p_types bytea[], p_starts bigint[], p_keys uuid[])
    RETURNS void LANGUAGE plpgsql AS $$
    DECLARE v_type int; v_source int; v_types int[] := '{}';
    BEGIN
      FOR i IN 1..cardinality(p_types) LOOP
        DELETE FROM sync_samples
        WHERE owner = p_owner AND type = sync_name(p_types[i]) AND start = p_starts[i]
          AND key = p_keys[i]
        RETURNING type, source INTO v_type, v_source;
        UPDATE sync_types SET count = count - 1 WHERE owner = p_owner AND type = v_type;
        UPDATE sync_sources SET count = count - 1
        WHERE owner = p_owner AND type = v_type AND source = v_source;
        v_types := v_types || v_type;
      END LOOP;
      DELETE FROM sync_types WHERE owner = p_owner AND type = ANY (v_types) AND count <= 0;
      DELETE FROM sync_sources WHERE owner = p_owner AND type = ANY (v_types) AND count <= 0;
      UPDATE sync_types t SET
        first = (SELECT min(start) FROM sync_samples s WHERE s.owner = p_owner AND s.type = t.type),
        last = (SELECT max(start) FROM sync_samples s WHERE s.owner = p_owner AND s.type = t.type)
      WHERE owner = p_owner AND type = ANY (v_types);
    END $$;
    """
}
