/// The signals that ask a program to end, and which of them is a second request.
public struct StopRequests: Sendable {
  /// The meaning of one signal.
  public enum Meaning: Sendable, Hashable {
    /// The program is to end in an orderly way.
    case stop
    /// Another delivery of the first request.
    case echo
    /// The program is to end immediately.
    case hurry
  }

  /// The same signal within this time of the first belongs to the first request: `timeout` sends it
  /// to the program and to its process group, some microseconds apart.
  public static let echo = Duration.milliseconds(100)

  private var first: (signal: Int32, at: ContinuousClock.Instant)?

  /// No signal yet.
  public init() {}

  /// Takes a signal at the time of its delivery.
  public mutating func take(_ signal: Int32, at now: ContinuousClock.Instant) -> Meaning {
    guard let first else {
      first = (signal, now)
      return .stop
    }
    return first.signal == signal && first.at.duration(to: now) < Self.echo ? .echo : .hurry
  }
}
