public import HeldSocket
public import LinkCore

/// HeldSocket in a world: one phone, its user, and a server of a protocol that is none of ours.
///
/// The server confirms a greeting, then sends numbered messages from behind the position that the
/// phone resumes at, and takes what the user says.
public enum HeldFeature: SimulatedFeature {
  /// The model of a held socket.
  public typealias Model = SocketModel
  /// What can happen beside the verbs of the kernel.
  public typealias Verb = HeldVerb
  /// Its plans fix nothing but the weather.
  public typealias Numbers = NoNumbers
  /// There is one kind of server.
  public typealias Server = OneServer
  /// Its deliberate defects.
  public typealias Defect = HeldDefect
  /// The checkers of its own promises.
  public typealias Checkers = HeldCheckers
  /// What it counts.
  public typealias Tally = HeldTally
  /// What the phone says with its upgrade request.
  public typealias Hello = HeldHello
  /// There are no exchanges.
  public typealias Question = Int
  /// There are no exchanges.
  public typealias Reply = Int
  /// What only it knows to have happened.
  public typealias Fact = HeldFact
  /// What its checkers see of the phone.
  public typealias State = HeldState

  /// A message in either direction, in the words of the server's protocol.
  public enum Packet: Sendable, Equatable {
    case opened
    case hello
    case welcome
    case after(Int)
    case numbered(Int)
    case said(Int)
  }

  /// The server's next message of a run of them.
  public enum Cue: Sendable {
    case feeds(left: Int)
  }

  public static var name: String { "held-socket" }
  public static var summary: String { "play many lives of a socket that is held" }
  public static var details: [String] {
    [
      """
      A server of another protocol greets, feeds numbered messages and takes what the user says, \
      over a socket that is held by the real model. Checkers watch that nothing is lost, shown or \
      sent twice, or out of order, and that the greeting is first.
      """
    ]
  }
  public static var policy: LinkPolicy { .socket }
  public static var kinds: [Finding.Kind] {
    [
      .lost, .duplicated, .reordered, .unannounced, .stuck, .storm, .falselyConnected, .late,
      .unbounded, .unhealed,
    ]
  }
  public static var presets: [DayPreset] { [.lift, .deploy, .swarm] }

  public static func play(
    _ plan: Plan, _ setup: RunSetup<HeldFeature>, watch: RunWatch<HeldFeature>?
  ) -> Outcome {
    var world = HeldWorld(plan, setup, watch: watch)
    return world.play()
  }

  public static func draw(_ preset: DayPreset, _ sketch: inout Sketch<HeldFeature>) {
    sketch.scatter(sketch.draw.count(8...16)) { Act(.feed, $0.count(1...20)) }
    sketch.scatter(sketch.draw.count(4...10)) { _ in Act(.say) }
    switch preset {
    case .lift:
      sketch.scatter(sketch.draw.count(8...20)) { Act(.unreachable, for: $0.seconds(3, 45)) }
    case .deploy:
      sketch.scatter(sketch.draw.count(4...9)) { Trouble.down.make(&$0) }
      sketch.scatter(sketch.draw.count(2...5)) { Trouble.close.make(&$0) }
    case .swarm, .train, .cafe, .aeroplane, .captivePortal:
      sketch.swarm(
        [
          .background, .suspend, .sleep, .kill, .cut, .hole, .unreachable, .handover, .portal,
          .narrow, .down, .close, .flap, .status,
        ], times: 12...30)
    }
  }

  public static func isHealed(_ standing: Standing<HeldFeature>) -> Bool {
    standing.own.shown == standing.own.fed
  }

  public static func remains(_ standing: Standing<HeldFeature>) -> String {
    ", \(standing.own.fed - standing.own.shown) to show"
  }

  public static func checkBounds(
    _ standing: Standing<HeldFeature>, _ found: (String, Int, Int) -> Void
  ) {
    let own = standing.own
    if own.queued > ProvenQueue.limit { found("queued", own.queued, ProvenQueue.limit) }
    if own.handed > ProvenQueue.window { found("handed", own.handed, ProvenQueue.window) }
  }

  /// There are no tokens in this world.
  public static func expose(_ effect: Effect, _ look: (String, String) -> Void) {}
}

/// What a phone says with its upgrade request: nothing.
public struct HeldHello: Sendable {}

/// What the world counts.
public enum HeldTally: String, RunTally {
  case fed, shown, said

  public var label: String { "messages \(rawValue)" }
}

/// What only this world knows to have happened.
public enum HeldFact: Sendable, Equatable {
  /// A packet of a phone reached the server over a line.
  case heard(TrafficID, HeldFeature.Packet)
}

/// What the checkers see of a phone beside its link.
public struct HeldState: Sendable {
  /// The newest message that the app has shown, which it keeps as its position.
  var shown = 0
  /// The newest message of the server.
  var fed = 0
  var queued = 0
  var handed = 0
}

/// What can happen in plans beside the kernel's troubles.
public enum HeldVerb: String, PlanVerb {
  /// The server has so many new messages in a row.
  case feed
  /// The user says something.
  case say

  /// The declarations of all verbs.
  public static let forms: [HeldVerb: VerbForm] = [
    .feed: VerbForm(.count(0...10_000), of: .backend) {
      "the server has \(Words.count($0.number, "new message"))"
    },
    .say: VerbForm(isOfPeople: true) { _ in "says something" },
  ]
}

/// A deliberate defect of a held socket.
public enum HeldDefect: String, DeliberateDefect {
  /// Sends no greeting.
  case noGreeting
  /// Sends what it resumes before its greeting.
  case greetsLate
  /// Resumes at the beginning, whatever it noted.
  case forgetsPosition
  /// Drops every seventh message.
  case dropsMessages
  /// Hands each message over twice.
  case sendsTwice
  case takesLateEvents
  case timersStopAsleep

  public var link: LinkDefect? {
    switch self {
    case .takesLateEvents: .takesLateEvents
    case .timersStopAsleep: .timersStopAsleep
    case .noGreeting, .greetsLate, .forgetsPosition, .dropsMessages, .sendsTwice: nil
    }
  }

  public var catchable: [OneServer] { [.only] }

  public var kinds: [Finding.Kind] {
    switch self {
    case .noGreeting: [.unhealed]
    case .greetsLate: [.unannounced]
    case .forgetsPosition, .sendsTwice: [.duplicated]
    case .dropsMessages: [.lost]
    case .takesLateEvents, .timersStopAsleep: link?.kinds ?? []
    }
  }

  public var seeds: Int { 50 }
}

extension Finding.Kind {
  /// A connection on which something went out before the greeting.
  public static let unannounced = Finding.Kind(rawValue: "unannounced")
}
