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
}
