public import LinkCore

/// Many samples in little room: plain rows that name their texts by number.
///
/// An importer makes millions of samples; a row costs 64 bytes and nothing to copy.
public struct HealthBatch: Sendable, Hashable {
  /// The texts that rows refer to, by number.
  public internal(set) var names: [HealthName]
  /// The samples, in the order they were found.
  public internal(set) var rows: [HealthRow]
  /// The values of the rows that are workouts.
  public internal(set) var workouts: [WorkoutValue]
  /// The rows in stretches, each with the digest of its keys.
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

  /// The most samples that surely have numbers enough for their names, seven each.
  package static let most = 8_000

  /// Packs at most `most` samples.
  package init(_ samples: some Collection<HealthSample>) {
    precondition(samples.count <= Self.most, "a batch has 65,535 numbers for names")
    self.init()
    // By key, since equal texts of Swift may differ in their bytes.
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

  /// The sample of a row, with its texts.
  public subscript(_ row: HealthRow) -> HealthSample {
    func text(_ number: UInt16) -> String? {
      number == HealthRow.none ? nil : names[Int(number)].text
    }
    let value: HealthSampleValue =
      switch row.value {
      case .quantity(let quantity): .quantity(quantity)
      case .category(let name): .category(text(name) ?? "")
      case .workout(let place): .workout(workouts[Int(place)])
      }
    return HealthSample(
      type: text(row.type) ?? "", value: value, unit: text(row.unit), start: row.start,
      end: row.end, source: text(row.source) ?? "", device: text(row.device),
      zone: text(row.zone))
  }
}

extension HealthBatch {
  /// Returns the places of the rows that begin in one of the stretches of their types.
  package func rows(in stretches: [HealthStretch]) -> [Int] {
    let byType = Dictionary(grouping: stretches, by: \.type)
    let ofAll = byType[HealthStretch.everyType] ?? []
    let byName = names.map { (byType[$0.text] ?? []) + ofAll }
    return rows.indices.filter { place in
      let row = rows[place]
      return byName[Int(row.type)].contains { $0.contains(row.start) }
    }
  }

  /// Returns the batch without some of its rows; a span that loses one is no span any more.
  package func without(_ places: [Int]) -> HealthBatch {
    guard !places.isEmpty else { return self }
    let gone = Set(places)
    var rest = self
    (rest.rows, rest.spans) = ([], [])
    var loose: [HealthRow] = []
    var start = 0
    for span in spans {
      let range = start..<start + span.count
      start = range.upperBound
      if range.contains(where: gone.contains) {
        loose += range.filter { !gone.contains($0) }.map { rows[$0] }
      } else {
        rest.rows += rows[range]
        rest.spans.append(span)
      }
    }
    loose += (start..<rows.count).filter { !gone.contains($0) }.map { rows[$0] }
    rest.rows += loose
    return rest
  }
}

/// A text that many rows share, with its part of their keys.
public struct HealthName: Sendable, Hashable {
  /// What it says.
  public let text: String
  /// Made from its bytes: texts of one key are the same to the byte.
  public let key: HealthSampleKey

  public init(_ text: String) {
    self.text = text
    key = HealthSampleKeyHasher.key(of: text)
  }
}

/// A sample whose texts are numbers of its batch's names.
public struct HealthRow: Sendable, Hashable {
  /// No name.
  public static let none = UInt16.max

  /// What was measured.
  public enum Value: Sendable, Hashable {
    case quantity(Double)
    /// The number of a name.
    case category(UInt16)
    /// The number of a workout of the batch.
    case workout(UInt32)
  }

  /// What it is known by.
  public internal(set) var key = HealthSampleKey(high: 0, low: 0)
  /// The number of HealthKit's identifier.
  public internal(set) var type: UInt16
  /// The number of the unit.
  public internal(set) var unit = HealthRow.none
  /// The number of who wrote it.
  public internal(set) var source: UInt16
  /// The number of what measured it.
  public internal(set) var device = HealthRow.none
  /// The number of the time zone.
  public internal(set) var zone = HealthRow.none
  /// When it began.
  public internal(set) var start: Timestamp
  /// When it ended.
  public internal(set) var end: Timestamp
  /// What was measured.
  public internal(set) var value = Value.quantity(0)
}

/// A stretch of rows that is known, or not, as a whole.
///
/// An import cuts the rows where a row's own key says so, so that a newer export is cut at the same
/// samples, and a store that remembers the digests need not look for each of them.
public struct HealthSpan: Sendable, Hashable {
  /// Made from the keys of the rows, in their order.
  public let digest: HealthSampleKey
  /// How many rows it holds.
  public let count: Int
}

/// What became of a batch.
public struct HealthAddition: Sendable, Hashable {
  /// Samples that were new.
  public var added: Int
  /// Samples that the store, or the batch itself, held already.
  public var known: Int

  public init(added: Int = 0, known: Int = 0) {
    self.added = added
    self.known = known
  }

  /// Adds up what became of two batches.
  public static func += (left: inout Self, right: Self) {
    left.added += right.added
    left.known += right.known
  }
}

extension HealthRow {
  /// What the row is known by: its content, the same whatever the numbers of its names.
  ///
  /// - Parameter created: When the sample was written, if its source says so: it tells two entries
  ///   of the same content apart.
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
    // Zero has two bit patterns.
    case .quantity(let quantity): hasher.add(1, (quantity == 0 ? 0 : quantity).bitPattern)
    case .category(let name): hasher.add(names[Int(name)].key)
    case .workout(let place):
      hasher.add(HealthSampleKeyHasher.key(of: workouts[Int(place)].activity))
    }
    if let created { hasher.add(UInt64(bitPattern: created.nanoseconds), 2) }
    return hasher.finished()
  }
}

extension HealthSample {
  /// What the sample is known by if nothing says when it was created.
  public var key: HealthSampleKey { HealthBatch([self]).rows[0].key }
}
