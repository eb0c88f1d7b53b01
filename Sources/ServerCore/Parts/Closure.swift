import LinkCore

/// A close frame (RFC 6455 section 7.4).
public struct Closure: Sendable, Hashable, Codable {
  /// The status code (RFC 6455 section 7.4).
  public var code: UInt16
  /// A few words for people; at most 123 bytes fit a frame.
  public var reason: String

  /// A close frame with a code and its reason.
  public init(_ code: UInt16, _ reason: String) {
    self.code = code
    self.reason = reason
  }

  /// The client reads more slowly than it is sent messages; only its own socket is closed.
  public static let slowReader = Closure(1013, "slow reader")

  /// The server shuts down; clients spread their return over the window.
  public static func draining(within window: Duration) -> Closure {
    Closure(1001, "draining within_ms=\(window.nanoseconds / 1_000_000)")
  }
}
