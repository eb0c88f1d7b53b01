public import HoldfastCore

/// The phases of a server from its start to the end of its drain.
package enum ServerMode: Sendable, Equatable {
  /// The server accepts work. Exits: draining.
  case serving
  /// New work is refused. Open work may still complete. Exits: leaving.
  case draining(within: Duration, closeAt: Instant, giveUpAt: Instant)
  /// The close frames were sent. Exits: finished.
  case leaving(within: Duration, giveUpAt: Instant)
  /// The drain has ended.
  case finished

  /// The next instant at which the drain advances.
  package var deadline: Instant? {
    switch self {
    case .serving, .finished: nil
    case .draining(_, let closeAt, let giveUpAt): min(closeAt, giveUpAt)
    case .leaving(_, let giveUpAt): giveUpAt
    }
  }

  /// The time over which clients are asked to reconnect, or `nil` if no drain has started.
  package var window: Duration? {
    switch self {
    case .serving, .finished: nil
    case .draining(let window, _, _), .leaving(let window, _): window
    }
  }

  /// Returns whether the close frames were sent and the time limit of the drain has passed at
  /// `now`.
  package func givesUp(at now: Instant) -> Bool {
    switch self {
    case .serving, .draining, .finished: false
    case .leaving(_, let giveUpAt): now >= giveUpAt
    }
  }

  /// Starts a drain that sends the close frames after `grace` and ends after `limit`.
  ///
  /// Returns false if a drain has already started.
  package mutating func drain(
    within window: Duration, at now: Instant, grace: Duration, limit: Duration
  ) -> Bool {
    guard self == .serving else { return false }
    self = .draining(
      within: window, closeAt: now.advanced(by: grace), giveUpAt: now.advanced(by: limit))
    return true
  }

  /// Advances to `leaving` if that is due, and returns the window if the close frames must be sent.
  package mutating func leave(at now: Instant) -> Duration? {
    guard case .draining(let window, let closeAt, let giveUpAt) = self,
      now >= min(closeAt, giveUpAt)
    else { return nil }
    self = .leaving(within: window, giveUpAt: giveUpAt)
    return window
  }

  /// Ends a drain. Returns false if none is under way.
  package mutating func finish() -> Bool {
    switch self {
    case .serving, .finished: return false
    case .draining, .leaving:
      self = .finished
      return true
    }
  }
}

/// The rules of one service of a backend: a machine that can drain and reports its health.
public protocol ServerRules: Machine {
  /// Returns the input that starts a drain.
  ///
  /// Clients are asked to spread their reconnects over `window`.
  static func drain(within window: Duration) -> Input

  /// A Boolean value that indicates whether a drain has ended.
  ///
  /// A drain ends when no work is open, or when its time limit has passed.
  var isFinished: Bool { get }

  /// The health of the service: whether it accepts work, and whether its store works.
  var serviceHealth: ServiceHealth { get }

  /// The name of the store in health reports.
  static var storeName: String { get }

  /// Adds the counters and the current state of the service to the metrics of the backend.
  func report(to page: inout MetricsPage)
}

extension ServerRules {
  public static var storeName: String { "the store" }
}

/// A close frame (RFC 6455 section 7.4).
public struct Closure: Sendable, Hashable, Codable {
  /// The status code (RFC 6455 section 7.4).
  public var code: UInt16
  /// A short human-readable reason of at most 123 bytes, the limit of a close frame.
  public var reason: String

  /// Creates a close frame with a code and a reason.
  public init(_ code: UInt16, _ reason: String) {
    self.code = code
    self.reason = reason
  }

  /// The close frame for a client that reads more slowly than messages arrive. Only its own socket
  /// is closed.
  public static let slowReader = Closure(1013, "slow reader")
  /// The close frame for a client whose data cannot be stored now (RFC 6455 section 7.4, IANA: 1013).
  public static let tryAgainLater = Closure(1013, "try again later")
  /// The close frame for a socket whose token has expired.
  public static let expired = Closure(4401, "token expired")
  /// The close frame for a client whose user was erased.
  package static let erased = Closure(4403, "the user was erased")

  /// Returns the close frame of a server that shuts down.
  ///
  /// Clients are asked to spread their reconnects over `window`.
  public static func draining(within window: Duration) -> Closure {
    Closure(1001, "draining within_ms=\(window.nanoseconds / 1_000_000)")
  }
}

/// The token that connects a store result with its request. Tokens count from 1 in each run.
public struct StoreToken: NumberedID {
  /// The number of the token. It increases by one with each request.
  public var number: UInt64

  /// Creates a token with a number.
  public init(_ number: UInt64) {
    self.number = number
  }
}
