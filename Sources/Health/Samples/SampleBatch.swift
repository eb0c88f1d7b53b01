public import HoldfastCore

/// A compact list of samples. Its rows refer to texts by number.
///
/// An import creates millions of samples. A row takes 64 bytes and contains no references to
/// retain.
public struct HealthBatch: Sendable, Hashable {
  /// The texts to which rows refer, by number.
  public internal(set) var names: [HealthName]
  /// The samples, in the order in which they were read.
  public internal(set) var rows: [HealthRow]
  /// The values of the rows that are workouts.
  public internal(set) var workouts: [WorkoutValue]
  /// The spans of the rows, each with the digest of its keys.
  public internal(set) var spans: [HealthSpan]

  init(
    names: [HealthName] = [], rows: [HealthRow] = [], workouts: [WorkoutValue] = [],
    spans: [HealthSpan] = []
  ) {
    self.names = names
    self.rows = rows
    self.workouts = workouts
    self.spans = spans
  }

  /// The maximum number of samples in a batch. With up to seven names each, they need at most
  /// 65,535 numbers.
  package static let most = 8_000

  /// Creates a batch of at most `most` samples.
  package init(_ samples: some Collection<HealthSample>) {
    precondition(samples.count <= Self.most, "a batch has 65,535 numbers for names")
    self.init()
    // Keys are compared instead of strings, because equal strings in Swift can have different
    // bytes.
    var numbers: [HealthSampleKey: UInt16] = [:]
    func number(_ text: String?) -> UInt16 {
      guard let text else { return HealthRow.none }
      let name = HealthName(text)
      if let known = numbers[name.key] { return known }
      let fresh = UInt16(names.count)
      names.append(name)
      numbers[name.key] = fresh
      return fresh
    }
    for sample in samples {
      let type = number(sample.type)
      var row = HealthRow(
        type: type, unit: number(sample.unit), source: number(sample.source),
        device: number(sample.device), zone: number(sample.zone), start: sample.start,
        end: sample.end)
      switch sample.value {
      case .quantity(let quantity): row.value = .quantity(quantity)
      case .category(let name): row.value = .category(number(name))
      case .workout(let workout):
        row.value = .workout(UInt32(workouts.count))
        workouts.append(workout)
      }
      row.key = row.key(names: names, workouts: workouts)
      rows.append(row)
    }
  }

  /// The complete sample of a row.
  public subscript(_ row: HealthRow) -> HealthSample {
    func text(_ number: UInt16) -> String? {
      number == HealthRow.none ? nil : names[Int(number)].text
    }
    let value: HealthSampleValue =
      switch row.value {
      case .quantity(let quantity): .quantity(quantity)
      case .category(let name): .category(text(name) ?? "")
      case .workout(let index): .workout(workouts[Int(index)])
      }
    return HealthSample(
      type: text(row.type) ?? "", value: value, unit: text(row.unit), start: row.start,
      end: row.end, source: text(row.source) ?? "", device: text(row.device),
      zone: text(row.zone))
  }
}

extension HealthBatch {
  /// Returns the indexes of the rows that begin in one of the intervals of their types.
  package func rows(in intervals: [CoverageInterval]) -> [Int] {
    let byType = Dictionary(grouping: intervals, by: \.type)
    let ofAll = byType[CoverageInterval.everyType] ?? []
    let byName = names.map { (byType[$0.text] ?? []) + ofAll }
    return rows.indices.filter { index in
      let row = rows[index]
      return byName[Int(row.type)].contains { $0.contains(row.start) }
    }
  }

  /// Returns the batch without some of its rows. If a span contains a removed row, its other rows
  /// are no longer in a span.
  package func without(_ indices: [Int]) -> HealthBatch {
    guard !indices.isEmpty else { return self }
    let removed = Set(indices)
    var rest = self
    (rest.rows, rest.spans) = ([], [])
    var ungrouped: [HealthRow] = []
    var start = 0
    for span in spans {
      let range = start..<start + span.count
      start = range.upperBound
      if range.contains(where: removed.contains) {
        ungrouped += range.filter { !removed.contains($0) }.map { rows[$0] }
      } else {
        rest.rows += rows[range]
        rest.spans.append(span)
      }
    }
    ungrouped += (start..<rows.count).filter { !removed.contains($0) }.map { rows[$0] }
    rest.rows += ungrouped
    return rest
  }
}

/// A text that many rows share, with a key of its bytes.
public struct HealthName: Sendable, Hashable {
  /// The text itself.
  public let text: String
  /// The key of the text's bytes. Texts with the same key have the same bytes.
  public let key: HealthSampleKey

  public init(_ text: String) {
    self.text = text
    key = HealthSampleKeyHasher.key(of: text)
  }
}

/// A sample that refers to its texts by the numbers of its batch's names.
public struct HealthRow: Sendable, Hashable {
  /// The number that stands for a missing name.
  public static let none = UInt16.max

  /// The measured value.
  public enum Value: Sendable, Hashable {
    case quantity(Double)
    /// The number of a name.
    case category(UInt16)
    /// The number of a workout of the batch.
    case workout(UInt32)
  }

  /// The key of the sample.
  public internal(set) var key = HealthSampleKey(high: 0, low: 0)
  /// The number of HealthKit's identifier.
  public internal(set) var type: UInt16
  /// The number of the unit.
  public internal(set) var unit = HealthRow.none
  /// The number of the source that wrote the sample.
  public internal(set) var source: UInt16
  /// The number of the measuring device.
  public internal(set) var device = HealthRow.none
  /// The number of the time zone.
  public internal(set) var zone = HealthRow.none
  /// The start of the sample.
  public internal(set) var start: Timestamp
  /// The end of the sample.
  public internal(set) var end: Timestamp
  /// The measured value.
  public internal(set) var value = Value.quantity(0)
}

/// A sequence of rows that a store can look up in one step.
///
/// An import divides the rows at certain keys, so a newer export is divided at the same samples. A
/// store that keeps the digests does not have to look up each sample.
public struct HealthSpan: Sendable, Hashable {
  /// The digest of the keys of the rows, in order.
  public let digest: HealthSampleKey
  /// The number of rows.
  public let count: Int
}

/// The result of adding a batch.
public struct HealthAddition: Sendable, Hashable {
  /// The number of new samples.
  public var added: Int
  /// The number of samples that the store or the batch itself already contained.
  public var known: Int

  public init(added: Int = 0, known: Int = 0) {
    self.added = added
    self.known = known
  }

  /// Adds the result of another batch.
  public static func += (left: inout Self, right: Self) {
    left.added += right.added
    left.known += right.known
  }
}

extension HealthRow {
  /// Returns the key of the row's content, which does not depend on the numbers of its names.
  ///
  /// - Parameter created: The time at which the sample was written, if its source reports it. It
  ///   distinguishes entries with the same content.
  @inline(__always)
  func key(
    names: [HealthName], workouts: [WorkoutValue], created: Timestamp? = nil
  ) -> HealthSampleKey {
    var hasher = HealthSampleKeyHasher()
    hasher.add(names[Int(type)].key)
    hasher.add(names[Int(source)].key)
    if unit != Self.none { hasher.add(names[Int(unit)].key) }
    hasher.add(
      UInt64(bitPattern: start.nanoseconds), UInt64(bitPattern: end.nanoseconds))
    switch value {
    // Zero has two bit patterns, which must result in the same key.
    case .quantity(let quantity): hasher.add(1, (quantity == 0 ? 0 : quantity).bitPattern)
    case .category(let name): hasher.add(names[Int(name)].key)
    case .workout(let index):
      hasher.add(HealthSampleKeyHasher.key(of: workouts[Int(index)].activity))
    }
    if let created { hasher.add(UInt64(bitPattern: created.nanoseconds), 2) }
    return hasher.finished()
  }
}

extension HealthSample {
  /// The key of the sample, computed without a creation date.
  public var key: HealthSampleKey { HealthBatch([self]).rows[0].key }
}
