import HoldfastCore
import HoldfastSessionAudit
import HoldfastSessionData

/// A simulated server for audits, in virtual time, with selected faults.
struct PretendServer {
  enum Fault: String, CaseIterable {
    case noPong, lateApplicationPong, noProtocolPong, abruptClose, noCompression
    case untypedMessage, camelCase, noVersion, noNegotiation
    case acceptsOld, closesOld, newerOnly, acceptsEarly, silentAtWrongKey, closesWithoutError
    case refusesPlainKey, noChallenge, acceptsReplayedChallenge
    case noAck, takesBadPrompt, noMessageID, ackEarnsError, noReplay, replaysForever
    case swapsResponses, noPlaces, noStamps, runsTwice, ignoresCursor, noBatch
    case noSizeAck, ignoresSize, takesHugeFrame, hugeFrameEndsAll, slowPong
    case closesAtMalformed, closesAtUntyped, closesAtUnknown, closesAtBinary, ignoresInvalid
    case noHeartbeat, endsSilentClients, keepsStrangers, refusesBurst, neverAnswers
    // These faults make a server only seem to meet a practice.
    case pongsUnasked, plainMessages, camelInside, overstatesVersion, emptyOlder
    case takesAnyKey, takesAnyAnswer, readsEarly, ignoresChallenge, sameChallenge
    case sameID, deliversOnce, restartsPlaces, farStamps, ignoresOffset, emptyBatch, halfBatch
    case acksBadPrompt, lateAck, shortAnswers, failsLarge, inTurn
    case greetsAlive, beatsOnce, beatsOften, letsInOnce
  }

  /// The kind of a server.
  enum Kind { case session, echo, silent }

  static let key = "untethered-0123456789abcdef0123456789abcdef"
  var kind = Kind.session
  var faults: Set<Fault> = []
  /// The responses that the server stores for each client until the client acknowledges them.
  private var unacknowledged: [String: [(id: String, entry: SessionEntry)]] = [:]
  private var histories: [String: [SessionEntry]] = [:]
  private var answered: [String: SessionResponse] = [:]
  private var lines: [Int: Line] = [:]
  private var count = 0
  private var proofs: Set<String> = []
  /// Whether the client connected earlier.
  var isReturn = false

  /// Returns the number of compressed messages that the client receives with this input.
  func compressed(_ input: ScriptRun.Input) -> Int {
    guard case .text = input else { return 0 }
    return faults.isDisjoint(with: [.noCompression, .plainMessages]) ? 1 : 0
  }

  /// The state of one connection.
  private struct Line {
    var client: String?
    var version = SessionVersion.newest
    var limit = Int.max
    var challenge = ""
    /// The time that earlier messages take if the server handles one message at a time.
    var backlog = Duration.zero
  }

  typealias Timed = (after: Duration, input: ScriptRun.Input)

  init(_ kind: Kind = .session, _ faults: Set<Fault> = []) {
    (self.kind, self.faults) = (kind, faults)
  }

  static func sign(_ challenge: String, with key: String = key) -> String {
    "signed(\(challenge)) with the \(key == Self.key ? "right" : "wrong") key"
  }

  /// Returns the inputs that result from an effect.
  mutating func take(_ effect: ScriptRun.Effect) -> [Timed] {
    switch effect {
    case .open(let line): return open(line)
    case .send(let line, let bytes):
      return kind == .echo ? [(.milliseconds(1), .text(line, bytes))] : read(bytes, on: line)
    case .sendBinary(let line, let bytes):
      if kind == .echo { return [(.milliseconds(1), .binary(line, bytes: bytes.count))] }
      return kind == .session ? invalid(line, closes: .closesAtBinary) : []
    case .sendRaw(let line, let bytes): return raw(bytes, on: line)
    case .ping(let line):
      let isMute = faults.contains(.noProtocolPong) || kind == .silent
      return isMute ? [] : [(.milliseconds(1), .pong(line))]
    case .drop(let line):
      lines[line] = nil
      return []
    }
  }

  private mutating func open(_ number: Int) -> [Timed] {
    count += 1
    if faults.contains(.refusesBurst), number > 10 {
      return [(.milliseconds(1), .ended(number, .reset))]
    }
    let isSame = faults.contains(.sameChallenge)
    lines[number] = Line(challenge: isSame ? "challenge" : "challenge-\(count)")
    let headers =
      faults.contains(.noCompression) ? [:] : ["sec-websocket-extensions": "permessage-deflate"]
    let opened: Timed = (.milliseconds(1), .opened(number, headers: headers))
    guard kind == .session else { return [opened] }
    let hello = SessionHello(
      message: "hi", version: faults.contains(.noVersion) ? nil : "0.5.0",
      challenge: faults.contains(.noChallenge) ? nil : lines[number]?.challenge,
      features: [.heartbeat])
    var all = [opened, say(.hello(hello), on: number)]
    if faults.contains(.untypedMessage) { all.append(text(#"{"note":1}"#, on: number)) }
    if faults.contains(.camelCase) { all.append(text(#"{"type":"x","aB":1}"#, on: number)) }
    if faults.contains(.camelInside) {
      all.append(text(#"{"type":"x","all":[{"aB":1}]}"#, on: number))
    }
    if faults.contains(.pongsUnasked) {
      all += (1...60).map { say(.pong, on: number, after: .seconds($0)) }
    }
    if !faults.contains(.keepsStrangers) { all.append(late(.seconds(30), number, .stranger)) }
    return all
  }

  /// A delayed event, which happens only if the connection is still open then.
  enum Later { case stranger, heartbeat, silence }

  private func late(_ time: Duration, _ line: Int, _ what: Later) -> Timed {
    switch what {
    case .heartbeat: (time, .text(line, SessionServerMessage.heartbeat(nil).bytes))
    case .stranger: (time, .ended(line, .closed(code: 4408, reason: "stranger")))
    case .silence: (time, .ended(line, .closed(code: 4408, reason: "silence")))
    }
  }

  /// Returns whether a delayed event still happens.
  func stillHappens(_ input: ScriptRun.Input) -> Bool {
    guard case .ended(let line, .closed(4408, let reason)) = input else { return true }
    guard let client = lines[line] else { return false }
    return reason == "silence" || client.client == nil
  }

  private func say(
    _ message: SessionServerMessage, on line: Int, after time: Duration = .milliseconds(1)
  ) -> Timed {
    (time, .text(line, message.bytes))
  }

  private func text(_ text: String, on line: Int) -> Timed {
    (.milliseconds(1), .text(line, Array(text.utf8)))
  }

  private mutating func end(_ line: Int) -> Timed {
    lines[line] = nil
    return (.milliseconds(2), .ended(line, .closed(code: 4401, reason: "")))
  }

  private mutating func raw(_ bytes: [UInt8], on line: Int) -> [Timed] {
    if bytes.first == 0x88 {
      let failure =
        faults.contains(.abruptClose) ? LinkFailure.reset : .closed(code: 1000, reason: "")
      return kind == .silent ? [] : [(.milliseconds(1), .ended(line, failure))]
    }
    if faults.contains(.takesHugeFrame) || kind == .silent { return [] }
    let over: Timed = (.milliseconds(1), .ended(line, .closed(code: 1009, reason: "")))
    return faults.contains(.hugeFrameEndsAll) ? [over, (.zero, .ended(0, .reset))] : [over]
  }

  private mutating func invalid(_ line: Int, closes fault: Fault) -> [Timed] {
    if faults.contains(fault) { return [end(line)] }
    if faults.contains(.ignoresInvalid) { return [] }
    return [say(.error(SessionError(message: "not valid")), on: line)]
  }
}

// MARK: Messages

extension PretendServer {
  private mutating func read(_ bytes: [UInt8], on line: Int) -> [Timed] {
    guard kind == .session, lines[line] != nil else { return [] }
    let message = try? SessionClientMessage.read(bytes)
    if message == .ping { return pong(line) }
    if case .connect(let connect) = message { return take(connect, on: line) }
    guard let client = lines[line]?.client else {
      if faults.contains(.readsEarly), case .subscribe(let subscription) = message {
        return [say(.history(history(subscription, line)), on: line)]
      }
      return faults.contains(.acceptsEarly) ? [] : refuse(line)
    }
    guard let message else {
      let text = String(decoding: bytes, as: UTF8.self)
      if text.contains("resume_session_id") {
        let error = SessionServerMessage.error(SessionError(message: "no text"))
        let isSilent = !faults.isDisjoint(with: [.takesBadPrompt, .ignoresInvalid])
        let ack = say(.ack(message: "ok", idempotencyKey: nil), on: line)
        let confirmed = faults.contains(.acksBadPrompt) ? [ack] : []
        return isSilent ? [] : confirmed + [say(error, on: line)]
      }
      return invalid(
        line, closes: text.contains("no type") ? .closesAtUntyped : .closesAtMalformed)
    }
    return answer(message, from: client, on: line)
  }

  private mutating func refuse(_ line: Int) -> [Timed] {
    if faults.contains(.closesWithoutError) { return [end(line)] }
    return [say(.authError(message: "no"), on: line), end(line)]
  }

  private func pong(_ line: Int) -> [Timed] {
    if !faults.isDisjoint(with: [.noPong, .pongsUnasked]) { return [] }
    if faults.contains(.inTurn) {
      let time = lines[line]?.backlog ?? .zero
      return [say(.pong, on: line, after: time + .milliseconds(1))]
    }
    let isBusy = faults.contains(.slowPong) && histories.count >= 8
    let isLate = faults.contains(.lateApplicationPong) || isBusy
    return [say(.pong, on: line, after: isLate ? .milliseconds(2_500) : .milliseconds(1))]
  }

  private mutating func take(_ connect: SessionConnect, on line: Int) -> [Timed] {
    let challenge = lines[line]?.challenge ?? ""
    let proof = connect.proof?.text
    let isNew = proof.map { proofs.insert($0).inserted } ?? false
    let isAny = faults.contains(.takesAnyAnswer) && isNew
    let isReplayed = faults.contains(.acceptsReplayedChallenge)
    let isSigned =
      isAny || proof == Self.sign(challenge) && !faults.contains(.ignoresChallenge)
      || isReplayed && proof?.hasSuffix("the right key") == true
    let isRight = connect.key?.text == Self.key && !faults.contains(.refusesPlainKey)
    let isKey = isRight || connect.key != nil && faults.contains(.takesAnyKey)
    guard isKey || isSigned, !(isReturn && faults.contains(.letsInOnce)) else {
      return faults.contains(.silentAtWrongKey) ? [] : refuse(line)
    }
    guard let version = SessionVersion.negotiated(connect.version) else {
      if faults.contains(.closesOld) { return [end(line)] }
      if !faults.contains(.acceptsOld) {
        let error = SessionError(message: "old", code: SessionError.unsupportedVersion)
        return [say(.error(error), on: line), end(line)]
      }
      return accept(connect.session, .oldest, on: line)
    }
    return accept(
      connect.session, faults.contains(.newerOnly) ? .newest : version, on: line)
  }

  private mutating func accept(
    _ client: String, _ version: SessionVersion, on line: Int
  ) -> [Timed] {
    lines[line]?.client = client
    lines[line]?.version = version
    let isOver = faults.contains(.overstatesVersion) && version == .newest
    let version = isOver ? SessionVersion(9, 9, 9) : version
    var all: [Timed] = [
      faults.contains(.noNegotiation)
        ? text(#"{"type":"connected","message":"hi","session_id":"a"}"#, on: line)
        : say(
          .connected(SessionConnected(message: "hi", session: client, version: version)), on: line)
    ]
    if !faults.contains(.noReplay) {
      for (id, entry) in unacknowledged[client] ?? [] {
        all.append(say(.replay(id: id, entry, number: nil), on: line, after: .milliseconds(2)))
      }
      if faults.contains(.deliversOnce) { unacknowledged[client] = nil }
    }
    all += beats.map { late($0, line, .heartbeat) }
    if faults.contains(.endsSilentClients) { all.append(late(.seconds(20), line, .silence)) }
    return all
  }

  /// The times at which the server sends heartbeats.
  private var beats: [Duration] {
    if faults.contains(.noHeartbeat) { return [] }
    if faults.contains(.greetsAlive) { return [.milliseconds(3)] }
    if faults.contains(.beatsOnce) { return [.seconds(10)] }
    return faults.contains(.beatsOften) ? [15, 30, 45].map { .seconds($0) } : [.seconds(45)]
  }

  private mutating func answer(
    _ message: SessionClientMessage, from client: String, on line: Int
  ) -> [Timed] {
    switch message {
    case .prompt(let prompt): return ask(prompt, from: client, on: line)
    case .messageAck(let id):
      if !faults.contains(.replaysForever) { unacknowledged[client]?.removeAll { $0.id == id } }
      return faults.contains(.ackEarnsError)
        ? [say(.error(SessionError(message: "unknown")), on: line)] : []
    case .subscribe(let subscription): return [say(.history(history(subscription, line)), on: line)]
    case .subscribeBatch(let all):
      let most = faults.contains(.emptyBatch) ? 0 : faults.contains(.halfBatch) ? 1 : all.count
      let histories = all.prefix(most).map { history($0, line) }
      return faults.contains(.noBatch)
        ? [say(.error(SessionError(message: "unknown")), on: line)]
        : [say(.historyBatch(histories), on: line)]
    case .setMaxMessageSize(let kilobytes):
      if !faults.contains(.ignoresSize) { lines[line]?.limit = kilobytes * 1_024 }
      let ack = SessionServerMessage.ack(message: "set", idempotencyKey: nil)
      return faults.contains(.noSizeAck) ? [] : [say(ack, on: line)]
    case .unknown: return invalid(line, closes: .closesAtUnknown)
    case .connect, .ping, .unsubscribe, .killSession, .disconnect: return []
    }
  }

  private mutating func ask(
    _ prompt: SessionPrompt, from client: String, on line: Int
  ) -> [Timed] {
    let key = prompt.idempotencyKey ?? ""
    let response: SessionResponse
    if let earlier = answered[key], !faults.contains(.runsTwice) {
      response = earlier
    } else {
      response = run(prompt, key, for: client, limit: lines[line]?.limit ?? .max)
    }
    let isSwapped = faults.contains(.swapsResponses) && prompt.text == "audit: two"
    var time = Duration.milliseconds(isSwapped ? 50 : 3)
    if faults.contains(.inTurn) {
      lines[line]?.backlog += .milliseconds(50)
      time = lines[line]?.backlog ?? .zero
    }
    var all: [Timed] = []
    if !faults.contains(.neverAnswers) {
      all = [say(.response(response), on: line, after: time)]
    }
    if !faults.contains(.noAck) {
      let ack = Duration.milliseconds(faults.contains(.lateAck) ? 5 : 1)
      all.append(say(.ack(message: "ok", idempotencyKey: key), on: line, after: ack))
    }
    return all
  }

  private mutating func run(
    _ prompt: SessionPrompt, _ key: String, for client: String, limit: Int
  ) -> SessionResponse {
    count += 1
    let id = faults.contains(.sameID) ? "answer" : "answer-\(count)"
    let start = UInt64(histories[prompt.conversation]?.count ?? 0)
    let second: Int64 = faults.contains(.farStamps) ? 100_000 : 1
    let stamp =
      faults.contains(.noStamps) ? nil : Timestamp(nanoseconds: second * 1_000_000_000)
    let entries = [(SessionRole.user, key), (.assistant, id)].enumerated().map { index, part in
      SessionEntry(
        id: part.1, role: part.0, text: prompt.text, conversation: prompt.conversation,
        timestamp: stamp, position: start + UInt64(index))
    }
    histories[prompt.conversation, default: []] += entries
    if !faults.contains(.neverAnswers) {
      unacknowledged[client, default: []].append((id, entries[1]))
    }
    let most = faults.contains(.shortAnswers) ? 1_100 : min(limit, 1 << 20)
    let text = String(prompt.text.prefix(max(0, most - 1_000)))
    let hasFailed = faults.contains(.failsLarge) && prompt.text.utf8.count > limit
    let response = SessionResponse(
      id: faults.contains(.noMessageID) ? nil : id, conversation: prompt.conversation,
      idempotencyKey: key, result: hasFailed ? .failure(error: "too long") : .success(text: text))
    answered[key] = response
    return response
  }

  private func history(_ subscription: SessionSubscription, _ line: Int) -> SessionHistory {
    let isOlder = lines[line]?.version == .oldest
    let all = histories[subscription.conversation] ?? []
    var start: Int
    switch subscription.cursor {
    case .sequence(let last): start = Int(last)
    case .offset(let offset, _): start = Int(offset)
    }
    if faults.contains(.ignoresCursor) || faults.contains(.ignoresOffset) && !isOlder { start = 0 }
    let isEmpty = faults.contains(.emptyOlder) && isOlder
    let entries = (isEmpty ? [] : all[...]).dropFirst(start).enumerated().map { index, entry in
      var entry = entry
      if faults.contains(.restartsPlaces) { entry.position = UInt64(index) }
      entry.position =
        faults.contains(.noPlaces) ? nil : entry.position.map { $0 + (isOlder ? 1 : 0) }
      return entry
    }
    let next = UInt64(all.count)
    return SessionHistory(
      conversation: subscription.conversation, entries: entries,
      extent: isOlder
        ? .sequence(first: nil, last: nil, next: next + 1)
        : .offset(next: next, signature: "0:", isReplaced: false), isComplete: true)
  }
}
