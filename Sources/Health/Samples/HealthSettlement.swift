public import LinkCore

/// A time of one type or of all: samples that begin in it, its last moment included.
public struct HealthStretch: Sendable, Hashable {
  /// What stands for all types.
  public static let everyType = ""

  /// HealthKit's identifier, or `everyType`.
  public var type: String
  /// The first moment.
  public var from: Timestamp
  /// The last moment.
  public var to: Timestamp

  /// A stretch from its parts.
  public init(type: String, from: Timestamp, to: Timestamp) {
    (self.type, self.from, self.to) = (type, from, to)
  }

  /// Whether it is one of this type, or of all.
  public func applies(to type: String) -> Bool { self.type == type || self.type == Self.everyType }

  /// Whether all of another stretch lies in it.
  func covers(_ other: HealthStretch) -> Bool {
    applies(to: other.type) && from <= other.from && other.to <= to
  }

  /// Whether a sample that begins then lies in it.
  public func contains(_ start: Timestamp) -> Bool { from <= start && start <= to }
}

/// A time that a complete reading covers. What the reading does not hold of it was
/// deleted at its source, and no older reading brings it back.
public struct HealthCoverage: Sendable, Hashable {
  /// What is covered.
  public var stretch: HealthStretch
  /// When the source wrote the reading.
  public var exported: Timestamp

  /// A coverage from its parts.
  public init(_ stretch: HealthStretch, exported: Timestamp) {
    (self.stretch, self.exported) = (stretch, exported)
  }
}

extension [HealthCoverage] {
  /// Notes what a settled reading covers.
  ///
  /// What lies within a coverage that is not older says nothing more and is left out. A reading
  /// that replaces others counts in its time whatever its date.
  public mutating func note(_ stretch: HealthStretch, of settlement: HealthSettlement) {
    if settlement.replaces {
      removeAll {
        stretch.applies(to: $0.stretch.type) && $0.stretch.from <= stretch.to
          && stretch.from <= $0.stretch.to
      }
    }
    guard let exported = settlement.exported else { return }
    let isKnown = contains { exported <= $0.exported && $0.stretch.covers(stretch) }
    guard !isKnown else { return }
    removeAll { $0.exported <= exported && stretch.covers($0.stretch) }
    append(HealthCoverage(stretch, exported: exported))
  }
}

/// A digest of all samples of a reading in their order: two readings of the same bytes have the
/// same.
public struct HealthFingerprint: Sendable, Hashable {
  private var digest = HealthSampleKey(high: 0, low: 0)
  private var count = 0

  /// Nothing read yet.
  public init() {}

  /// Takes the samples of a batch, by their spans as far as it has some.
  public mutating func add(_ batch: HealthBatch) {
    var rest = batch.rows[...]
    for span in batch.spans {
      add(span.digest)
      rest = rest.dropFirst(span.count)
    }
    for row in rest { add(row.key) }
    count += batch.rows.count
  }

  private mutating func add(_ key: HealthSampleKey) {
    var hasher = HealthSampleKeyHasher()
    hasher.add(digest)
    hasher.add(key)
    digest = hasher.finished()
  }
}

/// The stretches of a census in which a store holds other samples, to find in a second reading
/// what the reading holds of them.
public struct HealthSuspects: Sendable {
  /// The stretches, by type and time.
  public let stretches: [HealthStretch]
  private let numbers: [String: Set<Int64>]

  /// Suspects from what `HealthCensus.suspects` returned for some types.
  public init(_ stretches: [HealthStretch]) {
    self.stretches = stretches
    numbers = Dictionary(grouping: stretches, by: \.type).mapValues { stretches in
      Set(stretches.map { HealthCensus.stretch(of: $0.from) })
    }
  }

  /// Adds what a batch holds of the stretches to the marks, and all its spans.
  public func mark(_ batch: HealthBatch, in marks: inout HealthMarks) {
    marks.spans += batch.spans
    let numbers = batch.names.map { self.numbers[$0.text] }
    for row in batch.rows {
      guard let type = numbers[Int(row.type)], type.contains(HealthCensus.stretch(of: row.start))
      else { continue }
      marks.places.append(
        HealthSamplePlace(
          type: batch.names[Int(row.type)].text, start: row.start, key: row.key))
    }
  }
}

/// A part of what a complete reading holds: a store keeps these samples when it removes others.
public struct HealthMarks: Sendable, Hashable {
  /// Samples of suspect stretches.
  public var places: [HealthSamplePlace]
  /// Spans of the whole reading.
  public var spans: [HealthSpan]

  /// No marks by default.
  public init(places: [HealthSamplePlace] = [], spans: [HealthSpan] = []) {
    (self.places, self.spans) = (places, spans)
  }

  /// Whether the store should have them before more come: what waits stays below 3 MB.
  public var isFull: Bool { places.count >= 8_192 || spans.count >= 8_192 }
}

/// The work of a store once a reading was added to it.
public struct HealthSettlement: Sendable, Hashable {
  /// The stretches in which samples that are not marked are removed.
  public var stretches: [HealthStretch]
  /// When the source wrote the reading.
  public var exported: Timestamp?
  /// What the reading covers, one stretch of all types or some of a type each; nothing if it is not
  /// complete.
  public var covered: [HealthStretch]
  /// Whether the reading counts in the time that it covers even if it is not the newest one.
  public var replaces: Bool

  /// A settlement; by default it removes nothing.
  public init(
    stretches: [HealthStretch] = [], exported: Timestamp? = nil, covered: [HealthStretch] = [],
    replaces: Bool = false
  ) {
    (self.stretches, self.exported) = (stretches, exported)
    (self.covered, self.replaces) = (covered, replaces)
  }
}
