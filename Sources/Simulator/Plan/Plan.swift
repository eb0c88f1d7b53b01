/// Which contract the server of a world speaks.
public enum ServerKind: String, Sendable, Hashable, Codable, CaseIterable {
  /// Ours: positions, heads, idempotency keys.
  case positions
  /// What seed 001 says and no more: times, page numbers, newest first.
  case plain
}

/// Everything that is decided before a run begins; the same plan makes the same run.
public struct Plan: Sendable, Hashable {
  /// The start of all chance in the run.
  public var seed: UInt64
  /// Which contract the server speaks.
  public var server: ServerKind
  /// How the network is by itself.
  public var weather: Weather
  /// What happens, by time.
  public var actions: [Planned]
  /// The time until calm begins, as the world counts it.
  public var length: Duration

  public init(
    seed: UInt64, server: ServerKind, weather: Weather, actions: [Planned], length: Duration
  ) {
    self.seed = seed
    self.server = server
    self.weather = weather
    self.actions = actions
    self.length = length
  }
}

/// One action and its time from the beginning of the run.
public struct Planned: Sendable, Hashable {
  /// From the beginning of the run.
  public var at: Duration
  /// What happens then.
  public var action: Action

  public init(at: Duration, _ action: Action) {
    self.at = at
    self.action = action
  }
}

/// How the network is while nothing special happens, and how large the client's pages are.
public struct Weather: Sendable, Hashable {
  /// The least time one way.
  public var delay = Duration.milliseconds(25)
  /// Added to it, evenly drawn.
  public var jitter = Duration.milliseconds(25)
  /// Bytes a second each way; 0 is without a limit.
  public var bandwidth: Int64 = 0
  /// Share of requests and answers that never arrive.
  public var loss = 0.0
  /// Share of REST answers that come a second time.
  public var twice = 0.0
  /// Share of requests and answers that take up to half a minute, also past their time-out.
  public var slow = 0.0
  /// How long the phone's HTTP client waits for an answer; ours waits 9 s, and others longer than
  /// the feature does.
  public var patience = Duration.seconds(9)
  /// How often the server pings; contract 54 s.
  public var ping = Duration.seconds(54)
  /// How long the server's tokens live.
  public var tokenLife = Duration.seconds(1800)
  /// Share of a plain server's messages that are stamped before one that was already seen, by up
  /// to 100 s; our own server stamps in order.
  public var lateStamps = 0.0
  /// Share of messages that have the same stamp as the one before.
  public var equalStamps = 0.0
  /// What a plain server sorts its pages by.
  public var pages = PageOrder.stamp
  /// Messages in the log before the run begins.
  public var history = 60
  /// Messages in each page of older ones that the client asks for.
  public var historyPage = 50
  /// Messages in each page of its catch-ups.
  public var catchUpPage = 100
  /// Messages that it keeps in memory.
  public var memory = 1000
  /// How much faster than the world's clock the phone's wall clock runs.
  public var wallDrift = 0.0

  public init() {}
}

/// What a plain server's pages are sorted by.
public enum PageOrder: String, Sendable, Hashable, Codable, CaseIterable {
  /// By the stamps of its clock.
  case stamp
  /// As they came in.
  case arrival
}
