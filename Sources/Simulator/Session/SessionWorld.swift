import LinkCore
import LinkServerCore
import LinkWire
import Session

/// Two phones with sessions, and a server with a program behind it.
struct SessionWorld: SimulatedWorld, ~Copyable {
  typealias Feature = SessionsFeature

  var kernel: Kernel<SessionsFeature>
  var clients: [SessionModel]
  var backend: Backend
  var seam: SessionSeam
  /// What the disk of each phone holds.
  private var disks: [KeptSession]
  /// How many prompts each user has given.
  private var given: [Int]
  /// The program is quick, so that all prompts end in time.
  private(set) var isCalm = false
  /// When the users gave their last prompts.
  private var lastSaid: Instant?

  /// A conversation in which nothing was ever said.
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
    disks = Array(repeating: KeptSession(), count: SessionsFeature.phones)
    given = Array(repeating: 0, count: SessionsFeature.phones)
    let model = SessionModel(SessionSettings(policy: kernel.policy), seed: 0)
    clients = Array(repeating: model, count: SessionsFeature.phones)
    kernel.bench.views = clients.indices.map { index in
      var state = SessionsFeature.State()
      state.phone = index
      state.mayDrop = plan.numbers.kept < 1_000
      state.isPlain = plan.numbers.plain == 1
      var standing = Standing<SessionsFeature>(
        policy: setup.policy, status: model.status, own: state)
      standing.secrets = [Self.key]
      return PhoneView(standing)
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
    (backend.handlers, backend.hanging, backend.guests) = ([], [], [:])
  }

  mutating func tellApp(_ phone: HostID, isFirst: Bool) {
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
    kernel.bench.views[phone.index].standing.own.unanswered = clients[phone.index].unanswered
    kernel.bench.views[phone.index].standing.own.isWritten = clients[phone.index].isSettled
    kernel.bench.views[phone.index].standing.own.waitsForSign =
      kernel.plan.numbers.plain == 1
      && clients[phone.index].queue.items.contains { !$0.isFailed && $0.floor != nil }
  }

  mutating func perform(_ effect: SessionModel.Effect, of phone: HostID) {
    switch effect {
    case .open(let attempt): dial(phone, attempt, to: server, hello: Nothing())
    case .close(let attempt, let code): hangUp(phone, attempt, code: code)
    case .connect(let attempt, var connect, let challenge):
      if kernel.plan.numbers.old == 1 { connect.version = SessionVersion.oldest.description }
      if let challenge {
        // Stands for its signature.
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
      let isPortal = kernel.hosts[phone.place].conditions.portal != nil
      kernel.answerLater(
        .input(.probed(isPortal: isPortal)), to: phone, after: .milliseconds(100))
    case .commit(let id, let change): write(.commits(id, change), on: phone)
    case .update(let update): show(update, phone)
    }
  }

  private mutating func send(
    _ message: SessionClientMessage, on attempt: AttemptID, of phone: HostID
  ) {
    let bytes = seam.written(message)
    send(phone, attempt, .up(bytes, message), bytes: bytes.count)
  }

  private mutating func show(_ update: SessionUpdate, _ phone: HostID) {
    switch update {
    case .message(let entry, _, let news):
      kernel.counts[.shown] += 1
      kernel.bench.views[phone.index].standing.own.show(entry.id)
      confirm(news, phone)
    case .prompt(let prompt, let news):
      if prompt.conversation == SessionsFeature.shared, prompt.state != .queued {
        let hasJoined = prompt.state != .sent && prompt.state != .failed
        if hasJoined { kernel.bench.views[phone.index].standing.own.hasJoined = true }
      }
      if let news { confirm(news, phone) }
    case .gap: kernel.bench.views[phone.index].standing.own.hasGap = true
    case .status, .quality, .pending, .part, .record, .notice: return
    }
  }

  private mutating func confirm(_ news: UInt64, _ phone: HostID) {
    kernel.answerLater(.input(.shown(through: news)), to: phone, after: .milliseconds(20))
  }

  mutating func makeDurable(
    _ change: SessionsFeature.Cue, on host: HostID
  ) -> SessionsFeature.Cue? {
    switch change {
    case .commits(let id, let change):
      let news = disks[host.index].commit(change)
      kernel.bench.views[host.index].standing.own.durable
        .formUnion(change.news.compactMap(\.entry?.id))
      if let through = change.shown {
        kernel.bench.views[host.index].standing.own.confirmed = through
      }
      return .input(.committed(id, news))
    case .stores(let token, let changes):
      keep(changes)
      return .stored(token, nil)
    case .input, .stored, .drained, .repeats, .produces, .ends, .steps, .hears, .guestLeaves:
      return nil
    }
  }

  func refusedChange(_ change: SessionsFeature.Cue, isFull: Bool) -> SessionsFeature.Cue {
    let failure: StoreFailure =
      isFull ? .full(detail: "no space left") : .locked(detail: "another process has it")
    switch change {
    case .commits(let id, _): return .input(.commitFailed(id, failure))
    case .stores(let token, _): return .stored(token, failure)
    case .input, .stored, .drained, .repeats, .produces, .ends, .steps, .hears, .guestLeaves:
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
      kernel.bench.views[phone].standing.own.connected = attempt
    }
    return .frame(attempt, message, bytes: bytes.count, at: wall(kernel.phones[phone]))
  }

  // What happens.

  mutating func take(_ cue: SessionsFeature.Cue, on host: HostID?) {
    switch cue {
    case .input(let input): if let host { give(input, to: host) }
    case .stored(let token, let failure):
      feed(.stored(token, failure: failure, wall: wall(server)))
    case .drained(let id): feed(.drained(id))
    case .repeats(let line, let message): repeatItself(message, over: line)
    case .produces(let id, let text):
      if backend.handlers.contains(id) { feed(.produced(id, text)) }
    case .ends(let id, let result): ends(id, result)
    case .steps(let id): step(id)
    case .hears(let id, let bytes): guestSpoke(bytes, id)
    case .guestLeaves(let id): guestLeaves(id)
    case .commits, .stores: return  // become durable instead
    }
  }

  mutating func begin(_ verb: SessionsFeature.Verb, _ act: Act<SessionsFeature.Verb>, _ index: Int)
  {
    switch verb {
    case .says: for phone in targets(of: act) { say("", act.number, phone) }
    case .pastes: for phone in targets(of: act) { paste(act.number, phone) }
    case .retries, .discards: for phone in targets(of: act) { settle(verb, phone) }
    case .follows:
      for phone in targets(of: act) {
        let other = SessionsFeature.conversations[1 - phone.index]
        let all = [other, SessionsFeature.shared, Self.new]
        give(.follow(conversation: all[act.number]), to: phone)
      }
    case .wrongKey: return  // the key is looked at while it is wrong
    case .visits: welcome(SessionGuest.Kind(rawValue: act.word) ?? .plain)
    case .cancels:
      for phone in targets(of: act) {
        give(.cancel(conversation: conversation(act.number, phone)), to: phone)
      }
    case .unsent:
      for phone in targets(of: act) {
        guard let attempt = clients[phone.index].link.currentAttempt else { continue }
        give(.unsent(attempt), to: phone)
      }
    case .strangeMessage: sendStrange(act.word)
    }
  }

  mutating func end(_ act: Act<SessionsFeature.Verb>, _ index: Int) {
    guard act.verb == .own(.wrongKey) else { return }
    for phone in targets(of: act) {
      give(.credentials(.available(expiresIn: nil)), to: phone)
      give(.start, to: phone)
    }
  }

  private func conversation(_ number: Int, _ phone: HostID) -> String {
    number == 1 ? SessionsFeature.shared : SessionsFeature.conversations[phone.index]
  }

  /// The user gives a prompt, whose text names the phone and its number.
  private mutating func say(_ rest: String, _ number: Int, _ phone: HostID) {
    guard kernel.hosts[phone.place].isRunning else { return }
    given[phone.index] += 1
    kernel.counts[.prompts] += 1
    let text = "\(phone.index).\(number).\(given[phone.index]) \(rest)"
    give(
      .prompt(text, conversation: conversation(number, phone), at: wall(phone)), to: phone)
  }

  /// The user pastes a text of so many units of 1,024 bytes.
  private mutating func paste(_ kilobytes: Int, _ phone: HostID) {
    if kilobytes == 0 {
      let conversation = conversation(0, phone)
      return give(.prompt("", conversation: conversation, at: wall(phone)), to: phone)
    }
    // All of it together has that size.
    let name = "\(phone.index).0.\(given[phone.index] + 1) ".utf8.count
    say(String(of: "x", count: kilobytes * 1_024 - name), 0, phone)
  }

  /// The user sees to what failed.
  private mutating func settle(_ verb: SessionsFeature.Verb, _ phone: HostID) {
    let failed = clients[phone.index].queue.items.filter { $0.isFailed }
    for prompt in failed where kernel.hosts[phone.place].isRunning {
      if verb == .retries {
        give(.retry(prompt.id), to: phone)
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
    // The server still runs what it was given last, and tells both phones.
    let isTold = lastSaid.map { kernel.now >= $0.advanced(by: .seconds(30)) } ?? true
    return clients.indices.allSatisfy {
      clients[$0].isConnected
        && (clients[$0].isSettled || kernel.bench.views[$0].standing.own.waitsForSign && isTold)
        && SessionsFeature.isHealed(kernel.bench.views[$0].standing)
    }
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
  /// What was on its way when calm began may still have ended a link.
  mutating func tryAgain() { for phone in kernel.phones { give(.start, to: phone) } }
  mutating func happenLast() {
    lastSaid = kernel.now
    for phone in kernel.phones { say("", 1, phone) }
  }
  mutating func leave() { for phone in kernel.phones { give(.stop, to: phone) } }

  mutating func heal() {
    becomeWhole()
    finish()
    judgeServer()
    for phone in kernel.phones.indices { note(.counted(phone: phone, disks[phone].days)) }
  }
}
