import LinkCore

/// The plan of a simulation: the number of clients, the outage, and the server that they return to.
public struct HerdPlan: Sendable, Hashable {
  /// The number of connected clients when the outage starts; at least 1.
  public var clients: Int
  /// The outage, which starts at time zero.
  public var outage: Outage
  /// The server's rule for accepting clients.
  public var door: Door
  /// The seed of all random numbers.
  public var seed: UInt64

  public init(clients: Int, outage: Outage = Outage(), door: Door = Door(), seed: UInt64 = 1) {
    self.clients = clients
    self.outage = outage
    self.door = door
    self.seed = seed
  }

  /// The time after the server's return at which the simulation ends; the rest then counts as away.
  public static let watch = Duration.seconds(7200)
  /// The interval of the server's pings (contract 2.2), which prove that a connection is alive.
  static let pingInterval = Duration.seconds(54)
  /// The shortest round-trip time and the spread above it, in nanoseconds: 20 ms to 120 ms.
  ///
  /// Each attempt and each poll draws one uniformly. Integers are used because a fleet draws
  /// hundreds of millions of them. An attempt reaches the server after a full round trip (TCP and
  /// TLS precede the upgrade), and its answer takes half of one.
  static let shortestTrip: Int64 = 20_000_000
  static let tripJitter: Int64 = 100_000_000
  /// The time-out of a poll, as in message streams.
  static let pollTimeout = Duration.seconds(10)
}

/// An outage as observed from outside, starting at time zero.
public struct Outage: Sendable, Hashable {
  /// The form of the outage that clients observe.
  public var cause: Cause
  /// The time until a server accepts connections; zero if another one takes over at once.
  public var length: Duration

  public init(_ cause: Cause = .crash, for length: Duration = .seconds(600)) {
    self.cause = cause
    self.length = length
  }

  /// The end of existing connections, and the answer to attempts while the server is away.
  public enum Cause: String, Sendable, Hashable, Codable, CaseIterable {
    /// Connections are reset, and attempts are refused.
    case crash
    /// Streams end without a close frame, as if only the process died; attempts are refused.
    case refused
    /// Connections are closed with 1012, and attempts are refused.
    case close
    /// A notice with a window of 5 s, then 1001 after 1 s (backend defaults); attempts are refused.
    case drain
    /// Connections are reset; a load balancer without a server answers attempts and polls with 503.
    case unavailable
    /// The server sends nothing, and attempts receive no response.
    case unreachable
  }

  /// The window and the lead time of the notice, with the defaults of `holdfast serve`.
  static let drainWindow = Duration.seconds(5)
  static let drainGrace = Duration.seconds(1)

  /// The end of an existing connection, or `nil` if no end is reported.
  var loss: LinkFailure? {
    switch cause {
    case .crash, .unavailable: .reset
    case .refused: .ended
    case .close: .closed(code: 1012, reason: "restart")
    case .drain: .closed(code: 1001, reason: "draining")
    case .unreachable: nil
    }
  }

  /// The answer to attempts and polls during the outage, or `nil` if there is none.
  var answer: LinkFailure? {
    switch cause {
    case .crash, .refused, .close, .drain: .refused
    case .unavailable: .http(status: 503, retryAfter: nil, detail: "no server")
    case .unreachable: nil
    }
  }
}

/// A server's rule for accepting clients. Polls are always answered; only upgrades are limited.
public struct Door: Sendable, Hashable {
  /// The number of upgrades accepted per second, or `nil` without a limit.
  public var capacity: Int?
  /// The treatment of upgrades beyond the capacity.
  public var whenFull: WhenFull

  public init(capacity: Int? = nil, whenFull: WhenFull = .refuse) {
    self.capacity = capacity
    self.whenFull = whenFull
  }

  /// A treatment of upgrades beyond the capacity.
  public enum WhenFull: String, Sendable, Hashable, Codable, CaseIterable {
    /// They are answered with 503 and Retry-After, at no further cost.
    case refuse
    /// They wait, first come, first served; a client that gives up leaves the queue at no cost.
    case wait
  }

  /// The backend's Retry-After at its capacity.
  static let busyRetry = Duration.seconds(2)
}
