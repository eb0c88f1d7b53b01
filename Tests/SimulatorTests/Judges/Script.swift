import LinkCore
import LinkWire
import MessageStream

@testable import LinkSimulator

/// What all checkers have.
protocol Checker {
  mutating func see(_ seen: Happening, _ facts: Facts)
  mutating func conclude(_ facts: Facts)
  var findings: [Finding] { get }
}

extension StreamChecker {
  mutating func see(_ seen: Happening, _ facts: Facts) {
    switch seen {
    case .told(_, let input, let isLate, let effects):
      told(input, isLate: isLate, facts)
      for effect in effects { asked(effect, facts) }
    case .ticked(_, let effects):
      for effect in effects { asked(effect, facts) }
    case .launched, .killed, .suspended, .resumed, .upgraded, .serverLost, .wentDead, .began,
      .ended, .calm, .fact:
      met(seen, facts)
    }
    settled(facts)
  }
}

extension LinkChecker where Feature == StreamFeature {
  mutating func see(_ seen: Happening, _ facts: Facts) {
    switch seen {
    case .told(_, let input, let isLate, let effects):
      stepped(input, isLate: isLate, effects, facts)
    case .ticked(_, let effects): stepped(nil, isLate: false, effects, facts)
    case .launched, .killed, .suspended, .resumed, .upgraded, .serverLost, .wentDead, .began,
      .ended, .calm, .fact:
      met(seen, facts)
      settled(facts)
    }
  }
}

extension Ledger: Checker {}
extension Durability: Checker {}
extension Requests: Checker {}
extension Progress: Checker {}
extension Sends: Checker {}
extension Lifetimes: Checker {}
extension Needs: Checker {}
extension Departure: Checker {}
extension Heads: Checker {}
extension Edits: Checker {}
extension Outstanding: Checker where Feature == StreamFeature {}
extension AttemptWindows: Checker where Feature == StreamFeature {}
extension Tries: Checker where Feature == StreamFeature {}
extension Refreshes: Checker where Feature == StreamFeature {}
extension Connectedness: Checker where Feature == StreamFeature {}
extension Lateness: Checker where Feature == StreamFeature {}
extension Secrecy: Checker where Feature == StreamFeature {}
extension Bounds: Checker where Feature == StreamFeature {}
extension Healing: Checker where Feature == StreamFeature {}
extension Haste: Checker where Feature == StreamFeature {}
extension Wishes: Checker where Feature == StreamFeature {}
extension RefreshTimes: Checker where Feature == StreamFeature {}
extension SignIns: Checker where Feature == StreamFeature {}
extension Leaving: Checker where Feature == StreamFeature {}

/// All checkers of a run.
struct WholeBench: Checker {
  private var bench = Bench<StreamFeature>()

  mutating func see(_ seen: Happening, _ facts: Facts) {
    if bench.views.isEmpty { bench.views = [PhoneView(facts)] }
    bench.views[0].standing = facts
    bench.see(seen)
  }

  mutating func conclude(_ facts: Facts) {
    bench.views[0].standing = facts
    bench.conclude()
  }

  var findings: [Finding] { bench.findings }
}

/// A story written by hand for one checker: what happens, when, and how things stand then.
struct Script<Seeing: Checker> {
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
    see(.told(.phone, input, isLate: isLate, effects: effects), at: second)
  }

  mutating func tick(at second: Double, _ effects: [StreamModel.Effect] = []) {
    see(.ticked(.phone, effects: effects), at: second)
  }

  mutating func show(_ messages: [Message], at second: Double = 0) {
    tick(at: second, [.update(.messages(messages, via: .live))])
  }

  mutating func accept(_ messages: [Message], at second: Double = 0) {
    for message in messages { see(.fact(.accepted(message, isNew: true)), at: second) }
  }

  /// A change becomes durable.
  mutating func store(_ change: TimelineChange, at second: Double = 0) {
    let commit = facts.own.disk.commit(change)
    see(.fact(.stored(change, commit)), at: second)
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
    let settings = StreamSettings(shop: shop, policy: .messageStream, user: "me")
    var state = StreamState(
      settings: settings, server: .positions,
      backlog: Backlog(shown: 0, unsent: 0, unstored: 0, ahead: 0))
    state.isWhole = true
    var facts = Facts(
      policy: .messageStream, status: LinkStatus(phase: .connected, mode: .live),
      deadline: .second(1_000_000), currentAttempt: AttemptID(1), own: state)
    facts.isAwake = true
    facts.isWanted = true
    return facts
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
