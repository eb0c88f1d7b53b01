import HoldfastCore
import HoldfastHeldChecks
import HoldfastHeldSocket
import HoldfastLinkChecks
import HoldfastWorldKernel

/// A world with one phone, its user, and a server with a foreign protocol.
struct HeldWorld: SimulatedWorld, ~Copyable {
  typealias Feature = HeldFeature

  var kernel: Kernel<HeldFeature>
  var clients: [SocketModel] = []
  /// The lines on which the phone has resumed.
  private var listeners: [TrafficID] = []
  /// The outbox on the phone's disk.
  private var disk = StoredOutbox()
  private var said = 0
  /// The id of the newest message in this run of the app.
  private var lastID: UInt64 = 0
  /// The ids of the user's messages, by number.
  private var ids: [Int: UInt64] = [:]
  /// The versions of the standing messages that the app sets in each run, by key.
  private var standing: [Int: Int] = [:]
  private var version = 0

  init(
    _ plan: WorldPlan<HeldFeature>, _ setup: RunSetup<HeldFeature>, watch: RunWatch<HeldFeature>?
  ) {
    kernel = Kernel(plan, setup, watch: watch)
    var state = HeldFeature.State()
    state.settings = SocketSettings(policy: kernel.policy)
    state.settings.awaitsConfirmation = true
    state.settings.outbox = plan.numbers.outbox
    state.settings.hasAcknowledgements =
      plan.numbers.outbox.repeats && plan.numbers.proof == .acknowledgement
    clients = [client(seed: 0, state)]
    let phoneState = PhoneState<HeldFeature>(
      policy: setup.policy, status: clients[0].status, own: state)
    kernel.checkers.views = [PhoneView(phoneState)]
  }

  private func client(seed: UInt64, _ state: HeldFeature.State) -> SocketModel {
    var settings = state.settings
    settings.position = Secret("\(state.shown)")
    return SocketModel(settings, seed: seed)
  }

  // The phone.

  mutating func boot(_ host: HostID) {
    listeners = []
    if host == .phone { clients[0] = client(seed: newSeed(host), own) }
  }

  mutating func reportAppState(_ phone: HostID, isFirst: Bool) {
    guard isFirst else { return }
    let stored = disk.all
    lastID = stored.last?.id ?? 0
    give(.restored(stored), to: phone)
    for key in HeldFeature.EventKind.keys { setStanding(key) }
    give(.start, to: phone)
  }

  mutating func look(_ phone: HostID) {
    kernel.own.look(clients[0])
  }

  mutating func perform(_ effect: SocketModel.Effect, of phone: HostID) {
    switch effect {
    case .open(let attempt): dial(phone, attempt, to: server, hello: Nothing())
    case .close(let attempt, let reason): hangUp(phone, attempt, code: reason.closeCode)
    case .greet(let attempt, _, _): send(phone, attempt, .hello)
    case .resume(let attempt, let position):
      send(phone, attempt, .after(position.flatMap { Int($0.text) } ?? 0))
    case .standing(let attempt, let message):
      send(phone, attempt, .standing(message.version ?? 0))
    case .send(let attempt, let entry):
      let number = entry.message.number ?? 0
      ids[number] = entry.id
      send(phone, attempt, .said(number))
    case .ping(let attempt, let id): send(phone, attempt, ping: id)
    case .refreshCredentials: give(.credentials(.rejected), to: phone)
    case .store(let entry): write(.stores(entry), on: phone)
    case .remove(let ids): write(.removes(ids), on: phone)
    case .update(.message(let message)):
      guard let number = message.number else { return }
      kernel.own.shown = number
      kernel.counts[.shown] += 1
    case .update, .ask, .makeStanding: return
    }
  }

  mutating func makeDurable(_ change: HeldFeature.ScheduledEvent, on host: HostID) -> HeldFeature
    .ScheduledEvent?
  {
    if case .removes(let ids) = change { disk.remove(ids) }
    guard case .stores(let entry) = change else { return nil }
    disk.add(entry)
    return .input(.stored(entry.id))
  }

  func refusedChange(_ change: HeldFeature.ScheduledEvent, isFull: Bool)
    -> HeldFeature.ScheduledEvent
  {
    guard case .stores(let entry) = change else { return change }
    return .input(.storeFailed(entry.id, detail: "no space left"))
  }

  // The server.

  mutating func upgradeArrived(_ line: TrafficID, _ hello: Nothing, at server: HostID) {
    accept(line, .opened)
  }

  mutating func arrived(
    _ packet: HeldFeature.Packet?, on line: TrafficID, at server: HostID
  ) {
    guard let packet else { return }
    note(.heard(line, packet))
    switch packet {
    case .hello: send(.packet(.welcome), bytes: 60, over: line)
    case .after(let position):
      listeners.append(line)
      for number in (position + 1)..<max(position + 1, own.fed + 1) {
        send(.packet(.numbered(number)), bytes: 100, over: line)
      }
    case .said(let number):
      kernel.counts[.said] += 1
      if own.settings.hasAcknowledgements {
        send(.packet(.acknowledges(number)), bytes: 60, over: line)
      }
    case .standing: return
    case .opened, .welcome, .numbered, .acknowledges: return  // A phone sends none of these.
    }
  }

  mutating func ended(_ line: TrafficID, code: UInt16, at server: HostID) {
    listeners.removeAll { $0 == line }
  }

  func opened(_ attempt: AttemptID, _ packet: HeldFeature.Packet) -> SocketModel.Input {
    .socket(attempt, .opened(subprotocol: nil))
  }

  func received(_ attempt: AttemptID, _ packet: HeldFeature.Packet) -> SocketModel.Input {
    if case .acknowledges(let number) = packet {
      return .socket(attempt, .acknowledged(ids[number] ?? 0))
    }
    guard case .numbered(let number) = packet else {
      let reading = SocketReading(confirms: packet == .welcome)
      return .socket(attempt, .message(.text("welcome"), reading))
    }
    return .socket(attempt, .message(.text("\(number)"), SocketReading(position: "\(number)")))
  }

  // Planned events.

  mutating func begin(
    _ eventKind: HeldFeature.EventKind, _ event: PlannedEvent<HeldFeature.EventKind>, _ index: Int
  ) {
    switch eventKind {
    case .feed: feed(event.number)
    case .say:
      said += 1
      // The ids of a run follow those of the messages that an earlier run stored.
      lastID += 1
      give(.send(lastID, .text("\(said)")), to: .phone)
    case .stand:
      version += 1
      standing[event.number] = version
      setStanding(event.number)
    case .unstand:
      standing[event.number] = nil
      give(.standing("\(event.number)", nil), to: .phone)
    }
  }

  /// Sets the standing message of a key, if the user wants one.
  private mutating func setStanding(_ key: Int) {
    guard let version = standing[key] else { return }
    give(.standing("\(key)", .text("standing \(version)")), to: .phone)
  }

  mutating func take(_ scheduled: HeldFeature.ScheduledEvent, on host: HostID?) {
    switch scheduled {
    case .feeds(let left): feed(left)
    case .input(let input): give(input, to: .phone)
    // If the disk refuses a removal, the next run sends those messages again.
    case .stores, .removes: return
    }
  }

  private mutating func feed(_ count: Int) {
    guard count > 0 else { return }
    kernel.own.fed += 1
    kernel.counts[.fed] += 1
    for line in listeners { send(.packet(.numbered(own.fed)), bytes: 100, over: line) }
    kernel.later(.feeds(left: count - 1), after: .milliseconds(200))
  }

  // Calm.

  var isComplete: Bool {
    clients[0].isConnected && HeldFeature.isHealed(kernel.checkers.views[0].phoneState)
  }
  mutating func becomeCalm() { give(.start, to: .phone) }
  /// Starts the link again. Traffic that was in transit when the calm phase began may have ended
  /// it.
  mutating func tryAgain() { give(.start, to: .phone) }
  mutating func happenLast() { feed(1) }
  mutating func leave() { give(.stop, to: .phone) }
}
