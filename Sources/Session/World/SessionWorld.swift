import HoldfastCore
import HoldfastJSON
import HoldfastLinkChecks
import HoldfastSession
import HoldfastSessionChecks
import HoldfastSessionData
import HoldfastSessionServer
import HoldfastWorldKernel

/// A world with two phones that have sessions, and a server with a program behind it.
struct SessionWorld: SimulatedWorld, ~Copyable {
  typealias Feature = SessionsFeature

  var kernel: Kernel<SessionsFeature>
  var clients: [SessionModel]
  var backend: Backend
  var seam: SessionSeam
  /// The content of each phone's disk.
  private var disks: [StoredClientSession]
  /// The number of prompts that each user has entered.
  private var given: [Int]
  /// The random source of the prompts' keys.
  private var keys = RandomSource(seed: 0x6B65)
  /// The random source that decides which news are marked singly.
  private var marks = RandomSource(seed: 0x6D61)
  /// Whether the calm phase has begun. In this phase the program is fast, so that all prompts end
  /// in time.
  private(set) var isCalm = false
  /// The time at which the users last entered prompts.
  private var lastSaid: Instant?
  /// The time at which a phone last sent a prompt.
  private var lastSent = Instant.zero

  /// The ID of a conversation without any messages.
  static let new = "00000000-0000-4000-8000-0000000000ff"
  /// The key of the server.
  static let key = "holdfast-k7Qz-0001"

  init(
    _ plan: WorldPlan<SessionsFeature>, _ setup: RunSetup<SessionsFeature>,
    watch: RunWatch<SessionsFeature>?
  ) {
    kernel = Kernel(plan, setup, watch: watch)
    seam = SessionSeam(setup.defect)
    backend = Backend(policy: SessionServerPolicy(plan.numbers))
    disks = Array(repeating: StoredClientSession(), count: SessionsFeature.phones)
    given = Array(repeating: 0, count: SessionsFeature.phones)
    let model = SessionModel(SessionSettings(policy: kernel.policy), seed: 0)
    clients = Array(repeating: model, count: SessionsFeature.phones)
    kernel.checkers.views = clients.indices.map { index in
      var state = SessionsFeature.State()
      state.phone = index
      state.mayDrop = plan.numbers.retained < 1_000
      state.isPlain = plan.numbers.plain == 1
      var phoneState = PhoneState<SessionsFeature>(
        policy: setup.policy, status: model.status, own: state)
      phoneState.secrets = [Self.key]
      return PhoneView(phoneState)
    }
  }

  // The phones.

  mutating func boot(_ host: HostID) {
    switch host.kind {
    case .phone:
      let settings = SessionSettings(policy: kernel.policy)
      clients[host.index] = SessionModel(settings, seed: newSeed(host))
    case .backend: bootBackend()
    case .client, .peripheral, .system: return
    }
  }

  mutating func ended(_ host: HostID) {
    guard host.kind == .backend else { return }
    (backend.handlers, backend.hanging, backend.foreignClients) = ([], [], [:])
  }

  mutating func reportAppState(_ phone: HostID, isFirst: Bool) {
    guard isFirst else { return }
    let new = UUID128(high: 0xC11E, low: UInt64(phone.index))
    let snapshot = disks[phone.index].open(as: new)
    give(
      .restored(
        seam.restored(snapshot), conversation: SessionsFeature.shared, at: wall(phone)), to: phone)
    give(.credentials(.available(expiresIn: nil)), to: phone)
    give(.start, to: phone)
  }

  mutating func look(_ phone: HostID) {
    kernel.checkers.views[phone.index].phoneState.own.unanswered = clients[phone.index].unanswered
    kernel.checkers.views[phone.index].phoneState.own.isWritten = clients[phone.index].isIdle
    kernel.checkers.views[phone.index].phoneState.own.waitsForSign =
      kernel.plan.numbers.plain == 1
      && clients[phone.index].queue.items.contains { !$0.isFailed && $0.floor != nil }
  }

  mutating func perform(_ effect: SessionModel.Effect, of phone: HostID) {
    switch effect {
    case .open(let attempt): dial(phone, attempt, to: server, hello: Nothing())
    case .close(let attempt, let reason): hangUp(phone, attempt, code: reason.closeCode)
    case .connect(let attempt, var connect, let challenge):
      if kernel.plan.numbers.old == 1 { connect.version = SessionVersion.oldest.description }
      if let challenge {
        // The signed text takes the place of the signature.
        connect.proof = Secret(connect.signedText(challenge))
      } else {
        connect.key = Secret(Self.key)
      }
      if seam.defect == .showsKey { (connect.key, connect.proof) = (Secret(Self.key), nil) }
      if isUnderWay(.wrongKey, on: phone) {
        (connect.key, connect.proof) = (Secret("holdfast-other"), nil)
      }
      send(.connect(connect), on: attempt, of: phone)
    case .send(let attempt, let message): send(message, on: attempt, of: phone)
    case .refreshCredentials:
      let event: HeldLink.CredentialsEvent =
        isUnderWay(.wrongKey, on: phone) ? .rejected : .available(expiresIn: nil)
      kernel.answerLater(.input(.credentials(event)), to: phone, after: .milliseconds(5))
    case .probe:
      let isPortal = kernel.hosts[phone.slot].conditions.portal != nil
      kernel.answerLater(
        .input(.probed(isPortal: isPortal)), to: phone, after: .milliseconds(100))
    case .commit(let id, let change): write(.commits(id, change), on: phone)
    case .update(let update): show(update, phone)
    }
  }

  private mutating func send(
    _ message: SessionClientMessage, on attempt: AttemptID, of phone: HostID
  ) {
    if case .prompt = message { lastSent = now }
    let bytes = seam.written(message)
    send(phone, attempt, .up(bytes, message), bytes: bytes.count)
  }

  private mutating func show(_ update: SessionUpdate, _ phone: HostID) {
    switch update {
    case .message(let entry, _, let news):
      kernel.counts[.shown] += 1
      kernel.checkers.views[phone.index].phoneState.own.show(entry.id)
      confirm(news, phone)
    case .prompt(let prompt, let news):
      if prompt.conversation == SessionsFeature.shared, prompt.state != .queued {
        let hasJoined = prompt.state != .sent && prompt.state != .failed
        if hasJoined { kernel.checkers.views[phone.index].phoneState.own.hasJoined = true }
      }
      if let news { confirm(news, phone) }
    case .gap: kernel.checkers.views[phone.index].phoneState.own.hasGap = true
    case .status, .quality, .pending, .part, .record, .notice: return
    }
  }

  private mutating func confirm(_ news: UInt64, _ phone: HostID) {
    let input: SessionModel.Input =
      marks.next() % 4 == 0 ? .answersShown([news]) : .shown(through: news)
    kernel.answerLater(.input(input), to: phone, after: .milliseconds(20))
  }

  mutating func makeDurable(
    _ change: SessionsFeature.ScheduledEvent, on host: HostID
  ) -> SessionsFeature.ScheduledEvent? {
    switch change {
    case .commits(let id, let change):
      let news = disks[host.index].commit(change)
      kernel.checkers.views[host.index].phoneState.own.durable
        .formUnion(change.news.compactMap(\.entry?.id))
      if let through = change.shown {
        kernel.checkers.views[host.index].phoneState.own.confirmed = through
      }
      kernel.checkers.views[host.index].phoneState.own.marked.formUnion(change.marked)
      return .input(.committed(id, news))
    case .stores(let token, let changes):
      keep(changes)
      return .stored(token, nil)
    case .input, .stored, .drained, .repeats, .produces, .ends, .steps, .receives,
      .foreignClientLeaves:
      return nil
    }
  }

  func refusedChange(_ change: SessionsFeature.ScheduledEvent, isFull: Bool)
    -> SessionsFeature.ScheduledEvent
  {
    let failure: StoreFailure =
      isFull ? .full(detail: "no space left") : .locked(detail: "another process has it")
    switch change {
    case .commits(let id, _): return .input(.commitFailed(id, failure))
    case .stores(let token, _): return .stored(token, failure)
    case .input, .stored, .drained, .repeats, .produces, .ends, .steps, .receives,
      .foreignClientLeaves:
      return change
    }
  }

  func opened(_ attempt: AttemptID, _ packet: SessionsFeature.Packet) -> SessionModel.Input {
    .opened(attempt)
  }

  mutating func received(
    _ attempt: AttemptID, _ packet: SessionsFeature.Packet
  ) -> SessionModel.Input {
    guard case .down(let bytes, let sent, let phone) = packet else { return .opened(attempt) }
    let message: SessionServerMessage
    do { message = try SessionServerMessage.read(bytes) } catch {
      if let sent { note(.broken(.misread, detail: "\(sent) cannot be read: \(error)")) }
      return .malformed(attempt, detail: "\(error)")
    }
    compare(message, sent)
    if case .connected = message {
      kernel.checkers.views[phone].phoneState.own.connected = attempt
    }
    return .frame(attempt, message, bytes: bytes.count, at: wall(kernel.phones[phone]))
  }

  // Scheduled events.

  mutating func take(_ scheduled: SessionsFeature.ScheduledEvent, on host: HostID?) {
    switch scheduled {
    case .input(let input): if let host { give(input, to: host) }
    case .stored(let token, let failure):
      feed(.stored(token, failure: failure, wall: wall(server)))
    case .drained(let id): feed(.drained(id))
    case .repeats(let line, let message): repeatItself(message, over: line)
    case .produces(let id, let text):
      if backend.handlers.contains(id) { feed(.produced(id, text)) }
    case .ends(let id, let result): ends(id, result)
    case .steps(let id): step(id)
    case .receives(let id, let bytes): foreignClientSpoke(bytes, id)
    case .foreignClientLeaves(let id): foreignClientLeaves(id)
    case .commits, .stores: return  // `makeDurable` handles these.
    }
  }

  mutating func begin(
    _ eventKind: SessionsFeature.EventKind, _ event: PlannedEvent<SessionsFeature.EventKind>,
    _ index: Int
  ) {
    switch eventKind {
    case .says: for phone in targets(of: event) { say("", event.number, phone) }
    case .pastes: for phone in targets(of: event) { paste(event.number, phone) }
    case .retries, .discards: for phone in targets(of: event) { resolveFailed(eventKind, phone) }
    case .follows:
      for phone in targets(of: event) {
        let other = SessionsFeature.conversations[1 - phone.index]
        let all = [other, SessionsFeature.shared, Self.new]
        give(.follow(conversation: all[event.number]), to: phone)
      }
    case .wrongKey: return  // The event is looked up whenever a key is used.
    case .visits: welcome(ForeignSessionClient.Kind(rawValue: event.choice) ?? .plain)
    case .cancels:
      for phone in targets(of: event) {
        give(.cancel(conversation: conversation(event.number, phone)), to: phone)
      }
    case .unsent:
      for phone in targets(of: event) {
        guard let attempt = clients[phone.index].link.currentAttempt else { continue }
        give(.unsent(attempt), to: phone)
      }
    case .strangeMessage: sendStrange(event.choice)
    }
  }

  mutating func end(_ event: PlannedEvent<SessionsFeature.EventKind>, _ index: Int) {
    guard event.eventKind == .own(.wrongKey) else { return }
    for phone in targets(of: event) {
      give(.credentials(.available(expiresIn: nil)), to: phone)
      give(.start, to: phone)
    }
  }

  private func conversation(_ number: Int, _ phone: HostID) -> String {
    number == 1 ? SessionsFeature.shared : SessionsFeature.conversations[phone.index]
  }

  /// Enters a prompt on behalf of the user. Its text contains the phone's index and the prompt's
  /// number.
  private mutating func say(_ rest: String, _ number: Int, _ phone: HostID) {
    guard kernel.hosts[phone.slot].isRunning else { return }
    given[phone.index] += 1
    kernel.counts[.prompts] += 1
    let text = "\(phone.index).\(number).\(given[phone.index]) \(rest)"
    give(
      .prompt(
        text, conversation: conversation(number, phone), key: .random(using: &keys),
        at: wall(phone)), to: phone)
  }

  /// Pastes a text of a given number of KiB on behalf of the user.
  private mutating func paste(_ kilobytes: Int, _ phone: HostID) {
    if kilobytes == 0 {
      let conversation = conversation(0, phone)
      return give(
        .prompt("", conversation: conversation, key: .random(using: &keys), at: wall(phone)),
        to: phone)
    }
    // The text including its name has the given size.
    let name = "\(phone.index).0.\(given[phone.index] + 1) ".utf8.count
    say(String(of: "x", count: kilobytes * 1_024 - name), 0, phone)
  }

  /// Retries or discards the failed prompts on behalf of the user.
  private mutating func resolveFailed(_ eventKind: SessionsFeature.EventKind, _ phone: HostID) {
    let failed = clients[phone.index].queue.items.filter { $0.isFailed }
    for prompt in failed where kernel.hosts[phone.slot].isRunning {
      if eventKind == .retries {
        give(.retry(prompt.id, as: .random(using: &keys)), to: phone)
      } else {
        note(.discarded(phone: phone.index, prompt.id))
        give(.discard(prompt.id), to: phone)
      }
    }
  }

  mutating func altered(_ input: SessionModel.Input, of phone: HostID) -> [SessionModel.Input] {
    seam.toPhone(input)
  }

  mutating func altered(
    _ effect: SessionModel.Effect, of phone: HostID
  ) -> [SessionModel.Effect] {
    seam.fromPhone(effect)
  }

  // Calm.

  var isComplete: Bool {
    clients.indices.allSatisfy {
      clients[$0].isConnected
        && (clients[$0].isIdle
          || kernel.checkers.views[$0].phoneState.own.waitsForSign && isAnswered)
        && SessionsFeature.isHealed(kernel.checkers.views[$0].phoneState)
    }
  }

  /// Whether the server has answered the last prompts of both phones.
  private var isAnswered: Bool {
    guard let lastSaid else { return true }
    let isOld = kernel.now >= lastSaid.advanced(by: .seconds(30))
    return isOld && kernel.now >= lastSent.advanced(by: .seconds(5)) && !backend.hasTurns
  }

  mutating func prepareCalm() {
    isCalm = true
    endHanging()
  }
  mutating func becomeCalm() {
    for phone in kernel.phones {
      give(.follow(conversation: SessionsFeature.shared), to: phone)
      give(.start, to: phone)
    }
  }
  /// Starts the links again. Traffic that was in transit when the calm phase began may have ended
  /// them.
  mutating func tryAgain() { for phone in kernel.phones { give(.start, to: phone) } }
  mutating func happenLast() {
    lastSaid = kernel.now
    for phone in kernel.phones { say("", 1, phone) }
  }
  mutating func leave() { for phone in kernel.phones { give(.stop, to: phone) } }

  mutating func heal() {
    becomeWhole()
    finish()
    checkServer()
    for phone in kernel.phones.indices { note(.counted(phone: phone, disks[phone].days)) }
  }
}

// The program behind the server: the way in which it processes a prompt and ends.
extension SessionWorld {
  mutating func run(_ id: SessionPromptID, _ prompt: SessionPrompt) {
    kernel.counts[.handled] += 1
    note(.ran(text: prompt.text.firstWord))
    backend.handlers.insert(id)
    let longest = isCalm ? .milliseconds(200) : kernel.plan.numbers.work
    let time = kernel.hosts[server.slot].generator.duration(below: longest)
    var text = "re \(prompt.text.firstWord)"
    if prompt.text.utf8.count > 1_024 { text += " " + String(of: "y", count: 5_000) }
    let generator = kernel.hosts[server.slot].generator.next()
    if generator % 2 == 0 { kernel.later(.produces(id, "re "), on: server, after: time / 2) }
    // The text written so far is the beginning of the response.
    if let habit = ProgramHabit(prompt.text), !isCalm { return follow(habit, id) }
    let result: SessionResponse.Result =
      generator % 16 == 1 ? .failure(error: "the program failed") : .success(text: text)
    kernel.later(.ends(id, result), on: server, after: time)
  }

  private mutating func follow(_ habit: ProgramHabit, _ id: SessionPromptID) {
    let length = backend.policy.maxResponseBytes
    switch habit {
    case .hangs, .deaf: backend.hanging.insert(id)
    case .floods:
      backend.hanging.insert(id)
      for seconds in Int64(1)...3 {
        let text = String(of: "z", count: length / 2)
        kernel.later(.produces(id, text), on: server, after: .seconds(seconds))
      }
    case .fills, .overflows:
      let count = habit == .fills ? length : length + 1
      let text = "re " + String(of: "z", count: count - 3)
      let result = SessionResponse.Result.success(text: text)
      kernel.later(.ends(id, result), on: server, after: .seconds(1))
    }
    if habit == .deaf { backend.deaf.insert(id) }
  }

  /// Ends the program, unless it ignores cancellation.
  mutating func cancel(_ id: SessionPromptID) {
    guard !backend.deaf.contains(id) else { return }
    kernel.later(.ends(id, .failure(error: "killed")), on: server, after: .milliseconds(10))
  }

  /// Handles the end of the program. If the program both ends and is canceled, only the first of
  /// these events has an effect.
  mutating func ends(_ id: SessionPromptID, _ result: SessionResponse.Result) {
    guard backend.handlers.remove(id) != nil else { return }
    backend.hanging.remove(id)
    kernel.counts[.answers] += 1
    feed(.ended(id, result, wall: wall(server)))
  }

  /// Ends the programs that would not end in time.
  mutating func endHanging() {
    for id in backend.hanging.sorted() { ends(id, .success(text: "re \(id.number) at last")) }
  }
}

/// The behavior of the program for a foreign client's prompt.
private enum ProgramHabit: String {
  /// The program does not end unless it is canceled. `deaf` also ignores cancellation.
  case hangs, deaf
  /// The program writes more than a response may contain.
  case floods
  /// The response has the maximum number of bytes, or one byte more.
  case fills, overflows

  init?(_ text: String) {
    let parts = text.utf8.prefix(40).split(separator: 0x20)
    guard parts.count == 2 else { return nil }
    self.init(rawValue: String(decoding: parts[1], as: UTF8.self))
  }
}

// Frames: both ends must agree on the meaning of the bytes that one of them encoded.
extension SessionWorld {
  /// Handles bytes from a client at the server.
  ///
  /// - Parameter sent: The message that the bytes encode; `nil` if there is none.
  mutating func receive(_ bytes: [UInt8], _ sent: SessionClientMessage?, from id: ConnectionID) {
    let message: SessionClientMessage
    do { message = try SessionClientMessage.read(bytes) } catch {
      if let sent { note(.broken(.misread, detail: "\(sent) cannot be read: \(error)")) }
      return feed(.unreadable(id, detail: "\(error)", field: error.field))
    }
    if let sent, sent != message {
      note(.broken(.misread, detail: "a \(sent.kind) was read as another \(message.kind)"))
    }
    feed(.said(id, message, proof: proof(in: message, id), wall: wall(server)))
  }

  /// Compares a decoded message with the message that was encoded.
  mutating func compare(_ message: SessionServerMessage, _ sent: SessionServerMessage?) {
    if let sent, sent != message {
      note(.broken(.misread, detail: "a message of the server was read as another one"))
    }
  }

  private mutating func proof(
    in message: SessionClientMessage, _ id: ConnectionID
  ) -> SessionServer.Proof {
    guard case .connect(let connect) = message else { return .none }
    let challenge = backend.rules.challenge(of: id)
    if let key = connect.key {
      if challenge != nil, kernel.plan.numbers.plain == 0, backend.foreignClients[id] == nil,
        key.text == Self.key
      {
        note(.broken(.leaked, detail: "the key was sent although a challenge was there"))
      }
      return key.text == Self.key ? .key : .none
    }
    guard let challenge, let proof = connect.proof else { return .none }
    return proof.text == connect.expectedProof(of: challenge) ? .challenge : .none
  }
}

extension SessionConnect {
  /// The value that takes the place of the signature of a challenge. It is the signed text, built
  /// independently of the product's code.
  fileprivate func expectedProof(of challenge: String) -> String {
    guard features.contains(.boundProof) else { return challenge }
    var text = String(repeating: " ", count: 128)
    let milliseconds = timestamp.map { $0.nanoseconds / 1_000_000 }
    for part in [challenge, session, version ?? "", milliseconds.map { "\($0)" } ?? ""] {
      text += String(part.utf8.count) + ":" + part + ","
    }
    return text
  }
}

extension SessionClientMessage {
  /// The kind of the message, for use in findings.
  fileprivate var kind: String {
    switch self {
    case .connect: "connect"
    case .ping: "ping"
    case .messageAck: "acknowledgement"
    case .prompt: "prompt"
    case .subscribe, .subscribeBatch: "subscription"
    case .unsubscribe: "end of a subscription"
    case .setMaxMessageSize: "size"
    case .killSession: "cancellation"
    case .disconnect: "farewell"
    case .unknown: "message of no known type"
    }
  }
}

// Foreign clients: scripts whose messages reach the server without a line of the kernel.
extension SessionWorld {
  /// The lower bound for the connection numbers of foreign clients. It is greater than the numbers
  /// of all lines.
  private static let firstForeignClient: UInt64 = 1 << 40

  /// Connects a foreign client. A client that replays a proof uses an earlier challenge.
  mutating func welcome(_ kind: ForeignSessionClient.Kind) {
    guard kernel.hosts[server.slot].isRunning, !isCalm else { return }
    backend.lastForeignClient += 1
    backend.challenges += 1
    let id = ConnectionID(Self.firstForeignClient + backend.lastForeignClient)
    var foreignClient = ForeignSessionClient(kind, number: backend.lastForeignClient)
    foreignClient.challenge = UUID128(high: 0xCA11, low: backend.challenges).description
    foreignClient.oldChallenge = UUID128(high: 0xCA11, low: backend.challenges - 1).description
    backend.foreignClients[id] = foreignClient
    let arrival = SessionServer.Arrival(address: "guests", challenge: foreignClient.challenge)
    feed(.opened(id, arrival, wall: wall(server)))
  }

  /// Carries out an effect of the server on the connection of a foreign client. Returns false for
  /// all other effects.
  mutating func isForForeignClient(_ effect: SessionServer.Effect) -> Bool {
    guard let id = effect.connection, id.number > Self.firstForeignClient else { return false }
    switch effect {
    case .accept: later(id)
    case .send(_, let message): foreignClientReceives(message, id)
    case .noticeDrain: kernel.later(.drained(id), on: server, after: .milliseconds(1))
    case .ping:
      if backend.foreignClients[id]?.answers == true { feedLater(id) }
    case .close: kernel.later(.foreignClientLeaves(id), on: server, after: .milliseconds(50))
    case .drop: kernel.later(.foreignClientLeaves(id), on: server, after: .zero)
    case .refuse: backend.foreignClients[id] = nil
    case .run, .cancel, .store, .finished: return false
    }
    return true
  }

  private mutating func later(_ id: ConnectionID, after wait: Duration = .milliseconds(100)) {
    kernel.later(.steps(id), on: server, after: wait)
  }

  /// Schedules a pong from a foreign client. It only shows that the connection is alive.
  private mutating func feedLater(_ id: ConnectionID) {
    kernel.later(.receives(id, []), on: server, after: .milliseconds(10))
  }

  /// Handles bytes from a foreign client at the server.
  mutating func foreignClientSpoke(_ bytes: [UInt8], _ id: ConnectionID) {
    guard backend.foreignClients[id] != nil else { return }
    feed(.received(id))
    guard !bytes.isEmpty else { return }
    receive(bytes, nil, from: id)
  }

  mutating func foreignClientLeaves(_ id: ConnectionID) {
    guard backend.foreignClients.removeValue(forKey: id) != nil else { return }
    feed(.gone(id, wall: wall(server)))
  }

  private mutating func foreignClientReceives(_ message: SessionServerMessage, _ id: ConnectionID) {
    let bytes = message.bytes
    backend.ledger.checkSize(message, bytes.count, id)
    do { compare(try SessionServerMessage.read(bytes), message) } catch {
      note(.broken(.misread, detail: "\(message) cannot be read: \(error)"))
    }
    guard backend.foreignClients[id]?.answers == true, backend.foreignClients[id]?.kind != .plain
    else { return }
    switch message {
    case .response(let response):
      guard let message = response.id else { return }
      let ack = SessionClientMessage.messageAck(message)
      kernel.later(.receives(id, ack.bytes), on: server, after: .milliseconds(30))
    case .hello, .connected, .pong, .ack, .responsePart, .error, .authError, .replay,
      .turnComplete, .history, .historyBatch, .heartbeat, .draining, .sessionKilled, .unknown:
      return
    }
  }

  /// Carries out the next step of a foreign client's script.
  mutating func step(_ id: ConnectionID) {
    guard var foreignClient = backend.foreignClients[id] else { return }
    guard !foreignClient.steps.isEmpty else { return foreignClientLeaves(id) }
    let next = foreignClient.steps.removeFirst()
    backend.foreignClients[id] = foreignClient
    switch next {
    case .say(let message): say(message, id)
    case .write(let text): foreignClientSpoke(Array(text.utf8), id)
    case .enter(let handshake): say(.connect(connect(foreignClient, handshake)), id)
    case .wait(let time): return later(id, after: time)
    case .read: feed(.overflowed(id))
    case .take: takeAnother(id)
    }
    later(id)
  }

  /// Acknowledges messages that were sent to other clients.
  private mutating func takeAnother(_ id: ConnectionID) {
    for prompt in backend.durable.prompts.values.sorted(by: { $0.id < $1.id }) {
      guard case .ended(let answer) = prompt.stage, !answer.isTaken else { continue }
      say(.messageAck(answer.message), id)
    }
  }

  private mutating func say(_ message: SessionClientMessage, _ id: ConnectionID) {
    feed(.received(id))
    receive(message.bytes, message, from: id)
  }

  private func connect(
    _ foreignClient: ForeignSessionClient, _ handshake: ForeignSessionClient.Handshake
  ) -> SessionConnect {
    var connect = SessionConnect(session: foreignClient.name, features: foreignClient.features)
    if foreignClient.kind == .oldReader { connect.version = "0.4.7" }
    switch handshake {
    case .key(let key, let version):
      (connect.key, connect.version) = (Secret(key), version)
      connect.recentSessionsLimit = 5
    case .proof(let time):
      connect.timestamp = wall(server).advanced(by: time)
      connect.proof = Secret(connect.signedText(foreignClient.challenge))
    case .oldProof:
      connect.timestamp = wall(server)
      connect.proof = Secret(connect.signedText(foreignClient.oldChallenge))
    }
    return connect
  }
}

extension SessionServer.Effect {
  /// The connection that the effect concerns.
  fileprivate var connection: ConnectionID? {
    switch self {
    case .accept(let id), .refuse(let id, _), .send(let id, _), .noticeDrain(let id), .ping(let id),
      .close(let id, _), .drop(let id):
      id
    case .run, .cancel, .store, .finished: nil
    }
  }
}
