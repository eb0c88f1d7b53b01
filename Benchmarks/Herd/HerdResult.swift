import HoldfastCore

/// The load that one fleet caused on the server.
public struct HerdResult: Sendable, Equatable {
  /// The policy or naive rule that the fleet followed.
  public var name: String
  /// The plan of the simulation.
  public var plan: HerdPlan
  /// The counts of each second since the start of the outage. The last second is the last one with
  /// an event.
  public var seconds: [HerdSecond]
  /// The number of connected clients at the end of each element of `seconds`.
  public var connected: [Int]
  /// The time from the server's return to each client's return, in nanoseconds and ascending order.
  public var returns: [Int64]
  /// The number of clients that have given up, so that their users must act.
  public var gaveUp: Int

  /// The number of clients that have neither returned nor given up by the end.
  public var away: Int { plan.clients - returns.count - gaveUp }

  /// The first second in which the server may accept connections.
  public var firstOpenSecond: Int {
    Int(plan.outage.length.nanoseconds / 1_000_000_000)
  }

  /// The second in which the last client returned.
  var lastBackSecond: Int { seconds.lastIndex { $0.backs > 0 } ?? firstOpenSecond }

  /// Returns a count of a second, or 0 after the last second.
  func count(of count: (HerdSecond) -> Int, in second: Int) -> Int {
    seconds.indices.contains(second) ? count(seconds[second]) : 0
  }

  /// Returns the share of clients that are connected at the end of a second.
  func share(connectedAfter second: Int) -> Double {
    let present = min(second, connected.count - 1)
    return present < 0 ? 1 : Double(connected[present]) / Double(plan.clients)
  }

  /// The sum of all seconds.
  public var total: HerdSecond {
    seconds.reduce(into: HerdSecond()) { $0.add($1) }
  }

  /// Returns the second with the highest count from `start` on, and that count.
  public func peak(
    of count: (HerdSecond) -> Int, from start: Int = 0
  ) -> (second: Int, count: Int) {
    var found = (second: start, count: 0)
    for second in seconds.indices.dropFirst(start) where count(seconds[second]) > found.count {
      found = (second, count(seconds[second]))
    }
    return found
  }

  /// Returns the time until a share of all clients had returned, or `nil` if fewer returned.
  public func time(untilBack share: Double) -> Duration? {
    let count = max(1, Int((Double(plan.clients) * share).rounded(.up)))
    guard returns.indices.contains(count - 1) else { return nil }
    return .nanoseconds(returns[count - 1])
  }
}

/// The events of one second at the server.
public struct HerdSecond: Sendable, Hashable {
  /// The number of connections that were lost.
  public var losses = 0
  /// The number of upgrades that arrived, or would have arrived if the server had been reachable.
  public var tries = 0
  /// The number of upgrades that were accepted.
  public var accepted = 0
  /// The number of upgrades answered with 503 because the server was full.
  public var refused = 0
  /// The number of accepted upgrades whose client had given up in the meantime.
  public var wasted = 0
  /// The number of requests of polling clients.
  public var polls = 0
  /// The number of clients that reconnected.
  public var backs = 0

  public init() {}

  mutating func add(_ other: HerdSecond) {
    losses += other.losses
    tries += other.tries
    accepted += other.accepted
    refused += other.refused
    wasted += other.wasted
    polls += other.polls
    backs += other.backs
  }
}

/// The counts of a running simulation.
struct HerdCounts: Sendable {
  private(set) var seconds: [HerdSecond] = []
  private(set) var returns: [Int64] = []
  /// The number of clients that were connected when the outage started.
  var connectedBefore = 0
  private let back: Int64

  init(_ plan: HerdPlan) {
    back = plan.outage.length.nanoseconds
    returns.reserveCapacity(plan.clients)
  }

  mutating func note(_ now: Instant, _ change: (inout HerdSecond) -> Void) {
    guard now >= .zero else { return }
    let second = Int(now.nanoseconds / 1_000_000_000)
    while seconds.count <= second { seconds.append(HerdSecond()) }
    change(&seconds[second])
  }

  mutating func noteBack(at now: Instant) {
    note(now) { $0.backs += 1 }
    returns.append(max(0, now.nanoseconds - back))
  }

  /// The number of connected clients at the end of each second.
  var connected: [Int] {
    var present = connectedBefore
    return seconds.map { second in
      present += second.backs - second.losses
      return present
    }
  }
}
