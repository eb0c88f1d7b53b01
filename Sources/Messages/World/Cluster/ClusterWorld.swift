import HoldfastCore
import HoldfastLinkChecks
import HoldfastMessageChecks
import HoldfastMessageData
import HoldfastMessageServer
import HoldfastServerData
import HoldfastWorldKernel

/// A world of three nodes over one database and one bus, with clients that post, read and listen.
///
/// The rules of the nodes and their leases are the machines of the product. The database is a value
/// with a standby, whose commits may hang and whose answers may be lost; the bus loses, repeats and
/// delays reports; nodes pause and die; wall clocks differ. Everything derives from the seed.
///
/// The promises are few:
///
/// - What was acknowledged is in the log once, and what was refused is not. Stamps grow.
/// - A listener receives the events of the log in order and without holes.
/// - Nothing is read from a former primary, or without a lease.
/// - At most one node has the role, and each term of it has one holder, who alone commits.
/// - An epoch ends if and only if commits were lost, as far as a living node remembers them.
/// - Without faults an event is everywhere within 2 s, and within 2.5 s without a bus.
package struct ClusterWorld {
  static let shops = [ShopID("a"), ShopID("b")].compactMap(\.self)
  private static let calm = Instant.zero.advanced(by: .seconds(45))

  let defect: ClusterDefect?
  let policy: ShopServerPolicy
  var now = Instant.zero
  var generator: RandomSource
  var database: ClusterDatabase
  var nodes: [ClusterNode] = []
  var isCalm = false
  var clients = ClusterClients()
  /// The promises that were broken.
  package private(set) var findings: Set<ClusterFinding> = []
  /// The counts of events, which show tests whether a run had the faults that it is about.
  package var counts = ClusterCounts()
  private var queue = EventQueue<ClusterEvent>()
  private var last: UInt64 = 0
  /// The texts of posts that were lost.
  var lostTexts: Set<String> = []
  /// The runs whose commits were lost, and which have not begun an epoch since.
  private var lostRuns: Set<Int> = []
  /// The runs that can notice it, with the epoch of that time.
  private var losers: [(node: Int, run: Int, epoch: String)] = []

  /// Creates a world. In one of three the standby is not synchronous.
  package init(seed: UInt64, defect: ClusterDefect? = nil) {
    var policy = ShopServerPolicy()
    policy.sharesLog = true
    if defect == .noHeadCheck {
      (policy.headCheck, policy.headCheckAlone) = (.seconds(3_600), .seconds(3_600))
    }
    (self.policy, self.defect) = (policy, defect)
    generator = RandomSource(seed: seed)
    database = ClusterDatabase(
      isSynchronous: !seed.isMultiple(of: 3) && defect != .acknowledgedBeforeStandby,
      defect: defect)
    nodes = (0..<3).map { index in
      ClusterNode(
        index, policy: policy, seed: generator.next(),
        clock: generator.duration(below: .seconds(10)), at: now)
    }
  }

  /// Runs the world to its end and returns the promises that were broken, in order.
  package mutating func run() -> [ClusterFinding] {
    for n in nodes.indices { start(n) }
    for index in clients.listeners.indices { plan(.client(.connect(index)), after: .seconds(3)) }
    plan(.client(.post), after: .seconds(3))
    plan(.client(.read), after: .seconds(4))
    plan(.fault, after: .seconds(6))
    plan(.calm, at: Self.calm)
    for (index, phase) in ClusterPhase.allCases.enumerated() {
      plan(.phase(phase), at: Self.calm.advanced(by: .seconds(32 + 14 * Int64(index))))
    }
    while let time = queue.next, let event = queue.pop() {
      now = time
      if case .phase(.end) = event { break }
      handle(event)
    }
    checkEnd()
    return findings.sorted { $0.rawValue < $1.rawValue }
  }

  // MARK: - Events

  mutating func plan(_ event: ClusterEvent, after delay: Duration) {
    queue.add(event, at: now.advanced(by: delay))
  }

  private mutating func plan(_ event: ClusterEvent, at time: Instant) { queue.add(event, at: time) }

  mutating func plan(_ event: ClusterEvent, within delay: Duration) {
    plan(event, after: .microseconds(100) + generator.duration(below: delay))
  }

  mutating func fresh() -> UInt64 {
    last += 1
    return last
  }

  /// Records a promise that was broken.
  mutating func report(_ finding: ClusterFinding) { findings.insert(finding) }

  mutating func oneIn(_ number: Int) -> Bool { Int.random(in: 0..<number, using: &generator) == 0 }

  private mutating func handle(_ event: ClusterEvent) {
    counts.events += 1
    switch event {
    case .node(let n, let run, let event):
      guard nodes[n].isUp, nodes[n].run == run else { return }
      if nodes[n].isPaused { nodes[n].held.append(event) } else { handle(event, n) }
    case .server(let call): serve(call)
    case .client(let event): handle(event)
    case .fault:
      guard !isCalm else { return }
      fault()
      plan(.fault, within: .seconds(4))
    case .heal(let heal): self.heal(heal)
    case .calm: calm()
    case .phase(let phase): begin(phase)
    case .verify(let position, let shop, let limit): verify(position, shop, within: limit)
    }
  }

  private mutating func handle(_ event: ClusterNodeEvent, _ n: Int) {
    switch event {
    case .input(let input): feed(input, n)
    case .reply(let call, let reply): take(reply, to: call, n)
    case .retry(let kind):
      if nodes[n][kind].step == .resting { attempt(kind, n) } else { proceed(kind, n) }
    case .wake: wake(n)
    case .renew: if nodes[n][.keeper].current == nil { submit(.renewal, .keeper, n) }
    case .watch:
      watch(n)
      checkRole()
      if nodes[n].reported.hasRole, nodes[n][.role].current == nil { submit(.fact, .role, n) }
      if oneIn(10) { submit(.check, .log, n) }
      plan(.node(n, nodes[n].run, .watch), after: .milliseconds(500))
    }
  }

  /// Starts the process of a node.
  private mutating func start(_ n: Int) {
    feed(.nodes(.cutOff), n)
    if nodes[n].isReachedByBus { feed(.nodes(.connected), n) }
    plan(.node(n, nodes[n].run, .renew), after: .zero)
    plan(.node(n, nodes[n].run, .watch), within: .milliseconds(500))
  }

  /// Tells the rules and the services of the role whether they may use the database.
  mutating func watch(_ n: Int) {
    let isValid = hasLease(n)
    let keeps = defect == .formerHolderAnswers || isValid
    nodes[n].reported.hasRole = keeps && nodes[n].roleTerm != nil
    guard isValid != nodes[n].reported.hasLease else { return }
    nodes[n].reported.hasLease = isValid
    feed(.nodes(isValid ? .admitted : .cutOff), n)
  }

  // MARK: - Faults

  private mutating func fault() {
    let n = Int.random(in: 0..<nodes.count, using: &generator)
    switch Int.random(in: 0..<12, using: &generator) {
    case 0, 1: pause(n)
    case 2: kill(n)
    case 3, 4: cutBus(n)
    case 5:
      database.commitsHang = true
      plan(.heal(.database), within: .seconds(15))
    case 6:
      database.isFrozen = true
      plan(.heal(.database), within: .seconds(8))
    case 7, 8: killPrimary()
    case 9:
      nodes[n].reachesDatabase = false
      plan(.heal(.line(n)), within: .seconds(20))
    case 10:
      let step = generator.duration(below: .seconds(30)) - .seconds(15)
      nodes[n].clock += step
    case _: dropSocket()
    }
  }

  private mutating func pause(_ n: Int) {
    guard nodes[n].isUp, !nodes[n].isPaused else { return }
    counts.pauses += 1
    nodes[n].isPaused = true
    plan(.heal(.pause(n, run: nodes[n].run)), within: .seconds(20))
  }

  private mutating func kill(_ n: Int) {
    guard nodes[n].isUp else { return }
    nodes[n].isUp = false
    lostNode(n)
    plan(.heal(.node(n)), within: .seconds(5))
  }

  private mutating func cutBus(_ n: Int) {
    guard nodes[n].isReachedByBus else { return }
    nodes[n].isReachedByBus = false
    if defect != .noInterrupted { toNode(n, .nodes(.interrupted), within: .milliseconds(500)) }
    plan(.heal(.bus(n)), within: .seconds(8))
  }

  private mutating func killPrimary() {
    guard database.servers[database.primary].isUp else { return }
    database.kill(at: now, &generator)
    noteEpochs()
    plan(.heal(.promotion), within: .seconds(3))
  }

  private mutating func promote() {
    guard !database.servers[database.primary].isUp else { return }
    let (former, before) = (database.primary, database.rows)
    database.promote(clock: generator.duration(below: .seconds(30)) - .seconds(15))
    counts.failovers += 1
    noteLosses(since: before)
    plan(.heal(.formerPrimary(former)), within: .seconds(15))
  }

  private mutating func heal(_ heal: ClusterHeal) {
    switch heal {
    case .pause(let n, let run):
      guard nodes[n].isPaused, nodes[n].run == run else { return }
      (nodes[n].isPaused, nodes[n].resumed) = (false, now)
      let held = nodes[n].held
      nodes[n].held = []
      for event in held { handle(event, n) }
    case .node(let n):
      guard !nodes[n].isUp else { return }
      nodes[n] = nodes[n].restarted(policy: policy, seed: generator.next(), at: now)
      start(n)
    case .bus(let n):
      guard !nodes[n].isReachedByBus else { return }
      nodes[n].isReachedByBus = true
      if defect != .noInterrupted { toNode(n, .nodes(.connected), within: .milliseconds(20)) }
    case .line(let n): nodes[n].reachesDatabase = true
    case .database:
      for (call, reply) in database.release(at: now, &generator) { deliver(reply, to: call) }
      noteEpochs()
    case .promotion: promote()
    case .formerPrimary(let server):
      database.revive(server)
      plan(.heal(.endOfFormer(database.servers.count - 1)), within: .seconds(20))
    case .endOfFormer(let server): database.end(server)
    }
  }

  /// Ends all faults.
  private mutating func calm() {
    isCalm = true
    promote()
    heal(.database)
    for n in nodes.indices {
      heal(.pause(n, run: nodes[n].run))
      heal(.node(n))
      heal(.bus(n))
      heal(.line(n))
    }
  }

  private mutating func begin(_ phase: ClusterPhase) {
    switch phase {
    case .prompt:
      checkListeners()
      clients.promptness = .seconds(2)
    case .alone:
      clients.promptness = .milliseconds(2_500)
      for n in nodes.indices {
        nodes[n].isReachedByBus = false
        if defect != .noInterrupted { feed(.nodes(.interrupted), n) }
      }
    case .end: return
    }
    // Several posts at about the same time, so that reports arrive while a tail is read.
    for index in 0..<16 {
      let delay = generator.duration(below: .milliseconds(40))
      plan(.client(.post), after: .seconds(3 * Int64(index / 4)) + delay)
    }
  }

  // MARK: - The database's promises

  /// Records the epochs that have begun.
  mutating func noteEpochs() {
    for run in database.epochs.dropFirst(counts.epochs) {
      counts.epochs += 1
      if lostRuns.remove(run) == nil { report(.endedEpoch) }
    }
  }

  private mutating func noteLosses(since before: ClusterRows) {
    let after = database.rows
    let lost = before.lanes.filter { lane, written in
      lane.kind == .log && (after.lanes[lane]?.number ?? 0) < written.number
    }
    guard !lost.isEmpty, defect != .acknowledgedBeforeStandby else { return }
    counts.losses += 1
    lostRuns.formUnion(lost.keys.map(\.run))
    lostTexts.formUnion(before.texts.subtracting(after.texts))
    for lane in lost.keys.sorted(by: { $0.run < $1.run }) {
      let n = lane.run / ClusterNode.runs
      let found = after.lanes[lane]?.number ?? 0
      // Only a run that knows its commit can notice that it was lost.
      guard nodes[n].isUp, nodes[n].run == lane.run, nodes[n][.log].rules.committed > found else {
        continue
      }
      losers.append((n, lane.run, after.epoch))
    }
    clients.doubt()
  }

  /// Whether an epoch had to end that ended not.
  var keepsLostEpoch: Bool {
    losers.contains { loser in
      nodes[loser.node].run == loser.run && database.rows.epoch == loser.epoch
    }
  }

  // MARK: - The nodes' promises

  /// Checks that a renewal was confirmed in time, whatever the lease says.
  mutating func checkLease(_ n: Int) {
    let isRecent = nodes[n].renewed.map { $0.duration(to: now) <= NodeLease.trust } ?? false
    if !isRecent { report(.readWithoutLease) }
  }

  /// Checks that the memory of at most one node answers for the role. It may do so for half a
  /// second after a pause.
  private mutating func checkRole() {
    let holders = nodes.filter { node in
      node.isUp && !node.isPaused && node.reported.hasRole
        && node.resumed.duration(to: now) > .milliseconds(500)
    }
    counts.holders.formUnion(holders.map(\.index))
    // The loss of commits can take the role away from a node.
    if holders.count > 1, counts.losses == 0 { report(.twoHolders) }
  }

  private mutating func checkEnd() {
    checkListeners()
    checkLog()
    var holders: [Int: Int] = [:]
    for fact in database.rows.facts {
      if fact.run != fact.holder { report(.formerHolder) }
      if holders.updateValue(fact.run, forKey: fact.term) ?? fact.run != fact.run {
        report(.sharedTerm)
      }
    }
    counts.facts = database.rows.facts.count
    if keepsLostEpoch { report(.keptEpoch) }
    for n in nodes.indices where !hasLease(n) { report(.noLease) }
  }
}

/// An event of a cluster.
enum ClusterEvent: Sendable {
  case node(Int, Int, ClusterNodeEvent)
  case server(ClusterCall)
  case client(ClusterClientEvent)
  case fault
  case heal(ClusterHeal)
  case calm
  case phase(ClusterPhase)
  case verify(ShopPosition, ShopID, within: Duration)
}

/// The end of a fault.
enum ClusterHeal: Sendable {
  case pause(Int, run: Int)
  case node(Int)
  case bus(Int)
  /// The connections of a node to the database.
  case line(Int)
  case database
  case promotion
  case formerPrimary(Int)
  case endOfFormer(Int)
}

/// A part of the time after the faults.
enum ClusterPhase: Sendable, CaseIterable {
  /// All reports arrive.
  case prompt
  /// No reports arrive.
  case alone
  case end
}

/// The counts of events in a run.
package struct ClusterCounts: Sendable, Hashable {
  package var events = 0
  package var acknowledged = 0
  package var delivered = 0
  package var reads = 0
  package var pauses = 0
  package var failovers = 0
  package var losses = 0
  package var epochs = 0
  package var facts = 0
  /// The nodes that had the role.
  package var holders: Set<Int> = []
}
