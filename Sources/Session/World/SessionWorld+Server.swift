import HoldfastCore
import HoldfastLinkChecks
import HoldfastServerParts
import HoldfastSession
import HoldfastSessionChecks
import HoldfastSessionData
import HoldfastSessionServer
import HoldfastWorldKernel

// The server: the actual rules with a store that is a plain value, and the program behind them.
extension SessionWorld {
  struct Backend {
    let policy: SessionServerPolicy
    var rules: SessionServer
    /// The state that is stored on disk.
    var durable = StoredSessions()
    /// The prompts for which the program is running.
    var handlers: Set<SessionPromptID> = []
    /// The prompts whose program never ends unless it is canceled.
    var hanging: Set<SessionPromptID> = []
    /// The prompts whose program ignores cancellation.
    var deaf: Set<SessionPromptID> = []
    /// The foreign clients, by connection.
    var foreignClients: [ConnectionID: ForeignSessionClient] = [:]
    var lastForeignClient: UInt64 = 0
    /// The time at which the last pending change will be written. Changes are written one after
    /// another.
    var storeFree = Instant.zero
    var challenges: UInt64 = 0
    /// The checker of the server's messages and actions.
    var ledger: SessionLedger

    init(policy: SessionServerPolicy) {
      self.policy = policy
      rules = SessionServer(policy: policy, seed: 0, at: .zero)
      ledger = SessionLedger(policy)
    }

    /// Whether phones have unanswered prompts. The names of other clients' prompts begin with "g".
    var hasTurns: Bool {
      durable.prompts.values.contains { prompt in
        if case .ended = prompt.stage { false } else { !prompt.prompt.text.hasPrefix("g") }
      }
    }
  }

  mutating func bootBackend() {
    backend.rules = SessionServer(policy: backend.policy, seed: newSeed(server), at: now)
    backend.storeFree = now
    feed(.restored(seam.restored(backend.durable), wall: wall(server)))
  }

  mutating func drain(_ server: HostID, within time: Duration) { feed(.drain(within: time)) }

  func deadline(of host: HostID) -> Instant? {
    host.kind == .backend && kernel.hosts[host.slot].isRunning ? backend.rules.deadline : nil
  }

  mutating func tick(_ host: HostID) {
    backend.ledger.pass(to: now)
    let effects = backend.rules.tick(at: now)
    kernel.examine(&backend.rules)
    perform(effects)
  }

  mutating func feed(_ input: SessionServer.Input) {
    guard kernel.hosts[server.slot].isRunning else { return }
    backend.ledger.received(input, at: now)
    let effects = backend.rules.handle(input, at: now)
    kernel.examine(&backend.rules)
    perform(effects)
  }

  /// Carries out effects in order. A process with a pending kill may die between two effects.
  private mutating func perform(_ effects: [SessionServer.Effect]) {
    let (spared, dies) = spared(effects, of: server)
    for effect in spared where kernel.hosts[server.slot].isRunning {
      for real in seam.fromServer(effect) {
        backend.ledger.requested(real, backend.durable)
        perform(real)
      }
    }
    if dies { die(server) } else { backend.ledger.finishStep() }
    noteFindings()
  }

  private mutating func noteFindings() {
    for (kind, detail) in backend.ledger.takeFindings() { note(.broken(kind, detail: detail)) }
  }

  /// Compares the final state of the server with the ledger, once the server has been idle for a
  /// while.
  mutating func checkServer() {
    // A foreign client that connected late has not finished its script.
    guard kernel.hosts[server.slot].isRunning, backend.foreignClients.isEmpty else { return }
    var page = MetricsPage()
    backend.rules.report(to: &page)
    backend.ledger.compare(page.text)
    noteFindings()
  }

  private mutating func perform(_ effect: SessionServer.Effect) {
    if isForForeignClient(effect) { return }
    switch effect {
    case .accept(let id): accept(id.number, .opened)
    case .refuse(let id, let answer):
      refuse(id.number, status: answer.status, retryAfter: answer.retryAfter, detail: "refused")
    case .send(let id, let message): send(message, over: id.number)
    case .noticeDrain(let id): kernel.later(.drained(id), on: server, after: .milliseconds(1))
    case .ping(let id): send(.ping, bytes: 60, over: id.number)
    case .close(let id, let closure):
      serverCloses(id.number, code: closure.code, reason: closure.reason)
    case .drop(let id):
      send(.failed(.reset), bytes: 60, over: id.number)
      kernel.add(.hungUp(id.number, code: 1006), after: .zero)
    case .run(let id, let prompt): run(id, prompt)
    case .cancel(let id): cancel(id)
    case .store(let token, let changes): store(token, changes)
    case .finished: drained(server)
    }
  }

  // The store.

  private mutating func store(_ token: StoreToken, _ changes: [SessionChange]) {
    let conditions = kernel.hosts[server.slot].conditions
    var delay = max(kernel.plan.numbers.storeDelay, conditions.storeDelay)
    if conditions.disk == .slow { delay = max(delay, diskDelay(server)) }
    backend.storeFree = max(backend.storeFree, now).advanced(by: delay)
    write(.stores(token, changes), on: server, after: now.duration(to: backend.storeFree))
  }

  /// Makes changes durable, and records the messages that phones must show.
  mutating func keep(_ changes: [SessionChange]) {
    for change in changes {
      backend.durable.apply(change)
      guard case .entry(let entry) = change else { continue }
      for phone in kernel.checkers.views.indices {
        if entry.role == .assistant {
          kernel.checkers.views[phone].phoneState.own.answers.insert(entry.id)
          kernel.checkers.views[phone].phoneState.own.answered.insert(entry.text.promptName)
        }
        let isOwn = entry.role == .user && entry.text.hasPrefix("\(phone).")
        guard entry.conversation == SessionsFeature.shared, !isOwn else { continue }
        kernel.checkers.views[phone].phoneState.own.expect(entry.id)
      }
    }
  }

  // Lines.

  mutating func upgradeArrived(_ line: TrafficID, _ hello: Nothing, at server: HostID) {
    guard let index = self.line(line) else { return }
    backend.challenges += 1
    let arrival = SessionServer.Arrival(
      address: "phone-\(kernel.lines[index].from.index)",
      challenge: UUID128(high: 0xCA11, low: backend.challenges).description)
    feed(.opened(ConnectionID(line), arrival, wall: wall(server)))
  }

  mutating func arrived(
    _ packet: SessionsFeature.Packet?, on line: TrafficID, at server: HostID
  ) {
    feed(.received(ConnectionID(line)))
    guard case .up(let bytes, let sent) = packet else { return }
    receive(bytes, sent, from: ConnectionID(line))
  }

  mutating func ended(_ line: TrafficID, code: UInt16, at server: HostID) {
    feed(.gone(ConnectionID(line), wall: wall(server)))
  }

  private mutating func send(_ message: SessionServerMessage, over number: TrafficID) {
    guard let index = line(number) else { return }
    let phone = kernel.lines[index].from.index
    var real = message
    if kernel.plan.numbers.plain == 1 { real = message.plain }
    if case .connected(let connected) = real, connected.isRecovered == false {
      note(.dropped(phone: phone))
    }
    let bytes = real.bytes
    backend.ledger.checkSize(message, bytes.count, ConnectionID(number))
    send(.packet(.down(bytes, real, phone: phone)), bytes: bytes.count, over: number)
    if kernel.plan.numbers.plain == 1, case .response = real {
      kernel.later(.repeats(number, real), on: server, after: .milliseconds(300))
    }
  }

  /// Sends a message a second time, as servers of other makes may do.
  mutating func repeatItself(_ message: SessionServerMessage, over number: TrafficID) {
    guard let index = line(number) else { return }
    let bytes = message.bytes
    let phone = kernel.lines[index].from.index
    send(.packet(.down(bytes, message, phone: phone)), bytes: bytes.count, over: number)
  }

  mutating func sendStrange(_ kind: String) {
    for line in kernel.lines where line.serverHolds && line.isOpen {
      let phone = line.from.index
      switch kind {
      case "oversized": send(.oversized(bytes: 5_000_000), bytes: 100, over: line.number)
      case "garbled":
        let bytes = Array(#"{"type":"response","success":true,"number":-1}"#.utf8)
        send(.packet(.down(bytes, nil, phone: phone)), bytes: 100, over: line.number)
      case _:
        let message = SessionServerMessage.unknown(type: "news")
        send(
          .packet(.down(message.bytes, message, phone: phone)), bytes: 100, over: line.number)
      }
    }
  }
}

extension SessionServerPolicy {
  /// Creates the server policy for the numbers of a plan.
  init(_ numbers: SessionsFeature.Numbers) {
    self.init()
    (entriesPerConversation, answersPerClient) = (numbers.retained, numbers.retained)
    if numbers.tight == 1 { tighten() }
    if numbers.strict == 1 { limit() }
  }

  /// Lowers the limits for windows, queued messages, running programs and prompts.
  private mutating func tighten() {
    (windowEntries, queueBytes, maxMessageBytes) = (2, 2_000, 3_000)
    (maxRunning, socketsPerClient) = (1, 1)
    (promptInterval, promptBurst) = (.seconds(1), 3)
  }

  /// Lowers the limits so far that users and foreign clients reach them.
  private mutating func limit() {
    (maxSockets, socketsPerAddress, socketsPerClient) = (9, 5, 2)
    (maxPromptBytes, maxSystemPromptBytes, maxResponseBytes) = (100_000, 1_000, 4_000)
    (promptsPerConversation, maxPrompts, maxPromptsBytes) = (4, 7, 250_000)
    (turnLimit, cancelWait, maxSubscriptions) = (.seconds(60), .seconds(5), 3)
  }
}

extension SessionServerMessage {
  /// The message as a server sends it that supports only the original protocol.
  fileprivate var plain: SessionServerMessage {
    switch self {
    case .hello(var hello):
      (hello.features, hello.challenge) = ([], nil)
      return .hello(hello)
    case .connected(var connected):
      (connected.features, connected.received, connected.isRecovered) = ([], nil, nil)
      return .connected(connected)
    case .ack(let message, _): return .ack(message: message, idempotencyKey: nil)
    case .response(var response):
      (response.idempotencyKey, response.number, response.parts) = (nil, nil, nil)
      return .response(response)
    case .responsePart: return .unknown(type: "response_piece")
    case .error(var error):
      error.idempotencyKey = nil
      return .error(error)
    case .replay(let id, let entry, _): return .replay(id: id, entry, number: nil)
    case .pong, .authError, .turnComplete, .history, .historyBatch, .heartbeat, .draining,
      .sessionKilled, .unknown:
      return self
    }
  }
}
