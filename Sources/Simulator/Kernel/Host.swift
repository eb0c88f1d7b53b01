import LinkCore

/// The part of a host that every world needs: a process, a clock, a disk and a network uplink.
struct Host<Feature: SimulatedFeature> {
  let id: HostID
  var process = Process.dead
  /// The number of the present run of the process, from 1. Scheduled events of an earlier run are
  /// dropped.
  var run = 0
  var conditions: Conditions
  /// The device state that was reported to the app in this run.
  var reported = ReportedState()
  /// The moment of the next kill, if one is due.
  var pendingKill: PendingKill?
  /// Scheduled events of the disk that arrived while the process was suspended.
  var held: [Feature.ScheduledEvent] = []
  /// The time for which the process was suspended, for clocks that stop meanwhile.
  var slept = Duration.zero
  var suspendedAt = Instant.zero
  /// The offset by which the wall clock was set.
  var wallOffset = Duration.zero
  /// The number of disk calls, and of other calls that a scheduled event will answer.
  var calls = 0
  /// Changes that the disk is writing. A kill falls before or after each becomes durable.
  var writing: [(number: UInt64, scheduled: Feature.ScheduledEvent)] = []
  /// The indices of planned events that keep the process down.
  var downs: [Int] = []
  /// The indices of planned events for which the system suspends the process.
  var suspending: [Int] = []
  /// The time until which the system lets the process run although it would suspend it.
  var runsUntil = Instant.zero
  /// The indices of sleeps that the device reported.
  var dozing: [Int] = []
  /// The index of the deploy whose drain is under way.
  var draining: Int?
  /// Whether the host has credentials, as far as it can tell.
  var isSignedIn = true
  /// The host's access to the network.
  var network = Uplink()
  var generator: RandomSource

  init(_ id: HostID, networkConditions: NetworkConditions, generator: RandomSource) {
    self.id = id
    self.generator = generator
    conditions = Conditions(networkConditions)
  }

  var isRunning: Bool { process == .running }

  enum Process {
    case running, suspended, dead
  }

  /// The moment at which a kill takes effect.
  enum PendingKill {
    /// Between two effects of the next step.
    case step
    /// After a change became durable and before the process receives the result.
    case durable
  }

  /// The device state that was reported to an app.
  struct ReportedState {
    var lifecycle: Lifecycle?
    var reachability: Reachability?

    var isReachable: Bool {
      if case .reachable? = reachability { true } else { false }
    }
  }
}

/// A host's access to the network.
struct Uplink {
  /// The number of the current network path; a handover increments it.
  var path = 1
  /// Whether the pooled connections died silently. The pool is dropped when the device reports a
  /// change, and when a socket was closed for silence.
  var poolIsDead = false
  var lastRequest = Instant.zero
  /// The time until which nothing passes. Bytes sent on a connection meanwhile are delayed.
  var holeUntil = Instant.zero
  /// The time at which all bytes sent so far have left, where bandwidth is narrow.
  var upFree = Instant.zero
  var downFree = Instant.zero
}

/// The kind of a host of a world.
public enum HostKind: String, Sendable, Hashable, CaseIterable {
  /// A device with an app whose link is under test.
  case phone
  /// A server.
  case backend
  /// A program that sends requests to a backend, such as an assistant.
  case client
  /// A peripheral in radio range, such as a bottle.
  case peripheral
  /// A phone's operating system, which survives kills of the app.
  case system
}

/// The identity of one host of a world.
public struct HostID: Sendable, Hashable, Comparable {
  /// The kind of the host.
  public let kind: HostKind
  /// The number among the hosts of its kind, from 0.
  public let index: Int
  /// The index among all hosts of the world.
  let slot: Int

  /// The first phone of every world.
  public static let phone = HostID(kind: .phone, index: 0, slot: 0)

  public static func < (left: HostID, right: HostID) -> Bool { left.slot < right.slot }
}
