@testable import HoldfastCore
@testable import HoldfastHeldSocket

/// Random inputs for a held socket with a random outbox. The store and the server answer in any order.
struct SocketInputs: LinkedGenerator {
  var run: RandomRun<SocketModel>
  /// The newest ping. `isAsked` is true while the ping is unanswered.
  private var ping: UInt64 = 1
  private var isAsked = false
  /// The messages that are being stored.
  private var storing: [UInt64] = []
  /// The number of the last message.
  private var lastID: UInt64 = 0
  /// The socket that was most recently reported as open.
  private var opened: AttemptID?
  /// Whether pings are rarely answered.
  private let isDeaf: Bool
  // The number of accepted messages, for use in properties. `ended` counts those whose outcome is
  // known.
  private var accepted = 0
  private var ended = 0

  init(seed: UInt64) {
    var source = RandomPolicies(generator: RandomSource(seed: seed))
    isDeaf = source.oneIn(4)
    var settings = SocketSettings(policy: source.one(Self.policies))
    settings.outbox = source.one(SocketSettings.Outbox.allCases)
    settings.awaitsConfirmation = source.oneIn(2)
    settings.hasPing = source.oneIn(3)
    if source.oneIn(2) { settings.position = Secret("kept") }
    settings.hasAcknowledgements = settings.outbox.repeats && source.oneIn(3)
    let model = SocketModel(settings, seed: source.generator.next())
    run = RandomRun(model, seed: seed, generator: source.generator)
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
    if machine.settings.outbox == .durable, oneIn(2) {
      let first = oneIn(4) ? UInt64.max : 1
      let count = first == .max ? 1 : UInt64(number(1...5))
      lastID = first + (count - 1)
      give(.restored((0..<count).map { OutboxMessage(id: first + $0, message: .text("old")) }))
    }
    give(.credentials(.available(expiresIn: oneIn(2) ? nil : .seconds(90))))
    give(.start)
  }

  mutating func act() {
    if oneIn(2) { passTime([.milliseconds(700), .seconds(2), .seconds(10), .seconds(40)]) }
    switch number(0...29) {
    case 0: give(oneIn(3) ? .stop : .start)
    case 1: changeDevice()
    case 2: disturb()
    case 3: give(.credentials(credentialsEvent()))
    case 4...7: answerStore()
    case 8...12: for _ in 0..<(oneIn(20) ? number(2...70) : 1) { send() }
    case 13:
      let key = "key \(number(0...70))"
      give(oneIn(4) ? .makeStanding(key) : .standing(key, oneIn(4) ? nil : message()))
    case 14...16: acknowledge()
    case _: goOn()
    }
  }

  mutating func answerWhileWaiting() {
    if isAsked, !isDeaf || oneIn(4) { answerPing() }
  }

  mutating func note(_ step: MachineStep<SocketModel>) {
    accepted += step.accepted
    ended += step.ended
    for effect in step.effects {
      switch effect {
      case .ping(_, let id): (ping, isAsked) = (id, true)
      case .store(let entry): storing.append(entry.id)
      case .open, .close, .greet, .resume, .standing, .makeStanding, .send, .ask,
        .refreshCredentials, .remove, .update:
        continue
      }
    }
  }

  static func request(in effect: SocketModel.Effect) -> String? {
    switch effect {
    case .open(let attempt): "open \(attempt)"
    case .greet(let attempt, _, _): "greet \(attempt)"
    case .resume(let attempt, _): "resume \(attempt)"
    case .ping(let attempt, let id): "ping \(attempt) \(id)"
    case .store(let entry): "store \(entry.id)"
    case .remove(let ids): "remove \(ids)"
    case .close, .standing, .makeStanding, .send, .ask, .refreshCredentials, .update: nil
    }
  }

  static func attempt(of effect: SocketModel.Effect) -> AttemptID? {
    switch effect {
    case .open(let attempt), .close(let attempt, _), .greet(let attempt, _, _),
      .resume(let attempt, _), .standing(let attempt, _), .makeStanding(let attempt, _, _),
      .send(let attempt, _),
      .ping(let attempt, _), .ask(let attempt):
      attempt
    case .refreshCredentials, .store, .remove, .update: nil
    }
  }

  static let properties: [MachineProperty<SocketInputs>] = [
    .usesPresentAttempt,
    MachineProperty("a message that was accepted waits, has arrived or is reported") {
      $0.accepted + $1.accepted == $0.ended + $1.ended + $1.after.queue.entries.count
    },
    MachineProperty("each standing message is sent once on each connection") {
      $1.standingSent == $1.standingDue
    },
  ]
}

// MARK: Inputs
extension SocketInputs {
  /// Sends a message. Rarely, its number was used before.
  private mutating func send() {
    if !oneIn(30) { lastID &+= 1 }
    give(.send(lastID, message()))
  }

  /// Acknowledges a message, most often one that was handed over.
  private mutating func acknowledge() {
    let handed = machine.queue.entries.prefix(machine.queue.handed)
    let id = oneIn(9) || handed.isEmpty ? lastID : handed[number(0...handed.count - 1)].id
    give(.socket(oneIn(9) ? anyAttempt() : attempt, .acknowledged(id)))
  }

  private mutating func answerPing() {
    isAsked = false
    give(.link(.pong(attempt, ping)))
  }

  /// Passes an input that usually advances the socket.
  private mutating func goOn() {
    guard machine.link.currentAttempt != nil else {
      if machine.link.status.phase == .held, oneIn(3) { return free() }
      if oneIn(5) { return give(.credentials(.available(expiresIn: nil))) }
      let isIdle = machine.deadline == nil || machine.isStopped
      return isIdle || oneIn(9) ? give(.start) : awaitDue()
    }
    if machine.isConnected { return oneIn(3) ? receive(attempt) : answerPing() }
    if opened != attempt, !oneIn(9) { return open(attempt, subprotocol: oneIn(3) ? "chat" : nil) }
    receive(attempt)
  }

  /// Reports that a socket is open. This happens once for each socket.
  private mutating func open(_ attempt: AttemptID, subprotocol: String?) {
    if attempt == machine.link.currentAttempt { opened = attempt }
    give(.socket(attempt, .opened(subprotocol: subprotocol)))
  }

  /// Passes a received message with a random reading.
  private mutating func receive(_ attempt: AttemptID) {
    var reading = SocketReading(confirms: oneIn(2), answersPing: oneIn(2), provesLife: !oneIn(3))
    if oneIn(3) { reading.position = "\(number(1...9))" }
    if oneIn(50) { reading.refusal = oneIn(3) ? .forbidden : .token }
    give(.socket(attempt, .message(message(), reading)))
  }

  /// Passes an input of another socket, a late input, or a rare input.
  private mutating func disturb() {
    let attempt = anyAttempt()
    switch number(0...7) {
    case 0: if attempt != opened { open(attempt, subprotocol: nil) }
    case 1: receive(attempt)
    case 2, 3: give(.socket(attempt, .reading(isPaused: !oneIn(3))))
    case 4: give(.socket(attempt, .unsent))
    case _: disturbLink(ping: ping)
    }
  }

  /// Answers the pending requests to the store, mostly in order.
  private mutating func answerStore() {
    guard !storing.isEmpty else { return give(oneIn(9) ? .stored(3) : nil) }
    for _ in 0..<number(1...9) where !storing.isEmpty {
      let id = storing.remove(at: oneIn(3) ? number(0...storing.count - 1) : 0)
      give(oneIn(5) ? .storeFailed(id, detail: "full") : .stored(id))
      if oneIn(9) { give(oneIn(2) ? .storeFailed(id, detail: "twice") : .stored(id)) }
    }
  }

  private static let large = [131_073, 262_145, 1_000_001].map {
    SocketMessage(text: [UInt8](repeating: 0x61, count: $0))
  }

  private mutating func message() -> SocketMessage {
    if oneIn(9) { return one(Self.large) }
    return oneIn(2) ? .text("say \(number(0...9))") : SocketMessage(binary: [UInt8(number(0...9))])
  }
}

extension MachineStep<SocketModel> {
  /// The number of messages that were accepted in this step.
  fileprivate var accepted: Int {
    if case .restored(let entries)? = input { return entries.count }
    guard case .send(let id, _)? = input, before.queue.isNext(id) else { return 0 }
    let isRefused = effects.contains { effect in
      switch effect {
      case .update(.notice(.refused)), .update(.notice(.notConnected)): true
      case .open, .close, .greet, .resume, .standing, .makeStanding, .send, .ping, .ask,
        .refreshCredentials, .store, .remove, .update:
        false
      }
    }
    return isRefused ? 0 : 1
  }

  fileprivate var standingSent: [StandingMessages.Content] {
    effects.compactMap { effect in
      switch effect {
      case .standing(_, let message): .message(message)
      case .makeStanding: .made
      case .open, .close, .greet, .resume, .send, .ping, .ask, .refreshCredentials, .store,
        .remove, .update:
        nil
      }
    }
  }

  /// The standing messages that this step must send.
  fileprivate var standingDue: [StandingMessages.Content] {
    if effects.contains(where: { if case .resume = $0 { true } else { false } }) {
      return after.standing.entries.map(\.content)
    }
    guard after.isConnected, !effects.contains(where: \.isStandingRefused) else { return [] }
    return switch input {
    case .standing(_, let message?): [.message(message)]
    case .makeStanding: [.made]
    case _: []
    }
  }

  /// The number of messages that a pong confirmed, that the store refused, or that the step
  /// reported as lost.
  fileprivate var ended: Int {
    var count = 0
    for case .update(.notice(.unproven(let unproven, isRepeated: false))) in effects {
      count += unproven
    }
    if case .storeFailed(let id, _)? = input, before.queue.unstored.contains(id) { count += 1 }
    if case .link(.pong(let attempt, let id))? = input, attempt == before.link.currentAttempt,
      let proof = before.queue.proof, proof.ping == id
    {
      count += proof.count
    }
    if before.settings.hasAcknowledgements,
      case .socket(let attempt, .acknowledged(let id))? = input,
      attempt == before.link.currentAttempt,
      before.queue.entries.prefix(before.queue.handed).contains(where: { $0.id == id })
    {
      count += 1
    }
    return count
  }
}

extension SocketModel.Effect {
  fileprivate var isStandingRefused: Bool {
    if case .update(.notice(.standingRefused)) = self { true } else { false }
  }
}
