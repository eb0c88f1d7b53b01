public import HoldfastCore

/// The sample counts of a complete reading of a person's health data. A store is compared with
/// them.
///
/// A complete reading covers all types up to the date at which it was made, or to the start of its
/// latest sample if that is later. If a stored sample begins in this time and the reading does not
/// contain it, it was deleted at its source. Types with unreadable parts are not covered.
///
/// The counts take 24 bytes for each 13 days of a type. The keys of types with at most 65,536
/// samples are also kept, up to a million keys in total.
public struct SampleCounts: Sendable {
  /// The binary logarithm of the length of the intervals in which samples are counted. 2^50 ns are
  /// 13 days.
  private static let intervalBits: Int64 = 50
  private static let (mostKeysOfType, mostKeys) = (65_536, 1 << 20)

  private var indices: [String: Int] = [:]
  private var types: [TypeCounts] = []
  private var keys = 0

  /// Creates empty counts.
  public init() {}

  /// Returns the number of the interval in which a sample begins.
  public static func interval(of start: Timestamp) -> Int64 { start.nanoseconds >> intervalBits }

  /// Counts the samples of a batch.
  public mutating func add(_ batch: HealthBatch) {
    var known = [Int](repeating: -1, count: batch.names.count)
    for row in batch.rows {
      var index = known[Int(row.type)]
      if index < 0 {
        index = self.index(of: batch.names[Int(row.type)].text)
        known[Int(row.type)] = index
      }
      keys += types[index].add(row, hasRoom: keys < Self.mostKeys)
      if types[index].keyCount > Self.mostKeysOfType { keys -= types[index].dropKeys(before: row) }
    }
  }

  private mutating func index(of type: String) -> Int {
    if let index = indices[type] { return index }
    indices[type] = types.count
    types.append(TypeCounts())
    return types.count - 1
  }

  /// Counts rows of a batch that are excluded, because a newer reading that covers their time does
  /// not contain them.
  public mutating func leaveOut(_ batch: HealthBatch, _ rows: [Int]) {
    for row in rows.map({ batch.rows[$0] }) {
      types[index(of: batch.names[Int(row.type)].text)].leaveOut(row)
    }
  }

  /// Returns the number of samples of a type that were excluded.
  public func outdated(_ type: String) -> Int { indices[type].map { types[$0].outdated } ?? 0 }

  /// Returns the interval that the reading covers for each type.
  ///
  /// It covers all types if everything could be read. Otherwise, it covers the types in the reading
  /// or in the store, except those with unreadable parts.
  ///
  /// - Parameters:
  ///   - made: The time at which the reading was made. If it is `nil`, the reading covers the time
  ///     up to its latest sample.
  ///   - unread: The types with unreadable parts.
  ///   - stored: The types in the store.
  public func covered(
    until made: Timestamp?, except unread: Set<String> = [], stored: [String] = []
  ) -> [CoverageInterval] {
    guard let to = (types.map(\.last) + [made].compactMap(\.self)).max() else { return [] }
    let all: Set<String> =
      unread.isEmpty ? [CoverageInterval.everyType] : Set(indices.keys).union(stored)
    return all.subtracting(unread).sorted().map {
      CoverageInterval(type: $0, from: Timestamp(nanoseconds: .min), to: to)
    }
  }

  /// Returns the number of repeated samples of a type in the reading.
  public func repeated(_ type: String) -> Int { indices[type].map { types[$0].repeated } ?? 0 }

  /// Returns whether a store that received the complete reading contains no other samples of the
  /// type.
  ///
  /// - Parameter stored: The count of all stored samples of the type, or `nil` if it is unknown.
  public func isAll(_ type: String, stored: HealthCount?) -> Bool {
    indices[type].map { types[$0].all == stored } ?? false
  }

  /// Returns the parts of a covered interval in which a store that received the complete reading
  /// contains other samples, or in which the reading contains samples twice.
  ///
  /// - Parameter stored: The counts of the stored samples in each part of the interval.
  public func suspects(
    _ covered: CoverageInterval, stored: [Int64: HealthCount]
  ) -> [CoverageInterval] {
    let read = indices[covered.type].map { types[$0].intervals } ?? [:]
    return stored.keys.sorted().filter { stored[$0] != read[$0] }.map { number in
      let first = Timestamp(nanoseconds: number << Self.intervalBits)
      let last = Timestamp(nanoseconds: first.nanoseconds | (1 << Self.intervalBits - 1))
      return CoverageInterval(
        type: covered.type, from: max(first, covered.from), to: min(last, covered.to))
    }
  }
}

/// A number of samples with a digest of their keys. It is equal for the same samples in any order.
public struct HealthCount: Sendable, Hashable {
  /// The number of samples.
  public private(set) var count = 0
  /// The exclusive or of the lower halves of all keys.
  public private(set) var digest: UInt64 = 0

  /// Creates a count of no samples.
  public init() {}

  /// Creates a count.
  package init(count: Int, digest: UInt64) { (self.count, self.digest) = (count, digest) }

  /// Counts a sample.
  @inline(__always)
  public mutating func add(_ key: HealthSampleKey) {
    count &+= 1
    digest ^= key.low
  }

  /// Adds the count of other samples.
  public static func += (left: inout Self, right: Self) {
    left.count += right.count
    left.digest ^= right.digest
  }
}

/// The sample counts of one type in a reading.
private struct TypeCounts {
  /// The start of the latest sample.
  var last = Timestamp(nanoseconds: .min)
  /// The samples that are not known to be repeats.
  var all = HealthCount()
  var repeated = 0
  var outdated = 0
  private var counts: [Int64: HealthCount] = [:]
  /// The interval of the newest samples and their count, which `counts` does not include yet.
  ///
  /// Samples mostly arrive in chronological order, so the dictionary is not accessed for each
  /// sample.
  private var newest: (interval: Int64, count: HealthCount) = (0, HealthCount())
  /// The lower halves of the keys, or `nil` once there are too many.
  private var keys: Set<UInt64>? = []
  /// The keys of the newest samples, all of which begin at the same time. It is used if `keys` is
  /// `nil`.
  private var run: (start: Timestamp, keys: [UInt64])?

  var keyCount: Int { keys?.count ?? 0 }

  /// The counts of the samples that begin in each interval.
  var intervals: [Int64: HealthCount] {
    var all = counts
    all[newest.interval, default: HealthCount()] += newest.count
    return all
  }

  /// Removes the keys of all samples before the newest sample. Returns the number of removed keys.
  mutating func dropKeys(before row: HealthRow) -> Int {
    defer { (keys, run) = (nil, (row.start, [row.key.low])) }
    return keyCount
  }

  /// Counts a sample that was read but is excluded.
  mutating func leaveOut(_ row: HealthRow) {
    outdated &+= 1
    last = max(last, row.start)
  }

  /// Counts a sample. Returns the number of keys that it adds.
  @inline(__always)
  mutating func add(_ row: HealthRow, hasRoom: Bool) -> Int {
    var addedKeys = 0
    if keys != nil, hasRoom || keys?.contains(row.key.low) == true {
      addedKeys = keys?.insert(row.key.low).inserted == true ? 1 : 0
      if addedKeys == 0 {
        repeated &+= 1
        return 0
      }
    } else if isRepeated(row) {
      repeated &+= 1
      return 0
    }
    all.add(row.key)
    last = max(last, row.start)
    let interval = SampleCounts.interval(of: row.start)
    if newest.interval != interval {
      counts[newest.interval, default: HealthCount()] += newest.count
      newest = (interval, HealthCount())
    }
    newest.count.add(row.key)
    return addedKeys
  }

  /// Returns whether an equal sample is among the newest samples, all of which have the same start.
  ///
  /// Other repeated samples are counted twice. The count and the digest then differ from those of a
  /// store, and the interval is compared key by key.
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
