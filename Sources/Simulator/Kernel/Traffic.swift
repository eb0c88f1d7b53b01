import LinkCore

/// The name of a line or an exchange of a world; used once.
public typealias TrafficID = UInt64

/// One dial of a phone and the socket that comes of it, both ends.
struct Line<Feature: SimulatedFeature> {
  let number: TrafficID
  let from: HostID
  let run: Int
  let to: HostID
  let attempt: AttemptID
  /// What the phone says with its upgrade request.
  let hello: Feature.Hello
  /// The phone has neither closed it nor been told of its end.
  var phoneHolds = true
  var serverHolds = false
  /// Its upgrade request was held up on the way.
  var isHeldUp = false
  /// When nothing passed any more, and neither end was told.
  var deadSince: Instant?
  var isOpen = false
  /// When the last of what was sent down arrives.
  var downFree = Instant.zero
  var upFree = Instant.zero
  var lastUsed: Instant

  var isDead: Bool { deadSince != nil }
}

/// What arrives at the phone's end of a line.
enum Down<Packet: Sendable> {
  /// The upgrade was accepted, and this came with it.
  case opened(Packet)
  case packet(Packet)
  case ping
  case pong(UInt64)
  /// A message above the limit, dropped unread.
  case oversized(bytes: UInt64)
  case failed(LinkFailure)
}

/// A request that will still be answered.
struct Exchange<Feature: SimulatedFeature> {
  let number: TrafficID
  let from: HostID
  let run: Int
  let to: HostID
  var question: Feature.Question
  /// How long the asking end waits.
  let patience: Duration
  /// When the request, or its repetition, was sent.
  var began: Instant
  /// It was repeated with newer credentials.
  var isSecond = false
  /// The asking end waits no longer; the server may still do what was asked.
  var isAbandoned = false
}

/// An answer on its way back.
struct Arrival<Feature: SimulatedFeature> {
  let number: TrafficID
  let from: HostID
  let run: Int
  let question: Feature.Question
  let result: Result<Feature.Reply, LinkFailure>
}

/// A future event of a world.
enum KernelEvent<Feature: SimulatedFeature> {
  // The plan.
  case begins(Int)
  case ends(Int)
  /// The system suspends a process for an act.
  case suspends(Int, HostID)
  /// A kill that found no step to fall into.
  case dies(HostID, run: Int)

  // Lines.
  case upgradeArrives(TrafficID)
  /// Bytes of the phone arrive at the server; a ping is answered.
  case up(TrafficID, Feature.Packet?, ping: UInt64?)
  case hungUp(TrafficID, code: UInt16)
  case down(TrafficID, Down<Feature.Packet>)
  /// The phone's system reports the end of a socket.
  case breaks(TrafficID, LinkFailure)
  /// It reports the end of a socket that the phone closed itself, as late callbacks do.
  case echoes(HostID, run: Int, AttemptID, LinkFailure)

  // Exchanges.
  case requestArrives(TrafficID)
  case answerArrives(Arrival<Feature>, isCopy: Bool)
  case requestExpires(TrafficID)

  // Disks and cues.
  /// A change becomes durable, unless the process that wrote it has ended.
  case durable(HostID, UInt64)
  /// An answer for a process; held while it is suspended, dropped when its run is over.
  case answers(HostID, run: Int, Feature.Cue)
  /// A cue for a run of a host, or for the world where there is none.
  case cue(HostID?, run: Int, Feature.Cue)
}
