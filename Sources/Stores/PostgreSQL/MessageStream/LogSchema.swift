/// The tables and functions of the message log.
///
/// The tables have the meaning of those in SQLite. A message has one row with its last version.
/// `offset` is the position of its post, `changed` that of its newest edit or deletion, and `place`
/// its number among the posts of the shop. A deleted message has no text, author or time.
enum LogSchema {
  static let tables = """
    -- The timeline is that of the server that began the epoch because commits were lost.
    CREATE TABLE log(epoch bytea NOT NULL, timeline bigint NOT NULL DEFAULT 0);
    INSERT INTO log VALUES (new_epoch());
    CREATE TABLE shops(
      number int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, shop bytea NOT NULL UNIQUE);
    CREATE TABLE messages(
      shop int NOT NULL, "offset" bigint NOT NULL, place bigint NOT NULL, id uuid NOT NULL,
      author bytea, username bytea, text bytea, created_at bigint, updated_at bigint,
      is_edited boolean NOT NULL, parent uuid, key uuid, changed bigint,
      PRIMARY KEY (shop, "offset"));
    CREATE UNIQUE INDEX message_ids ON messages(id, shop);
    CREATE INDEX message_times ON messages(shop, created_at, id) WHERE text IS NOT NULL;
    CREATE UNIQUE INDEX message_keys ON messages(shop, key, author) WHERE key IS NOT NULL;
    CREATE INDEX message_changes ON messages(shop, changed) WHERE changed IS NOT NULL;
    CREATE INDEX message_deletions ON messages(shop, "offset") WHERE text IS NULL;
    CREATE TABLE edits(
      shop int NOT NULL, key uuid NOT NULL, "offset" bigint NOT NULL, changed bigint NOT NULL,
      PRIMARY KEY (shop, key, "offset"));
    CREATE INDEX edited_messages ON edits(shop, "offset");
    CREATE TABLE images(
      id uuid PRIMARY KEY, shop int NOT NULL, author bytea, type bytea NOT NULL,
      size bigint NOT NULL, created_at bigint NOT NULL, message bigint);
    -- The contents of images. Images are compressed already.
    CREATE TABLE image_contents(
      id uuid PRIMARY KEY, content bytea NOT NULL,
      stored_at timestamptz NOT NULL DEFAULT clock_timestamp());
    ALTER TABLE image_contents ALTER COLUMN content SET STORAGE EXTERNAL;
    CREATE INDEX claimed_images ON images(shop, message) WHERE message IS NOT NULL;
    CREATE INDEX unclaimed_images ON images(author, created_at) WHERE message IS NULL;

    \(orphans)
    \(results)
    \(functions)
    """

  /// The functions that versions 3 and 4 replaced.
  static let functions = shopNumbers + "\n" + append

  /// The offsets of the oldest events that are kept, for shops whose beginning was removed, and the
  /// keys of recent posts whose messages were removed, with the times of the posts.
  static let retention = """
    -- A change of `shops` would wait for a dump.
    CREATE TABLE log_beginnings(shop int PRIMARY KEY, oldest bigint NOT NULL);
    CREATE TABLE removed_keys(
      shop int NOT NULL, key uuid NOT NULL, created_at bigint NOT NULL, PRIMARY KEY (shop, key));
    CREATE INDEX removed_times ON removed_keys(created_at);
    \(remove)
    """

  /// Removes the messages of a shop whose newest events lie before an offset. Returns their number.
  ///
  /// The lock of the shop is that of `append_log`, so that no event is added meanwhile.
  private static let remove = """
    CREATE OR REPLACE FUNCTION remove_log(
      p_shop bytea, p_first bigint, p_now bigint, p_since bigint) RETURNS bigint
    LANGUAGE plpgsql AS $$
    DECLARE v_shop int; v_oldest bigint; v_first bigint; v_count bigint;
    BEGIN
      SELECT number INTO v_shop FROM shops WHERE shop = p_shop;
      IF NOT FOUND THEN RETURN 0; END IF;
      PERFORM pg_advisory_xact_lock(lock_class(), v_shop);
      SELECT coalesce((SELECT oldest FROM log_beginnings WHERE shop = v_shop), 1) INTO v_oldest;
      SELECT least(p_first, max("offset")) INTO v_first FROM messages WHERE shop = v_shop;
      IF v_first IS NULL OR v_first <= v_oldest THEN RETURN 0; END IF;
      WITH posts AS (
        DELETE FROM messages WHERE shop = v_shop AND changed IS NULL
          AND "offset" >= v_oldest AND "offset" < v_first
        RETURNING key, created_at),
      changes AS (
        DELETE FROM messages WHERE shop = v_shop AND changed IS NOT NULL AND changed < v_first
        RETURNING key, created_at),
      gone AS (SELECT * FROM posts UNION ALL SELECT * FROM changes),
      kept AS (
        -- A deleted message has no time.
        INSERT INTO removed_keys(shop, key, created_at)
        SELECT v_shop, key, coalesce(created_at, p_now) FROM gone
        WHERE key IS NOT NULL AND coalesce(created_at, p_now) >= p_since
        ON CONFLICT DO NOTHING)
      SELECT count(*) INTO v_count FROM gone;
      DELETE FROM edits e WHERE e.shop = v_shop AND e."offset" < v_first
        AND NOT EXISTS (
          SELECT 1 FROM messages m WHERE m.shop = v_shop AND m."offset" = e."offset");
      UPDATE images i SET author = NULL, message = NULL
      WHERE i.shop = v_shop AND i.message IS NOT NULL AND i.message < v_first
        AND NOT EXISTS (
          SELECT 1 FROM messages m WHERE m.shop = v_shop AND m."offset" = i.message);
      INSERT INTO log_beginnings(shop, oldest) VALUES (v_shop, v_first)
      ON CONFLICT (shop) DO UPDATE SET oldest = excluded.oldest;
      RETURN v_count;
    END $$;
    """

  /// Returns whether the parent of a message was deleted.
  private static let orphans = """
    CREATE FUNCTION is_orphan(p_shop int, p_parent uuid) RETURNS boolean LANGUAGE sql STABLE AS $$
      SELECT p_parent IS NOT NULL AND EXISTS (
        SELECT 1 FROM messages WHERE id = p_parent AND shop = p_shop AND text IS NULL)
    $$;
    """

  /// Returns the numbers of shops, and assigns one to each new shop.
  private static let shopNumbers = """
    CREATE OR REPLACE FUNCTION shop_numbers(p_shops bytea[]) RETURNS int[] LANGUAGE plpgsql AS $$
    DECLARE v_numbers int[]; v_shop bytea;
    BEGIN
      v_numbers := ARRAY(
        SELECT s.number FROM unnest(p_shops) WITH ORDINALITY u(shop, place)
        LEFT JOIN shops s USING (shop) ORDER BY place);
      IF array_position(v_numbers, NULL) IS NULL THEN RETURN v_numbers; END IF;
      FOR v_shop IN SELECT DISTINCT shop FROM unnest(p_shops) shop ORDER BY shop LOOP
        IF NOT EXISTS (SELECT 1 FROM shops WHERE shop = v_shop) THEN
          INSERT INTO shops(shop) VALUES (v_shop) ON CONFLICT (shop) DO NOTHING;
        END IF;
      END LOOP;
      RETURN ARRAY(
        SELECT s.number FROM unnest(p_shops) WITH ORDINALITY u(shop, place)
        JOIN shops s USING (shop) ORDER BY place);
    END $$;
    """

  /// The result of a request. The columns of a message are only set where the node does not know
  /// them.
  private static let results = """
    CREATE TYPE log_result AS (
      code bigint, "offset" bigint, changed bigint, id uuid, author bytea, username bytea,
      text bytea, created_at bigint, updated_at bigint, is_edited boolean, parent uuid);

    CREATE FUNCTION stored_result(p_code bigint, m messages) RETURNS log_result
    LANGUAGE sql STABLE AS $$
      SELECT ROW(p_code, m."offset", m.changed, m.id, m.author, m.username, m.text, m.created_at,
        m.updated_at, m.is_edited,
        CASE WHEN is_orphan(m.shop, m.parent) THEN NULL ELSE m.parent END)::log_result
    $$;
    """

  /// Processes a batch of requests in their order, within one transaction.
  ///
  /// The locks of the shops are taken in ascending order and end with the transaction. Each
  /// statement after them sees all that earlier holders committed. `LogCode` has the codes.
  private static let append = """
    CREATE OR REPLACE FUNCTION append_log(
      p_run uuid, p_lane int, p_number bigint, p_shops bytea[], p_kinds int[], p_rooms int[],
      p_ids uuid[], p_authors bytea[], p_usernames bytea[], p_texts bytea[], p_times bigint[],
      p_updates bigint[], p_flags boolean[], p_parents uuid[], p_keys uuid[], p_windows bigint[],
      p_claimants int[], p_images uuid[], p_numbers int[], p_stamps boolean)
    RETURNS SETOF log_result LANGUAGE plpgsql AS $$
    #variable_conflict use_column
    DECLARE
      v_class int := lock_class();
      v_shops int[] := shop_numbers(p_shops);
      v_ends bigint[];
      v_places bigint[];
      v_lasts bigint[];
      v_times bigint[];
      v_codes bigint[] := '{}';
      v_offsets bigint[] := '{}';
      v_shop int; v_room int; v_count int; v_time bigint; v_claim int := 1;
      m messages%ROWTYPE; e record; r log_result;
    BEGIN
      PERFORM pg_advisory_xact_lock(v_class, number)
      FROM (SELECT DISTINCT number FROM unnest(v_shops) number ORDER BY number OFFSET 0) shops;
      SELECT array_agg(greatest(coalesce(m."offset", 0), coalesce(c.changed, 0)) ORDER BY u.place),
        array_agg(coalesce(m.place, 0) ORDER BY u.place), array_agg(l.last ORDER BY u.place)
      INTO v_ends, v_places, v_lasts
      FROM unnest(v_shops) WITH ORDINALITY u(shop, place)
      LEFT JOIN LATERAL (
        SELECT "offset", place FROM messages WHERE shop = u.shop ORDER BY "offset" DESC LIMIT 1) m
      ON true
      LEFT JOIN LATERAL (
        SELECT changed FROM messages WHERE shop = u.shop AND changed IS NOT NULL
        ORDER BY changed DESC LIMIT 1) c
      ON true
      LEFT JOIN LATERAL (
        SELECT created_at AS last FROM messages
        WHERE p_stamps AND shop = u.shop AND text IS NOT NULL ORDER BY created_at DESC LIMIT 1) l
      ON true;
      \(plain)
      FOR i IN 1..cardinality(p_kinds) LOOP
        v_room := p_rooms[i];
        v_shop := v_shops[v_room];
        r := NULL;
        IF p_kinds[i] = 0 THEN
          \(post)
        ELSE
          SELECT * INTO m FROM messages WHERE id = p_ids[i] AND shop = v_shop;
          IF NOT FOUND THEN
            r.code := 10;
          ELSIF p_kinds[i] = 1 THEN
            \(edit)
          ELSE
            \(delete)
          END IF;
        END IF;
        \(claim)
        v_codes := v_codes || r.code;
        v_offsets := v_offsets || coalesce(r."offset", 0);
        RETURN NEXT r;
      END LOOP;
      PERFORM end_write(p_run, p_lane, p_number, v_codes || v_offsets);
    END $$;
    """

  /// Adds new messages with one statement. `p_numbers` has the number of each among the posts of its
  /// shop; it is empty unless the batch has only posts, without repeated keys and without images.
  private static let plain = """
      IF cardinality(p_numbers) > 0
        AND NOT EXISTS (
          SELECT 1 FROM unnest(p_rooms, p_ids) u(room, id)
          JOIN messages m ON m.id = u.id AND m.shop = v_shops[u.room])
        AND NOT EXISTS (
          SELECT 1 FROM unnest(p_rooms, p_keys) u(room, key)
          JOIN messages m ON m.shop = v_shops[u.room] AND m.key = u.key)
        AND NOT EXISTS (
          SELECT 1 FROM unnest(p_rooms, p_keys) u(room, key)
          JOIN edits x ON x.shop = v_shops[u.room] AND x.key = u.key)
        AND (NOT EXISTS (SELECT 1 FROM removed_keys) OR NOT EXISTS (
          SELECT 1 FROM unnest(p_rooms, p_keys) u(room, key)
          JOIN removed_keys k ON k.shop = v_shops[u.room] AND k.key = u.key))
      THEN
        v_times := p_times;
        IF p_stamps THEN
          -- Each time is later than those before it in its shop, also within the batch.
          v_times := ARRAY(
            SELECT greatest(v_lasts[room],
              max(time - 1000 * number) OVER (PARTITION BY room ORDER BY number)) + 1000 * number
            FROM unnest(p_rooms, p_numbers, p_times) WITH ORDINALITY u(room, number, time, place)
            ORDER BY place);
        END IF;
        INSERT INTO messages(shop, "offset", place, id, author, username, text, created_at,
          updated_at, is_edited, parent, key)
        SELECT v_shops[room], v_ends[room] + number, v_places[room] + number, id, author, username,
          text, created_at, updated_at, is_edited, parent, key
        FROM unnest(p_rooms, p_numbers, p_ids, p_authors, p_usernames, p_texts, v_times, p_updates,
          p_flags, p_parents, p_keys) u(room, number, id, author, username, text, created_at,
            updated_at, is_edited, parent, key);
        SELECT array_agg(CASE
            WHEN parent IS NOT NULL AND is_orphan(v_shops[room], parent) THEN 1::bigint
            ELSE 0 END),
          array_agg(v_ends[room] + number)
        INTO v_codes, v_offsets
        FROM unnest(p_rooms, p_numbers, p_parents) u(room, number, parent);
        PERFORM end_write(p_run, p_lane, p_number, v_codes || v_offsets);
        RETURN QUERY SELECT code, "offset", NULL::bigint, NULL::uuid, NULL::bytea, NULL::bytea,
          NULL::bytea, time, NULL::bigint, NULL::boolean, NULL::uuid
        FROM unnest(v_codes, v_offsets, v_times) u(code, "offset", time);
        RETURN;
      END IF;
    """

  private static let post = """
          IF p_keys[i] IS NOT NULL THEN
            SELECT * INTO m FROM messages
            WHERE shop = v_shop AND key = p_keys[i] AND author = p_authors[i];
            IF FOUND THEN
              r := stored_result(2, m);
            ELSIF EXISTS (
              SELECT 1 FROM edits x JOIN messages y USING (shop, "offset")
              WHERE x.shop = v_shop AND x.key = p_keys[i] AND y.author = p_authors[i])
            THEN
              r.code := 14;
            ELSIF EXISTS (
              SELECT 1 FROM messages WHERE shop = v_shop AND key = p_keys[i] AND author IS NULL)
              OR EXISTS (SELECT 1 FROM removed_keys WHERE shop = v_shop AND key = p_keys[i])
            THEN
              r.code := 11;
            END IF;
          END IF;
          IF r.code IS NULL THEN
            r.created_at := greatest(p_times[i], v_lasts[v_room] + 1000);
            INSERT INTO messages(shop, "offset", place, id, author, username, text, created_at,
              updated_at, is_edited, parent, key)
            VALUES (v_shop, v_ends[v_room] + 1, v_places[v_room] + 1, p_ids[i], p_authors[i],
              p_usernames[i], p_texts[i], r.created_at, p_updates[i], p_flags[i], p_parents[i],
              p_keys[i])
            ON CONFLICT DO NOTHING;
            GET DIAGNOSTICS v_count = ROW_COUNT;
            IF v_count = 0 THEN
              r.code := 20;
            ELSE
              v_ends[v_room] := v_ends[v_room] + 1;
              v_places[v_room] := v_places[v_room] + 1;
              IF p_stamps THEN v_lasts[v_room] := r.created_at; END IF;
              r.code := 0;
              r."offset" := v_ends[v_room];
              IF p_parents[i] IS NOT NULL AND is_orphan(v_shop, p_parents[i]) THEN
                r.code := 1;
              END IF;
            END IF;
          END IF;
    """

  private static let edit = """
            IF m.text IS NULL THEN
              r.code := 11;
            ELSIF m.author <> p_authors[i] THEN
              r.code := 12;
            END IF;
            IF r.code IS NULL AND p_keys[i] IS NOT NULL THEN
              SELECT x."offset", x.changed INTO e FROM edits x JOIN messages y USING (shop, "offset")
              WHERE x.shop = v_shop AND x.key = p_keys[i] AND y.author = p_authors[i] LIMIT 1;
              IF FOUND THEN
                IF e."offset" <> m."offset" OR (
                  coalesce(m.changed, m."offset") = e.changed AND m.text <> p_texts[i])
                THEN
                  r.code := 14;
                ELSE
                  r := stored_result(4, m);
                END IF;
              ELSIF EXISTS (
                SELECT 1 FROM messages WHERE shop = v_shop AND key = p_keys[i]
                  AND (author = p_authors[i] OR author IS NULL))
                OR EXISTS (SELECT 1 FROM removed_keys WHERE shop = v_shop AND key = p_keys[i])
              THEN
                r.code := 14;
              END IF;
            END IF;
            IF r.code IS NULL AND p_windows[i] IS NOT NULL
              AND m.created_at::numeric + p_windows[i] < p_times[i]
            THEN
              r.code := 13;
            END IF;
            IF r.code IS NULL THEN
              IF m.text = p_texts[i] THEN
                r := stored_result(4, m);
              ELSE
                v_ends[v_room] := v_ends[v_room] + 1;
                v_time := coalesce(m.updated_at, m.created_at);
                IF p_times[i] > v_time THEN
                  v_time := p_times[i];
                ELSIF v_time < 9223372036854774807 THEN
                  v_time := v_time + 1000;
                END IF;
                UPDATE messages SET text = p_texts[i], updated_at = v_time, is_edited = true,
                  changed = v_ends[v_room]
                WHERE shop = v_shop AND "offset" = m."offset" RETURNING * INTO m;
                r := stored_result(3, m);
                UPDATE images SET author = NULL, message = NULL
                WHERE shop = v_shop AND message = m."offset" AND id NOT IN (
                  SELECT p_images[n] FROM generate_subscripts(p_images, 1) n
                  WHERE p_claimants[n] = i);
              END IF;
              IF p_keys[i] IS NOT NULL THEN
                INSERT INTO edits(shop, key, "offset", changed)
                VALUES (v_shop, p_keys[i], m."offset", coalesce(m.changed, m."offset"));
              END IF;
            END IF;
    """

  private static let delete = """
            IF m.text IS NULL THEN
              r := stored_result(6, m);
            ELSIF m.author <> p_authors[i] AND NOT p_flags[i] THEN
              r.code := 12;
            ELSE
              v_ends[v_room] := v_ends[v_room] + 1;
              UPDATE messages SET author = NULL, username = NULL, text = NULL, created_at = NULL,
                updated_at = NULL, is_edited = false, parent = NULL, changed = v_ends[v_room]
              WHERE shop = v_shop AND "offset" = m."offset" RETURNING * INTO m;
              DELETE FROM edits WHERE shop = v_shop AND "offset" = m."offset";
              UPDATE images SET author = NULL, message = NULL
              WHERE shop = v_shop AND message = m."offset";
              r := stored_result(5, m);
            END IF;
    """

  /// A new message or text claims the images of its author to which it refers.
  private static let claim = """
        WHILE p_claimants[v_claim] = i LOOP
          IF r.code IN (0, 1, 3) THEN
            UPDATE images SET message = r."offset"
            WHERE id = p_images[v_claim] AND shop = v_shop AND author = p_authors[i]
              AND message IS NULL;
          END IF;
          v_claim := v_claim + 1;
        END LOOP;
    """
}
