public import HoldfastCore
public import HoldfastLinkChecks

/// A connection attempt of a phone, and both ends of the socket that it opens.
public struct Line<Feature: SimulatedFeature> {
  /// The number of the line, which no other traffic has.
  public let number: TrafficID
  /// The phone.
  public let from: HostID
  /// The run of the phone's process.
  public let run: Int
  let to: HostID
  /// The attempt of the phone's link.
  public let attempt: AttemptID
  /// The content of the phone's upgrade request.
  let hello: Feature.Hello
  /// Whether the phone still uses the socket. If true, the phone has neither closed it nor received
  /// its end.
  public var phoneHolds = true
  /// Whether the server still uses the socket.
  public var serverHolds = false
  /// Whether the upgrade request was delayed in transit.
  var isHeldUp = false
  /// The time since which nothing passes, although neither end was notified; `nil` if the line is
  /// not dead.
  var deadSince: Instant?
  /// Whether the server has accepted the upgrade.
  public var isOpen = false
  /// The time at which the last bytes sent to the phone arrive.
  public var downFree = Instant.zero
  /// The time at which the last bytes sent to the server arrive.
  public var upFree = Instant.zero
  var lastUsed: Instant

  /// Whether nothing passes, although neither end was notified.
  public var isDead: Bool { deadSince != nil }
}

/// An arrival at the phone's end of a line.
public enum Down<Packet: Sendable> {
  /// The server accepted the upgrade, and its response contained this packet.
  case opened(Packet)
  case packet(Packet)
  case ping
  case pong(UInt64)
  /// A message above the size limit, which was dropped unread.
  case oversized(bytes: UInt64)
  case failed(LinkFailure)
}

/// A request that awaits its response.
public struct Exchange<Feature: SimulatedFeature> {
  /// The number of the request, which no other traffic has.
  public let number: TrafficID
  /// The host that sent the request.
  public let from: HostID
  /// The run of its process.
  public let run: Int
  let to: HostID
  /// The content of the request.
  public var question: Feature.Question
  /// The caller's time-out.
  let timeLimit: Duration
  /// The time at which the request, or its repetition, was sent.
  var began: Instant
  /// Whether the request was repeated with newer credentials.
  var isSecond = false
  /// Whether the caller has stopped waiting. The server may still carry out the request.
  public var isAbandoned = false
}

/// A response in transit to the caller.
public struct Arrival<Feature: SimulatedFeature> {
  /// The number of the request.
  public let number: TrafficID
  /// The host that sent the request.
  public let from: HostID
  /// The run of its process.
  public let run: Int
  /// The content of the request.
  public let question: Feature.Question
  let result: Result<Feature.Reply, LinkFailure>
}

/// A scheduled event of a world.
public enum KernelEvent<Feature: SimulatedFeature> {
  // The plan.
  case begins(Int)
  case ends(Int)
  /// The system suspends a process because of a planned event.
  case suspends(Int, HostID)
  /// A pending kill takes effect because no step occurred that it could interrupt.
  case dies(HostID, run: Int)

  // Lines.
  case upgradeArrives(TrafficID)
  /// Bytes from the phone arrive at the server. The server answers a ping.
  case up(TrafficID, Feature.Packet?, ping: UInt64?)
  case hungUp(TrafficID, code: UInt16)
  case down(TrafficID, Down<Feature.Packet>)
  /// The phone's system reports the end of a socket.
  case breaks(TrafficID, LinkFailure)
  /// A late callback of the phone's system reports the end of a socket that the phone itself
  /// closed.
  case echoes(HostID, run: Int, AttemptID, LinkFailure)

  // Exchanges.
  case requestArrives(TrafficID)
  case answerArrives(Arrival<Feature>, isCopy: Bool)
  case requestExpires(TrafficID)

  // Disks and scheduled events.
  /// A change becomes durable, unless the process that wrote it has ended.
  case durable(HostID, UInt64)
  /// The answer to a process's call. It is held while the process is suspended, and dropped if its
  /// run has ended.
  case answers(HostID, run: Int, Feature.ScheduledEvent)
  /// A scheduled event for a run of a host, or for the world if the host is `nil`.
  case scheduled(HostID?, run: Int, Feature.ScheduledEvent)
}
