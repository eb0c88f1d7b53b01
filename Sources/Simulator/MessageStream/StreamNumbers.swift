import LinkCore

/// What a plan of message streams fixes for a run beside the weather.
public struct StreamNumbers: PlanNumbers {
  /// How often the server pings; contract 54 s.
  public var ping = Duration.seconds(54)
  /// How long the server's tokens live.
  public var tokenLife = Duration.seconds(1800)
  /// Share of a plain server's messages that are stamped before one that was already seen, by up
  /// to 100 s; a server with positions stamps in order.
  public var lateStamps = 0.0
  /// Share of messages that have the same stamp as the one before.
  public var equalStamps = 0.0
  /// What a plain server sorts its pages by.
  public var pages = PageOrder.stamp
  /// 1 if a plain server answers `since` with everything that it has.
  public var ignoresSince = 0
  /// Messages in the log before the run begins.
  public var history = 60
  /// Messages in each page of older ones that the client asks for.
  public var historyPage = 50
  /// Messages in each page of its catch-ups.
  public var catchUpPage = 100
  /// The most messages in a page of a server with positions, whatever is asked for; 0 for no limit.
  public var pageCap = 0
  /// Messages that it keeps in memory.
  public var memory = 1000
  /// The window over which a server that drains asks its clients to return.
  public var drainWindow = Duration.seconds(10)

  public init() {}

  public static var fields: [PlanField<StreamNumbers>] {
    [
      .word("pages", \.pages), .span("ping", \.ping, atLeast: .seconds(1)),
      .span("tokenLife", \.tokenLife, atLeast: .seconds(1)),
      .number("lateStamps", \.lateStamps, 0...1), .number("equalStamps", \.equalStamps, 0...1),
      .number("memory", \.memory, 1...100_000), .number("historyPage", \.historyPage, 1...1000),
      .number("ignoresSince", \.ignoresSince, 0...1),
      .number("catchUpPage", \.catchUpPage, 1...1000), .span("drainWindow", \.drainWindow),
      .number("pageCap", \.pageCap, 0...1000),
      .number("history", \.history, 0...10_000, steps: [0, 1, 10]),
    ]
  }
}

/// What a plain server's pages are sorted by.
public enum PageOrder: String, Sendable, Hashable, Codable, CaseIterable {
  /// By the stamps of its clock.
  case stamp
  /// As they came in.
  case arrival
}
