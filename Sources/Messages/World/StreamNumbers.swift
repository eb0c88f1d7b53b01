import HoldfastCore
import HoldfastLinkChecks
public import HoldfastMessageChecks
public import HoldfastWorldKernel

/// The numbers that a plan of MessageStream fixes for a run, in addition to the network conditions.
public struct StreamNumbers: PlanNumbers {
  /// The server's ping interval. The contract specifies 54 s.
  public var ping = Duration.seconds(54)
  /// The lifetime of the server's tokens.
  public var tokenLife = Duration.seconds(1800)
  /// The share of a plain server's messages that are stamped up to 100 s earlier than a message
  /// already seen.
  ///
  /// A server with positions stamps messages in order.
  public var lateStamps = 0.0
  /// The share of messages that have the same stamp as the previous message.
  public var equalStamps = 0.0
  /// The order of a plain server's pages.
  public var pages = PageOrder.stamp
  /// Whether a plain server answers `since` with its whole log: 1 if it does, otherwise 0.
  public var ignoresSince = 0
  /// The number of messages in the log before the run begins.
  public var history = 60
  /// The number of messages in each page of history that the client requests.
  public var historyPage = 50
  /// The number of messages in each page of a catch-up that the client requests.
  public var catchUpPage = 100
  /// The maximum number of messages in a page of a server with positions, regardless of the
  /// client's request; 0 for no limit.
  public var pageCap = 0
  /// The number of messages that the client keeps in memory.
  public var memory = 1000
  /// Whether the client asks for edits and deletions as events: 1 if it does, otherwise 0.
  public var wantsEvents = 1
  /// The share of other users' messages and changes that another node stores.
  public var elsewhere = 0.0
  /// The time window within which a draining server asks its clients to reconnect.
  public var drainWindow = Duration.seconds(10)

  public init() {}

  public static var fields: [PlanField<StreamNumbers>] {
    [
      .choice("pages", \.pages), .span("ping", \.ping, atLeast: .seconds(1)),
      .span("tokenLife", \.tokenLife, atLeast: .seconds(1)),
      .number("lateStamps", \.lateStamps, 0...1), .number("equalStamps", \.equalStamps, 0...1),
      .number("memory", \.memory, 1...100_000), .number("historyPage", \.historyPage, 1...1000),
      .number("ignoresSince", \.ignoresSince, 0...1),
      .number("catchUpPage", \.catchUpPage, 1...1000), .span("drainWindow", \.drainWindow),
      .number("pageCap", \.pageCap, 0...1000), .number("wantsEvents", \.wantsEvents, 0...1),
      .number("elsewhere", \.elsewhere, 0...1),
      .number("history", \.history, 0...10_000, steps: [0, 1, 10]),
    ]
  }
}
