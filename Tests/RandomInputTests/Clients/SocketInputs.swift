@testable import HeldSocket
@testable import LinkCore

/// Random inputs for a held socket with any outbox, and a store and a server that answer at will.
struct SocketInputs: InputGenerator {
  var run: RandomRun<SocketModel>
  /// The newest pings, and the messages that are being stored.
  private(set) var pings: [UInt64] = [1]
  private var storing: [UInt64] = []
  /// The socket that was told to be open.
  private var opened: AttemptID?
  /// Whether pings are seldom answered.
  private let isDeaf: Bool
  // What the properties compare with.
  private(set) var books = SocketBooks()

  init(seed: UInt64) {
    var source = RandomPolicies(chance: Chance(seed: seed))
    isDeaf = source.oneIn(4)
    var settings = SocketSettings(policy: source.one(Self.policies))
    settings.outbox = source.one(SocketSettings.Outbox.allCases)
    settings.awaitsConfirmation = source.oneIn(2)
    settings.hasPing = source.oneIn(3)
    if source.oneIn(2) { settings.position = Secret("kept") }
    let model = SocketModel(settings, seed: source.chance.next())
    run = RandomRun(model, seed: seed, chance: source.chance)
  }

  private static let policies: [LinkPolicy] = {
    let quick = try? LinkPolicy.socket.setting([
      ("liveness.ping", "2s"), ("liveness.silence", "5s"), ("liveness.pongTimeout", "1s"),
      ("gate.background", "1s hold"), ("gate.networkChange", "loss"),
    ])
    let guarded = try? LinkPolicy.socket.setting([
      ("gate.credentials", "true"), ("liveness.pongTries", "3"),
      ("gate.networkChange", "reconnect"),
    ])
    let open = try? LinkPolicy.socket.setting([
      ("establish.milestone", "opened"), ("establish.prepare", "1s"),
      ("liveness.idle", "30s idle"), ("gate.background", "stay"),
    ])
    return [.socket, quick, guarded, open].compactMap(\.self)
  }()

  mutating func begin() {
    if machine.settings.outbox == .durable, oneIn(2) { restore() }
    give(.credentials(.available(expiresIn: oneIn(2) ? nil : .seconds(90))))
    give(.start)
  }

  mutating func act() {
    if oneIn(2) { pass() }
    switch number(0...29) {
    case 0: give(oneIn(3) ? .stop : .start)
    case 1: changeDevice()
    case 2: disturb()
    case 3: if oneIn(2) { fillWindow() } else { fillBytes() }
    case 4: give(.link(.device(.again)))
    case 5...8: answerStore()
    case 9...13: give(.send(message()))
    case _: goOn()
    }
  }

  mutating func note(_ step: MachineStep<SocketModel>) {
    for effect in step.effects {
      switch effect {
      case .ping(_, let id): pings = (pings + [id]).suffix(3)
      case .store(let entry): storing.append(entry.id)
      case .open, .close, .greet, .resume, .send, .ask, .refreshCredentials, .remove, .update:
        continue
      }
    }
    books.note(step)
  }

  static func request(in effect: SocketModel.Effect) -> String? {
    switch effect {
    case .open(let attempt): "open \(attempt)"
    case .greet(let attempt, _, _): "greet \(attempt)"
    case .resume(let attempt, _): "resume \(attempt)"
    case .ping(let attempt, let id): "ping \(attempt) \(id)"
    case .store(let entry): "store \(entry.id)"
    case .remove(let ids): "remove \(ids)"
    case .close, .send, .ask, .refreshCredentials, .update: nil
    }
  }
}

// Time, and what brings a socket on.
extension SocketInputs {
  private mutating func pass() {
    let beside = one([Duration.zero, .zero, .nanoseconds(-1), .nanoseconds(1)])
    switch number(0...9) {
    case 0, 1: advance(to: due?.advanced(by: beside))
    case 2: advance(to: machine.queue.deadline?.advanced(by: beside))
    case 3: advance(to: machine.stopsAt?.advanced(by: beside))
    case 4: advance(to: now.advanced(by: .seconds(number(2...40))))
    case _:
      skip(to: now.advanced(by: .milliseconds(one([0, 1, 40, 700, 1_000, 2_500]))))
    }
    if oneIn(3) { give(nil) }
  }

  private mutating func advance(to target: Instant?) {
    guard let target, target > now else { return }
    for _ in 0..<8 where !oneIn(40) {
      guard let due, due < target, !isOver else { break }
      skip(to: due)
      let before = pings
      give(nil)
      if pings != before, !isDeaf || oneIn(4) { answerPing() }
    }
    skip(to: target)
    if oneIn(3) { give(nil) }
  }

  private mutating func answerPing() { give(.link(.pong(attempt, pings[pings.count - 1]))) }

  private var attempt: AttemptID { machine.link.currentAttempt ?? AttemptID(99) }

  private mutating func goOn() {
    guard machine.link.currentAttempt != nil else {
      if machine.link.status.phase == .held, oneIn(3) {
        give(.link(.device(.lifecycle(.foreground))))
        return give(.link(.device(.reachability(.reachable(path: PathID("wifi"))))))
      }
      if oneIn(5) { return give(.credentials(.available(expiresIn: nil))) }
      let isIdle = machine.deadline == nil || machine.isStopped
      return isIdle || oneIn(9) ? give(.start) : advance(to: due)
    }
    if machine.isConnected, oneIn(3) { return hear() }
    if machine.isConnected { return answerPing() }
    if opened != attempt, !oneIn(9) { return open(attempt, subprotocol: oneIn(3) ? "chat" : nil) }
    var marks = SocketMarks()
    marks.confirms = !oneIn(4)
    give(.socket(attempt, .message(message(), marks)))
  }

  /// Tells that a socket is open, which happens to each once.
  private mutating func open(_ attempt: AttemptID, subprotocol: String?) {
    if attempt == machine.link.currentAttempt { opened = attempt }
    give(.socket(attempt, .opened(subprotocol: subprotocol)))
  }

  private mutating func changeDevice() {
    let changes: [DeviceChange] = [
      .reachability(.reachable(path: PathID("wifi"))),
      .reachability(.reachable(path: PathID("cell"))),
      .reachability(.unreachable), .reachability(.captivePortal), .lifecycle(.foreground),
      .lifecycle(.foreground), .lifecycle(.background), .woke,
    ]
    give(.link(.device(one(changes))))
  }

  /// A message comes in, with what the app says of it.
  private mutating func hear() {
    var marks = SocketMarks()
    marks.confirms = oneIn(3)
    marks.answersPing = oneIn(2)
    marks.provesLife = !oneIn(3)
    if oneIn(3) { marks.position = Secret("\(number(1...9))") }
    give(.socket(attempt, .message(message(), marks)))
  }

  /// Something comes from another socket, too late, or seldom.
  private mutating func disturb() {
    let here = attempt
    let of = oneIn(3) ? AttemptID(UInt64(number(1...3)) &+ here.number &- 2) : here
    switch number(0...11) {
    case 0: if of != opened { open(of, subprotocol: nil) }
    case 1: give(.socket(of, .message(message(), SocketMarks())))
    case 2: give(.link(.ping(of)))
    case 3: give(.link(.pong(of, one(pings))))
    case 4: give(.link(.oversized(of, bytes: 16_777_217)))
    case 5, 6: give(.link(.lost(of, linkFailure())))
    case 7, 8, 9: give(.socket(of, .reading(isPaused: !oneIn(3))))
    case 10: give(.socket(of, .unsent))
    case _:
      let events: [HeldLink.CredentialsEvent] = [
        .available(expiresIn: .seconds(61)), .refreshFailed, .rejected, .cleared,
      ]
      give(.credentials(one(events)))
    }
  }

  /// The store answers, mostly in order.
  private mutating func answerStore() {
    guard !storing.isEmpty else { return give(oneIn(9) ? .stored(3) : nil) }
    for _ in 0..<number(1...3) where !storing.isEmpty {
      let id = storing.remove(at: oneIn(3) ? number(0...storing.count - 1) : 0)
      give(oneIn(5) ? .storeFailed(id, detail: "full") : .stored(id))
      if oneIn(9) { give(oneIn(2) ? .storeFailed(id, detail: "twice") : .stored(id)) }
    }
  }
}

// Messages, few and many.
extension SocketInputs {
  private static let small = [1, 2, 3, 8].map {
    SocketMessage(binary: [UInt8](repeating: 0, count: $0))
  }
  private static let large = [
    65_536, 131_072, 131_073, 262_143, 262_144, 262_145, 777_215, 777_216, 777_217, 1_000_000,
    1_000_001,
  ].map { SocketMessage(text: [UInt8](repeating: 0x61, count: $0)) }

  private mutating func message() -> SocketMessage {
    oneIn(9) ? one(Self.large) : oneIn(2) ? .text("say \(number(0...9))") : one(Self.small)
  }

  /// Sends about as many messages as may be on their way.
  private mutating func fillWindow() {
    for _ in 0..<number(62...67) { give(.send(one(Self.small))) }
    while !storing.isEmpty, !isOver { answerStore() }
  }

  /// Sends about as many bytes as may be on their way, or as may wait.
  private mutating func fillBytes() {
    for _ in 0..<number(2...5) { give(.send(one(Self.large))) }
    while !storing.isEmpty, !isOver { answerStore() }
  }

  /// An earlier run left something: a little, or as much as may wait.
  private mutating func restore() {
    var messages: [SocketMessage] = []
    var first = UInt64(number(1...3))
    let kind = number(0...4)
    switch kind {
    case 0: messages = [SocketMessage](repeating: Self.small[0], count: number(997...999))
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
    for _ in 0..<(kind < 3 ? number(3...6) : number(0...3)) { give(.send(one(Self.small))) }
  }
}
