public import HoldfastCore

/// The facts about a store that are known without reading samples.
public struct StoredHealth: Sendable, Hashable, Codable {
  /// An import that began and has not ended.
  public struct Unfinished: Sendable, Hashable, Codable {
    /// The time at which the import began.
    public var since: Timestamp
    /// Whether it is still running. Otherwise it was interrupted, or its export cannot be read to
    /// the end.
    public var isRunning: Bool

    /// Creates the state of an import.
    public init(since: Timestamp, isRunning: Bool) {
      (self.since, self.isRunning) = (since, isRunning)
    }
  }

  /// The start of the latest sample of each type, by HealthKit's identifier.
  public var lastSamples: [String: Timestamp]
  /// The end of the latest import, or `nil` if none has ended.
  public var lastImport: Timestamp?
  /// The import that has not ended, or `nil` if there is none.
  public var unfinished: Unfinished?
  /// The start of the oldest sample of each type in a store of synced samples, by HealthKit's
  /// identifier. A phone syncs a part of what it has. `nil` for a store that has everything.
  public var firstSynced: [String: Timestamp]?

  /// Creates facts. By default, nothing is known.
  public init(
    lastSamples: [String: Timestamp] = [:], lastImport: Timestamp? = nil,
    unfinished: Unfinished? = nil, firstSynced: [String: Timestamp]? = nil
  ) {
    (self.lastSamples, self.lastImport) = (lastSamples, lastImport)
    (self.unfinished, self.firstSynced) = (unfinished, firstSynced)
  }
}

extension StoredHealth {
  /// A sentence about the import that has not ended, or `nil` if there is none.
  func importNote(in zone: ZoneRules) -> String? {
    unfinished.map { unfinished in
      let since = HealthTime.local(zone.local(at: unfinished.since)).description.prefix(16)
      return unfinished.isRunning
        ? "An export has been imported since \(since), so numbers may still change. Ask again in a "
          + "minute."
        : "The import of \(since) did not reach the end of its export, so samples and whole kinds "
          + "of data may be missing. Import the export again."
    }
  }
}

// What is missing in a store of synced samples.
extension HealthAnswer {
  /// Returns the time from which a type is synced, or `nil` if everything is stored.
  private func begin(of type: Int) -> Timestamp? { stored.firstSynced?[kinds[type].identifier] }

  /// The start of the interval of which samples are known.
  var knownStart: Timestamp {
    max(asked.from, kinds.indices.compactMap { begin(of: $0) }.min() ?? asked.from)
  }

  /// Returns the start of the interval of which samples of a type are known.
  func knownStart(of type: Int) -> Timestamp { max(asked.from, begin(of: type) ?? asked.from) }

  /// Returns whether a span of a type begins before the type is synced.
  func isUnsynced(_ bucket: Bucket, of type: Int) -> Bool {
    begin(of: type).map { bucket.members.lowerBound < $0 } ?? false
  }

  /// Sentences about an import that has not ended, and about types that are synced in part.
  func storeNotes(of asked: HealthDataQuery, _ points: [TimedPoint]) -> [String] {
    guard !limits.isExact else { return [] }
    let other = asked.options.compareWith.map { zone.instant(of: $0.start) }
    let start = min(window.start, other ?? window.start)
    // The last value before a time is looked for as far back as there are samples.
    let from = asked.options.nearest && points.isEmpty ? AnswerWindow.oldest : start
    return [stored.importNote(in: zone)].compactMap(\.self)
      + syncNotes(from: from, isOfPoints: !points.isEmpty)
  }

  private func syncNotes(from start: Timestamp, isOfPoints: Bool) -> [String] {
    guard let first = stored.firstSynced else { return [] }
    var notes: [String] = []
    var names: [String] = []
    for kind in kinds where !names.contains(HealthType.word(of: kind.identifier)) {
      let word = HealthType.word(of: kind.identifier)
      names.append(word)
      guard let begin = first[kind.identifier] else {
        notes.append("\(word) is not synced. The phone may have it: ask while it is reachable.")
        continue
      }
      guard start < begin else { continue }
      let date = HealthTime.local(zone.local(at: begin)).description.prefix(16)
      notes.append(
        "\(word) is synced from \(date) on. What the phone has from before is missing here.")
    }
    if query.valueType == .workout, isOfPoints {
      notes.append("total_steps is not synced: null does not mean that no steps were recorded.")
    }
    return notes
  }
}
