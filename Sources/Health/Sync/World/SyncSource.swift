import HoldfastCore
import HoldfastHealthSamples
import HoldfastHealthSync
import HoldfastLinkChecks
import HoldfastSyncData
import HoldfastWorldKernel

/// The health data of one phone: its samples, and the numbered changes that produced them.
///
/// Pages have the same structure as those of the real stores, so that anchors have the same
/// meaning.
struct SyncSource {
  /// A sample that is in the store or was in it.
  struct Entry {
    var sample: SourceSample
    /// The key under which a backend stores the sample.
    var place: HealthSamplePosition
    /// The number of the most recent change that added the sample.
    var added: Int64
    /// The number of the change that deleted the sample; `nil` while the sample exists.
    var deleted: Int64?
  }

  static let types = [
    "HKQuantityTypeIdentifierStepCount", "HKQuantityTypeIdentifierHeartRate",
    HealthSample.workoutType,
  ]

  /// Every sample that has ever existed, in the order of creation.
  private(set) var entries: [Entry] = []
  /// The number of the newest change.
  private(set) var newest: Int64 = 0
  /// The mark of each change, in order.
  private var marks: [UInt64] = []
  let zone: SyncZone
  private let phone: Int
  /// Whether the person has two devices and many types of samples.
  private let isVaried: Bool

  init(phone: Int, isVaried: Bool, zone: SyncZone) {
    (self.phone, self.isVaried, self.zone) = (phone, isVaried, zone)
  }

  /// The types that are synced.
  var types: [String] { isVaried ? SyncSamples.types : Self.types }

  /// Returns the type to which a number is mapped.
  func type(_ word: UInt64) -> String {
    isVaried ? SyncSamples.types[Int(word % 8)] : Self.types[Int(word % 8) / 3]
  }

  /// Returns the samples that a backend stores for the matching entries, one for each key.
  ///
  /// The result is `nil` if two entries with the same key have different values, because a backend
  /// keeps the one that arrived first.
  func samples(where isThere: (Entry) -> Bool) -> [HealthSample]? {
    var found: [HealthSamplePosition: HealthSample] = [:]
    for entry in entries where isThere(entry) {
      let sample = entry.sample.sample
      if let other = found[entry.place], other.value != sample.value { return nil }
      found[entry.place] = found[entry.place] ?? sample
    }
    return found.values.sorted { ($0.start, $0.source) < ($1.start, $1.source) }
  }

  /// The keys that a backend must store. It must store no others.
  var places: Set<HealthSamplePosition> {
    Set(entries.lazy.filter { $0.deleted == nil }.map(\.place))
  }

  /// Adds a sample of a type.
  ///
  /// One in eight samples equals an older sample except for its UUID.
  mutating func add(_ type: String, at time: Timestamp, _ generator: inout RandomSource) {
    let word = generator.next()
    begin(word)
    let equal = word % 8 == 0 ? entries.last { $0.sample.sample.type == type } : nil
    let sample =
      equal?.sample.sample
      ?? (isVaried
        ? SyncSamples.make(type, at: time, of: phone, in: zone, generator.next())
        : plain(type, at: time, word))
    let uuid = UUID128(high: word, low: UInt64(entries.count))
    let source = SourceSample(uuid: uuid, sample: sample)
    let place = equal?.place ?? Self.place(of: source, at: time)
    entries.append(Entry(sample: source, place: place, added: newest))
  }

  /// Returns a sample from a single device that began within the last 1,000 minutes.
  private func plain(_ type: String, at time: Timestamp, _ word: UInt64) -> HealthSample {
    let value: HealthSampleValue =
      type == HealthSample.workoutType
      ? .workout(
        WorkoutValue(
          activity: "HKWorkoutActivityTypeRunning", duration: .seconds(60), distance: 2_000,
          energy: nil))
      : .quantity(Double(word % 200))
    let start = Timestamp(nanoseconds: time.nanoseconds - Int64(word % 1_000) * 60_000_000_000)
    return HealthSample(
      type: type, value: value, unit: nil, start: start,
      end: start.advanced(by: .seconds(60)), source: "Watch \(phone)")
  }

  /// Returns the key under which a backend stores a sample that it received at the given time.
  private static func place(of source: SourceSample, at time: Timestamp) -> HealthSamplePosition {
    let page = SourcePage(added: [source], deleted: [], anchor: HealthAnchor([]))
    let packed = SyncPacking(deviceID: "phone").batches(of: source.sample.type, page, made: time)
    let delivery = packed.first.flatMap { SyncDelivery(ofBody: $0.bytes, user: "") }
    guard let place = delivery?.samples.first?.position else {
      preconditionFailure("a sample has one batch, which can be read")
    }
    return place
  }

  /// Assigns a number and a mark to the next change.
  private mutating func begin(_ mark: UInt64) {
    newest += 1
    marks.append(mark | 1)
  }

  /// Restores an earlier state, then repeats the later changes in a different order.
  ///
  /// The later changes are repeated as one change or as several.
  mutating func putBack(_ generator: inout RandomSource) {
    let last = Int64(generator.next() % UInt64(newest + 1))
    let isOne = generator.next() % 2 == 0
    let later = entries.indices.filter { max(entries[$0].added, entries[$0].deleted ?? 0) > last }
    (newest, marks) = (last, Array(marks.prefix(Int(last))))
    for index in later.reversed() {
      if !isOne || newest == last { begin(generator.next()) }
      if entries[index].added > last { entries[index].added = newest }
      if let deleted = entries[index].deleted, deleted > last { entries[index].deleted = newest }
    }
  }

  /// Returns the mark of a change, or 0 if there is no such change.
  private func mark(of change: Int64) -> UInt64 {
    let index = Int(change) - 1
    return marks.indices.contains(index) ? marks[index] : 0
  }

  /// Deletes a sample, or restores a deleted one. Returns its type, or `nil` if there is no
  /// suitable sample.
  mutating func change(deletes: Bool, _ generator: inout RandomSource) -> String? {
    let found = entries.indices.filter { (entries[$0].deleted == nil) == deletes }
    guard !found.isEmpty else { return nil }
    let word = generator.next()
    let index = found[Int(word % UInt64(found.count))]
    begin(word)
    if deletes {
      entries[index].deleted = newest
    } else {
      (entries[index].deleted, entries[index].added) = (nil, newest)
    }
    return entries[index].sample.sample.type
  }

  /// Returns one page of changes, like a health source.
  func page(
    _ type: String, from start: HealthPageStart, limit: Int, at wall: Timestamp,
    checksMarks: Bool = true
  ) -> SourcePage {
    var query = HealthChangeQuery(
      type: type, from: Timestamp(nanoseconds: .min), limit: limit)
    switch start {
    case .after(let anchor): query.after = anchor
    case .last(let span): query.from = wall.advanced(by: .zero - span)
    case .since(let time, let span): query.from = min(time, wall.advanced(by: .zero - span))
    }
    if checksMarks { query = query.checked(of: UInt64(phone)) { mark(of: $0) } }
    let own = entries.filter { $0.sample.sample.type == type }
    let page = HealthChangeCursor.page(
      query, of: UInt64(phone), newest: newest, mark: mark(of: newest)
    ) { span in
      own.contains { $0.added > span.done || $0.deleted ?? 0 > span.done }
    } deletions: { span, key, limit in
      let deleted = own.filter { span.holds($0.deleted) }.map { Self.key($0) }.sorted()
      return Array(deleted.drop { one in key.map { one <= $0 } ?? false }.prefix(limit))
    } additions: { span, position, limit in
      let there = own.filter { $0.deleted == nil && span.holds($0.added) }
        .map { KeyedHealthSample(key: Self.key($0), sample: $0.sample.sample) }
        .filter { (position.start, position.key) < ($0.sample.start, $0.key) }
        .sorted { ($0.sample.start, $0.key) < ($1.sample.start, $1.key) }
      return Array(there.prefix(limit))
    }
    return SourcePage(
      added: page.added.map { SourceSample(uuid: Self.uuid($0.key), sample: $0.sample) },
      deleted: page.deleted.map(Self.uuid), anchor: page.anchor)
  }

  private static func key(_ entry: Entry) -> HealthSampleKey {
    HealthSampleKey(high: entry.sample.uuid.high, low: entry.sample.uuid.low)
  }

  private static func uuid(_ key: HealthSampleKey) -> UUID128 {
    UUID128(high: key.high, low: key.low)
  }
}

extension HealthChangeSpan {
  fileprivate func holds(_ change: Int64?) -> Bool {
    change.map { $0 > done && $0 <= until } ?? false
  }
}

extension SyncHash {
  /// Returns a substitute for SHA-256. All texts in a world have different hashes.
  static func folded(_ text: [UInt8]) -> SyncHash {
    var words = SIMD4<UInt64>(1, 2, 3, 4)
    for (index, byte) in text.enumerated() {
      words[index & 3] = (words[index & 3] ^ UInt64(byte)) &* 0x100_0000_01B3
    }
    return SyncHash(words: words)
  }
}
