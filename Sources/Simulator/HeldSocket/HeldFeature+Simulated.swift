public import HoldfastHeldSocket
public import HoldfastCore

/// The world of `HeldSocket`: one phone, its user, and a server with a foreign protocol.
///
/// The server confirms a greeting, then sends numbered messages that follow the position at which
/// the phone resumes. The server accepts the user's numbered messages.
public enum HeldFeature: SimulatedFeature {
  /// The model of a held socket.
  public typealias Model = SocketModel

  /// A message in either direction, in the server's protocol.
  public enum Packet: Sendable, Equatable {
    case opened, hello, welcome
    case after(Int)
    case numbered(Int)
    case said(Int)
    /// The server has processed a message of the user.
    case acknowledges(Int)
    /// A standing message of the user, by its version.
    case standing(Int)
  }

  /// A scheduled event.
  public enum ScheduledEvent: Sendable {
    /// The server sends the next message of a series.
    case feeds(left: Int)
    /// Changes to the stored outbox.
    case stores(OutboxMessage)
    case removes([UInt64])
    case input(SocketModel.Input)
  }

  /// A fact that is specific to this world.
  public enum Fact: Sendable, Equatable {
    /// A packet from a phone reached the server over a line.
    case heard(TrafficID, Packet)
  }

  /// The counters of this world.
  public enum Counter: String, RunCounter {
    case fed, shown, said

    public var label: String { "messages \(rawValue)" }
  }

  /// The numbers that a plan fixes for a run, in addition to the network conditions.
  public struct Numbers: PlanNumbers {
    /// The setting for the handling of messages that cannot be sent immediately.
    public var outbox = SocketSettings.Outbox.off
    /// The proof that a message arrived, if the outbox sends messages again.
    public var proof = Proof.pong

    /// A kind of proof that a message arrived.
    public enum Proof: String, Sendable, CaseIterable {
      case pong, acknowledgement
    }

    public init() {}
    public static var fields: [PlanField<Numbers>] {
      [.choice("outbox", \.outbox), .choice("proof", \.proof)]
    }
  }

  /// The feature's part of a phone's state. The checkers use it in addition to the link's state.
  public struct State: Sendable {
    /// The settings of the model.
    var settings = SocketSettings(policy: .socket)
    /// The number of the newest message that the app has shown. It is also the stored position.
    var shown = 0
    /// The number of the server's newest message.
    var fed = 0
    /// The number of the user's messages that are to be sent, or whose arrival is not proven.
    public internal(set) var queued = 0
    var handed = 0

    /// Copies the state of the model.
    mutating func look(_ model: SocketModel) {
      (queued, handed) = (model.queue.entries.count, model.queue.handed)
    }
  }

  /// The kinds of planned events, in addition to those of the kernel.
  public enum EventKind: String, PlanEventKind {
    /// The server has a number of new messages in succession.
    case feed
    case say
    /// The user sets the standing message of a key.
    case stand
    /// The user removes the standing message of a key.
    case unstand

    /// The keys of standing messages.
    static let keys = 1...3

    /// The declarations of all event kinds.
    public static let forms: [EventKind: EventForm] = [
      .feed: EventForm(.count(0...10_000), of: .backend) {
        "the server has \(TraceText.count($0.number, "new message"))"
      },
      .say: EventForm(isOfPeople: true) { _ in "says something" },
      .stand: EventForm(.number(keys), isOfPeople: true) {
        "sets standing message \($0.number)"
      },
      .unstand: EventForm(.number(keys), isOfPeople: true) {
        "removes standing message \($0.number)"
      },
    ]
  }

  public static var name: String { "held-socket" }
  public static var summary: String { "play many lives of a socket that is held" }
  public static var details: [String] {
    [
      """
      A server of another protocol greets, feeds numbered messages and takes what the user says, \
      over a socket that is held by the real model. Checkers watch that nothing is lost, shown or \
      sent twice, or out of order, that the greeting is first, that each standing message is sent \
      once on each connection, and that what is proven has arrived.
      """
    ]
  }
  public static var policy: LinkPolicy { .socket }

  public static var kinds: [Finding.Kind] {
    [.lost, .duplicated, .reordered, .unannounced] + Finding.Kind.ofLinks
  }

  public static func play(
    _ plan: Plan, _ setup: RunSetup<HeldFeature>, watch: RunWatch<HeldFeature>?
  ) -> Outcome {
    var world = HeldWorld(plan, setup, watch: watch)
    return world.play()
  }

  public static func draw(_ preset: DayPreset, _ builder: inout PlanBuilder<HeldFeature>) {
    builder.numbers.outbox = builder.draw.one(.off, .waiting, .memory, .durable)
    builder.day(preset)
    builder.scatter(builder.draw.count(8...16)) { PlannedEvent(.feed, $0.count(1...20)) }
    builder.scatter(builder.draw.count(4...10)) { _ in PlannedEvent(.say) }
    if preset == .swarm {
      builder.aside { if $0.draw.happens(0.5) { $0.swarm([.busy, .waver], times: 1...4) } }
    }
    builder.aside {
      $0.scatter($0.draw.count(1...5)) { PlannedEvent(.stand, $0.count(EventKind.keys)) }
      $0.scatter($0.draw.count(0...2)) { PlannedEvent(.unstand, $0.count(EventKind.keys)) }
    }
    builder.aside { $0.numbers.proof = $0.draw.one(.pong, .acknowledgement) }
  }

  public static func isHealed(_ phoneState: PhoneState<HeldFeature>) -> Bool {
    phoneState.own.shown == phoneState.own.fed && phoneState.own.queued == 0
  }

  public static func remains(_ phoneState: PhoneState<HeldFeature>) -> String {
    ", \(phoneState.own.fed - phoneState.own.shown) to show, \(phoneState.own.queued) to send"
  }

  public static func checkBounds(
    _ phoneState: PhoneState<HeldFeature>, _ found: (String, Int, Int) -> Void
  ) {
    let own = phoneState.own
    if own.queued > ProvenQueue.limit { found("queued", own.queued, ProvenQueue.limit) }
    if own.handed > ProvenQueue.window { found("handed", own.handed, ProvenQueue.window) }
  }

  // Traces.

  public static func describe(_ input: Input) -> TracePart {
    switch input {
    case .send(_, let message): (.user, "says \(TraceText.quoted(message.text ?? ""))")
    case .standing(let key, let message):
      (.user, message == nil ? "removes standing message \(key)" : "sets standing message \(key)")
    case .socket(let attempt, .acknowledged(let id)):
      TraceText.connection(attempt, "acknowledges message \(id)")
    case .socket(let attempt, .message(let message, _)):
      TraceText.connection(attempt, "brings \(TraceText.quoted(message.text ?? ""))")
    case .start, .stop, .link, .credentials, .socket, .restored, .stored, .storeFailed,
      .makeStanding:
      TraceText.cause(input, of: Model.self)
    }
  }

  public static func statusLabel(_ effect: Effect) -> String? {
    if case .update(.status(let status)) = effect { TraceText.status(status) } else { nil }
  }

  public static func describe(_ fact: Fact) -> [TracePart] {
    switch fact {
    case .heard(_, let packet): [(.server, "receives \(describe(packet))")]
    }
  }

  private static func describe(_ packet: Packet) -> String {
    switch packet {
    case .opened, .welcome: "the beginning of a connection"
    case .hello: "a greeting"
    case .after(let number): "the request for messages after \(number)"
    case .numbered(let number): "message \(number) of the server"
    case .said(let number): "message \(number) of the user"
    case .acknowledges(let number): "an acknowledgement of message \(number)"
    case .standing(let version): "standing message \(version)"
    }
  }
}

extension SocketModel: LinkModel {
  public static func role(of input: Input) -> InputRole {
    switch input {
    case .start: .wanted
    case .stop: .left
    case .link(let event): event.role
    case .credentials(let event): .credentials(event)
    case .socket(let attempt, .opened): .opened(attempt)
    case .socket(let attempt, .message), .socket(let attempt, .acknowledged): .data(attempt)
    case .socket(let attempt, .reading), .socket(let attempt, .unsent): .received(attempt)
    case .send, .standing, .makeStanding, .restored, .stored, .storeFailed: .other
    }
  }

  public static func role(of effect: Effect) -> EffectRole {
    switch effect {
    case .open(let attempt): .open(attempt)
    case .close(let attempt, let reason): .close(attempt, reason)
    case .ping(let attempt, _): .ping(attempt)
    case .refreshCredentials: .refreshCredentials
    case .update(.notice): .notice
    case .greet, .resume, .standing, .makeStanding, .send, .ask, .store, .remove, .update: .other
    }
  }

  public static func renamed(_ input: Input, to attempt: AttemptID) -> Input {
    if case .link(let event) = input { return .link(event.moved(to: attempt)) }
    guard case .socket(_, let news) = input else { return input }
    return .socket(attempt, news)
  }
}

extension SocketMessage {
  /// The number that the text contains.
  var number: Int? { text.flatMap { Int($0) } }
  /// The version of a standing message, which the text contains.
  var version: Int? {
    text.flatMap { $0.hasPrefix("standing ") ? Int($0.dropFirst("standing ".count)) : nil }
  }
}

// Contributions of a held socket's steps to a run's digest, in addition to their roles.
extension HeldFeature {
  public static func mix(_ input: Input, into digest: inout Digest) {
    switch input {
    case .send(_, let message), .socket(_, .message(let message, _)):
      digest.mix(number(message))
    case .standing(_, let message): digest.mix(UInt64(message?.version ?? 0))
    case .socket(_, .reading(let isPaused)): digest.mix(isPaused)
    case .restored(let entries): digest.mix(UInt64(entries.count))
    case .stored(let id), .storeFailed(let id, _), .socket(_, .acknowledged(let id)):
      digest.mix(id)
    case .start, .stop, .link, .credentials, .makeStanding, .socket(_, .opened),
      .socket(_, .unsent):
      return
    }
  }

  public static func mix(_ effect: Effect, into digest: inout Digest) {
    switch effect {
    case .send(_, let entry): digest.mix(1, number(entry.message))
    case .update(.message(let message)): digest.mix(1, number(message))
    case .standing(_, let message): digest.mix(8, UInt64(message.version ?? 0))
    case .resume(_, let position): digest.mix(position?.text ?? "")
    case .store(let entry): digest.mix(2, entry.id)
    case .remove(let ids): digest.mix(3, UInt64(ids.count), ids.last ?? 0)
    case .close(_, let reason): digest.mix(4, UInt64(reason.closeCode))
    case .update(.sent(let count)): digest.mix(5, count)
    case .update(.proven(let id)): digest.mix(9, id)
    case .update(.status(let status)): digest.mix(status.phase.rawValue)
    case .update(.notice(.unproven(let count, _))): digest.mix(6, UInt64(count))
    case .greet: digest.mix(7)
    case .open, .ping, .ask, .refreshCredentials, .makeStanding, .update(.quality),
      .update(.stored), .update(.notice):
      return
    }
  }

  private static func number(_ message: SocketMessage) -> UInt64 { UInt64(message.number ?? 0) }
}
