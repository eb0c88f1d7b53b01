public import HoldfastCore
public import HoldfastHeldChecks
public import HoldfastHeldSocket
public import HoldfastLinkChecks
public import HoldfastWorldKernel

// The world of `HeldSocket`: one phone, its user, and a server with a foreign protocol.
//
// The server confirms a greeting, then sends numbered messages that follow the position at which
// the phone resumes. The server accepts the user's numbered messages.
extension HeldFeature: SimulatedFeature {
  /// A scheduled event.
  public enum ScheduledEvent: Sendable {
    /// The server sends the next message of a series.
    case feeds(left: Int)
    /// Changes to the stored outbox.
    case stores(OutboxMessage)
    case removes([UInt64])
    case input(SocketModel.Input)
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
}

extension SocketModel: SimulatedModel {
  public static func renamed(_ input: Input, to attempt: AttemptID) -> Input {
    if case .link(let event) = input { return .link(event.moved(to: attempt)) }
    guard case .socket(_, let news) = input else { return input }
    return .socket(attempt, news)
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
