public import Foundation
import HoldfastCore
public import HoldfastHealth

extension ZoneRules {
  /// Creates rules from the system's data about a time zone, for the years 1970 to 2100.
  ///
  /// The offset is read for every twelfth hour, because all platforms support this query. Two
  /// changes within twelve hours would be missed, but no zone has ever had them.
  ///
  /// - Parameter name: The name of the rules. The default is the zone's identifier, with UTC in
  ///   place of Foundation's GMT.
  public init(_ zone: TimeZone, name: String? = nil) {
    let known = zone.identifier == "GMT" ? "UTC" : zone.identifier
    self.init(initialSecondsEast: Self.offset(of: zone, at: 0), name: name ?? known)
    let step = 43_200
    var before = initialSecondsEast
    for second in stride(from: step, through: Self.lastSecond, by: step) {
      let offset = Self.offset(of: zone, at: second)
      guard offset != before else { continue }
      let change = Self.change(of: zone, after: second - step, until: second, from: before)
      transitions.append(
        Transition(
          at: Timestamp(nanoseconds: Int64(change) * 1_000_000_000), secondsEast: offset))
      before = offset
    }
  }

  /// The last second that is checked for changes, 2101-01-01T00:00:00Z.
  private static let lastSecond = 4_133_980_800

  private static func offset(of zone: TimeZone, at second: Int) -> Int {
    zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(second)))
  }

  /// Returns the first second whose offset differs from `offset`.
  private static func change(
    of zone: TimeZone, after low: Int, until high: Int, from offset: Int
  ) -> Int {
    var (low, high) = (low, high)
    while high - low > 1 {
      let middle = (low + high) / 2
      if Self.offset(of: zone, at: middle) == offset { low = middle } else { high = middle }
    }
    return high
  }
}
