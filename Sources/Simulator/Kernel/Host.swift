import LinkCore

/// The part of a host that every world needs: a process, a clock, a disk and a way to the network.
struct Host<Feature: SimulatedFeature> {
  let id: HostID
  var process = Process.dead
  /// The number of the present run of the process, from 1. Cues of an earlier run are dropped.
  var run = 0
  var conditions: Conditions
  /// What its app was told of the device in this run.
  var told = Told()
  /// How the next kill falls, while one is due.
  var doom: Doom?
  /// Cues of the disk that came while the process was suspended.
  var held: [Feature.Cue] = []
  /// The time that the process was suspended, for clocks that stop meanwhile.
  var slept = Duration.zero
  var suspendedAt = Instant.zero
  /// How far the wall clock was set.
  var wallOffset = Duration.zero
  /// Calls of the disk, and others that will be answered by a cue.
  var calls = 0
  /// Changes that the disk is writing; a kill falls before or after each is durable.
  var writing: [(number: UInt64, cue: Feature.Cue)] = []
  /// Acts that keep the process down.
  var downs: [Int] = []
  /// Acts for which the system suspends the process.
  var suspending: [Int] = []
  /// Until when the system lets the process run although it would suspend it.
  var runsUntil = Instant.zero
  /// Sleeps that the device announced.
  var dozing: [Int] = []
  /// The deploy whose drain is under way.
  var draining: Int?
  /// Whether credentials are there, as far as the host knows.
  var isSignedIn = true
  /// The network as this host sees it.
  var network = Uplink()
  var chance: Chance

  init(_ id: HostID, weather: NetworkWeather, chance: Chance) {
    self.id = id
    self.chance = chance
    conditions = Conditions(weather)
  }

  var isRunning: Bool { process == .running }

  enum Process {
    case running, suspended, dead
  }

  /// How a kill falls.
  enum Doom {
    /// Between two effects of the next step.
    case step
    /// After a change became durable, and before the process is told.
    case durable
  }

  /// What an app was told of its device.
  struct Told {
    var lifecycle: Lifecycle?
    var reachability: Reachability?

    var isReachable: Bool {
      if case .reachable? = reachability { true } else { false }
    }
  }
}

/// A host's way to the network.
struct Uplink {
  /// Counts the ways out of the device.
  var path = 1
  /// Connections that are kept for the next request died silently. They are dropped when the
  /// device reports a change, and when silence ended a socket.
  var poolIsDead = false
  var lastRequest = Instant.zero
  /// Until when nothing passes; what is sent on a line meanwhile is delayed.
  var holeUntil = Instant.zero
  /// When all that is sent so far has left, where bandwidth is narrow.
  var upFree = Instant.zero
  var downFree = Instant.zero
}

/// What a host of a world is.
public enum HostKind: String, Sendable, Hashable, CaseIterable {
  /// A device with an app whose link is under test.
  case phone
  /// A server.
  case backend
  /// A program that asks a backend, such as an assistant.
  case client
  /// A peripheral in radio range, such as a bottle.
  case peripheral
  /// A phone's operating system: it survives kills of the app.
  case system
}

/// The name of one host of a world.
public struct HostID: Sendable, Hashable, Comparable {
  /// What the host is.
  public let kind: HostKind
  /// Its number among the hosts of its kind, from 0.
  public let index: Int
  /// Its place among all hosts of the world.
  let place: Int

  /// The first phone of every world.
  public static let phone = HostID(kind: .phone, index: 0, place: 0)

  public static func < (left: HostID, right: HostID) -> Bool { left.place < right.place }
}
