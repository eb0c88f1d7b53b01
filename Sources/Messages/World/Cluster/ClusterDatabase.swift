import HoldfastCore
import HoldfastLinkChecks
import HoldfastMessageChecks
import HoldfastMessageData
import HoldfastMessageServer
import HoldfastServerData
import HoldfastWorldKernel

/// A lane of a node: a connection to the database with a queue of its own.
enum ClusterLaneKind: Int, Sendable, CaseIterable {
  /// The renewal of the lease.
  case keeper
  /// Posts.
  case log
  /// Pages and heads.
  case pages
  /// The facts that the holder of the role commits.
  case role
}

/// A request to a server of the database.
struct ClusterCall: Sendable {
  enum Request: Sendable {
    /// The timeline of the server.
    case state
    /// A renewal of the lease.
    case renew(claims: Bool, mayTakeRole: Bool)
    /// The number of the newest transaction of the lane.
    case newest
    case read(ClusterRead)
    /// A transaction. If one of the lane has at least the number `known`, that is the answer.
    case write(number: Int64, known: Int64?, ClusterTransaction)
  }

  var number: UInt64
  var node: Int
  var run: Int
  var lane: ClusterLaneKind
  var server: Int
  var request: Request
  /// The time at which the node has sent it.
  var sent: Instant

  var commits: Bool {
    switch request {
    case .renew, .write: true
    case .state, .newest, .read: false
    }
  }
}

/// A question of the rules to the log.
enum ClusterRead: Sendable {
  case head(ShopID)
  case heads([ShopID])
  case page(ShopID, PageQuery)
  /// The events after the head of a room.
  case tail(ShopID, PageQuery)
}

/// The content of a transaction.
enum ClusterTransaction: Sendable {
  case posts([LogEntry])
  /// A new epoch for a timeline.
  case epoch(Int64)
  /// A fact of the holder of the role.
  case fact
}

/// The answer of a server.
enum ClusterReply: Sendable {
  /// The connection has ended.
  case broken
  case state(server: Int, timeline: Int64)
  /// The lease was renewed. The term is `nil` if another run has the role.
  case renewed(term: Int?)
  case newest(Int64)
  case page(ShopServer.StoreAnswer)
  case written([Result<LogOutcome, StoreFailure>])
  /// The outcome of an earlier attempt, with its number.
  case known(number: Int64, [Result<LogOutcome, StoreFailure>])
  case leaseEnded
  case roleLost
  case superseded
}

/// The rows of a database, as a value.
struct ClusterRows {
  struct Written {
    var number: Int64
    var outcome: [Result<LogOutcome, StoreFailure>]
  }

  struct Fact: Hashable {
    var run: Int
    /// The term of the role at the commit.
    var term: Int
    /// The run that had the role at the commit.
    var holder: Int?
  }

  struct Lane: Hashable {
    var run: Int
    var kind: ClusterLaneKind
  }

  var epoch = "e0"
  var epochTimeline: Int64 = 0
  private var logs: [ShopID: StoredLog] = [:]
  var lanes: [Lane: Written] = [:]
  var leases: [Int: Timestamp] = [:]
  var role: (run: Int?, term: Int) = (nil, 0)
  var facts: [Fact] = []

  func log(_ shop: ShopID) -> StoredLog { logs[shop] ?? StoredLog(epoch: epoch) }

  /// The texts of all messages.
  var texts: Set<String> { Set(logs.values.flatMap { $0.messages.map(\.text) }) }

  mutating func begin(epoch: String, of timeline: Int64) {
    (self.epoch, epochTimeline) = (epoch, timeline)
    for shop in logs.keys.sorted() { logs[shop]?.begin(epoch: epoch, keeping: .max) }
  }

  mutating func post(_ entry: LogEntry, stamps: Bool) -> Result<LogOutcome, StoreFailure> {
    var entry = entry
    let shop = entry.message.shop
    if stamps, let last = log(shop).messages.last?.createdAt {
      entry.message.createdAt = max(entry.message.createdAt, last.advanced(by: .microseconds(1)))
    }
    return logs[shop, default: StoredLog(epoch: epoch)].append(.post(entry))
  }

  func answer(_ read: ClusterRead) -> ShopServer.StoreAnswer {
    switch read {
    case .head(let shop): .head(log(shop).head, newest: log(shop).messages.last?.createdAt)
    case .heads(let shops): .heads(shops.map { log($0).head })
    case .page(let shop, let query), .tail(let shop, let query):
      .page(log(shop).page(query), total: 0)
    }
  }
}

/// The servers of a database: the primary with its copy, and former primaries, as a value.
///
/// The copy of a synchronous standby has each commit that was confirmed. The operator's tool ends a
/// primary before it promotes the copy.
struct ClusterDatabase {
  struct Server {
    var rows: ClusterRows
    var timeline: Int64
    /// The difference of its wall clock.
    var clock: Duration
    var isUp = true
    /// Whether commits return. They do not at a former primary, whose standby is gone.
    var hasStandby = true
  }

  let isSynchronous: Bool
  let defect: ClusterDefect?
  private(set) var servers: [Server]
  /// The primary, or the last one.
  private(set) var primary = 0
  /// The rows of the standby.
  private var copy = ClusterRows()
  /// Whether commits wait for the standby.
  var commitsHang = false
  /// Whether the primary answers nothing.
  var isFrozen = false
  /// Requests whose answers wait, and whether their transactions have begun.
  private var waiting: [(call: ClusterCall, isBegun: Bool)] = []
  /// The runs that have begun an epoch, in order.
  private(set) var epochs: [Int] = []

  init(isSynchronous: Bool, defect: ClusterDefect?) {
    (self.isSynchronous, self.defect) = (isSynchronous, defect)
    servers = [Server(rows: ClusterRows(), timeline: 1, clock: .zero)]
  }

  var rows: ClusterRows { servers[primary].rows }

  /// Carries a request out. Returns `nil` if the answer waits.
  mutating func take(
    _ call: ClusterCall, at now: Instant, _ draw: inout RandomSource
  ) -> ClusterReply? {
    guard servers[call.server].isUp else { return .broken }
    if call.server == primary, isFrozen {
      waiting.append((call, false))
      return nil
    }
    if let refusal = refusal(call, at: now) { return refusal }
    guard call.commits else { return answer(call) }
    guard servers[call.server].hasStandby else { return nil }
    guard !commitsHang else {
      waiting.append((decided(call, at: now), true))
      return nil
    }
    return commit(decided(call, at: now), at: now, &draw)
  }

  /// Answers what waits.
  mutating func release(
    at now: Instant, _ draw: inout RandomSource
  ) -> [(ClusterCall, ClusterReply)] {
    (commitsHang, isFrozen) = (false, false)
    let all = waiting
    waiting = []
    return all.compactMap { call, isBegun in
      let reply = isBegun ? commit(call, at: now, &draw) : take(call, at: now, &draw)
      return reply.map { (call, $0) }
    }
  }

  /// Ends the primary. What waits has reached the standby in part.
  mutating func kill(at now: Instant, _ draw: inout RandomSource) {
    servers[primary].isUp = false
    if isSynchronous {
      let former = servers[primary].rows
      let reached = waiting.prefix(Int.random(in: 0...waiting.count, using: &draw))
      for (call, isBegun) in reached where isBegun { _ = commit(call, at: now, &draw) }
      // These commits were not confirmed, so the former primary does not show them.
      servers[primary].rows = former
    }
    (waiting, commitsHang, isFrozen) = ([], false, false)
  }

  /// Promotes the standby, which gets a standby of its own.
  mutating func promote(clock: Duration) {
    servers.append(
      Server(rows: copy, timeline: servers[primary].timeline + 1, clock: clock))
    primary = servers.count - 1
  }

  /// Starts a former primary again, without a standby.
  mutating func revive(_ server: Int) {
    var former = servers[server]
    (former.isUp, former.hasStandby) = (true, false)
    servers.append(former)
  }

  /// Ends a former primary.
  mutating func end(_ server: Int) { servers[server].isUp = false }

  /// The server with the highest timeline among those that answer.
  func chosen(atRandom draw: inout RandomSource, isAny: Bool) -> (Int, Int64)? {
    let up = servers.indices.filter { servers[$0].isUp && !($0 == primary && isFrozen) }
    let best =
      isAny
      ? up.randomElement(using: &draw) : up.max { servers[$0].timeline < servers[$1].timeline }
    return best.map { ($0, servers[$0].timeline) }
  }

  // MARK: - Statements

  /// Refuses a transaction of a run without a lease.
  private func refusal(_ call: ClusterCall, at now: Instant) -> ClusterReply? {
    guard call.commits else { return nil }
    let server = servers[call.server]
    if case .renew = call.request {
      // The keeper registers the run, unless a later one of the same node is registered.
      let known = server.rows.leases.keys.filter { $0 / ClusterNode.runs == call.node }.max()
      return call.run == known || call.lane == .keeper && call.run > known ?? -1 ? nil : .broken
    }
    let isValid = server.rows.leases[call.run].map { $0 > clock(of: server, at: now) } ?? false
    return isValid ? nil : .leaseEnded
  }

  private func clock(of server: Server, at now: Instant) -> Timestamp {
    Timestamp(nanoseconds: now.nanoseconds).advanced(by: server.clock)
  }

  /// Decides at its begin whether a renewal may take the role.
  private func decided(_ call: ClusterCall, at now: Instant) -> ClusterCall {
    guard case .renew(claims: true, let mayTake) = call.request else { return call }
    var call = call
    let server = servers[call.server]
    // A transaction that uses the role, or takes it, holds its lock.
    let isUsed = waiting.contains { $0.isBegun && uses($0.call, roleOf: server.rows.role.run) }
    let isFree =
      server.rows.role.run.map { holder in
        let lease = holder / ClusterNode.runs == call.node ? nil : server.rows.leases[holder]
        return lease.map { mayTake && $0 <= clock(of: server, at: now) } ?? true
      } ?? true
    call.request = .renew(claims: true, mayTakeRole: isFree && !isUsed)
    return call
  }

  private func uses(_ call: ClusterCall, roleOf holder: Int?) -> Bool {
    if case .renew(claims: true, mayTakeRole: true) = call.request { return true }
    return call.run == holder && (call.lane == .role || call.lane == .keeper)
  }

  private func answer(_ call: ClusterCall) -> ClusterReply {
    let server = servers[call.server]
    switch call.request {
    case .state, .renew, .write: return .state(server: call.server, timeline: server.timeline)
    case .newest: return .newest(server.rows.lanes[call.key]?.number ?? 0)
    case .read(let read): return .page(server.rows.answer(read))
    }
  }

  /// Commits at the primary.
  private mutating func commit(
    _ call: ClusterCall, at now: Instant, _ draw: inout RandomSource
  ) -> ClusterReply {
    let reply: ClusterReply
    switch call.request {
    case .renew(let claims, let mayTake): reply = renew(call, claims, mayTake, at: now)
    case .write(let number, let known, let content):
      reply = write(call, number, known: known, content)
    case .state, .newest, .read: return .broken
    }
    // The commits of a primary without a synchronous standby reach it later.
    if isSynchronous || Bool.random(using: &draw) { copy = servers[primary].rows }
    return reply
  }

  private mutating func renew(
    _ call: ClusterCall, _ claims: Bool, _ mayTake: Bool, at now: Instant
  ) -> ClusterReply {
    var rows = servers[primary].rows
    rows.leases[call.run] = clock(of: servers[primary], at: call.sent).advanced(by: NodeLease.term)
    for former in rows.leases.keys
    where former / ClusterNode.runs == call.node && former < call.run {
      rows.leases[former] = nil
    }
    if claims, mayTake, rows.role.run != call.run {
      rows.role.run = call.run
      if defect != .claimWithoutNewTerm { rows.role.term += 1 }
    }
    servers[primary].rows = rows
    return .renewed(term: rows.role.run == call.run ? rows.role.term : nil)
  }

  private mutating func write(
    _ call: ClusterCall, _ number: Int64, known: Int64?, _ content: ClusterTransaction
  ) -> ClusterReply {
    var rows = servers[primary].rows
    if call.lane == .role, rows.role.run != call.run, defect != .termNotChecked {
      return .roleLost
    }
    if let written = rows.lanes[call.key] {
      if written.number >= number { return .superseded }
      if let known, written.number >= known {
        return .known(number: written.number, replayed(written.outcome, rows.epoch))
      }
    }
    var outcome: [Result<LogOutcome, StoreFailure>] = []
    switch content {
    case .posts(let entries):
      outcome = entries.map { rows.post($0, stamps: defect != .stampedByNode) }
    case .epoch(let timeline):
      if rows.epochTimeline != timeline {
        epochs.append(call.run)
        rows.begin(epoch: "e\(epochs.count)", of: timeline)
      }
    case .fact:
      rows.facts.append(
        ClusterRows.Fact(run: call.run, term: rows.role.term, holder: rows.role.run))
    }
    rows.lanes[call.key] = ClusterRows.Written(number: number, outcome: outcome)
    servers[primary].rows = rows
    return .written(outcome)
  }

  /// Returns the results of a transaction with the present epoch.
  private func replayed(
    _ outcome: [Result<LogOutcome, StoreFailure>], _ epoch: String
  ) -> [Result<LogOutcome, StoreFailure>] {
    outcome.map { result in
      result.map { outcome in
        guard case .posted(var message, let isNew) = outcome else { return outcome }
        message.position?.epoch = epoch
        return .posted(message, isNew: isNew)
      }
    }
  }
}

extension ClusterCall {
  fileprivate var key: ClusterRows.Lane { ClusterRows.Lane(run: run, kind: lane) }
}
