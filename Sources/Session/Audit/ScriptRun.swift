public import HoldfastCore
import HoldfastSessionData

/// A key, and a function that signs challenges with the key.
public struct AuditKey: Sendable {
  /// The key to present to the server.
  public var key: Secret
  /// A function that returns the HMAC-SHA256 of a challenge with the key, in lowercase hexadecimal
  /// digits. If it is `nil`, challenges are not answered.
  public var sign: (@Sendable (String) -> String)?

  /// Creates a key with its signing function.
  public init(key: Secret, sign: (@Sendable (String) -> String)?) {
    (self.key, self.sign) = (key, sign)
  }
}

/// A run of one script. It receives events, returns effects, and records both.
///
/// ```
/// step ──▶ done at once: open, use, say, ping, raw, drop ──▶ next step
///   └────▶ expect, pause: until the event, or the deadline ──▶ next step, or the end
/// ```
public struct ScriptRun: Sendable {
  /// An event, with the number of its connection.
  public enum Input: Sendable {
    case opened(Int, headers: [String: String])
    case text(Int, [UInt8])
    case binary(Int, bytes: Int)
    case ping(Int)
    case pong(Int)
    case ended(Int, LinkFailure)
  }

  /// An effect, with the number of its connection.
  public enum Effect: Sendable, Hashable {
    case open(Int)
    case send(Int, [UInt8])
    case sendBinary(Int, [UInt8])
    case sendRaw(Int, [UInt8])
    case ping(Int)
    case drop(Int)
  }

  /// The record of the events so far.
  public private(set) var record = AuditRecord()
  /// The time at which `tick` must be called next; `nil` if the run is over or not waiting.
  public private(set) var deadline: Instant?
  /// Whether the run has ended.
  public private(set) var isOver = false
  private let script: AuditScript
  private let key: AuditKey?
  private let start: Instant
  private let wall: Timestamp
  private var next = 0
  private var socket = 0
  private var open: Set<Int> = []
  /// The index of the first event after the last step that sent something.
  private var mark = 0
  private var connects: [Int: [UInt8]] = [:]
  private var bytes = 0

  /// The maximum numbers of events and bytes in a record. If a server exceeds one of them, the
  /// script ends.
  static let most = (events: 2_000, bytes: 8 << 20)

  /// Creates a run that starts at the given time.
  public init(_ script: AuditScript, key: AuditKey?, at now: Instant, wall: Timestamp) {
    (self.script, self.key, start, self.wall) = (script, key, now, wall)
    record.wall = wall
  }

  /// Starts the first step.
  public mutating func begin(at now: Instant) -> [Effect] { goOn(at: now) }

  /// Handles an event.
  public mutating func handle(_ input: Input, at now: Instant) -> [Effect] {
    guard !isOver else { return [] }
    switch input {
    case .opened(let socket, let headers):
      open.insert(socket)
      note(.opened(headers: headers), on: socket, now)
    case .text(let socket, let text):
      bytes += text.count
      note(.received(AuditMessage(text, hide: hide)), on: socket, now)
    case .binary(let socket, let count):
      bytes += count
      note(.binary(bytes: count), on: socket, now)
    case .ping(let socket): note(.serverPing, on: socket, now)
    case .pong(let socket): note(.pong, on: socket, now)
    case .ended(let socket, let failure):
      open.remove(socket)
      note(.ended(failure.mapText(hide)), on: socket, now)
    }
    guard record.events.count < Self.most.events, bytes < Self.most.bytes else {
      return stop(isComplete: false)
    }
    return goOn(at: now)
  }

  /// Counts compressed messages that arrived on a connection, even after the end of the run.
  public mutating func note(compressed count: Int, on socket: Int) {
    if count > 0 { record.compressed[socket, default: 0] += count }
  }

  /// Handles the expiry of a wait.
  public mutating func tick(at now: Instant) -> [Effect] {
    guard let deadline, now >= deadline else { return [] }
    self.deadline = nil
    let step = script.steps[next]
    next += 1
    if case .expect(let awaited, _, _, let orStop) = step {
      note(.late(awaited.map(\.label).joined(separator: " or ")), on: socket, now)
      if orStop { return stop(isComplete: false) }
    }
    return goOn(at: now)
  }

  /// Ends the run.
  public mutating func stop(isComplete: Bool) -> [Effect] {
    guard !isOver else { return [] }
    (isOver, deadline, record.isComplete) = (true, nil, isComplete)
    return open.sorted().map { .drop($0) }
  }

  private mutating func note(_ kind: AuditRecord.Kind, on socket: Int, _ now: Instant) {
    record.events.append(.init(at: start.duration(to: now), socket: socket, kind: kind))
  }

  /// Returns a text with the key removed.
  private func hide(_ text: String) -> String {
    guard let key = key?.key.text, !key.isEmpty else { return text }
    return text.replacing(key, with: "(the key)")
  }
}

// MARK: Steps

extension ScriptRun {
  private mutating func goOn(at now: Instant) -> [Effect] {
    var effects: [Effect] = []
    while next < script.steps.count {
      switch script.steps[next] {
      case .expect(let awaited, let count, let limit, let orStop):
        guard !hasCome(awaited, count) else { break }
        if Self.isForAll(awaited, count) || !hasEnded {
          if deadline == nil { deadline = now.advanced(by: limit) }
          return effects
        }
        // No further event can arrive on this connection.
        if orStop { return effects + stop(isComplete: false) }
      case .pause(let limit):
        if deadline == nil { deadline = now.advanced(by: limit) }
        return effects
      case .endIf(let type):
        if record.first(type, on: socket) != nil { return effects + stop(isComplete: true) }
      case .open, .use, .say, .ping, .raw, .drop:
        effects += perform(script.steps[next], at: now)
      }
      deadline = nil
      next += 1
    }
    return effects + stop(isComplete: true)
  }

  /// Returns whether a wait concerns the end of several connections.
  private static func isForAll(_ awaited: [AuditScript.Awaited], _ count: Int) -> Bool {
    count > 1 && awaited.contains(.end)
  }

  /// Whether the current connection has ended.
  private var hasEnded: Bool { record.end(of: socket) != nil }

  private func hasCome(_ awaited: [AuditScript.Awaited], _ count: Int) -> Bool {
    let all = Self.isForAll(awaited, count)
    let found = record.events[min(mark, record.events.count)...].count { event in
      (all || event.socket == socket) && awaited.contains { Self.is(event.kind, $0) }
    }
    return found >= count
  }

  private static func `is`(_ kind: AuditRecord.Kind, _ awaited: AuditScript.Awaited) -> Bool {
    switch (kind, awaited) {
    case (.opened, .opened), (.ended, .end), (.pong, .pong), (.serverPing, .serverPing),
      (.received, .anything), (.binary, .anything):
      true
    case (.received(let message), .message(let type)): message.type == type
    case (.opening, _), (.opened, _), (.sent, _), (.received, _), (.binary, _), (.serverPing, _),
      (.pong, _), (.ended, _), (.late, _):
      false
    }
  }

  private mutating func perform(_ step: AuditScript.Step, at now: Instant) -> [Effect] {
    switch step {
    case .open(let number):
      socket = number
      mark = record.events.count
      note(.opening, on: number, now)
      return [.open(number)]
    case .use(let number):
      socket = number
      return []
    case .say(let sayings):
      mark = record.events.count
      return sayings.map { say($0, at: now) }
    case .ping:
      mark = record.events.count
      note(.sent("a WebSocket ping"), on: socket, now)
      return [.ping(socket)]
    case .raw(let bytes, let text):
      mark = record.events.count
      note(.sent(text), on: socket, now)
      return [.sendRaw(socket, bytes)]
    case .drop: return open.remove(socket) == nil ? [] : [.drop(socket)]
    case .expect, .pause, .endIf: return []
    }
  }
}

// MARK: Sending

extension ScriptRun {
  private mutating func say(_ saying: AuditScript.Saying, at now: Instant) -> Effect {
    let bytes = content(of: saying, at: now)
    note(.sent(text(bytes, of: saying)), on: socket, now)
    if case .binary = saying { return .sendBinary(socket, bytes) }
    return .send(socket, bytes)
  }

  private func text(_ bytes: [UInt8], of saying: AuditScript.Saying) -> String {
    switch saying {
    case .connect(let login):
      "connect with \(text(login.proof)), version \(login.version ?? "none")"
    case .connectOf: "connect with the answer to the challenge of another connection"
    case .binary: "a binary message of \(bytes.count) bytes"
    case .message, .text, .ack: AuditMessage(bytes, hide: hide).excerpt
    }
  }

  private func text(_ proof: AuditScript.Login.Proof) -> String {
    switch proof {
    case .best:
      challenge == nil || key?.sign == nil ? "the key" : "an answer to the challenge"
    case .key: "the key"
    case .wrongKey: "a wrong key"
    case .wrongAnswer: challenge == nil ? "a wrong key" : "a wrong answer to the challenge"
    case .none: "no key"
    }
  }

  private mutating func content(of saying: AuditScript.Saying, at now: Instant) -> [UInt8] {
    switch saying {
    case .message(let message): return message.bytes
    case .text(let text): return Array(text.utf8)
    case .binary(let bytes): return bytes
    case .ack: return SessionClientMessage.messageAck(newestID ?? "unknown").bytes
    case .connectOf(let other): return connects[other] ?? []
    case .connect(let login):
      let bytes = SessionClientMessage.connect(connect(login, at: now)).bytes
      connects[socket] = bytes
      return bytes
    }
  }

  private func connect(_ login: AuditScript.Login, at now: Instant) -> SessionConnect {
    var connect = SessionConnect(
      session: login.session, version: login.version, features: login.features)
    switch login.proof {
    case .none: break
    case .wrongKey: connect.key = Secret(Self.wrongKey)
    case .key: connect.key = key?.key
    case .wrongAnswer:
      guard challenge != nil else {
        connect.key = Secret(Self.wrongKey)
        break
      }
      prove(by: Self.wrongAnswer, in: &connect, at: now)
    case .best:
      guard let challenge, let sign = key?.sign else {
        connect.key = key?.key
        break
      }
      prove(by: sign(challenge), in: &connect, at: now)
    }
    return connect
  }

  private func prove(by proof: String, in connect: inout SessionConnect, at now: Instant) {
    connect.proof = Secret(proof)
    let time = start.duration(to: now).nanoseconds
    connect.timestamp = Timestamp(nanoseconds: wall.nanoseconds + time)
  }

  /// A key in the correct format that no server accepts.
  private static let wrongKey = "untethered-" + String(repeating: "0", count: 32)
  private static let wrongAnswer = String(repeating: "0", count: 64)

  /// The challenge in the `hello` of the current connection.
  private var challenge: String? {
    for (_, message) in record.messages(on: socket) {
      if case .hello(let hello) = message.content { return hello.challenge }
    }
    return nil
  }

  /// The ID of the newest response or replay on the current connection.
  private var newestID: String? {
    record.messages(on: socket).compactMap { $0.1.content?.deliveredID }.last
  }
}

extension SessionServerMessage {
  /// The ID of a response or a replay; `nil` for other messages.
  var deliveredID: String? {
    switch self {
    case .response(let response): response.id
    case .replay(let id, _, _): id
    case .hello, .connected, .pong, .ack, .responsePart, .error, .authError, .turnComplete,
      .history, .historyBatch, .heartbeat, .draining, .sessionKilled, .unknown:
      nil
    }
  }
}
