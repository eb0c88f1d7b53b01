import LinkCore
import LinkWire
import Session

/// A phone beside its twin, to which anything is said and done.
struct SessionPhoneWalk: TwinWalk {
  var chance: Chance
  var model: SessionModel
  var twin: SessionPhoneTwin
  var disk = KeptSession()
  private var shelf = SessionShelf()
  private var now = Instant.zero
  private var commit: (id: SessionCommitID, change: ClientSessionChange)?
  var stray: String?
  private var features: Set<SessionFeature> = []
  private var lastNumber: UInt64 = 0
  private var next: [String: UInt64] = [:]

  private static let names = ["a", "b", "c"]

  init(_ chance: Chance) {
    self.chance = chance
    model = SessionModel(SessionSettings(policy: .session), seed: 0)
    twin = SessionPhoneTwin(.session, seed: 0)
  }

  /// Takes so many steps; returns the first difference.
  mutating func walk(_ steps: Int) -> String? {
    launch()
    for _ in 0..<steps where stray == nil { happen() }
    return stray ?? shelf.difference(from: disk)
  }

  private var wall: Timestamp {
    Timestamp(nanoseconds: 1_768_000_000_000_000_000 + now.nanoseconds)
  }

  // Steps.

  private mutating func launch() {
    let seed = chance.next()
    model = SessionModel(SessionSettings(policy: .session), seed: seed)
    twin = SessionPhoneTwin(.session, seed: seed)
    commit = nil
    let client = UUID128(high: 1, low: 2)
    let (snapshot, must) = (disk.open(as: client), shelf.open(as: client))
    if snapshot != must { stray = stray ?? "the disk gives back \(snapshot), not \(must)" }
    give(.restored(snapshot, conversation: happens(2) ? "a" : nil, at: wall))
    give(.credentials(.available(expiresIn: nil)))
    give(.link(.device(.reachability(.reachable(path: PathID("wifi")))), at: wall))
    give(.link(.device(.lifecycle(.foreground)), at: wall))
    give(.start)
  }

  mutating func give(_ input: SessionModel.Input?) {
    guard stray == nil else { return }
    let effects = input.map { model.handle($0, at: now) } ?? model.tick(at: now)
    stray = twin.stray(of: model, after: input, effects, at: now)
    for case .commit(let id, let change) in effects { commit = (id, change) }
  }

  private mutating func happen() {
    pass()
    switch number(0...19) {
    case 0...2: store()
    case 3...5: user()
    case 6: device()
    case 7: odd()
    case 8: if happens(20) { launch() }
    case _: hear()
    }
  }

  private mutating func pass() {
    let waits: [Duration] = [
      .zero, .zero, .milliseconds(40), .milliseconds(700), .seconds(3), .seconds(11),
    ]
    let until = now.advanced(by: happens(30) ? .seconds(70) : one(waits))
    while let due = model.deadline, due <= until, stray == nil, !happens(40) {
      now = max(now, due)
      give(nil)
    }
    now = max(now, until)
  }

  /// The store answers, if it was asked.
  private mutating func store() {
    guard let (id, change) = commit else { return give(.committed(SessionCommitID(9), [])) }
    if happens(9) { return give(.commitFailed(id, .full(detail: "no space"))) }
    commit = nil
    let (news, must) = (disk.commit(change), shelf.commit(change))
    if news != must { stray = stray ?? "the disk calls new \(news), not \(must)" }
    give(.committed(id, news))
    if let last = news.last, happens(2) { give(.shown(through: last.number)) }
  }

  private mutating func user() {
    let key = model.queue.items.isEmpty ? UUID128(high: 0, low: 1) : one(model.queue.items).id
    switch number(0...11) {
    case 0...5:
      let sizes = [1, 9, 16_383, 16_384, 70_000, 524_288]
      let letter: Unicode.Scalar = one(["x", "x", "\"", "\u{1}"])
      let text = happens(9) ? String(of: letter, count: one(sizes)) : "ask \(number(0...6))"
      give(.prompt(happens(30) ? "" : text, conversation: place(), at: wall))
    case 6: give(.retry(key))
    case 7: give(.discard(key))
    case 8: give(.cancel(conversation: one(Self.names)))
    case 9: give(.follow(conversation: one(Self.names)))
    case 10: give(happens(5) ? .stop : .shown(through: UInt64(number(0...9))))
    case _: give(.start)
    }
  }

  private mutating func place() -> String? { happens(3) ? nil : one(Self.names) }

  private mutating func device() {
    let changes: [DeviceChange] = [
      .reachability(.reachable(path: PathID("wifi"))),
      .reachability(.reachable(path: PathID("cell"))),
      .reachability(.unreachable), .reachability(.captivePortal), .lifecycle(.foreground),
      .lifecycle(.foreground), .lifecycle(.background), .woke, .again,
    ]
    give(.link(.device(one(changes)), at: wall))
  }

  private var attempt: AttemptID { model.link.currentAttempt ?? AttemptID(99) }

  private mutating func odd() {
    let failures: [LinkFailure] = [
      .reset, .ended, .timeout(.establish), .tls(.other, detail: "odd"), .refused, .captivePortal,
    ]
    switch number(0...9) {
    case 0, 1: give(.link(.lost(attempt, one(failures)), at: wall))
    case 2: give(.link(.ping(attempt), at: wall))
    case 3: give(.link(.pong(attempt, 0), at: wall))
    case 4: give(.link(.oversized(attempt, bytes: 5_000_000), at: wall))
    case 5: give(.malformed(attempt, detail: "odd"))
    case 6: give(.reading(attempt, isPaused: happens(2)))
    case 7: give(.probed(isPortal: happens(2)))
    case 8: give(happens(4) ? .unsent(attempt) : .malformed(AttemptID(98), detail: "late"))
    case _:
      give(.credentials(happens(4) ? .rejected : .available(expiresIn: nil)))
    }
  }

  // What the server says.

  private mutating func hear() {
    let message: SessionServerMessage
    if !model.isConnected, !happens(6) {
      switch number(0...2) {
      case 0: return give(.opened(attempt))
      case 1: message = .hello(hello())
      case _: message = .connected(connected())
      }
    } else {
      message = word()
    }
    let bytes = one([60, 60, 90_000, 102_400, 150_000])
    give(.frame(happens(30) ? AttemptID(97) : attempt, message, bytes: bytes, at: wall))
  }

  private mutating func hello() -> SessionHello {
    let all = SessionScribe.words.map(\.0)
    features = Set(happens(3) ? [] : happens(3) ? all.filter { _ in happens(2) } : all)
    return SessionHello(
      message: "", challenge: happens(2) ? "c" : nil, timestamp: happens(2) ? wall : nil,
      features: features)
  }

  private mutating func connected() -> SessionConnected {
    let versions = [SessionVersion(0, 4, 0), SessionVersion(0, 5, 0), SessionVersion(0, 5, 0)]
    return SessionConnected(
      message: "", session: "", version: happens(30) ? SessionVersion(0, 3, 9) : one(versions),
      features: features, isRecovered: one([nil, true, true, false]))
  }

  private mutating func word() -> SessionServerMessage {
    let open = model.queue.items
    let prompt = open.isEmpty ? nil : one(open)
    let key = prompt.map(\.id.description) ?? "none"
    let name = prompt?.conversation ?? one(Self.names)
    switch number(0...21) {
    case 0, 1: return .pong
    case 2, 3, 4: return .ack(message: "", idempotencyKey: happens(3) ? nil : key)
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
      return .heartbeat(happens(5) ? nil : wall.advanced(by: one(skews)))
    case 20: return .turnComplete(conversation: name, isAborted: false)
    case _: return seldom(name)
    }
  }

  private mutating func seldom(_ name: String) -> SessionServerMessage {
    switch number(0...7) {
    case 0: .draining(message: "", retryAfter: .seconds(5), window: happens(2) ? .seconds(2) : nil)
    case 1: .authError(message: "no")
    case 2: .sessionKilled(conversation: name)
    case 3: .unknown(type: "news")
    case 4: .hello(hello())
    case _: .connected(connected())
    }
  }

  private mutating func id() -> String { "m\(number(0...40))" }

  /// The next number of the server, or another one.
  private mutating func serverNumber() -> UInt64? {
    if happens(4) { return nil }
    if happens(3) { return UInt64(number(1...30)) }
    lastNumber += 1
    return lastNumber
  }

  private mutating func response(_ prompt: KeptPrompt?) -> SessionResponse {
    let errors = ["failed", "interrupted", "it was interrupted by a crash", "cancelled"]
    return SessionResponse(
      id: happens(4) ? nil : id(), number: serverNumber(),
      conversation: happens(4) ? nil : prompt?.conversation,
      idempotencyKey: happens(3) ? nil : prompt?.id.description,
      result: happens(4) ? .failure(error: one(errors)) : .success(text: "re \(number(0...5))"),
      parts: happens(3) ? number(0...2) : nil)
  }

  private mutating func error(_ prompt: KeptPrompt?) -> SessionError {
    let codes: [String?] = [
      nil, "busy", "busy", "rate_limited", "store_failed", "draining", "too_long",
      "not_recovered", "invalid_subscribe",
    ]
    var error = SessionError(message: happens(4) ? "Unknown message type: x" : "no")
    error.code = happens(60) ? "unsupported_protocol_version" : one(codes)
    error.conversation = happens(3) ? nil : prompt?.conversation ?? one(Self.names)
    error.idempotencyKey = happens(2) ? nil : prompt?.id.description
    return error
  }

  private mutating func entry(_ name: String, _ prompt: KeptPrompt?) -> SessionEntry {
    let isOwn = happens(3)
    let text = isOwn ? prompt?.text ?? "ask 1" : "re \(number(0...5))"
    return SessionEntry(
      id: id(), role: isOwn ? .user : happens(9) ? .system : .assistant, text: text,
      conversation: name, timestamp: nil)
  }

  private mutating func window(_ name: String, _ prompt: KeptPrompt?) -> SessionHistory {
    let isOld = happens(2)
    let first = happens(5) ? UInt64(number(0...12)) : next[name] ?? 0
    var entries: [SessionEntry] = []
    for _ in 0..<number(0...2) {
      var entry = entry(name, prompt?.conversation == name ? prompt : nil)
      entry.place = first + UInt64(entries.count) + (isOld ? 1 : 0)
      entries.append(entry)
    }
    let end = first + UInt64(entries.count)
    next[name] = end
    var place = SessionHistory.Place.offset(
      next: end, signature: happens(9) ? "t" : "s", isReplaced: happens(12))
    if isOld {
      place = .sequence(
        first: happens(3) ? nil : entries.first?.place, last: entries.last?.place, next: end + 1)
    }
    var window = SessionHistory(
      conversation: name, entries: entries, place: place, isComplete: !happens(3))
    if happens(12) {
      window.gap = SessionHistory.Gap(
        requested: first, oldest: UInt64(number(0...9)),
        reason: happens(2) ? .pruned : .clientAhead)
    }
    return window
  }
}
