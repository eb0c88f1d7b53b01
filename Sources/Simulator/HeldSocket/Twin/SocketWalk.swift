import HeldSocket
import LinkCore

/// A held socket beside its twin, to which anything is said and done.
struct SocketWalk: TwinWalk {
  var chance: Chance
  var model: SocketModel
  var twin: SocketTwin
  var now = Instant.zero
  var stray: String?
  /// The newest pings, and the messages that are being stored.
  var pings: [UInt64] = [1]
  var storing: [UInt64] = []
  /// What a store keeps, twice.
  private var kept = KeptOutbox()
  private var shelf: [ProvenQueue.Entry] = []
  /// The socket that was told to be open.
  var opened: AttemptID?
  /// Whether pings are seldom answered.
  let isDeaf: Bool

  init(_ chance: Chance) {
    var chance = chance
    isDeaf = chance.next() % 4 == 0
    let policies = Self.policies
    let policy = policies[Int(chance.next() % UInt64(policies.count))]
    var settings = SocketSettings(policy: policy)
    let outboxes: [SocketSettings.Outbox] = [.off, .waiting, .memory, .durable]
    settings.outbox = outboxes[Int(chance.next() % 4)]
    settings.awaitsConfirmation = chance.next() % 2 == 0
    settings.hasPing = chance.next() % 3 == 0
    if chance.next() % 2 == 0 { settings.position = Secret("kept") }
    let seed = chance.next()
    model = SocketModel(settings, seed: seed)
    twin = SocketTwin(settings, seed: seed)
    self.chance = chance
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

  /// Takes so many steps; returns the first difference.
  mutating func walk(_ steps: Int) -> String? {
    let first: UInt64 = 4_294_967_296
    if ProvenQueue.asked(first) || !ProvenQueue.asked(first + 1) {
      return "the pings of a queue are other ones"
    }
    if model.settings.outbox == .durable, happens(2) { restore() }
    give(.credentials(.available(expiresIn: happens(2) ? nil : .seconds(90))))
    give(.start)
    for _ in 0..<steps where stray == nil { happen() }
    return stray ?? difference()
  }

  // Steps.

  mutating func give(_ input: SocketModel.Input?) {
    guard stray == nil else { return }
    let effects = input.map { model.handle($0, at: now) } ?? model.tick(at: now)
    stray = twin.stray(of: model, after: input, effects, at: now)
    for effect in effects { note(effect) }
    if happens(9) { stray = stray ?? difference() }
  }

  private mutating func difference() -> String? {
    if let broken = model.brokenInvariants(.thorough).first {
      return "the invariant \(broken) does not hold"
    }
    guard model.queue.entries == twin.box.letters.map(\.entry) else {
      return "the socket holds other messages"
    }
    if kept.all != shelf { return "the store keeps other messages" }
    return model.queue.bytes == twin.box.bytes ? nil : "the socket counts other bytes"
  }

  private mutating func note(_ effect: SocketModel.Effect) {
    switch effect {
    case .ping(_, let id): pings = (pings + [id]).suffix(3)
    case .store(let entry):
      storing.append(entry.id)
      kept.add(entry)
      let place = shelf.firstIndex { $0.id >= entry.id } ?? shelf.count
      shelf.insert(entry, at: place)
    case .remove(let ids):
      kept.remove(ids)
      shelf.removeAll { ids.contains($0.id) }
    case .open, .close, .greet, .resume, .send, .ask, .refreshCredentials, .update: return
    }
  }

  private mutating func happen() {
    if happens(2) { pass() }
    switch number(0...29) {
    case 0: give(happens(3) ? .stop : .start)
    case 1: device()
    case 2: odd()
    case 3: if happens(2) { crowd() } else { weigh() }
    case 4: give(.link(.device(.again)))
    case 5...8: store()
    case 9...13: give(.send(message()))
    case _: goOn()
    }
  }

  // Time.

  /// Lets time pass: a moment, up to a bound, or beside it.
  private mutating func pass() {
    let beside = one([Duration.zero, .zero, .nanoseconds(-1), .nanoseconds(1)])
    switch number(0...9) {
    case 0, 1: advance(to: model.deadline?.advanced(by: beside))
    case 2: advance(to: twin.box.proof?.until.advanced(by: beside))
    case 3: advance(to: twin.stopsAt?.advanced(by: beside))
    case 4: advance(to: now.advanced(by: .seconds(number(2...40))))
    case _: now = now.advanced(by: .milliseconds(one([0, 1, 40, 700, 1_000, 2_500])))
    }
    if happens(3) { give(nil) }
  }

  private mutating func advance(to target: Instant?) {
    guard let target, target > now else { return }
    for _ in 0..<8 where !happens(40) {
      guard let due = model.deadline, due < target, stray == nil else { break }
      now = max(now, due)
      let before = pings
      give(nil)
      if pings != before, !isDeaf || happens(4) { pong() }
    }
    now = max(now, target)
    if happens(3) { give(nil) }
  }

  mutating func pong() { give(.link(.pong(attempt, pings[pings.count - 1]))) }

  var attempt: AttemptID { model.link.currentAttempt ?? AttemptID(99) }

  private mutating func device() {
    let changes: [DeviceChange] = [
      .reachability(.reachable(path: PathID("wifi"))),
      .reachability(.reachable(path: PathID("cell"))),
      .reachability(.unreachable), .reachability(.captivePortal), .lifecycle(.foreground),
      .lifecycle(.foreground), .lifecycle(.background), .woke,
    ]
    give(.link(.device(one(changes))))
  }

  /// Does what brings the socket on, mostly.
  private mutating func goOn() {
    guard model.link.currentAttempt != nil else {
      if model.link.status.phase == .held, happens(3) {
        give(.link(.device(.lifecycle(.foreground))))
        return give(.link(.device(.reachability(.reachable(path: PathID("wifi"))))))
      }
      if happens(5) { return give(.credentials(.available(expiresIn: nil))) }
      let isOver = model.deadline == nil || model.isStopped
      return isOver || happens(9) ? give(.start) : advance(to: model.deadline)
    }
    if model.isConnected, happens(3) { return hear() }
    if model.isConnected { return pong() }
    if opened != attempt, !happens(9) {
      opened = attempt
      return give(.socket(attempt, .opened(subprotocol: happens(3) ? "chat" : nil)))
    }
    var marks = SocketMarks()
    marks.confirms = !happens(4)
    give(.socket(attempt, .message(message(), marks)))
  }
}
