import HoldfastCore

/// The plan of a simulation: the number of clients, the outage, and the server's rule afterwards.
public struct HerdPlan: Sendable, Hashable {
  /// The number of connected clients when the outage starts; at least 1.
  public var clients: Int
  /// The outage, which starts at time zero.
  public var outage: Outage
  /// The server's rule for accepting clients.
  public var door: Door
  /// The seed from which all random numbers are derived.
  public var seed: UInt64

  public init(clients: Int, outage: Outage = Outage(), door: Door = Door(), seed: UInt64 = 1) {
    self.clients = clients
    self.outage = outage
    self.door = door
    self.seed = seed
  }

  /// The time after the server's return at which the simulation ends. Clients that have not
  /// returned by then count as away.
  public static let watch = Duration.seconds(7200)
  /// The interval of the server's pings (contract 2.2). A ping proves that a connection is alive.
  static let pingInterval = Duration.seconds(54)
  /// The minimum round-trip time and the range above it, in nanoseconds: 20 ms to 120 ms.
  ///
  /// Each attempt and each poll draws a round-trip time uniformly. The values are integers because
  /// a fleet draws hundreds of millions of them. An attempt reaches the server after a full round
  /// trip, since TCP and TLS precede the upgrade. The response takes half a round trip.
  static let shortestTrip: Int64 = 20_000_000
  static let tripJitter: Int64 = 100_000_000
  /// The time-out of a poll, as in message streams.
  static let pollTimeout = Duration.seconds(10)
}

/// An outage from the clients' point of view. It starts at time zero.
public struct Outage: Sendable, Hashable {
  /// The way in which the outage appears to clients.
  public var cause: Cause
  /// The time until a server accepts connections; zero if another server takes over immediately.
  public var length: Duration

  public init(_ cause: Cause = .crash, for length: Duration = .seconds(600)) {
    self.cause = cause
    self.length = length
  }

  /// A way in which connections end, and in which attempts fail while the server is away.
  public enum Cause: String, Sendable, Hashable, CaseIterable {
    /// Connections are reset, and attempts are refused.
    case crash
    /// Streams end without a close frame, as if only the process ended. Attempts are refused.
    case refused
    /// Connections are closed with 1012, and attempts are refused.
    case close
    /// A notice announces a window of 5 s. After 1 s, connections are closed with 1001 (the
    /// backend's defaults). Attempts are refused.
    case drain
    /// Connections are reset. A load balancer without a server answers attempts and polls with 503.
    case unavailable
    /// The server sends nothing, and attempts receive no response.
    case unreachable
  }

  /// The window and the lead time of the notice. They are the defaults of `holdfast serve`.
  static let drainWindow = Duration.seconds(5)
  static let drainGrace = Duration.seconds(1)

  /// The failure with which an existing connection ends, or `nil` if clients do not notice an end.
  var loss: LinkFailure? {
    switch cause {
    case .crash, .unavailable: .reset
    case .refused: .ended
    case .close: .closed(code: 1012, reason: "restart")
    case .drain: .closed(code: 1001, reason: "draining")
    case .unreachable: nil
    }
  }

  /// The response to attempts and polls during the outage, or `nil` if there is no response.
  var answer: LinkFailure? {
    switch cause {
    case .crash, .refused, .close, .drain: .refused
    case .unavailable: .http(status: 503, retryAfter: nil, detail: "no server")
    case .unreachable: nil
    }
  }
}

/// A server's rule for accepting clients. Only upgrades are limited; polls are always answered.
public struct Door: Sendable, Hashable {
  /// The number of upgrades accepted per second, or `nil` if there is no limit.
  public var capacity: Int?
  /// The way in which upgrades beyond the capacity are handled.
  public var whenFull: WhenFull

  public init(capacity: Int? = nil, whenFull: WhenFull = .refuse) {
    self.capacity = capacity
    self.whenFull = whenFull
  }

  /// A way to handle upgrades beyond the capacity.
  public enum WhenFull: String, Sendable, Hashable, CaseIterable {
    /// The server answers with 503 and Retry-After, without using any capacity.
    case refuse
    /// Upgrades wait in a first-in, first-out queue. A client that gives up leaves the queue
    /// without using any capacity.
    case wait
  }

  /// The Retry-After interval that the backend sends when its capacity is used up.
  static let busyRetry = Duration.seconds(2)
}
