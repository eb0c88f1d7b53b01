public import HoldfastCore
import HoldfastLinkChecks

/// The state of a host that every world needs: a process, a clock, a disk and a network uplink.
public struct Host<Feature: SimulatedFeature> {
  let id: HostID
  /// Whether the process runs.
  public var process = Process.dead
  /// The number of the current run of the process, from 1. Scheduled events of earlier runs are
  /// dropped.
  public var run = 0
  /// The faults in effect.
  public var conditions: Conditions
  /// The device state that was reported to the app in this run.
  public var reported = ReportedState()
  /// The moment at which a pending kill takes effect; `nil` if no kill is pending.
  public var pendingKill: PendingKill?
  /// Events from the disk that arrived while the process was suspended.
  var held: [Feature.ScheduledEvent] = []
  /// The total time for which the process was suspended. Some clocks stop during suspension.
  var slept = Duration.zero
  var suspendedAt = Instant.zero
  /// The offset of the wall clock after it was set.
  public var wallOffset = Duration.zero
  /// The number of pending calls, to the disk or elsewhere, that a scheduled event will answer.
  public var calls = 0
  /// Changes that the disk is writing. A kill comes before or after a change becomes durable, but
  /// not in between.
  public var writing: [(number: UInt64, scheduled: Feature.ScheduledEvent)] = []
  /// The indices of planned events that prevent the process from running.
  public var downs: [Int] = []
  /// The indices of planned events for which the system suspends the process.
  public var suspending: [Int] = []
  /// The time until which the system lets the process run before it suspends the process again.
  var runsUntil = Instant.zero
  /// The indices of sleep events that the device has reported.
  public var dozing: [Int] = []
  /// The index of the deploy event whose drain is in progress.
  public var draining: Int?
  /// Whether the host has credentials, as far as it knows.
  public var isSignedIn = true
  /// The host's access to the network.
  public var network = Uplink()
  /// The random source of the host.
  public var generator: RandomSource

  init(_ id: HostID, networkConditions: NetworkConditions, generator: RandomSource) {
    self.id = id
    self.generator = generator
    conditions = Conditions(networkConditions)
  }

  public var isRunning: Bool { process == .running }

  /// The states of a process.
  public enum Process {
    case running, suspended, dead
  }

  /// The moment at which a kill takes effect.
  public enum PendingKill {
    /// Between two effects of the next step.
    case step
    /// After a change has become durable, and before the process receives the result.
    case durable
  }

  /// The device state that was reported to an app.
  public struct ReportedState {
    /// The lifecycle state; `nil` before the first report.
    public var lifecycle: AppLifecycle?
    var reachability: Reachability?

    var isReachable: Bool {
      if case .reachable? = reachability { true } else { false }
    }
  }
}

/// A host's access to the network.
public struct Uplink {
  /// The number of the current network path; a handover increments it.
  var path = 1
  /// Whether the pooled connections have died silently. The pool is dropped when the device reports
  /// a network change, or when a socket is closed because the server is silent.
  var poolIsDead = false
  var lastRequest = Instant.zero
  /// The time until which nothing passes. Bytes sent on a connection in the meantime are delayed.
  var holeUntil = Instant.zero
  /// The time at which all bytes sent so far have left, if bandwidth is limited.
  public var upFree = Instant.zero
  /// The same for the bytes that are received.
  public var downFree = Instant.zero
}
