import HoldfastCore

/// The versions of the tables in a database.
///
/// A version first only adds to the tables, so that the release before can still read them; a later
/// one removes what is not used any more. `oldest_reader` is the oldest version of this software's
/// tables that can use them.
enum Migrations {
  /// The version of the tables that this software writes.
  static let version: Int32 = 4
  /// The tables of version 1.
  static let first = [
    tables, LogSchema.tables, RelaySchema.tables, SessionSchema.tables, SyncSchema.tables,
  ]
  /// The additions of each version to the tables of the version before, from version 2 on.
  private static let additions = [
    """
    -- The addresses for requests that other nodes pass on. A change of `nodes` would wait for a dump.
    CREATE TABLE node_addresses(run uuid PRIMARY KEY, address bytea NOT NULL);
    \(RelaySchema.sessions)
    -- The list of removed members that all nodes use.
    CREATE TABLE removals(
      is_single boolean PRIMARY KEY DEFAULT true CHECK (is_single), version bigint NOT NULL,
      content bytea NOT NULL);
    """,
    // Functions that read the ends of all shops of a batch with one statement.
    LogSchema.functions,
    // The removal of the beginning of logs.
    LogSchema.retention + "\n" + LogSchema.functions,
  ]
  /// The maximum time of a migration.
  private static let patience = Duration.seconds(600)

  /// Creates the tables, or brings them to this version. Processes wait for each other.
  static func run(on connection: Connection) throws(DatabaseFailure) {
    let schema = try connection.run([Command("SELECT convert_to(current_schema(), 'UTF8')")])
    guard schema[0].first?.columns[0] != nil else {
      throw .store(
        .denied(
          detail: "The database has no schema in its search path. Create one, or name another with "
            + "?options=-csearch_path%3DNAME in the URL."))
    }
    try connection.runScript(
      """
      BEGIN;
      SET LOCAL lock_timeout = '60s';
      SELECT pg_advisory_xact_lock(('x' || left(md5(current_schema()), 8))::bit(32)::int, -1);
      """, within: patience)
    guard let found = try installed(on: connection) else {
      try connection.runScript(
        (first + additions).joined(separator: "\n")
          + "\nINSERT INTO schema_version VALUES (\(version), 1);\nCOMMIT;", within: patience)
      return
    }
    guard found.oldestReader <= version else {
      throw .store(
        .fromTheFuture(found: Int(found.version), supported: Int(version)))
    }
    let missing = additions.dropFirst(Int(found.version) - 1)
    if !missing.isEmpty {
      // The nodes of the former version wait behind a lock that this transaction waits for.
      let change =
        ["SET LOCAL lock_timeout = '2s';"] + missing
        + ["UPDATE schema_version SET version = \(version);"]
      try connection.runScript(change.joined(separator: "\n"), within: patience)
    }
    try connection.runScript("COMMIT", within: patience)
  }

  private static func installed(
    on connection: Connection
  ) throws(DatabaseFailure) -> (version: Int32, oldestReader: Int32)? {
    let exists = try connection.run([
      Command(
        "SELECT to_regclass(quote_ident(current_schema()) || '.schema_version') IS NOT NULL")
    ])
    do throws(StoreFailure) {
      guard try exists[0].first?.flag(0) == true else { return nil }
    } catch {
      throw .store(error)
    }
    let rows = try connection.run([
      Command("SELECT version, oldest_reader FROM schema_version")
    ])
    do throws(StoreFailure) {
      guard let row = rows[0].first else {
        throw StoreFailure.corrupt(
          detail: "The table schema_version is empty. Restore the database from a backup.")
      }
      return (try row.small(0), try row.small(1))
    } catch {
      throw .store(error)
    }
  }

  /// The tables of the nodes and of their transactions, and the functions that all stores use.
  ///
  /// Advisory locks belong to the database, so the schema is part of their keys.
  private static let tables = """
    CREATE TABLE schema_version(version int NOT NULL, oldest_reader int NOT NULL);
    -- The runs that use the database, and when their leases end.
    CREATE TABLE nodes(
      id uuid PRIMARY KEY, run uuid NOT NULL UNIQUE, name bytea NOT NULL, machine bytea NOT NULL,
      secrets bytea NOT NULL, version bytea NOT NULL, moves boolean NOT NULL,
      since timestamptz NOT NULL, lease_until timestamptz NOT NULL);
    -- The services that run at one node at a time, and the run of that node.
    CREATE TABLE roles(role bytea PRIMARY KEY, run uuid, term bigint NOT NULL);
    INSERT INTO roles VALUES ('services', NULL, 0);
    -- Whether the stores were moved from or to another place. A server does not use them then.
    CREATE TABLE moved(note bytea NOT NULL);
    -- The newest transaction of each lane of the node, and its outcome.
    CREATE TABLE lanes(
      run uuid NOT NULL, lane int NOT NULL, number bigint NOT NULL, outcome bigint[] NOT NULL,
      PRIMARY KEY (run, lane)) WITH (fillfactor = 50);

    CREATE FUNCTION lock_class() RETURNS int LANGUAGE sql STABLE AS
    $$ SELECT ('x' || left(md5(current_schema()), 8))::bit(32)::int $$;

    CREATE FUNCTION new_epoch() RETURNS bytea LANGUAGE sql VOLATILE AS
    $$ SELECT convert_to(left(replace(gen_random_uuid()::text, '-', ''), 16), 'UTF8') $$;

    -- Begins a transaction of a lane. An attempt that was given up, and arrives after a later one was
    -- committed, is refused. The lanes of services that run at one node need its role, which nobody
    -- takes before the transaction ends.
    CREATE FUNCTION begin_write(p_run uuid, p_lane int, p_number bigint, p_role bytea) RETURNS void
    LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM pg_advisory_xact_lock_shared(lock_class(), 0);
      IF NOT EXISTS (
        SELECT 1 FROM nodes WHERE run = p_run AND lease_until > clock_timestamp())
      THEN
        RAISE EXCEPTION 'the lease of this node has ended' USING ERRCODE = 'HF001';
      END IF;
      IF p_role IS NOT NULL THEN
        PERFORM 1 FROM roles WHERE role = p_role AND run = p_run FOR SHARE;
        IF NOT FOUND THEN
          RAISE EXCEPTION 'another node has this role' USING ERRCODE = 'HF003';
        END IF;
      END IF;
      PERFORM pg_advisory_xact_lock(
        hashtextextended(concat_ws(' ', current_schema(), p_run, p_lane), 0));
      IF EXISTS (
        SELECT 1 FROM lanes WHERE run = p_run AND lane = p_lane AND number >= p_number)
      THEN
        RAISE EXCEPTION 'a later transaction was committed' USING ERRCODE = 'HF002';
      END IF;
    END $$;

    CREATE FUNCTION end_write(p_run uuid, p_lane int, p_number bigint, p_outcome bigint[])
    RETURNS void LANGUAGE sql AS $$
      INSERT INTO lanes(run, lane, number, outcome) VALUES (p_run, p_lane, p_number, p_outcome)
      ON CONFLICT (run, lane) DO UPDATE SET number = excluded.number, outcome = excluded.outcome
    $$;

    -- Registers a run. Returns the name of the node that prevents it, and whether the reason is that
    -- the two have different secrets.
    CREATE FUNCTION register_node(
      p_id uuid, p_run uuid, p_name bytea, p_machine bytea, p_secrets bytea, p_version bytea,
      p_moves boolean, p_first boolean, OUT p_other bytea, OUT p_differs boolean)
    LANGUAGE plpgsql AS $$
    BEGIN
      LOCK TABLE nodes IN EXCLUSIVE MODE;
      -- Waits for the transactions of all nodes, also of those whose leases have ended.
      IF p_moves THEN PERFORM pg_advisory_xact_lock(lock_class(), 0); END IF;
      -- A new run in the same directory of the same machine takes over at once.
      WITH former AS (
        DELETE FROM nodes WHERE id = p_id AND run <> p_run AND machine = p_machine AND p_first
        RETURNING run)
      DELETE FROM lanes USING former WHERE lanes.run = former.run;
      -- A node without a lease does not come back to what was moved, or beside other secrets.
      DELETE FROM nodes
      WHERE run <> p_run AND lease_until <= clock_timestamp()
        AND (p_moves OR secrets <> p_secrets);
      IF NOT p_moves AND NOT p_first AND EXISTS (SELECT 1 FROM moved) THEN
        p_other := 'migrate'; p_differs := false;
        RETURN;
      END IF;
      SELECT name, NOT (p_moves OR moves OR id = p_id) INTO p_other, p_differs FROM nodes
      WHERE lease_until > clock_timestamp() AND run <> p_run
        AND (p_moves OR moves OR id = p_id OR secrets <> p_secrets)
      ORDER BY 2 LIMIT 1;
      IF FOUND THEN RETURN; END IF;
      DELETE FROM nodes WHERE id = p_id AND run <> p_run;
      WITH gone AS (
        DELETE FROM nodes WHERE lease_until < clock_timestamp() - interval '30 days' RETURNING run)
      DELETE FROM lanes USING gone WHERE lanes.run = gone.run;
      INSERT INTO nodes(
        id, run, name, machine, secrets, version, moves, since, lease_until)
      VALUES (
        p_id, p_run, p_name, p_machine, p_secrets, p_version, p_moves, clock_timestamp(),
        clock_timestamp())
      ON CONFLICT (id) DO NOTHING;
    END $$;

    -- Returns the term of a role if a run has it, after it has taken the role of a node that is gone.
    -- Nobody waits for a transaction that uses the role. A node that has left has no row; whether the
    -- lease of another one has ended may be unclear.
    CREATE FUNCTION claim_role(p_role bytea, p_run uuid, p_may_take boolean) RETURNS bigint
    LANGUAGE plpgsql AS $$
    DECLARE v_run uuid; v_term bigint;
    BEGIN
      SELECT term INTO v_term FROM roles WHERE role = p_role AND run = p_run FOR SHARE;
      IF FOUND THEN RETURN v_term; END IF;
      SELECT run INTO v_run FROM roles WHERE role = p_role FOR UPDATE SKIP LOCKED;
      IF NOT FOUND THEN RETURN NULL; END IF;
      IF EXISTS (
        SELECT 1 FROM nodes
        WHERE run = v_run AND (NOT p_may_take OR lease_until > clock_timestamp()))
      THEN
        RETURN NULL;
      END IF;
      UPDATE roles SET run = p_run, term = term + 1 WHERE role = p_role RETURNING term INTO v_term;
      RETURN v_term;
    END $$;
    """
}
