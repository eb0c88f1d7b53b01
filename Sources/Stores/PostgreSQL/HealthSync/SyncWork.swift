import HoldfastCore
import HoldfastFeaturePorts
import HoldfastHealthSamples
import HoldfastSyncData

/// The work of one batch: what it reads, and the changes that follow from that.
///
/// The rules are those of `UserSamples`. It receives the samples and UUIDs that the batch concerns, and
/// its changes to them are written.
struct SyncWork: Sendable {
  private let delivery: SyncDelivery
  /// The texts that are stored once, each once, and their indices from 1 on.
  private let texts: [String]
  private let indices: [String: Int32]

  init(_ delivery: SyncDelivery) {
    self.delivery = delivery
    var texts: Set<String> = [delivery.user, delivery.device]
    for sample in delivery.samples {
      texts.formUnion([sample.type, sample.source])
      if let unit = sample.unit { texts.insert(unit) }
      if let name = sample.name { texts.insert(name) }
    }
    self.texts = texts.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    indices = Dictionary(
      uniqueKeysWithValues: zip(self.texts, (1...).lazy.map { Int32($0) }))
  }

  // MARK: - Reading

  /// The statements whose rows `change` expects.
  var reads: [Command] {
    let uuids = Set(delivery.deleted).union(delivery.samples.compactMap(\.uuid)).sorted()
    let positions = delivery.samples.map(\.position)
    return [
      // Another node may apply a batch of the same user.
      Command(
        """
        SELECT pg_advisory_xact_lock(
          hashtextextended(concat_ws(' ', current_schema(), 'sync', encode($1, 'hex')), 0))
        """, [.text(delivery.user)]),
      Command("SELECT number_sync_names($1)", [.texts(texts)]),
      Command(
        """
        SELECT i.uuid, n.text, i.start, i.key, i.named
        FROM sync_identities i LEFT JOIN sync_names n ON n.id = i.type
        WHERE i.owner = (SELECT sync_name($1)) AND i.uuid = ANY($2)
        """, [.text(delivery.user), .uuids(uuids)]),
      Command(
        """
        WITH t AS MATERIALIZED (
          SELECT place, sync_name(text) AS type FROM unnest($2) WITH ORDINALITY t(text, place)),
        wanted AS (
          SELECT t.type, u.start, u.key
          FROM unnest($3::int[], $4::bigint[], $5::uuid[]) u(place, start, key)
          JOIN t ON t.place = u.place
          UNION
          SELECT type, start, key FROM sync_identities
          WHERE owner = (SELECT sync_name($1)) AND uuid = ANY($6) AND type IS NOT NULL)
        SELECT n.text, s.start, s.hash, s.uuids, o.text
        FROM wanted w
        JOIN sync_samples s ON s.owner = (SELECT sync_name($1)) AND s.type = w.type
          AND s.start = w.start AND s.key = w.key
        JOIN sync_names n ON n.id = s.type JOIN sync_names o ON o.id = s.source
        """,
        [
          .text(delivery.user), .texts(texts), .smalls(positions.map { indices[$0.type] }),
          .integers(positions.map(\.start.nanoseconds)), .uuids(positions.map { UUID128($0.key) }),
          .uuids(uuids),
        ]),
      stamps,
    ]
  }

  private var stamps: Command {
    Command(
      """
      WITH d AS MATERIALIZED (SELECT sync_name($1) AS owner, sync_name($2) AS device)
      SELECT
        (SELECT counts FROM sync_stamps s WHERE s.owner = d.owner AND s.device = d.device
          AND made = $3),
        (SELECT max(counts) FROM sync_devices s WHERE s.owner = d.owner),
        greatest(
          (SELECT counts FROM sync_stamps s WHERE s.owner = d.owner AND s.device = d.device
            AND made < $3 ORDER BY made DESC LIMIT 1),
          (SELECT counts FROM sync_devices s WHERE s.owner = d.owner AND s.device = d.device
            AND made < $3)),
        (SELECT counts FROM sync_stamps s WHERE s.owner = d.owner AND s.device = d.device
          AND made > $3 AND made <= $4 ORDER BY made LIMIT 1)
      FROM d
      """,
      [
        .text(delivery.user), .text(delivery.device), .time(delivery.made),
        .time(delivery.made.map { SyncStamps.horizon(of: $0) }),
      ])
  }

  // MARK: - Changing

  /// Returns the changes of the batch and its counts.
  func change(
    _ found: [[Row]]
  ) throws(StoreFailure) -> (commands: [Command], outcome: [Int64]) {
    let found = Array(found.dropFirst())
    guard found.count == 4, found[0].count == texts.count else { throw .unanswered }
    var numbers: [String: Int32] = [:]
    for (text, row) in zip(texts, found[0]) { numbers[text] = Int32(try row.integer(0)) }
    let before = try samples(found[1], found[2])
    var after = before
    let made = try effectiveTime(found[3])
    let counts = after.apply(delivery, made: made)
    guard let owner = numbers[delivery.user], let device = numbers[delivery.device] else {
      throw .unanswered
    }
    var changes = SyncChanges(owner: owner, names: numbers)
    try changes.compare(before, after)
    var commands = changes.commands
    if let time = delivery.made, let made {
      commands += stamped(time, as: made, owner: owner, device: device)
    }
    let outcome = [counts.records, counts.workouts, counts.skippedDuplicates, counts.refused]
    return (commands, outcome.map { Int64($0) })
  }

  private func samples(
    _ identities: [Row], _ rows: [Row]
  ) throws(StoreFailure) -> UserSamples {
    var user = UserSamples()
    for row in identities {
      let (uuid, named) = (try row.uuid(0), try row.time(4))
      if let type = try row.optionalText(1) {
        let position = HealthSamplePosition(
          type: type, start: try row.time(2), key: try row.key(3))
        user.identities[uuid] = .sample(position, named: named)
      } else {
        user.identities[uuid] = .deleted(named)
      }
    }
    for row in rows {
      guard let bytes = try row.optionalBlob(2), let hash = SyncHash(bytes) else {
        throw row.garbage(2, expected: "a hash of 32 bytes")
      }
      let sample = SyncSample(
        hash: hash, type: try row.text(0), start: try row.time(1), source: try row.text(4))
      user.samples[sample.position] = UserSamples.Entry(
        sample: sample, uuids: Int(try row.integer(3)))
    }
    return user
  }

  /// Returns the effective time of the batch; `nil` if it has no time.
  private func effectiveTime(_ rows: [Row]) throws(StoreFailure) -> Timestamp? {
    guard let made = delivery.made, let row = rows.first else { return nil }
    if let known = try row.optionalTime(0) { return known }
    return SyncStamps.counts(
      made, arrived: delivery.arrived, latest: try row.optionalTime(1),
      before: try row.optionalTime(2), behind: try row.optionalTime(3))
  }

  private func stamped(
    _ made: Timestamp, as counts: Timestamp, owner: Int32, device: Int32
  ) -> [Command] {
    let values: [Parameter] = [.small(owner), .small(device), .time(made), .time(counts)]
    let newest = Command(
      """
      INSERT INTO sync_devices(owner, device, made, counts) VALUES ($1, $2, $3, $4)
      ON CONFLICT (owner, device) DO UPDATE SET made = greatest(sync_devices.made, excluded.made),
        counts = greatest(sync_devices.counts, excluded.counts)
      """, values)
    guard counts != made else { return [newest] }
    return [
      newest,
      Command(
        """
        INSERT INTO sync_stamps(owner, device, made, counts) VALUES ($1, $2, $3, $4)
        ON CONFLICT DO NOTHING
        """, values),
    ]
  }
}

/// The differences of a user's samples before and after a batch, as statements.
private struct SyncChanges {
  /// The change of a type's summary.
  private struct Summary {
    var count: Int64 = 0
    var first = Int64.max
    var last = Int64.min
    var longest: Int64 = 0
  }

  private struct Source: Hashable {
    var type: Int32
    var name: Int32
  }

  private let owner: Int32
  private let names: [String: Int32]
  private var removed: [HealthSamplePosition] = []
  private var renamed: [(position: HealthSamplePosition, uuids: Int)] = []
  private var added: [UserSamples.Entry] = []
  private var identities: [(uuid: UUID128, state: UserSamples.Identity)] = []
  private var types: [Int32: Summary] = [:]
  private var sources: [Source: Int64] = [:]

  init(owner: Int32, names: [String: Int32]) { (self.owner, self.names) = (owner, names) }

  mutating func compare(_ before: UserSamples, _ after: UserSamples) throws(StoreFailure) {
    for (position, entry) in after.samples {
      guard let former = before.samples[position] else {
        added.append(entry)
        continue
      }
      if entry.sample.raw.isEmpty {
        if former.uuids != entry.uuids { renamed.append((position, entry.uuids)) }
      } else {
        // The batch removed the sample, and contains it with another UUID.
        removed.append(position)
        added.append(entry)
      }
    }
    for (position, _) in before.samples where after.samples[position] == nil {
      removed.append(position)
    }
    for (uuid, state) in after.identities where before.identities[uuid] != state {
      identities.append((uuid, state))
    }
    added.sort {
      ($0.sample.type, $0.sample.start, $0.sample.hash.key)
        < ($1.sample.type, $1.sample.start, $1.sample.hash.key)
    }
    for entry in added { try note(entry.sample) }
  }

  private mutating func note(_ sample: SyncSample) throws(StoreFailure) {
    guard let type = names[sample.type], let source = names[sample.source] else {
      throw .unanswered
    }
    sources[Source(type: type, name: source), default: 0] += 1
    var summary = types[type] ?? Summary()
    summary.count += 1
    summary.first = min(summary.first, sample.start.nanoseconds)
    summary.last = max(summary.last, sample.start.nanoseconds)
    summary.longest = max(summary.longest, sample.duration)
    types[type] = summary
  }

  var commands: [Command] {
    var commands: [Command] = []
    if !removed.isEmpty { commands.append(removal) }
    if !added.isEmpty { commands.append(insertion) }
    if !types.isEmpty { commands += [summaries, sourceCounts] }
    if !renamed.isEmpty { commands.append(renaming) }
    if !identities.isEmpty { commands.append(naming) }
    return commands
  }

  private var insertion: Command {
    let samples = added.map(\.sample)
    let values = samples.map(\.columns)
    return Command(
      """
      INSERT INTO sync_samples(owner, type, start, key, hash, duration, source, unit, quantity,
        text, lasted, distance, energy, uuids, raw)
      SELECT $1, * FROM unnest($2::int[], $3::bigint[], $4::uuid[], $5::bytea[], $6::bigint[],
        $7::int[], $8::int[], $9::float8[], $10::int[], $11::bigint[], $12::float8[],
        $13::float8[], $14::bigint[], $15::bytea[])
      """,
      [
        .small(owner), .smalls(samples.map { names[$0.type] }),
        .integers(samples.map(\.start.nanoseconds)),
        .uuids(samples.map { UUID128($0.hash.key) }), .blobs(samples.map { $0.hash.bytes[...] }),
        .integers(samples.map(\.duration)), .smalls(samples.map { names[$0.source] }),
        .smalls(samples.map { $0.unit.flatMap { names[$0] } }), .reals(values.map(\.quantity)),
        .smalls(samples.map { $0.name.flatMap { names[$0] } }), .integers(values.map(\.lasted)),
        .reals(values.map(\.distance)), .reals(values.map(\.energy)),
        .integers(added.map { Int64($0.uuids) }), .blobs(samples.map(\.raw)),
      ])
  }

  private var summaries: Command {
    let rows = types.sorted { $0.key < $1.key }
    return Command(
      """
      INSERT INTO sync_types(owner, type, count, first, last, longest)
      SELECT $1, * FROM unnest($2::int[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[])
      ON CONFLICT (owner, type) DO UPDATE SET count = sync_types.count + excluded.count,
        first = least(sync_types.first, excluded.first),
        last = greatest(sync_types.last, excluded.last),
        longest = greatest(sync_types.longest, excluded.longest)
      """,
      [
        .small(owner), .smalls(rows.map(\.key)), .integers(rows.map(\.value.count)),
        .integers(rows.map(\.value.first)), .integers(rows.map(\.value.last)),
        .integers(rows.map(\.value.longest)),
      ])
  }

  private var sourceCounts: Command {
    let rows = sources.sorted { ($0.key.type, $0.key.name) < ($1.key.type, $1.key.name) }
    return Command(
      """
      INSERT INTO sync_sources(owner, type, source, count)
      SELECT $1, * FROM unnest($2::int[], $3::int[], $4::bigint[])
      ON CONFLICT (owner, type, source) DO UPDATE SET count = sync_sources.count + excluded.count
      """,
      [
        .small(owner), .smalls(rows.map(\.key.type)), .smalls(rows.map(\.key.name)),
        .integers(rows.map(\.value)),
      ])
  }

  private var renaming: Command {
    Command(
      """
      UPDATE sync_samples s SET uuids = u.uuids
      FROM unnest($2::bytea[], $3::bigint[], $4::uuid[], $5::bigint[]) u(type, start, key, uuids)
      WHERE s.owner = $1 AND s.type = sync_name(u.type) AND s.start = u.start AND s.key = u.key
      """,
      positions(renamed.map(\.position)) + [.integers(renamed.map { Int64($0.uuids) })])
  }

  private func positions(_ positions: [HealthSamplePosition]) -> [Parameter] {
    [
      .small(owner), .texts(positions.map(\.type)),
      .integers(positions.map(\.start.nanoseconds)), .uuids(positions.map { UUID128($0.key) }),
    ]
  }

  /// Removes samples, and updates the counts and times of their types and sources.
  private var removal: Command {
    Command("SELECT remove_sync_samples($1, $2, $3, $4)", positions(removed))
  }

  private var naming: Command {
    let rows = identities.sorted { $0.uuid < $1.uuid }
    var types: [String?] = []
    var starts: [Int64?] = []
    var keys: [UUID128?] = []
    var named: [Int64?] = []
    for row in rows {
      switch row.state {
      case .sample(let position, let time):
        types.append(position.type)
        starts.append(position.start.nanoseconds)
        keys.append(UUID128(position.key))
        named.append(time.nanoseconds)
      case .deleted(let time):
        types.append(nil)
        starts.append(nil)
        keys.append(nil)
        named.append(time.nanoseconds)
      }
    }
    return Command(
      """
      INSERT INTO sync_identities(owner, uuid, type, start, key, named)
      SELECT $1, uuid, sync_name(type), start, key, named
      FROM unnest($2::uuid[], $3::bytea[], $4::bigint[], $5::uuid[], $6::bigint[])
        u(uuid, type, start, key, named)
      ON CONFLICT (owner, uuid) DO UPDATE SET type = excluded.type, start = excluded.start,
        key = excluded.key, named = excluded.named
      """,
      [
        .small(owner), .uuids(rows.map(\.uuid)), .texts(types), .integers(starts), .uuids(keys),
        .integers(named),
      ])
  }
}

extension SyncSample {
  /// The name of a category or of a workout's activity.
  fileprivate var name: String? {
    switch value {
    case .category(let name)?: name
    case .workout(let workout)?: workout.activity
    case .quantity?, nil: nil
    }
  }

  fileprivate var columns: (quantity: Double?, lasted: Int64?, distance: Double?, energy: Double?) {
    switch value {
    case .quantity(let quantity)?: (quantity, nil, nil, nil)
    case .workout(let workout)?:
      (nil, workout.duration?.nanoseconds, workout.distance, workout.energy)
    case .category?, nil: (nil, nil, nil, nil)
    }
  }
}
