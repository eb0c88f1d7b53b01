import HoldfastCore
import HoldfastSessionData

@testable import HoldfastSession

/// Random inputs for a session client. Its server supports random features and sends faulty
/// messages.
struct PhoneSessionInputs: LinkedGenerator {
  var run: RandomRun<SessionModel>
  private var disk = StoredClientSession()
  private var commit: (id: SessionCommitID, change: ClientSessionChange)?
  private var features: Set<SessionFeature> = []
  private var lastNumber: UInt64 = 0
  private var nextPlace: [String: UInt64] = [:]

  private static let names = ["a", "b", "c"]

  init(seed: UInt64) {
    var source = RandomPolicies(generator: RandomSource(seed: seed))
    run = RandomRun(
      SessionModel(SessionSettings(policy: .session), seed: source.generator.next()), seed: seed,
      generator: source.generator)
  }

  mutating func begin() { launch() }

  mutating func act() {
    passTime([.milliseconds(40), .milliseconds(700), .seconds(3), .seconds(11), .seconds(70)])
    switch number(0...19) {
    case 0...2: answerStore()
    case 3...5: use()
    case 6: changeDevice()
    case 7: disturb()
    case 8:
      guard oneIn(20) else { return }
      restart(SessionModel(machine.settings, seed: generator.next()))
      launch()
    case _: receive()
    }
  }

  mutating func note(_ step: MachineStep<SessionModel>) {
    for case .commit(let id, let change) in step.effects { commit = (id, change) }
  }

  mutating func noteRestart() { commit = nil }

  static func request(in effect: SessionModel.Effect) -> String? {
    switch effect {
    case .open(let attempt): "open \(attempt)"
    case .close(let attempt, _): "close \(attempt)"
    case .connect(let attempt, _, _): "connect \(attempt)"
    case .commit(let id, _): "commit \(id)"
    case .send, .refreshCredentials, .probe, .update: nil
    }
  }

  static func attempt(of effect: SessionModel.Effect) -> AttemptID? {
    switch effect {
    case .open(let attempt), .close(let attempt, _), .connect(let attempt, _, _),
      .send(let attempt, _):
      attempt
    case .refreshCredentials, .probe, .commit, .update: nil
    }
  }

  static let properties: [MachineProperty<PhoneSessionInputs>] = [
    .usesPresentAttempt,
    MachineProperty("a prompt stays queued until it has ended or was discarded") { _, step in
      let after = Set(step.after.queue.items.map(\.id))
      return step.before.queue.items.map(\.id).filter { !after.contains($0) }
        .allSatisfy { step.endedPrompts.contains($0) }
    },
    MachineProperty("a prompt is sent only after the ends of earlier ones are stored") { _, step in
      step.effects.allSatisfy { effect in
        guard case .send(_, .prompt(let sent)) = effect else { return true }
        return !step.after.queue.items.contains { item in
          item.conversation == sent.conversation && item.number < sent.number ?? 0
            && item.waiting != nil
        }
      }
    },
  ]
}

// MARK: Inputs from the user, the device and the store
extension PhoneSessionInputs {
  private mutating func launch() {
    let snapshot = disk.open(as: UUID128(high: 1, low: 2))
    give(.restored(snapshot, conversation: maybe("a"), at: wall))
    give(.credentials(.available(expiresIn: nil)))
    free()
    give(.start)
  }

  /// Answers the pending commit. If there is none, answers an unknown commit.
  private mutating func answerStore() {
    guard let (id, change) = commit else { return give(.committed(SessionCommitID(0), [])) }
    if oneIn(9) { return give(.commitFailed(id, .full(detail: "no space"))) }
    commit = nil
    let news = disk.commit(change)
    give(.committed(id, news))
    guard let last = news.last, oneIn(2) else { return }
    give(oneIn(3) ? .answersShown(news.suffix(2).map(\.number)) : .shown(through: last.number))
  }

  private mutating func use() {
    let key = machine.queue.items.isEmpty ? UUID128(high: 0, low: 1) : one(machine.queue.items).id
    // Sometimes a key is in use.
    let new = oneIn(20) ? key : UUID128.random(using: &generator)
    switch number(0...11) {
    case 0...5:
      let text = oneIn(9) ? String(repeating: "x", count: 70_000) : "ask \(number(0...6))"
      let conversation = oneIn(3) ? nil : one(Self.names)
      give(.prompt(oneIn(30) ? "" : text, conversation: conversation, key: new, at: wall))
    case 6: give(.retry(key, as: new))
    case 7: give(.discard(key))
    case 8: give(.cancel(conversation: one(Self.names)))
    case 9: give(.follow(conversation: one(Self.names)))
    case 10 where oneIn(5): give(oneIn(3) ? .stopUnread : .stop)
    case 10: give(.shown(through: UInt64(number(0...9))))
    case _: give(.start)
    }
  }

  private mutating func disturb() {
    let attempt = anyAttempt()
    switch number(0...9) {
    case 0: give(.malformed(attempt, detail: "odd"))
    case 1: give(.reading(attempt, isPaused: oneIn(2)))
    case 2: give(.probed(isPortal: oneIn(2)))
    case 3: if oneIn(4) { give(.unsent(attempt)) }
    case 4: give(.credentials(oneIn(4) ? .rejected : .available(expiresIn: nil)))
    case _: disturbLink(ping: 0)
    }
  }
}

// MARK: Messages from the server
extension PhoneSessionInputs {
  private mutating func receive() {
    let message: SessionServerMessage
    if !machine.isConnected, !oneIn(6) {
      switch number(0...2) {
      case 0: return give(.opened(attempt))
      case 1: message = .hello(hello())
      case _: message = .connected(connected())
      }
    } else {
      message = anyMessage()
    }
    let bytes = one([60, 60, 90_000, 150_000])
    give(.frame(oneIn(30) ? anyAttempt() : attempt, message, bytes: bytes, at: wall))
  }

  private mutating func hello() -> SessionHello {
    let all = SessionFeature.allCases
    features = Set(oneIn(3) ? [] : oneIn(3) ? all.filter { _ in oneIn(2) } : all)
    return SessionHello(
      message: "", challenge: maybe("c"), timestamp: maybe(wall), features: features)
  }

  private mutating func connected() -> SessionConnected {
    SessionConnected(
      message: "", session: "", version: SessionVersion(0, oneIn(30) ? 3 : number(4...5), 0),
      features: features, isRecovered: one([nil, true, true, false]))
  }

  private mutating func anyMessage() -> SessionServerMessage {
    let open = machine.queue.items
    let prompt = open.isEmpty ? nil : one(open)
    let key = prompt.map(\.id.description) ?? "none"
    let name = prompt?.conversation ?? one(Self.names)
    switch number(0...21) {
    case 0, 1: return .pong
    case 2, 3, 4: return .ack(message: "", idempotencyKey: oneIn(3) ? nil : key)
    case 5, 6, 7: return .response(response(prompt))
    case 8:
      return .responsePart(
        conversation: name, idempotencyKey: key, index: number(0...2), text: "part ")
    case 9, 10: return .error(error(prompt))
    case 11, 12: return .replay(id: id(), entry(name, prompt), number: serverNumber())
    case 13, 14, 15, 16, 17: return .history(window(one(Self.names), prompt))
    case 18: return .historyBatch(Self.names.map { window($0, prompt) })
    case 19: return .heartbeat(oneIn(5) ? nil : wall.advanced(by: .seconds(one([-31, 0, 31]))))
    case 20: return .turnComplete(conversation: name, isAborted: false)
    case _:
      if oneIn(2) { return oneIn(4) ? .hello(hello()) : .connected(connected()) }
      return one([
        .draining(message: "", retryAfter: .seconds(5), window: maybe(.seconds(2))),
        .authError(message: "no"), .sessionKilled(conversation: name), .unknown(type: "news"),
      ])
    }
  }

  private mutating func id() -> String { "m\(number(0...40))" }

  /// Returns the server's next number, a random number, or no number.
  private mutating func serverNumber() -> UInt64? {
    if oneIn(4) { return nil }
    if oneIn(3) { return UInt64(number(1...30)) }
    lastNumber += 1
    return lastNumber
  }

  private mutating func response(_ prompt: StoredPrompt?) -> SessionResponse {
    let errors = ["failed", "interrupted", "cancelled"]
    return SessionResponse(
      id: oneIn(4) ? nil : id(), number: serverNumber(),
      conversation: oneIn(4) ? nil : prompt?.conversation,
      idempotencyKey: oneIn(3) ? nil : prompt?.id.description,
      result: oneIn(4) ? .failure(error: one(errors)) : .success(text: "re \(number(0...5))"),
      parts: oneIn(3) ? number(0...2) : nil)
  }

  private mutating func error(_ prompt: StoredPrompt?) -> SessionError {
    let codes = [nil, "busy", "busy", "store_failed", "draining", "too_long", "not_recovered"]
    var error = SessionError(message: oneIn(4) ? "Unknown message type: x" : "no")
    error.code = oneIn(60) ? "unsupported_protocol_version" : one(codes)
    error.conversation = oneIn(3) ? nil : prompt?.conversation ?? one(Self.names)
    error.idempotencyKey = oneIn(2) ? nil : prompt?.id.description
    return error
  }

  private mutating func entry(_ name: String, _ prompt: StoredPrompt?) -> SessionEntry {
    let isOwn = oneIn(3)
    let text = isOwn ? prompt?.text ?? "ask 1" : "re \(number(0...5))"
    return SessionEntry(
      id: id(), role: isOwn ? .user : oneIn(9) ? .system : .assistant, text: text,
      conversation: name, timestamp: nil)
  }

  private mutating func window(_ name: String, _ prompt: StoredPrompt?) -> SessionHistory {
    let isOld = oneIn(2)
    let first = oneIn(5) ? UInt64(number(0...12)) : nextPlace[name] ?? 0
    var entries: [SessionEntry] = []
    for _ in 0..<number(0...2) {
      var entry = entry(name, prompt?.conversation == name ? prompt : nil)
      entry.position = first + UInt64(entries.count) + (isOld ? 1 : 0)
      entries.append(entry)
    }
    let end = first + UInt64(entries.count)
    nextPlace[name] = end
    let extent: SessionHistory.Extent =
      isOld
      ? .sequence(first: entries.first?.position, last: entries.last?.position, next: end + 1)
      : .offset(next: end, signature: oneIn(9) ? "t" : "s", isReplaced: oneIn(12))
    var window = SessionHistory(
      conversation: name, entries: entries, extent: extent, isComplete: !oneIn(3))
    if oneIn(12) {
      let oldest = UInt64(number(0...9))
      window.gap = SessionHistory.Gap(
        requested: first, oldest: oldest, reason: oneIn(2) ? .pruned : .clientAhead)
    }
    return window
  }
}

extension MachineStep<SessionModel> {
  /// The prompts that ended or were discarded by the user in this step.
  fileprivate var endedPrompts: Set<UUID128> {
    var ended: Set<UUID128> = []
    for batch in [after.commits.waiting, after.commits.inFlight?.batch].compactMap(\.self) {
      ended.formUnion(batch.change.forgotten)
      for news in batch.change.news {
        switch news {
        case .ended(let ending): ended.insert(ending.key)
        case .message: continue
        }
      }
    }
    for case .update(.prompt(let state, _?)) in effects { ended.insert(state.key) }
    return ended
  }
}
