/// The limit on a process's open descriptors, compared with what a backend needs.
public struct DescriptorLimit: Sendable, Hashable {
  /// The number of descriptors besides those of sockets: files of the stores, uploads, handlers and
  /// connections of operators.
  public static let reserve = 256
  /// The smallest limit with which a backend starts. Its files and listeners take about 40.
  public static let least = 64

  /// The result of the comparison.
  public enum Verdict: Sendable, Hashable {
    /// Every ceiling can be reached.
    case enough
    /// Some clients will wait, since the ceilings need more descriptors.
    case few(need: Int)
    /// The backend cannot work.
    case tooFew(least: Int)
  }

  /// The limit.
  public var limit: Int
  /// The maximum number of sockets of all services.
  public var sockets: Int

  /// Creates a comparison.
  public init(limit: Int, sockets: Int) {
    (self.limit, self.sockets) = (limit, sockets)
  }

  /// The result of the comparison.
  public var verdict: Verdict {
    guard limit >= Self.least else { return .tooFew(least: Self.least) }
    let (need, overflows) = max(sockets, 0).addingReportingOverflow(Self.reserve)
    return limit >= need && !overflows ? .enough : .few(need: overflows ? .max : need)
  }

  /// The smallest maximum to which another one is lowered. With fewer sockets, it is better that
  /// clients wait and the operator is warned.
  public static let leastMaximum = 100

  /// Returns the maximums that the limit allows in place of some that it does not allow, in the same
  /// proportion.
  ///
  /// - Parameter maximums: Maximums that are part of `sockets`.
  /// - Returns: `nil` if every ceiling can be reached, or if one would be below `leastMaximum`.
  public func lowered(_ maximums: [Int]) -> [Int]? {
    // Within these bounds, no sum or product overflows.
    guard case .few(let need) = verdict, sockets <= Int(Int32.max),
      maximums.allSatisfy({ $0 >= 1 && $0 <= sockets })
    else { return nil }
    let wanted = maximums.reduce(0, +)
    let room = limit - need + wanted
    guard wanted <= sockets, room > 0 else { return nil }
    let lowered = maximums.map { $0 * room / wanted }
    return lowered.allSatisfy { $0 >= Self.leastMaximum } ? lowered : nil
  }
}
