import HeldSocket
import LinkCore

// What is said to a held socket in a walk, and what its app and its store do.
extension SocketWalk {
  /// A message that came in, with what the app says of it.
  mutating func hear() {
    var marks = SocketMarks()
    marks.confirms = happens(3)
    marks.answersPing = happens(2)
    marks.provesLife = !happens(3)
    if happens(3) { marks.position = Secret("\(number(1...9))") }
    give(.socket(attempt, .message(message(), marks)))
  }

  /// What comes from another socket, too late, or seldom.
  mutating func odd() {
    let here = attempt
    let of = happens(3) ? AttemptID(UInt64(number(1...3)) &+ here.number &- 2) : here
    switch number(0...11) {
    case 0: give(.socket(of, .opened(subprotocol: nil)))
    case 1: give(.socket(of, .message(message(), SocketMarks())))
    case 2: give(.link(.ping(of)))
    case 3: give(.link(.pong(of, one(pings))))
    case 4: give(.link(.oversized(of, bytes: 16_777_217)))
    case 5, 6: give(.link(.lost(of, failure())))
    case 7, 8, 9: give(.socket(of, .reading(isPaused: !happens(3))))
    case 10: give(.socket(of, .unsent))
    case _:
      let events: [HeldLink.CredentialsEvent] = [
        .available(expiresIn: .seconds(61)), .refreshFailed, .rejected, .cleared,
      ]
      give(.credentials(one(events)))
    }
  }

  private mutating func failure() -> LinkFailure {
    one([
      .reset, .ended, .refused, .http(status: 403, retryAfter: nil, detail: ""),
      .http(status: 401, retryAfter: nil, detail: ""), .closed(code: 1001, reason: ""),
    ])
  }

  /// The store answers, mostly in order.
  mutating func store() {
    guard !storing.isEmpty else { return give(happens(9) ? .stored(3) : nil) }
    for _ in 0..<number(1...3) where !storing.isEmpty {
      let id = storing.remove(at: happens(3) ? number(0...storing.count - 1) : 0)
      give(happens(5) ? .storeFailed(id, detail: "full") : .stored(id))
      if happens(9) { give(happens(2) ? .storeFailed(id, detail: "twice") : .stored(id)) }
    }
  }

  // Messages.

  private static let zeros = [1, 2, 3, 8].map {
    SocketMessage(binary: [UInt8](repeating: 0, count: $0))
  }
  private static let large = [
    65_536, 131_072, 131_073, 262_143, 262_144, 262_145, 777_215, 777_216, 777_217, 1_000_000,
    1_000_001,
  ].map { SocketMessage(text: [UInt8](repeating: 0x61, count: $0)) }

  mutating func message() -> SocketMessage {
    happens(9) ? one(Self.large) : happens(2) ? .text("say \(number(0...9))") : one(Self.zeros)
  }

  /// Says about as much as may be on its way.
  mutating func crowd() {
    for _ in 0..<number(62...67) { give(.send(one(Self.zeros))) }
    while !storing.isEmpty, stray == nil { store() }
  }

  /// Says about as many bytes as may be on their way, or as may wait.
  mutating func weigh() {
    for _ in 0..<number(2...5) { give(.send(one(Self.large))) }
    while !storing.isEmpty, stray == nil { store() }
  }

  /// A run before this one left something: a little, or as much as may wait.
  mutating func restore() {
    var messages: [SocketMessage] = []
    var first = UInt64(number(1...3))
    let kind = number(0...4)
    switch kind {
    case 0:
      messages = [SocketMessage](repeating: Self.zeros[0], count: number(997...999))
    case 1, 2:
      messages = [SocketMessage](repeating: Self.large[9], count: 16)
      messages.append(Self.large[number(6...8)])
      messages[0] = SocketMessage(text: [UInt8](repeating: 0x61, count: 999_996))
    case 3:
      messages = [message()]
      first = .max
    case _: messages = (0...number(0...4)).map { _ in message() }
    }
    give(
      .restored(
        messages.indices.map {
          ProvenQueue.Entry(id: first &+ UInt64($0), message: messages[$0])
        }))
    for _ in 0..<(kind < 3 ? number(3...6) : number(0...3)) { give(.send(one(Self.zeros))) }
  }
}
