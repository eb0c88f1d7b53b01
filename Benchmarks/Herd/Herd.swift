public import HoldfastCore

/// A fleet of clients that all follow the same retry rule.
public enum Herd: Sendable {
  case policy(LinkPolicy)
  case naive(Naive)

  /// The name of the herd, for tables.
  public var name: String {
    switch self {
    case .policy(let policy): policy.name
    case .naive(let naive): naive.rawValue
    }
  }

  /// The reason why the herd cannot be simulated, or `nil` if it can.
  public var obstacle: String? {
    guard case .policy(let policy) = self else { return nil }
    guard policy.holdsLink else {
      return "\(policy.name) holds no link; a herd needs one that does"
    }
    guard case .queuedConnect = policy.standby else { return nil }
    return "\(policy.name) waits for its operating system; a herd needs a policy that retries"
  }

  /// Simulates the outage. The same plan produces the same result.
  public func play(_ plan: HerdPlan) -> HerdResult {
    switch self {
    case .policy(let policy):
      // This is longer than any link needs to become stable.
      let age = max(.seconds(60), policy.retry.stability.after + .seconds(1))
      return HerdRun(plan, name: name, age: age) { LinkedClient(policy, seed: $0) }.result
    case .naive(let naive):
      return HerdRun(plan, name: name, age: .seconds(60)) { _ in NaiveClient(naive) }.result
    }
  }
}

/// The simulation of one herd.
private struct HerdRun<Client: HerdClient> {
  private let plan: HerdPlan
  private let name: String
  private var members: [HerdMember<Client>] = []
  private var door: HerdDoor
  private var counts: HerdCounts

  init(_ plan: HerdPlan, name: String, age: Duration, make: (UInt64) -> Client) {
    self.plan = plan
    self.name = name
    door = HerdDoor(plan)
    counts = HerdCounts(plan)
    members.reserveCapacity(plan.clients)
    var seeds = RandomSource(seed: plan.seed)
    for index in 0..<plan.clients {
      var member = HerdMember(make(seeds.next()), seed: seeds.next())
      member.warmUp(for: age, &door, &counts)
      // While the server is away, the clients do not affect each other, so each client is simulated
      // alone.
      while member.next < door.back { member.step(index: index, &door, &counts) }
      members.append(member)
    }
    playTogether()
  }

  /// Simulates all clients in chronological order after the server's return, since they share its
  /// capacity.
  private mutating func playTogether() {
    let end = door.back.advanced(by: HerdPlan.watch)
    var calendar = HerdCalendar(from: door.back, until: end)
    for index in members.indices {
      calendar.add(.init(at: members[index].next, index: Int32(index)))
    }
    while let first = calendar.first() {
      if door.turn <= first.at {
        letFirstIn(&calendar)
        continue
      }
      calendar.removeFirst()
      let index = Int(first.index)
      // An entry is outdated if its time is no longer the time of its client's next event.
      guard members[index].next == first.at else { continue }
      members[index].step(index: index, &door, &counts)
      calendar.add(.init(at: members[index].next, index: first.index))
    }
  }

  private mutating func letFirstIn(_ calendar: inout HerdCalendar) {
    let turn = door.turn
    let waiting = door.takeFirst()
    guard members[waiting.index].letIn(waiting.number, at: turn) else { return }
    door.takeTurn(at: turn)
    counts.note(turn) { $0.accepted += 1 }
    calendar.add(.init(at: members[waiting.index].next, index: Int32(waiting.index)))
  }

  var result: HerdResult {
    HerdResult(
      name: name, plan: plan, seconds: counts.seconds, connected: counts.connected,
      returns: counts.returns.sorted(),
      gaveUp: members.count { $0.client.hasGivenUp })
  }
}
