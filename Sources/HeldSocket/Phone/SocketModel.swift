public import HoldfastCore

/// A WebSocket with any application protocol, kept connected according to a policy.
///
///     start ──▶ connecting ──open──▶ greeted ──confirmed──▶ connected ──lost──▶ reconnecting
///                   ▲                                                              │
///                   └──────────────────────────────────────────────────────────────┘
///
/// A link decides when to connect. This machine decides how a connection begins and what is sent.
/// The greeting is the first message of every connection. If a confirmation is required,
/// "connected" means confirmed within the policy's `establish.timeout`. Otherwise it means open.
/// All messages of the current connection are delivered, in order, up to its close frame. The app's
/// functions run outside this machine and pass the meaning of a message as data (`SocketReading`).
public struct SocketModel: Journaled, TimedMachine {
  public static var journalName: String { "held-socket" }
  /// The settings of this socket.
  public let settings: SocketSettings
  /// The link, which decides whether, when and how to connect.
  public internal(set) var link: HeldLink
  /// The messages to send.
  public internal(set) var queue = ProvenQueue()
  /// The messages that are sent on every connection.
  var standing = StandingMessages()
  /// The number of messages handed to a socket so far. A resent message is counted again.
  public internal(set) var sent: UInt64 = 0
  /// The most recent position that the app marked.
  var position: Secret?
  /// The status and quality that were most recently shown to the app.
  var shown = (status: LinkStatus(phase: .disconnected), quality: LinkQuality.good)
  /// The number of the link's ping for which the app's own ping message was sent.
  var asked: UInt64?
  /// The attempt whose socket is not read, because the app has left too many messages unread.
  var paused: AttemptID?
  /// The instant at which to stop even if accepted messages wait; `nil` if the socket is not
  /// stopping.
  var stopsAt: Instant?

  /// Creates a socket that is not started.
  ///
  /// - Parameter seed: The seed of the random source. The same seed and inputs produce the same
  ///   effects.
  public init(_ settings: SocketSettings, seed: UInt64) {
    self.settings = settings
    position = settings.position
    link = HeldLink(policy: settings.policy, seed: seed)
  }

  public mutating func handle(_ input: Input, at now: Instant) -> [Effect] {
    var step = Step(now: now)
    take(input, &step)
    finish(&step)
    return step.effects
  }

  public mutating func tick(at now: Instant) -> [Effect] {
    var step = Step(now: now)
    expireTimers(at: now, &step)
    finish(&step)
    return step.effects
  }

  public var deadline: Instant? { firstDue }

  package enum Timer: CaseIterable, Sendable {
    case link, proof, stop
  }

  package func due(_ timer: Timer) -> Instant? {
    switch timer {
    case .link: link.deadline
    case .proof: repeats ? nil : queue.deadline
    case .stop: stopsAt
    }
  }

  package mutating func expire(_ timer: Timer, _ step: inout Step) {
    switch timer {
    case .link:
      // While the socket is not read, silence says nothing about the server.
      if let paused { drive(.heard(paused), &step) }
      follow(link.tick(at: step.now), &step)
    case .proof: step.show(.notice(.unproven(count: queue.expire(), isRepeated: false)))
    case .stop: end(&step)
    }
  }

  /// Whether messages can be handed to a socket now.
  public var isConnected: Bool { link.status.phase == .connected }

  /// Whether nothing is in progress, and nothing will begin before the next start.
  public var isStopped: Bool { !link.isWanted && stopsAt == nil }

  /// Whether messages are resent if they may not have arrived.
  var repeats: Bool { settings.outbox.repeats }

  /// The instant at which the wait for a pong ends, for messages that are sent only once. A server
  /// that does not answer pings must not delay them.
  /// Completes a step: hands messages that can be sent to the socket, in order.
  private mutating func finish(_ step: inout Step) {
    if let attempt = link.currentAttempt, isConnected {
      let ready = queue.take()
      step.effects += ready.map { .send(attempt, $0) }
      let timeout = settings.policy.liveness.pongTimeout
      if !settings.hasAcknowledgements,
        let ping = queue.ask(until: step.now.advanced(by: timeout))
      {
        step.effects.append(.ping(attempt, ping))
      }
      if !ready.isEmpty {
        sent += UInt64(ready.count)
        step.show(.sent(sent))
      }
    }
    // A durable outbox keeps its messages for the next run. Messages in memory wait for a
    // connection.
    let mayArrive = isConnected || settings.outbox == .waiting || settings.outbox == .memory
    if stopsAt != nil, !mayArrive || queue.entries.isEmpty { end(&step) }
  }

  /// The time of one call, and the effects produced so far.
  package struct Step {
    let now: Instant
    var effects: [Effect] = []

    mutating func show(_ update: Update) { effects.append(.update(update)) }
  }

  /// Passes an input to the link and applies the link's effects.
  mutating func drive(_ input: HeldLink.Input, _ step: inout Step) {
    follow(link.handle(input, at: step.now), &step)
  }
}

extension SocketModel.Input: LinkInput {
  public init(_ event: LinkEvent, at wall: Timestamp) { self = .link(event) }
  public var event: LinkEvent? { if case .link(let event) = self { event } else { nil } }
}

extension SocketModel {
  /// An input of a held socket.
  public enum Input: Sendable, Equatable, Codable {
    // Inputs from the app.
    /// Connect without waiting for the next retry. This is also valid after an error.
    case start
    /// Close with 1000 once all accepted messages have arrived, or after 2 s. Without a connection,
    /// the socket waits only for messages in memory.
    case stop
    /// Send a message. Its number must follow those of all earlier messages.
    case send(UInt64, SocketMessage)
    /// Set the standing message of a key, or remove it if there is no message.
    case standing(String, SocketMessage?)
    /// Set a standing message that the app's function makes on each connection.
    case makeStanding(String)

    case link(LinkEvent)
    case credentials(HeldLink.CredentialsEvent)
    /// An event of an attempt's socket that is not a `LinkEvent`.
    case socket(AttemptID, News)

    // Inputs from the durable outbox.
    /// The stored messages of an earlier run. This is the first input.
    case restored([OutboxMessage])
    case stored(UInt64)
    case storeFailed(UInt64, detail: String)
  }

  /// An event of a socket that is not common to all links.
  public enum News: Sendable, Equatable, Codable {
    case opened(subprotocol: String?)
    case message(SocketMessage, SocketReading)
    /// The server acknowledged the message with a number, which was sent on this connection.
    case acknowledged(UInt64)
    /// Reading was paused because the app left too many messages unread, or was resumed.
    case reading(isPaused: Bool)
    /// The socket could not send a message.
    case unsent
  }

  /// An effect of a held socket. Effects are carried out in order.
  public enum Effect: Sendable, Equatable, Codable {
    case open(AttemptID)
    /// Close the socket with a code of RFC 6455 section 7.4.
    case close(AttemptID, HeldLink.CloseReason)
    /// Send the app's greeting as the first message, if the app has one.
    case greet(AttemptID, subprotocol: String?, after: Secret?)
    /// Send the app's resume message, if the app has one.
    case resume(AttemptID, after: Secret?)
    /// Send a standing message.
    case standing(AttemptID, SocketMessage)
    /// Send the standing message that the app's function makes.
    case makeStanding(AttemptID, key: String, after: Secret?)
    case send(AttemptID, OutboxMessage)
    /// Send a WebSocket ping.
    case ping(AttemptID, UInt64)
    /// Send the app's own ping message.
    case ask(AttemptID)
    case refreshCredentials
    /// Store a message, then report `.stored` or `.storeFailed`.
    case store(OutboxMessage)
    /// Remove stored messages.
    case remove([UInt64])
    case update(Update)
  }

  /// An update that a held socket reports to the app. Updates are reported in order.
  public enum Update: Sendable, Hashable, Codable {
    case status(LinkStatus)
    /// The quality of the connection has changed. It is initially good.
    case quality(LinkQuality)
    case message(SocketMessage)
    /// The number of messages handed to a socket since the start.
    case sent(UInt64)
    /// The outbox has stored a message.
    case stored(UInt64)
    /// All accepted messages up to this number have arrived.
    case proven(through: UInt64)
    case notice(SocketNotice)
  }
}

/// A condition that is worth logging but has no further effect.
///
/// The id of a message is the number that `send` returned.
public enum SocketNotice: Sendable, Hashable, Codable {
  /// The message was not accepted because there is no connection and the outbox is off.
  case notConnected(id: UInt64)
  /// The outbox did not accept the message.
  case refused(id: UInt64, OutboxRefusal)
  /// The message was not accepted because it could not be stored.
  case notStored(id: UInt64, detail: String)
  /// There is no room for a standing message. At most 64 keys, and messages with a total size of
  /// 32 KiB with their keys, are kept. If the key has an earlier message, that one remains in use.
  case standingRefused(key: String)
  /// The connection was lost after messages were handed to it, or their pong timed out. It is
  /// unknown whether the messages arrived. They are resent if `isRepeated` is true.
  case unproven(count: Int, isRepeated: Bool)
  /// The socket was stopped before this number of accepted messages was sent and confirmed.
  ///
  /// A durable outbox keeps these messages for the next run. Other outboxes keep them until the
  /// socket is started again.
  case unsent(count: Int)
  /// An incoming message over the size limit was dropped without being read.
  case oversized(bytes: UInt64)
}

extension SocketNotice: CustomStringConvertible {
  /// A human-readable sentence.
  public var description: String {
    switch self {
    case .notConnected: "a message was not sent: there is no connection"
    case .refused(_, .full): "a message was not sent: too many wait"
    case .refused(_, .tooLong(let bytes)): "a message of \(bytes) bytes was not sent"
    case .notStored(_, let detail): "a message was not sent: \(detail)"
    case .standingRefused(let key):
      "the standing message \(key) was not set: over \(StandingMessages.limit) messages, or "
        + "\(StandingMessages.byteLimit >> 10) KiB in total, are not kept"
    case .unproven(let count, let isRepeated):
      "\(count) \(count == 1 ? "message that was" : "messages that were") sent may not have arrived"
        + (isRepeated ? "; they are sent again" : "")
    case .unsent(let count): "\(count) \(count == 1 ? "message was" : "messages were") not sent"
    case .oversized(let bytes): "a message over the limit was dropped (\(bytes) bytes as sent)"
    }
  }
}

// The handling of inputs and of the link's effects.
extension SocketModel {
  mutating func take(_ input: Input, _ step: inout Step) {
    switch input {
    case .start: begin(&step)
    case .link(.device(.again)):
      // This input requests another attempt, but a stopped socket stays stopped.
      if stopsAt == nil, link.isWanted { begin(&step) }
    case .stop: stopsAt = stopsAt ?? step.now.advanced(by: SocketSettings.flushTimeout)
    case .send(let id, let message): send(id, message, &step)
    case .standing(let key, let message):
      setStanding(key, message.map(StandingMessages.Content.message), &step)
    case .makeStanding(let key): setStanding(key, .made, &step)
    case .link(let event):
      if event.attempt == nil || event.attempt == link.currentAttempt { handle(event, &step) }
    case .credentials(let event): drive(.credentials(event), &step)
    case .socket(let attempt, let news):
      if link.currentAttempt == attempt { handle(news, attempt, &step) }
    case .restored(let stored): queue.restore(stored)
    case .stored(let id): if queue.noteStored(id) { step.show(.stored(id)) }
    case .storeFailed(let id, let detail):
      queue.drop(id)
      step.show(.notice(.notStored(id: id, detail: detail)))
    }
  }

  private mutating func begin(_ step: inout Step) {
    stopsAt = nil
    drive(.setIntent(.live), &step)
    drive(.trigger(.userRefresh), &step)
  }

  /// Handles an event of the current attempt's socket.
  private mutating func handle(_ news: News, _ attempt: AttemptID, _ step: inout Step) {
    switch news {
    case .opened(let subprotocol):
      step.effects.append(.greet(attempt, subprotocol: subprotocol, after: position))
      drive(.opened(attempt), &step)
      if !settings.awaitsConfirmation { drive(.established(attempt), &step) }
    case .message(let message, let reading): received(message, reading, attempt, &step)
    case .acknowledged(let id): acknowledged(id, &step)
    case .reading(let isPaused):
      paused = isPaused ? attempt : nil
      // The time without received bytes starts over here.
      drive(.heard(attempt), &step)
    case .unsent:
      drive(.reject(attempt, .local(detail: "the socket takes no more")), &step)
    }
  }

  private mutating func received(
    _ message: SocketMessage, _ reading: SocketReading, _ attempt: AttemptID, _ step: inout Step
  ) {
    if let refusal = reading.refusal {
      step.show(.message(message))
      step.effects.append(.close(attempt, .leaving))
      return drive(.lost(attempt, refusal.failure), &step)
    }
    if let place = reading.place { position = place }
    if reading.provesLife { drive(.validData(attempt), &step) }
    if reading.answersPing, let asked { drive(.pong(attempt, asked), &step) }
    if reading.confirms { drive(.established(attempt), &step) }
    step.show(.message(message))
  }

  private mutating func acknowledged(_ id: UInt64, _ step: inout Step) {
    guard settings.hasAcknowledgements, let through = queue.acknowledge(id) else { return }
    if settings.outbox == .durable { step.effects.append(.remove([id])) }
    if let through { step.show(.proven(through: through)) }
  }

  /// Handles an event of the device or the link.
  ///
  /// If the app has its own ping message, control frames do not show that the server's program
  /// works.
  private mutating func handle(_ event: LinkEvent, _ step: inout Step) {
    switch event {
    case .ping, .pong: if !settings.hasPing { drive(HeldLink.Input(event), &step) }
    case .device, .oversized, .lost: drive(HeldLink.Input(event), &step)
    }
    if case .oversized(_, let bytes) = event { step.show(.notice(.oversized(bytes: bytes))) }
    guard case .pong(_, let id) = event else { return }
    let arrived = queue.proven(by: id)
    if settings.outbox == .durable, !arrived.isEmpty { step.effects.append(.remove(arrived)) }
    // Without repetition, an earlier message may be lost, so the number would not cover it.
    if repeats, let last = arrived.last { step.show(.proven(through: last)) }
  }

  private mutating func send(_ id: UInt64, _ message: SocketMessage, _ step: inout Step) {
    // The app's side numbers messages in order. Only a damaged journal contains another number.
    guard queue.isNext(id) else { return }
    if let refusal = queue.refusal(of: message) {
      return step.show(.notice(.refused(id: id, refusal)))
    }
    guard settings.outbox != .off || isConnected && stopsAt == nil else {
      return step.show(.notice(.notConnected(id: id)))
    }
    let isDurable = settings.outbox == .durable
    let entry = queue.add(id, message, isStored: !isDurable)
    if isDurable { step.effects.append(.store(entry)) }
  }

  private mutating func setStanding(
    _ key: String, _ content: StandingMessages.Content?, _ step: inout Step
  ) {
    guard standing.set(key, content) else {
      return step.show(.notice(.standingRefused(key: key)))
    }
    guard let content, isConnected, let attempt = link.currentAttempt else { return }
    sendStanding(StandingMessages.Entry(key: key, content: content), on: attempt, &step)
  }

  private func sendStanding(
    _ entry: StandingMessages.Entry, on attempt: AttemptID, _ step: inout Step
  ) {
    switch entry.content {
    case .message(let message): step.effects.append(.standing(attempt, message))
    case .made:
      step.effects.append(.makeStanding(attempt, key: entry.key, after: position))
    }
  }

  mutating func end(_ step: inout Step) {
    stopsAt = nil
    drive(.setIntent(.none), &step)
    let count = queue.entries.count
    if count > 0 { step.show(.notice(.unsent(count: count))) }
  }

  /// Translates the effects of the link.
  mutating func follow(_ effects: [HeldLink.Effect], _ step: inout Step) {
    for effect in effects {
      switch effect {
      case .prepare(let attempt): drive(.prepared(attempt), &step)
      case .open(let attempt): step.effects.append(.open(attempt))
      case .close(let attempt, let reason):
        step.effects.append(.close(attempt, reason))
      case .ping(let attempt, let id):
        asked = settings.hasPing ? id : nil
        step.effects.append(settings.hasPing ? .ask(attempt) : .ping(attempt, id))
      case .refreshCredentials: step.effects.append(.refreshCredentials)
      case .status(let status): follow(status, &step)
      // Polling cannot reach a socket's data, and there is no queued connect.
      case .poll, .arm, .disarm: continue
      }
    }
  }

  private mutating func follow(_ status: LinkStatus, _ step: inout Step) {
    let before = shown.status
    shown.status = status
    switch (before.phase == .connected, status.phase == .connected) {
    case (true, false): interrupt(&step)
    case (false, true):
      guard let attempt = link.currentAttempt else { break }
      step.effects.append(.resume(attempt, after: position))
      for entry in standing.entries { sendStanding(entry, on: attempt, &step) }
    case (true, true), (false, false): break
    }
    var known = before
    known.quality = status.quality
    if known != status { step.show(.status(status)) }
    if let next = status.quality, next != shown.quality {
      shown.quality = next
      step.show(.quality(next))
    }
  }

  private mutating func interrupt(_ step: inout Step) {
    (asked, paused) = (nil, nil)
    let count = queue.interrupt(repeats: repeats)
    if count > 0 { step.show(.notice(.unproven(count: count, isRepeated: repeats))) }
  }
}

// The invariants that span the parts of a held socket.
extension SocketModel {
  public func check(_ check: inout InvariantCheck) {
    check.require(
      queue.handed == 0 || isConnected, "held socket: messages are handed over only while connected"
    )
    check.require(
      asked == nil || (isConnected && settings.hasPing),
      "held socket: the app's own ping is asked only while connected")
    check.require(
      stopsAt == nil || !queue.entries.isEmpty, "held socket: a stop waits only for messages")
    check.require(sent >= UInt64(queue.handed), "held socket: what was handed over was counted")
    if check.isThorough {
      check.require(
        shown.status == link.status, "held socket: the app is shown the present state")
    }
    link.check(&check)
    queue.check(&check)
    standing.check(&check)
  }
}
