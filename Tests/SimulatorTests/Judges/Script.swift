import LinkCore
import LinkWire
import MessageStream

@testable import LinkSimulator

/// A story written by hand for one judge: what happens, when, and how things stand then.
struct Script<Seeing: Judge> {
  var judge: Seeing
  var facts = Facts.connected

  init(_ judge: Seeing) {
    self.judge = judge
  }

  /// Something happens `second` after the beginning.
  mutating func see(_ happening: Happening, at second: Double = 0) {
    facts.now = .second(second)
    judge.see(happening, facts)
  }

  mutating func tell(
    _ input: StreamModel.Input, isLate: Bool = false, at second: Double = 0,
    _ effects: [StreamModel.Effect] = []
  ) {
    see(.told(input, isLate: isLate, effects: effects), at: second)
  }

  mutating func tick(at second: Double, _ effects: [StreamModel.Effect] = []) {
    see(.ticked(effects: effects), at: second)
  }

  mutating func show(_ messages: [Message], at second: Double = 0) {
    tick(at: second, [.update(.messages(messages, via: .live))])
  }

  mutating func accept(_ messages: [Message], at second: Double = 0) {
    for message in messages { see(.accepted(message, isNew: true), at: second) }
  }

  /// A change becomes durable.
  mutating func store(_ change: TimelineChange, at second: Double = 0) {
    let commit = facts.disk.commit(change)
    see(.stored(change, commit), at: second)
  }

  /// The run is over; answers with what was found.
  mutating func end(at second: Double = 0) -> [Finding] {
    facts.now = .second(second)
    judge.conclude(facts)
    return judge.findings
  }

  var findings: [Finding] { judge.findings }
}

extension Facts {
  static let shop: ShopID = {
    guard let id = ShopID("shop") else { preconditionFailure("a plain word is a shop id") }
    return id
  }()

  /// A user who looks at a shop over a connection that stands.
  static var connected: Facts {
    Facts(
      now: .zero, settings: StreamSettings(shop: shop, policy: .messageStream, user: "me"),
      server: .positions, status: LinkStatus(phase: .connected, mode: .live), isWhole: true,
      backlog: Backlog(shown: 0, unsent: 0, unstored: 0, ahead: 0), deadline: .second(1_000_000),
      currentAttempt: AttemptID(1), isAwake: true, isWanted: true, isReachable: true,
      isSignedIn: true, underWay: 0, storeFails: false, secrets: [], disk: Disk())
  }
}

extension Message {
  static let start = Timestamp(nanoseconds: 1_800_000_000_000_000_000)

  /// The message `m` and its number, a second after the one before, at the position of its number.
  static func number(_ number: Int, text: String? = nil, isPlain: Bool = false) -> Message {
    Message(
      id: UUID128(high: 7, low: UInt64(number)), shop: Facts.shop, user: "you", username: nil,
      text: text ?? "m\(number)", createdAt: start.advanced(by: .seconds(number)),
      position: isPlain ? nil : Position(epoch: "e", offset: UInt64(number)))
  }
}

extension OutboxEntry {
  static func number(_ number: Int, state: State = .queued(tries: 0)) -> OutboxEntry {
    OutboxEntry(
      id: UUID128(high: 9, low: UInt64(number)), shop: Facts.shop, text: "own \(number)",
      createdAt: Message.start, state: state)
  }
}
