import LinkCore

/// What is done to a fleet: how many clients, which outage, and the server that they return to.
public struct HerdPlan: Sendable, Hashable {
  /// Connected clients when the outage begins; at least 1.
  public var clients: Int
  /// What happens to them at time zero.
  public var outage: Outage
  /// How the server takes them back.
  public var door: Door
  /// The start of all chance.
  public var seed: UInt64

  public init(clients: Int, outage: Outage = Outage(), door: Door = Door(), seed: UInt64 = 1) {
    self.clients = clients
    self.outage = outage
    self.door = door
    self.seed = seed
  }

  /// How long after the server's return a fleet is watched; who is away then counts as away.
  public static let watch = Duration.seconds(7200)
  /// How often a server pings who is connected (contract 2.2), which is what proves life.
  static let pingInterval = Duration.seconds(54)
  /// A round trip is drawn evenly from 20 ms to 120 ms, anew for each try and each poll.
  ///
  /// In nanoseconds: a fleet draws them by the hundred million. A try reaches the server after a
  /// whole one (TCP and TLS come before the upgrade), its answer takes half of one.
  static let shortestTrip: Int64 = 20_000_000
  static let tripSpread: Int64 = 100_000_000
  /// A poll without an answer is given up after this long, as message streams do.
  static let pollTimeout = Duration.seconds(10)
}

/// An outage as it looks from outside, from time zero on.
public struct Outage: Sendable, Hashable {
  /// How it looks to clients.
  public var cause: Cause
  /// From its beginning until the server takes connections again; zero where another server takes
  /// over at once.
  public var length: Duration

  public init(_ cause: Cause = .crash, for length: Duration = .seconds(600)) {
    self.cause = cause
    self.length = length
  }

  /// How the connections end, and what a try meets while the server is away.
  public enum Cause: String, Sendable, Hashable, Codable, CaseIterable {
    /// Connections are reset; tries are refused.
    case crash
    /// Streams end without a close frame, as they do when only the process dies; tries are refused.
    case refused
    /// Closed with 1012; tries are refused.
    case close
    /// A notice with a window of 5 s, then 1001 after 1 s (our server's defaults); tries are
    /// refused.
    case drain
    /// Connections are reset; a balancer without a server answers tries and polls with 503.
    case unavailable
    /// Nothing is said and nothing answers.
    case unreachable
  }

  /// The notice's window and its lead, as `holdfast serve` has them.
  static let drainWindow = Duration.seconds(5)
  static let drainGrace = Duration.seconds(1)

  /// How a standing connection ends; `nil` when nobody says so.
  var loss: LinkFailure? {
    switch cause {
    case .crash, .unavailable: .reset
    case .refused: .ended
    case .close: .closed(code: 1012, reason: "restart")
    case .drain: .closed(code: 1001, reason: "draining")
    case .unreachable: nil
    }
  }

  /// What a try and a poll meet during it; `nil` when nothing answers.
  var answer: LinkFailure? {
    switch cause {
    case .crash, .refused, .close, .drain: .refused
    case .unavailable: .http(status: 503, retryAfter: nil, detail: "no server")
    case .unreachable: nil
    }
  }
}

/// How a server lets clients in. Polls are always answered; only upgrades are bounded.
public struct Door: Sendable, Hashable {
  /// Upgrades that it takes in each second; `nil` without a bound.
  public var capacity: Int?
  /// What happens to those beyond it.
  public var whenFull: WhenFull

  public init(capacity: Int? = nil, whenFull: WhenFull = .refuse) {
    self.capacity = capacity
    self.whenFull = whenFull
  }

  /// What becomes of the others.
  public enum WhenFull: String, Sendable, Hashable, Codable, CaseIterable {
    /// 503 with Retry-After, and no work is lost on them.
    case refuse
    /// They queue, first come first served; who gives up leaves the queue and costs nothing.
    case wait
  }

  /// What our server asks of those that it has no room for.
  static let busyRetry = Duration.seconds(2)
}
