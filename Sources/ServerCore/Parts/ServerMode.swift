public import LinkCore

/// The phases of a server from its start to the end of its drain.
enum ServerMode: Sendable, Equatable {
  /// Exits: draining.
  case serving
  /// New work is refused; what is open may still end well. Exits: leaving.
  case draining(within: Duration, closeAt: Instant, giveUpAt: Instant)
  /// The close frames were sent. Exits: finished.
  case leaving(within: Duration, giveUpAt: Instant)
  /// Nothing is left to wait for.
  case finished

  /// The next instant at which the drain goes on.
  var deadline: Instant? {
    switch self {
    case .serving, .finished: nil
    case .draining(_, let closeAt, let giveUpAt): min(closeAt, giveUpAt)
    case .leaving(_, let giveUpAt): giveUpAt
    }
  }

  /// The time over which clients are told to spread their return; `nil` while it is not known.
  var window: Duration? {
    switch self {
    case .serving, .finished: nil
    case .draining(let window, _, _), .leaving(let window, _): window
    }
  }

  /// Whether the drain has left and waits for nothing any more at `now`.
  func givesUp(at now: Instant) -> Bool {
    switch self {
    case .serving, .draining, .finished: false
    case .leaving(_, let giveUpAt): now >= giveUpAt
    }
  }

  /// Begins a drain at `now` that sends the close frames after `grace` and ends after `limit`;
  /// returns false if one has begun before.
  mutating func drain(
    within window: Duration, at now: Instant, grace: Duration, limit: Duration
  ) -> Bool {
    guard self == .serving else { return false }
    self = .draining(
      within: window, closeAt: now.advanced(by: grace), giveUpAt: now.advanced(by: limit))
    return true
  }

  /// Goes on to `leaving` when that is due; returns the window if the close frames are to be sent.
  mutating func leave(at now: Instant) -> Duration? {
    guard case .draining(let window, let closeAt, let giveUpAt) = self,
      now >= min(closeAt, giveUpAt)
    else { return nil }
    self = .leaving(within: window, giveUpAt: giveUpAt)
    return window
  }

  /// Ends a drain; returns false if none is under way.
  mutating func finish() -> Bool {
    switch self {
    case .serving, .finished: return false
    case .draining, .leaving:
      self = .finished
      return true
    }
  }
}

/// The rules of one service of a backend: a machine that can be drained, and asked how it is.
public protocol ServerRules: Machine {
  /// The input that begins a drain; clients are told to spread their return over `window`.
  static func drain(within window: Duration) -> Input

  /// Whether a drain has ended: nothing is open any more, or its time is up.
  var isFinished: Bool { get }

  /// Whether the service takes work, and whether its store does.
  var serviceHealth: ServiceHealth { get }

  /// The name of its store in the reasons of its health.
  static var storeName: String { get }

  /// Adds the counters and the present state of the service to the metrics of the backend.
  func report(to page: inout MetricsPage)
}

extension ServerRules {
  public static var storeName: String { "the store" }
}

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

/// Ties an answer of the store to what was asked; counts from 1 in each run.
public struct StoreToken: NumberedID {
  /// Given by the server with the question, one more each time.
  public var number: UInt64

  /// The name that stands for a number.
  public init(_ number: UInt64) {
    self.number = number
  }
}
