import HeldSocket
import LinkCore

/// What a held socket must do, told a second time (docs/held-socket.md).
///
/// When to connect is the decision of a link, which is the same here and judged by others: the twin
/// tells its own link what happened. All else is told anew.
struct SocketTwin: Sendable {
  typealias Effect = SocketModel.Effect

  let settings: SocketSettings
  var link: HeldLink
  var now = Instant.zero
  var out: [Effect] = []

  var box = SocketBox()
  /// Messages handed to sockets since the start.
  var sent: UInt64 = 0
  var position: Secret?
  var status = LinkStatus(phase: .disconnected)
  var quality = LinkQuality.good
  /// The link's ping for which the app's own ping went out.
  var ownPing: UInt64?
  /// The socket that is not read now.
  var unread: AttemptID?
  var stopsAt: Instant?

  init(_ settings: SocketSettings, seed: UInt64) {
    self.settings = settings
    position = settings.position
    link = HeldLink(policy: settings.policy, seed: seed)
  }

  /// Returns all that must be asked for; time passes without an input.
  mutating func step(_ input: SocketModel.Input?, at time: Instant) -> [Effect] {
    (now, out) = (time, [])
    if let input { take(input) } else { pass() }
    if isConnected { hand() }
    let waits =
      switch settings.outbox {
      case .waiting, .memory: true
      case .off, .durable: isConnected
      }
    if stopsAt != nil, box.letters.isEmpty || !waits { end() }
    return out
  }

  var isConnected: Bool { link.status.phase == .connected }

  var deadline: Instant? {
    [link.deadline, proofDue, stopsAt].compactMap(\.self).min()
  }

  /// Whether a message of which it is not known whether it arrived is sent again.
  private var repeats: Bool { settings.outbox == .memory || settings.outbox == .durable }

  /// The end of the time for a pong, where messages are sent once.
  private var proofDue: Instant? { repeats ? nil : box.proof?.until }

  private mutating func show(_ update: SocketModel.Update) { out.append(.update(update)) }
  private mutating func note(_ notice: SocketNotice) { show(.notice(notice)) }

  private mutating func pass() {
    if let due = link.deadline, due <= now {
      if let unread { drive(.heard(unread)) }
      follow(link.tick(at: now))
    }
    if let due = proofDue, due <= now {
      note(.unproven(count: box.prove().count, isRepeated: false))
    }
    if let due = stopsAt, due <= now { end() }
  }

  private mutating func end() {
    stopsAt = nil
    drive(.want(.none))
    if !box.letters.isEmpty { note(.unsent(count: box.letters.count)) }
  }

  /// Messages go out in order, and one ping at a time behind them.
  private mutating func hand() {
    guard let attempt = link.currentAttempt else { return }
    let ready = box.hand()
    for letter in ready { out.append(.send(attempt, letter.message)) }
    let due = now.advanced(by: settings.policy.liveness.pongTimeout)
    if let ping = box.askProof(until: due) { out.append(.ping(attempt, ping)) }
    guard !ready.isEmpty else { return }
    sent += UInt64(ready.count)
    show(.sent(sent))
  }

  // Inputs.

  private mutating func take(_ input: SocketModel.Input) {
    switch input {
    case .start: begin()
    case .stop: if stopsAt == nil { stopsAt = now.advanced(by: .seconds(2)) }
    case .send(let message): send(message)
    case .link(let event): hear(event)
    case .credentials(let event): drive(.credentials(event))
    case .socket(let of, let news): if of == link.currentAttempt { hear(news, of) }
    case .restored(let kept): box.restore(kept)
    case .stored(let id): box.store(id)
    case .storeFailed(let id, let detail):
      box.refuse(id)
      note(.notStored(detail: detail))
    }
  }

  private mutating func begin() {
    stopsAt = nil
    drive(.want(.live))
    drive(.trigger(.userRefresh))
  }

  private mutating func send(_ message: SocketMessage) {
    if message.count > 1_000_000 { return note(.refused(.tooLong(bytes: message.count))) }
    if box.isFull(for: message) { return note(.refused(.full)) }
    if settings.outbox == .off, !isConnected || stopsAt != nil { return note(.notConnected) }
    let entry = box.add(message, isStored: settings.outbox != .durable)
    if settings.outbox == .durable { out.append(.store(entry)) }
  }

  private mutating func hear(_ event: LinkEvent) {
    if case .device(let change) = event { return hear(change) }
    guard event.attempt == link.currentAttempt else { return }
    switch event {
    case .device: return  // taken before
    case .lost(let of, let failure): drive(.lost(of, failure))
    case .oversized(let of, let bytes):
      drive(.heard(of))
      note(.oversized(bytes: bytes))
    case .ping(let of): if !settings.hasPing { drive(.heard(of)) }
    case .pong(let of, let id):
      if !settings.hasPing { drive(.pong(of, id)) }
      guard let proof = box.proof, proof.ping == id else { return }
      let arrived = box.prove()
      if settings.outbox == .durable { out.append(.remove(arrived.map(\.id))) }
    }
  }

  private mutating func hear(_ change: DeviceChange) {
    switch change {
    case .again:
      if link.isWanted, stopsAt == nil { begin() }
    case .woke: drive(.trigger(.woke))
    case .lifecycle(let lifecycle): drive(.lifecycle(lifecycle))
    case .reachability(let way): drive(.reachability(way))
    }
  }

  private mutating func hear(_ news: SocketModel.News, _ of: AttemptID) {
    switch news {
    case .opened(let subprotocol):
      out.append(.greet(of, subprotocol: subprotocol, after: position))
      drive(.opened(of))
      if !settings.awaitsConfirmation { drive(.established(of)) }
    case .unsent: drive(.reject(of, .local(detail: "the socket takes no more")))
    case .reading(let isPaused):
      unread = nil
      if isPaused { unread = of }
      drive(.heard(of))
    case .message(let message, let marks):
      position = marks.position ?? position
      if marks.provesLife { drive(.validData(of)) }
      if let ownPing, marks.answersPing { drive(.pong(of, ownPing)) }
      if marks.confirms { drive(.established(of)) }
      show(.message(message))
    }
  }

  // The link.

  private mutating func drive(_ input: HeldLink.Input) { follow(link.handle(input, at: now)) }

  private mutating func follow(_ effects: [HeldLink.Effect]) {
    for effect in effects {
      switch effect {
      case .prepare(let of): drive(.prepared(of))
      case .open(let of): out.append(.open(of))
      case .close(let of, let reason): out.append(.close(of, code: Self.code(reason)))
      case .ping(let of, let id):
        if settings.hasPing {
          ownPing = id
          out.append(.ask(of))
        } else {
          out.append(.ping(of, id))
        }
      case .refreshCredentials: out.append(.refreshCredentials)
      case .status(let status): follow(status)
      case .poll, .arm, .disarm: continue
      }
    }
  }

  private static func code(_ reason: HeldLink.CloseReason) -> UInt16 {
    switch reason {
    case .rejected: 1002
    case .leaving, .idle, .superseded: 1000
    case .silent, .timeout, .networkChanged, .background: 1001
    }
  }

  private mutating func follow(_ next: LinkStatus) {
    let before = status
    status = next
    if before.phase == .connected, next.phase != .connected {
      (ownPing, unread) = (nil, nil)
      let open = box.interrupt(keeps: repeats)
      if open > 0 { note(.unproven(count: open, isRepeated: repeats)) }
    } else if before.phase != .connected, next.phase == .connected, let position,
      let of = link.currentAttempt
    {
      out.append(.resume(of, after: position))
    }
    // How well the server answers is told by itself.
    var (old, new) = (before, next)
    (old.quality, new.quality) = (nil, nil)
    if old != new { show(.status(next)) }
    if let found = next.quality, found != quality {
      quality = found
      show(.quality(found))
    }
  }
}

extension SocketTwin: Twin {
  static var name: String { "the socket" }

  func difference(from model: SocketModel, after input: SocketModel.Input?) -> String? {
    if model.link != link { return "told its link something else" }
    if model.isConnected != isConnected { return "is otherwise connected" }
    if model.isStopped != (!link.isWanted && stopsAt == nil) { return "is otherwise stopped" }
    if model.sent != sent { return "counts \(model.sent) messages, not \(sent)" }
    if model.queue.entries.count != box.letters.count { return "holds other messages" }
    return model.queue.handed == box.handed ? nil : "has other messages on their way"
  }
}
