import LinkCore

/// What one fleet did to the server.
public struct HerdResult: Sendable, Equatable {
  /// The policy or naive rule that it followed.
  public var name: String
  /// What was done to it.
  public var plan: HerdPlan
  /// One for each second since the beginning of the outage, up to the last one with any event.
  public var seconds: [HerdSecond]
  /// Clients that are connected at the end of each of those seconds.
  public var connected: [Int]
  /// From the server's return to each client's, shortest first, in nanoseconds.
  public var returns: [Int64]
  /// Clients that ended for good: a person must act.
  public var gaveUp: Int

  /// Clients that were neither back nor had given up when watching ended.
  public var away: Int { plan.clients - returns.count - gaveUp }

  /// The first second in which the server may take connections.
  public var firstOpenSecond: Int {
    Int(plan.outage.length.nanoseconds / 1_000_000_000)
  }

  /// The second of the last return.
  var lastBackSecond: Int { seconds.lastIndex { $0.backs > 0 } ?? firstOpenSecond }

  /// The count of a second; 0 after the last one.
  func count(of count: KeyPath<HerdSecond, Int>, in second: Int) -> Int {
    seconds.indices.contains(second) ? seconds[second][keyPath: count] : 0
  }

  /// The share of clients that are connected at the end of a second.
  func share(connectedAfter second: Int) -> Double {
    let present = min(second, connected.count - 1)
    return present < 0 ? 1 : Double(connected[present]) / Double(plan.clients)
  }

  /// Everything together.
  public var total: HerdSecond {
    seconds.reduce(into: HerdSecond()) { $0.add($1) }
  }

  /// The second with the most tries from `start` on, and how many those are.
  public func peak(
    of count: KeyPath<HerdSecond, Int>, from start: Int = 0
  ) -> (second: Int, count: Int) {
    var found = (second: start, count: 0)
    for second in seconds.indices.dropFirst(start)
    where seconds[second][keyPath: count] > found.count {
      found = (second, seconds[second][keyPath: count])
    }
    return found
  }

  /// The time from the server's return until this share of all clients was back; `nil` when it
  /// never was.
  public func time(untilBack share: Double) -> Duration? {
    let count = max(1, Int((Double(plan.clients) * share).rounded(.up)))
    guard returns.indices.contains(count - 1) else { return nil }
    return .nanoseconds(returns[count - 1])
  }
}

/// One second at the server.
public struct HerdSecond: Sendable, Hashable {
  /// Connections that were lost.
  public var losses = 0
  /// Upgrades that arrived, or would have.
  public var tries = 0
  /// Upgrades that were taken.
  public var accepted = 0
  /// Upgrades answered 503 because it was full.
  public var refused = 0
  /// Upgrades taken whose client had given up meanwhile.
  public var wasted = 0
  /// Requests of clients that poll.
  public var polls = 0
  /// Clients that were connected again.
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

/// Counts while a herd runs.
struct HerdTally: Sendable {
  private(set) var seconds: [HerdSecond] = []
  private(set) var returns: [Int64] = []
  /// Clients that were connected when the outage began.
  var standing = 0
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

  /// How many are connected at the end of each second.
  var connected: [Int] {
    var present = standing
    return seconds.map { second in
      present += second.backs - second.losses
      return present
    }
  }
}
