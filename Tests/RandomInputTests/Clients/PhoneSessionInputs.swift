import LinkCore
import LinkWire
@testable import Session

/// Random inputs for a client of sessions, whose server has any features and is not always right.
struct PhoneSessionInputs: InputGenerator {
  var run: RandomRun<SessionModel>
  private var disk = KeptSession()
  private var commit: (id: SessionCommitID, change: ClientSessionChange)?
  private var features: Set<SessionFeature> = []
  private var lastNumber: UInt64 = 0
  private var nextPlace: [String: UInt64] = [:]
  // What the properties compare with.
  private(set) var books = SessionBooks()

  private static let names = ["a", "b", "c"]

  init(seed: UInt64) {
    var source = RandomPolicies(chance: Chance(seed: seed))
    run = RandomRun(
      SessionModel(SessionSettings(policy: .session), seed: source.chance.next()), seed: seed,
      chance: source.chance)
  }

  mutating func begin() { launch() }

  mutating func act() {
    pass()
    switch number(0...19) {
    case 0...2: answerStore()
    case 3...5: use()
    case 6: changeDevice()
    case 7: disturb()
    case 8:
      guard oneIn(20) else { return }
      restart(SessionModel(machine.settings, seed: chance.next()))
      launch()
    case _: hear()
    }
  }

  mutating func note(_ step: MachineStep<SessionModel>) {
    for case .commit(let id, let change) in step.effects { commit = (id, change) }
    books.note(step)
  }

  mutating func noteRestart() {
    commit = nil
    books = SessionBooks()
  }

  static func request(in effect: SessionModel.Effect) -> String? {
    switch effect {
    case .open(let attempt): "open \(attempt)"
    case .close(let attempt, _): "close \(attempt)"
    case .connect(let attempt, _, _): "connect \(attempt)"
    case .commit(let id, _): "commit \(id)"
    case .send, .refreshCredentials, .probe, .update: nil
    }
  }
}

// The user, the device and the store.
extension PhoneSessionInputs {
  private var wall: Timestamp {
    Timestamp(nanoseconds: 1_768_000_000_000_000_000 + now.nanoseconds)
  }

  private mutating func launch() {
    let snapshot = disk.open(as: UUID128(high: 1, low: 2))
    give(.restored(snapshot, conversation: maybe("a"), at: wall))
    give(.credentials(.available(expiresIn: nil)))
    give(.link(.device(.reachability(.reachable(path: PathID("wifi")))), at: wall))
    give(.link(.device(.lifecycle(.foreground)), at: wall))
    give(.start)
  }

  private mutating func pass() {
    let waits: [Duration] = [
      .zero, .zero, .milliseconds(40), .milliseconds(700), .seconds(3), .seconds(11),
    ]
    let until = now.advanced(by: oneIn(30) ? .seconds(70) : one(waits))
    while let due, due <= until, !isOver, !oneIn(40) {
      skip(to: due)
      give(nil)
    }
    skip(to: until)
  }

  /// The store answers, if it was asked.
  private mutating func answerStore() {
    guard let (id, change) = commit else { return give(.committed(SessionCommitID(0), [])) }
    if oneIn(9) { return give(.commitFailed(id, .full(detail: "no space"))) }
    commit = nil
    let news = disk.commit(change)
    give(.committed(id, news))
    if let last = news.last, oneIn(2) { give(.shown(through: last.number)) }
  }

  private mutating func use() {
    let key = machine.queue.items.isEmpty ? UUID128(high: 0, low: 1) : one(machine.queue.items).id
    switch number(0...11) {
    case 0...5:
      let sizes = [1, 9, 16_383, 16_384, 70_000, 524_288]
      let letter = one(["x", "x", "\"", "\u{1}"])
      let text =
        oneIn(9) ? String(repeating: letter, count: one(sizes)) : "ask \(number(0...6))"
      let conversation = oneIn(3) ? nil : one(Self.names)
      give(.prompt(oneIn(30) ? "" : text, conversation: conversation, at: wall))
    case 6: give(.retry(key))
    case 7: give(.discard(key))
    case 8: give(.cancel(conversation: one(Self.names)))
    case 9: give(.follow(conversation: one(Self.names)))
    case 10: give(oneIn(5) ? .stop : .shown(through: UInt64(number(0...9))))
    case _: give(.start)
    }
  }

  private mutating func changeDevice() {
    let changes: [DeviceChange] = [
      .reachability(.reachable(path: PathID("wifi"))),
      .reachability(.reachable(path: PathID("cell"))),
      .reachability(.unreachable), .reachability(.captivePortal), .lifecycle(.foreground),
      .lifecycle(.foreground), .lifecycle(.background), .woke, .again,
    ]
    give(.link(.device(one(changes)), at: wall))
  }

  private var attempt: AttemptID { machine.link.currentAttempt ?? AttemptID(99) }

  private mutating func disturb() {
    switch number(0...9) {
    case 0, 1: give(.link(.lost(attempt, linkFailure()), at: wall))
    case 2: give(.link(.ping(attempt), at: wall))
    case 3: give(.link(.pong(attempt, 0), at: wall))
    case 4: give(.link(.oversized(attempt, bytes: 5_000_000), at: wall))
    case 5: give(.malformed(attempt, detail: "odd"))
    case 6: give(.reading(attempt, isPaused: oneIn(2)))
    case 7: give(.probed(isPortal: oneIn(2)))
    case 8: give(oneIn(4) ? .unsent(attempt) : .malformed(AttemptID(98), detail: "late"))
    case _:
      give(.credentials(oneIn(4) ? .rejected : .available(expiresIn: nil)))
    }
  }
}

// What the server says.
extension PhoneSessionInputs {
  private mutating func hear() {
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
    let bytes = one([60, 60, 90_000, 102_400, 150_000])
    give(.frame(oneIn(30) ? AttemptID(97) : attempt, message, bytes: bytes, at: wall))
  }

  private mutating func hello() -> SessionHello {
    let all = SessionFeature.allCases
    features = Set(oneIn(3) ? [] : oneIn(3) ? all.filter { _ in oneIn(2) } : all)
    return SessionHello(
      message: "", challenge: maybe("c"), timestamp: maybe(wall), features: features)
  }

  private mutating func connected() -> SessionConnected {
    let versions = [SessionVersion(0, 4, 0), SessionVersion(0, 5, 0), SessionVersion(0, 5, 0)]
    return SessionConnected(
      message: "", session: "", version: oneIn(30) ? SessionVersion(0, 3, 9) : one(versions),
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
    case 19:
      let skews: [Duration] = [.zero, .seconds(30), .seconds(31), .seconds(-31)]
      return .heartbeat(oneIn(5) ? nil : wall.advanced(by: one(skews)))
    case 20: return .turnComplete(conversation: name, isAborted: false)
    case _: return seldomMessage(name)
    }
  }

  private mutating func seldomMessage(_ name: String) -> SessionServerMessage {
    switch number(0...7) {
    case 0: .draining(message: "", retryAfter: .seconds(5), window: maybe(.seconds(2)))
    case 1: .authError(message: "no")
    case 2: .sessionKilled(conversation: name)
    case 3: .unknown(type: "news")
    case 4: .hello(hello())
    case _: .connected(connected())
    }
  }

  private mutating func id() -> String { "m\(number(0...40))" }

  /// Returns the next number of the server, another one, or none.
  private mutating func serverNumber() -> UInt64? {
    if oneIn(4) { return nil }
    if oneIn(3) { return UInt64(number(1...30)) }
    lastNumber += 1
    return lastNumber
  }

  private mutating func response(_ prompt: KeptPrompt?) -> SessionResponse {
    let errors = ["failed", "interrupted", "it was interrupted by a crash", "cancelled"]
    return SessionResponse(
      id: oneIn(4) ? nil : id(), number: serverNumber(),
      conversation: oneIn(4) ? nil : prompt?.conversation,
      idempotencyKey: oneIn(3) ? nil : prompt?.id.description,
      result: oneIn(4) ? .failure(error: one(errors)) : .success(text: "re \(number(0...5))"),
      parts: oneIn(3) ? number(0...2) : nil)
  }

  private mutating func error(_ prompt: KeptPrompt?) -> SessionError {
    let codes: [String?] = [
      nil, "busy", "busy", "rate_limited", "store_failed", "draining", "too_long",
      "not_recovered", "invalid_subscribe",
    ]
    var error = SessionError(message: oneIn(4) ? "Unknown message type: x" : "no")
    error.code = oneIn(60) ? "unsupported_protocol_version" : one(codes)
    error.conversation = oneIn(3) ? nil : prompt?.conversation ?? one(Self.names)
    error.idempotencyKey = oneIn(2) ? nil : prompt?.id.description
    return error
  }

  private mutating func entry(_ name: String, _ prompt: KeptPrompt?) -> SessionEntry {
    let isOwn = oneIn(3)
    let text = isOwn ? prompt?.text ?? "ask 1" : "re \(number(0...5))"
    return SessionEntry(
      id: id(), role: isOwn ? .user : oneIn(9) ? .system : .assistant, text: text,
      conversation: name, timestamp: nil)
  }

  private mutating func window(_ name: String, _ prompt: KeptPrompt?) -> SessionHistory {
    let isOld = oneIn(2)
    let first = oneIn(5) ? UInt64(number(0...12)) : nextPlace[name] ?? 0
    var entries: [SessionEntry] = []
    for _ in 0..<number(0...2) {
      var entry = entry(name, prompt?.conversation == name ? prompt : nil)
      entry.place = first + UInt64(entries.count) + (isOld ? 1 : 0)
      entries.append(entry)
    }
    let end = first + UInt64(entries.count)
    nextPlace[name] = end
    var place = SessionHistory.Place.offset(
      next: end, signature: oneIn(9) ? "t" : "s", isReplaced: oneIn(12))
    if isOld {
      place = .sequence(
        first: oneIn(3) ? nil : entries.first?.place, last: entries.last?.place, next: end + 1)
    }
    var window = SessionHistory(
      conversation: name, entries: entries, place: place, isComplete: !oneIn(3))
    if oneIn(12) {
      window.gap = SessionHistory.Gap(
        requested: first, oldest: UInt64(number(0...9)),
        reason: oneIn(2) ? .pruned : .clientAhead)
    }
    return window
  }
}
