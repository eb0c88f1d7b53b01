public import Foundation
import HoldfastCore
public import HoldfastHealth

extension ZoneRules {
  /// Creates rules from the system's data about a time zone, for the years 1970 to 2100.
  ///
  /// - Parameter name: The name of the rules. The default is the zone's identifier, with UTC in
  ///   place of Foundation's GMT.
  public init(_ zone: TimeZone, name: String? = nil) {
    let known = zone.identifier == "GMT" ? "UTC" : zone.identifier
    self.init(name: name ?? known) {
      zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double($0)))
    }
  }

  /// Creates rules from a function that returns the offset in seconds at a second, for the years
  /// 1970 to 2100.
  ///
  /// The offset is read for every twelfth hour, because all platforms support this query. Two
  /// changes within twelve hours would be missed, but no zone has ever had them.
  package init(name: String?, offset: (Int64) -> Int) {
    self.init(initialSecondsEast: offset(0), name: name)
    let step: Int64 = 43_200
    var before = initialSecondsEast
    for number in 1...Self.lastSecond / step {
      let second = number * step
      let found = offset(second)
      guard found != before else { continue }
      let change = Self.change(of: offset, after: second - step, until: second, from: before)
      transitions.append(
        Transition(
          at: Timestamp(nanoseconds: change * 1_000_000_000), secondsEast: found))
      before = found
    }
  }

  /// The last second that is checked for changes, 2101-01-01T00:00:00Z.
  private static let lastSecond: Int64 = 4_133_980_800

  /// Returns the first second whose offset differs from `known`.
  private static func change(
    of offset: (Int64) -> Int, after low: Int64, until high: Int64, from known: Int
  ) -> Int64 {
    var (low, high) = (low, high)
    while high - low > 1 {
      let middle = (low + high) / 2
      if offset(middle) == known { low = middle } else { high = middle }
    }
    return high
  }
}
