public import LinkCore

/// What one complete reading of a person's health data holds, counted so that a store can be
/// compared with it.
///
/// The rule of removals: of each type, a complete reading covers the time from the start of its
/// earliest sample to the start of its latest one. A stored sample of that type that begins in this
/// time and is not in the reading was deleted at its source. A type that the reading does not hold
/// is not covered. The reading may be an export, or what a phone sends of a time that it read anew.
///
/// It holds 16 bytes for each 13 days of a type, and the keys of types with fewer than 65,536
/// samples, a million at most.
public struct HealthCensus: Sendable {
  /// Samples are counted by stretches of 2^50 ns, 13 days.
  private static let stretchBits: Int64 = 50
  private static let (mostKeysOfType, mostKeys) = (65_536, 1 << 20)

  private var places: [String: Int] = [:]
  private var types: [TypeCensus] = []
  private var keys = 0

  /// Nothing read yet.
  public init() {}

  /// The stretch of time in which a sample begins.
  public static func stretch(of start: Timestamp) -> Int64 { start.nanoseconds >> stretchBits }

  /// Counts the samples of a batch.
  public mutating func add(_ batch: HealthBatch) {
    var known = [Int](repeating: -1, count: batch.names.count)
    for row in batch.rows {
      var place = known[Int(row.type)]
      if place < 0 {
        place = self.place(of: batch.names[Int(row.type)].text)
        known[Int(row.type)] = place
      }
      keys += types[place].add(row, hasRoom: keys < Self.mostKeys)
      if types[place].keyCount > Self.mostKeysOfType { keys -= types[place].dropKeys() }
    }
  }

  private mutating func place(of type: String) -> Int {
    if let place = places[type] { return place }
    places[type] = types.count
    types.append(TypeCensus())
    return types.count - 1
  }

  /// The types that were read.
  public var typeNames: [String] { places.keys.sorted() }

  /// How often samples of a type were read that had been read before.
  public func repeated(_ type: String) -> Int { places[type].map { types[$0].repeated } ?? 0 }

  /// The time of a type that the reading covers; `nil` if it holds none.
  public func covered(_ type: String) -> HealthStretch? {
    guard let census = places[type].map({ types[$0] }), census.distinct > 0 else { return nil }
    return HealthStretch(type: type, from: census.first, to: census.last)
  }

  /// Whether a store that was given all of the reading holds nothing else of the type.
  public func isAll(_ summary: HealthTypeSummary) -> Bool {
    places[summary.type].map { types[$0].distinct == summary.count } ?? false
  }

  /// The parts of the covered time in which a store that was given all of the reading holds another
  /// number of samples.
  ///
  /// - Parameter stored: How many samples of the covered time the store holds, by stretch.
  public func suspects(_ type: String, stored: [Int64: Int]) -> [HealthStretch] {
    guard let covered = covered(type), let place = places[type] else { return [] }
    let read = types[place].stretches
    return stored.keys.sorted().filter { stored[$0] != read[$0] }.map { number in
      let first = Timestamp(nanoseconds: number << Self.stretchBits)
      let last = Timestamp(nanoseconds: first.nanoseconds | (1 << Self.stretchBits - 1))
      return HealthStretch(
        type: type, from: max(first, covered.from), to: min(last, covered.to))
    }
  }
}

/// The samples of one type in a reading.
private struct TypeCensus {
  var first = Timestamp(nanoseconds: .max)
  var last = Timestamp(nanoseconds: .min)
  var distinct = 0
  var repeated = 0
  private var counts: [Int64: Int] = [:]
  /// The stretch of the newest samples, and how many of them are not in `counts` yet: samples come
  /// in order of time, mostly, so that a look into the dictionary for each would be too much.
  private var newest: (stretch: Int64, count: Int) = (0, 0)
  /// The keys, halved; `nil` once there are too many.
  private var keys: Set<UInt64>? = []
  /// The keys of the newest samples that begin at one moment, where `keys` is `nil`.
  private var run: (start: Timestamp, keys: [UInt64])?

  var keyCount: Int { keys?.count ?? 0 }

  /// How many samples begin in each stretch.
  var stretches: [Int64: Int] {
    var all = counts
    if newest.count > 0 { all[newest.stretch, default: 0] += newest.count }
    return all
  }

  /// Forgets the keys; returns how many there were.
  mutating func dropKeys() -> Int {
    defer { keys = nil }
    return keyCount
  }

  /// Counts a sample; returns how many keys it takes.
  @inline(__always)
  mutating func add(_ row: HealthRow, hasRoom: Bool) -> Int {
    var taken = 0
    if keys != nil, hasRoom || keys?.contains(row.key.low) == true {
      taken = keys?.insert(row.key.low).inserted == true ? 1 : 0
      if taken == 0 {
        repeated &+= 1
        return 0
      }
    } else if isRepeated(row) {
      repeated &+= 1
      return 0
    }
    distinct &+= 1
    first = min(first, row.start)
    last = max(last, row.start)
    let stretch = HealthCensus.stretch(of: row.start)
    if newest.stretch != stretch {
      if newest.count > 0 { counts[newest.stretch, default: 0] += newest.count }
      newest = (stretch, 0)
    }
    newest.count &+= 1
    return taken
  }

  /// Whether an equal sample came just before. Others that are repeated are counted twice, which
  /// makes their stretch suspect: it is compared key by key then.
  private mutating func isRepeated(_ row: HealthRow) -> Bool {
    guard let known = run, known.start == row.start else {
      run = (row.start, [row.key.low])
      return false
    }
    if known.keys.contains(row.key.low) { return true }
    run?.keys.append(row.key.low)
    return false
  }
}

/// A time of one type: samples that begin in it, its last moment included.
public struct HealthStretch: Sendable, Hashable {
  /// HealthKit's identifier.
  public var type: String
  /// The first moment.
  public var from: Timestamp
  /// The last moment.
  public var to: Timestamp

  /// A stretch from its parts.
  public init(type: String, from: Timestamp, to: Timestamp) {
    (self.type, self.from, self.to) = (type, from, to)
  }

  /// Whether a sample that begins then lies in it.
  public func contains(_ start: Timestamp) -> Bool { from <= start && start <= to }
}

/// The samples of a stretch that a complete reading holds: a store removes the others.
public struct HealthRemoval: Sendable, Hashable {
  /// What is compared.
  public var stretch: HealthStretch
  /// The keys of the samples that stay.
  public var kept: Set<HealthSampleKey>

  /// A comparison of one stretch.
  public init(_ stretch: HealthStretch, keeping kept: Set<HealthSampleKey>) {
    (self.stretch, self.kept) = (stretch, kept)
  }
}

/// Collects, in a second reading, what the suspect stretches of the first one hold.
public struct HealthRemovalCollector: Sendable {
  /// A stretch by its number and its type.
  private struct Place: Hashable {
    var type: String
    var stretch: Int64
  }

  private var removals: [Place: HealthRemoval] = [:]
  private let types: Set<String>
  /// The spans of rows that were read.
  public private(set) var spans: [HealthSpan] = []
  /// How many samples were read.
  public private(set) var count = 0

  /// Collects for these stretches of a census.
  public init(_ suspects: [HealthStretch]) {
    types = Set(suspects.map(\.type))
    for suspect in suspects {
      let place = Place(type: suspect.type, stretch: HealthCensus.stretch(of: suspect.from))
      removals[place] = HealthRemoval(suspect, keeping: [])
    }
  }

  /// What a store compares, by type and time.
  public var all: [HealthRemoval] {
    removals.values.sorted {
      ($0.stretch.type, $0.stretch.from) < ($1.stretch.type, $1.stretch.from)
    }
  }

  /// Takes the samples of a batch.
  public mutating func add(_ batch: HealthBatch) {
    count += batch.rows.count
    spans += batch.spans
    let names = batch.names.map { types.contains($0.text) ? $0.text : nil }
    for row in batch.rows {
      guard let type = names[Int(row.type)] else { continue }
      let place = Place(type: type, stretch: HealthCensus.stretch(of: row.start))
      removals[place]?.kept.insert(row.key)
    }
  }
}

/// What a store does once a complete reading was added to it.
public struct HealthSettlement: Sendable, Hashable {
  /// What is compared and removed.
  public var removals: [HealthRemoval]
  /// Spans of rows that the store holds as a whole after that.
  public var spans: [HealthSpan]
  /// When the source wrote the reading.
  public var exported: Timestamp?

  /// A settlement; by default it removes nothing.
  public init(
    removals: [HealthRemoval] = [], spans: [HealthSpan] = [], exported: Timestamp? = nil
  ) {
    (self.removals, self.spans, self.exported) = (removals, spans, exported)
  }
}
