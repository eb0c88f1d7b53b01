import HoldfastCore
import HoldfastLinkChecks
import HoldfastMessageData
import HoldfastMessageServer
import HoldfastServerData
import HoldfastServerParts
import HoldfastWorldKernel

/// A node of a cluster: the machines of the product, and the state of its lanes.
struct ClusterNode {
  /// The factor between the number of a node and that of its runs.
  static let runs = 1_000

  let index: Int
  /// The number of the run, which contains that of the node.
  var run: Int
  var rules: ShopServer
  var lease = NodeLease()
  /// The highest timeline of a server that was used.
  var timeline: Int64 = 0
  var changedServer: Instant?
  var roleTerm: Int?
  /// The lease and the role of which the rules and the services have been informed.
  var reported: (hasLease: Bool, hasRole: Bool) = (false, false)
  /// The number of attempts to run transactions, in all lanes.
  var attempts: Int64 = 0
  var lanes: [ClusterLane]
  var isUp = true
  /// Whether the process is paused, and the events that it has not seen.
  var isPaused = false
  var held: [ClusterNodeEvent] = []
  var resumed = Instant.zero
  /// The time at which the newest confirmed renewal was sent.
  var renewed: Instant?
  /// The difference of its wall clock.
  var clock: Duration
  /// The next planned call of the rules.
  var wake: Instant?
  var isReachedByBus = true
  var reachesDatabase = true

  init(_ index: Int, policy: ShopServerPolicy, seed: UInt64, clock: Duration, at now: Instant) {
    (self.index, run, self.clock) = (index, index * Self.runs, clock)
    rules = ShopServer(policy: policy, seed: seed, at: now)
    lanes = ClusterLaneKind.allCases.map { ClusterLane(kind: $0) }
  }

  /// Begins a new run of the process, which remembers nothing.
  func restarted(policy: ShopServerPolicy, seed: UInt64, at now: Instant) -> ClusterNode {
    var node = ClusterNode(index, policy: policy, seed: seed, clock: clock, at: now)
    node.run = run + 1
    (node.isReachedByBus, node.reachesDatabase) = (isReachedByBus, reachesDatabase)
    return node
  }
}

/// An event at a node.
enum ClusterNodeEvent: Sendable {
  case input(ShopServer.Input)
  case reply(ClusterCall, ClusterReply)
  /// Another attempt of a lane.
  case retry(ClusterLaneKind)
  /// The time of the rules' deadline.
  case wake
  /// The time of a renewal.
  case renew
  /// The time at which changes of the lease and the role are noticed.
  case watch
}

/// The attempts of one connection to the database, as in the adapter.
struct ClusterLane {
  /// A request of the node.
  enum Job: Sendable {
    case renewal
    case posts([(token: StoreToken, entry: LogEntry)])
    case read(StoreToken, ClusterRead)
    /// A look for lost commits.
    case check
    case fact
  }

  /// The step of the lane, which waits for its end.
  enum Step: Sendable {
    case idle, choosing, renewing, comparing, beginningEpoch, working
    /// The pause before another attempt.
    case resting
    /// The lane of pages waits until the lane of posts has looked for lost commits.
    case checking
  }

  let kind: ClusterLaneKind
  var jobs: [Job] = []
  var current: Job?
  var rules = LaneRules()
  var step = Step.idle
  /// The request without an answer, and the time at which it was sent by the clock of the lease.
  var call: UInt64?
  var sent = Instant.zero
  var connection: (server: Int, timeline: Int64)?
  /// The timeline on which the lane of posts has found its newest transaction.
  var confirmed: Int64 = 0

  init(kind: ClusterLaneKind) { self.kind = kind }

  /// The time for which a job is repeated.
  var patience: Duration {
    switch kind {
    case .keeper: .zero
    case .log, .role: .seconds(30)
    case .pages: .seconds(10)
    }
  }
}
