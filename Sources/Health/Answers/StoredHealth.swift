public import LinkCore

/// The facts about a store that are known without reading samples.
public struct StoredHealth: Sendable, Hashable, Codable {
  /// The start of the latest sample of each type, by HealthKit's identifier.
  public var lastSamples: [String: Timestamp]
  /// When an import ended last; `nil` if none did.
  public var lastImport: Timestamp?

  /// Nothing is known by default.
  public init(lastSamples: [String: Timestamp] = [:], lastImport: Timestamp? = nil) {
    self.lastSamples = lastSamples
    self.lastImport = lastImport
  }
}

extension HealthFreshness {
  /// The zone and the moment of an answer; always with an offset, so that clocks can be compared.
  init(zone: ZoneRules, now: Timestamp) {
    let east = zone.secondsEast(at: now)
    self.init(
      zone: zone.title(at: now),
      answered: .instant(now, minutesEast: east % 60 == 0 ? east / 60 : nil), lastSamples: [])
  }
}
