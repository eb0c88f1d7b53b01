import HealthRelay
import LinkCore
import LinkHealth
import LinkServerCore
import LinkWire

// The phones: their users, their health data, and their shells.
extension RelayWorld {
  /// A phone, its user, and what its app keeps in memory.
  struct Phone {
    let index: Int
    /// What its model really uses.
    let settings: RelaySettings
    /// The phone names no device, so that no backend knows it again.
    let isPlain: Bool
    var told = Told()
    /// A rule of the policy ended the relay, until the user starts it again.
    var isOver = false
    /// When a message of the backend last reached it, or its user started it.
    var lastMessage = Instant.zero
    /// The next code that it is told is a stranger's.
    var isStranger = true
    /// Answers that were read, until they are discarded.
    var answers: [WorkID: [PhoneMessage]] = [:]
    /// What the user sees and can read to an assistant.
    var pair: HealthRelay.RelayPair?
    /// What brings it back.
    var resume: String?
    /// The backend has confirmed where it is woken: its pairings last as long as a token.
    var hasPush = false
    /// When each token of its assistants ends.
    var tokens: [String: Instant] = [:]
    var pull: PullModel?
    /// The number of the pull.
    var pullRun = 0
    var pullAnswers: [StepID: [PhoneMessage]] = [:]
    /// When the backend last could hear it: pairings outlive an absence of a grace.
    var lastHere = Instant.zero

    /// What the model was told in this run.
    struct Told {
      var isOn = false
      var isInFront = true
    }

    init(_ index: Int, _ numbers: RelayNumbers, _ policy: LinkPolicy) {
      self.index = index
      isPlain = numbers.plain >> index & 1 == 1
      settings = Self.settings(of: index, numbers, policy)
    }

    static func settings(
      of index: Int, _ numbers: RelayNumbers, _ policy: LinkPolicy
    ) -> RelaySettings {
      let isService = numbers.services >> index & 1 == 1
      return RelaySettings(
        policy: isService ? policy : policy.withoutService, hasNotification: isService)
    }

    var device: UUID128? { isPlain ? nil : UUID128(high: 0xD, low: UInt64(index)) }

    /// Whether the background ends its relay.
    var leavesInBackground: Bool {
      if case .leave = settings.policy.gate.background { true } else { false }
    }
  }

  /// The longest message of an answer in parts, in bytes.
  private static var frame: Int { 2_000 }

  // The process.

  mutating func bootPhone(_ host: HostID) {
    phones[host.index].told = Phone.Told()
    let seed = kernel.hosts[host.place].chance.next()
    clients[host.index] = RelayModel(settings: phones[host.index].settings, seed: seed)
  }

  /// What was in memory is gone, the token as well: a phone that is launched again is a stranger.
  mutating func endPhone(_ host: HostID) {
    let index = host.index
    phones[index].answers = [:]
    phones[index].pair = nil
    phones[index].resume = nil
    phones[index].pull = nil
    unpair(index)
  }

  /// Notes that the pairings of a phone may be over.
  mutating func unpair(_ index: Int) {
    note(.unpaired(phone: index))
    phones[index].isStranger = true
    phones[index].hasPush = false
    phones[index].tokens = [:]
  }

  mutating func look(_ host: HostID) {
    kernel.bench.views[host.index].standing.own.held = phones[host.index].answers.count
    kernel.bench.views[host.index].standing.own.look(clients[host.index])
    if let resume = clients[host.index].resume { phones[host.index].resume = resume.text }
  }

  // The user.

  mutating func tellApp(_ host: HostID, isFirst: Bool) {
    let isInFront = lifecycle(of: host) == .foreground
    if isInFront, !phones[host.index].told.isInFront {
      kernel.later(.looksAtPhone, on: host, after: .seconds(3))
    }
    phones[host.index].told.isInFront = isInFront
    let isOn = !isUnderWay(.stop, on: host)
    guard phones[host.index].told.isOn != isOn else { return }
    phones[host.index].told.isOn = isOn
    if isOn { start(host) } else { stop(host) }
  }

  mutating func start(_ host: HostID) {
    phones[host.index].isOver = isInBackground(host) && phones[host.index].leavesInBackground
    // A second start changes nothing.
    switch clients[host.index].status.state {
    case .idle, .error, .stopping: phones[host.index].lastMessage = now
    case .starting, .running, .reconnecting: break
    }
    give(.start, to: host)
  }

  private mutating func stop(_ host: HostID) {
    unpair(host.index)
    phones[host.index].resume = nil
    give(.stop, to: host)
  }

  /// The user leaves for good.
  mutating func leaveForGood(_ host: HostID) {
    phones[host.index].told.isOn = false
    stop(host)
  }

  /// A user who looks at a relay that does not run starts it.
  mutating func startAgain(_ host: HostID) {
    guard phones[host.index].told.isOn, !isInBackground(host) else { return }
    guard kernel.hosts[host.place].isRunning else {
      return kernel.later(.looksAtPhone, on: host, after: .seconds(20))
    }
    switch clients[host.index].status.state {
    case .idle, .error: start(host)
    case .starting, .running, .reconnecting, .stopping: return
    }
  }

  /// Whether the model was told that the app is in background.
  private func isInBackground(_ host: HostID) -> Bool {
    kernel.hosts[host.place].told.lifecycle == .background
  }

  func isWanted(_ host: HostID) -> Bool {
    phones[host.index].told.isOn && !phones[host.index].isOver
  }

  // Effects.

  mutating func perform(_ effect: RelayModel.Effect, of host: HostID) {
    switch effect {
    case .open(let attempt, let resume):
      dial(host, attempt, to: server, hello: RelayFeature.Hello(resume: resume?.text))
    case .close(let attempt, let code):
      hangUp(host, attempt, code: code)
      kernel.answerLater(.input(.closed(attempt)), to: host, after: kernel.roundTrip())
    case .ping(let attempt, let id): send(host, attempt, ping: id)
    case .read(let work, let id, let question, let inParts):
      let read = seam.read(question)
      kernel.answerLater(
        .read(work, id, read, inParts: inParts), to: host, after: readingTime(host))
    case .send(let attempt, let work, let part):
      let messages = phones[host.index].answers[work] ?? []
      if messages.indices.contains(part) { send(messages[part], on: attempt, of: host) }
    case .discard(let work): phones[host.index].answers[work] = nil
    case .fail(let work, let id, let kind, let reason):
      phones[host.index].answers[work] = [.answer(kind, id, .failure(reason))]
    case .refuse(let attempt, let id, let kind, let reason):
      var message = PhoneMessage.failure(id, reason: reason)
      if let id, let kind { message = .answer(kind, id, .failure(reason)) }
      send(message, on: attempt, of: host)
    case .notify, .unnotify: return
    case .update(let update): show(update, of: host)
    }
    kernel.bench.views[host.index].standing.own.held = phones[host.index].answers.count
    kernel.bench.views[host.index].standing.own.look(clients[host.index])
  }

  private mutating func send(
    _ message: PhoneMessage, on attempt: AttemptID, of host: HostID
  ) {
    send(host, attempt, .up(message), bytes: message.bytes.count)
  }

  private mutating func show(_ update: RelayUpdate, of host: HostID) {
    switch update {
    case .status(let status):
      switch status.state {
      case .running:
        tellPush(host)
        givePull(host, .cancel)
      case .idle, .error:
        phones[host.index].pair = nil
        phones[host.index].isOver = mayEnd(host)
        let wait = kernel.hosts[host.place].chance.duration(below: .seconds(60))
        kernel.later(.looksAtPhone, on: host, after: .seconds(20) + wait)
      case .starting, .reconnecting, .stopping: return
      }
    case .pair(let pair): phones[host.index].pair = pair
    case .ended, .problem: return
    }
  }

  /// Whether a rule of the policy lets a relay end by itself now.
  private func mayEnd(_ host: HostID) -> Bool {
    let phone = phones[host.index]
    if isInBackground(host), phone.leavesInBackground { return true }
    guard let idle = phone.settings.policy.liveness.idle else { return false }
    return phone.lastMessage.duration(to: now) >= idle.after
  }

  // Health data.

  mutating func readingTime(_ host: HostID) -> Duration {
    if isUnderWay(.slowReading, on: host) {
      return .seconds(1) + kernel.hosts[host.place].chance.duration(below: .seconds(60))
    }
    if kernel.hosts[host.place].conditions.disk == .slow { return diskDelay(host) }
    return kernel.hosts[host.place].chance.duration(below: kernel.plan.numbers.reading)
  }

  mutating func finishReading(
    _ host: HostID, _ work: WorkID, _ id: RelayRequestID, _ question: HealthQuestion, inParts: Bool
  ) {
    let messages = read(host, id, question, inParts: inParts)
    phones[host.index].answers[work] = messages
    let content: RelayModel.Prepared.Content =
      isLocked(host)
      ? .unreadable(reason: "the device is locked") : .points(1, isTruncated: false)
    give(.prepared(work, .init(parts: messages.count, content: content)), to: host)
  }

  /// What a phone reads for a question, as messages.
  func read(
    _ host: HostID, _ id: RelayRequestID, _ question: HealthQuestion, inParts: Bool
  ) -> [PhoneMessage] {
    let bytes = kernel.plan.numbers.answerBytes
    let object =
      isLocked(host)
      ? HealthObject.failure("the device is locked")
      : .answer(of: host.index, to: question.number, bytes: bytes)
    return PhoneMessage.frames(
      answering: question.kind, id, object, atMost: inParts ? Self.frame : .max)
  }

  private func isLocked(_ host: HostID) -> Bool {
    kernel.hosts[host.place].conditions.disk == .locked
  }
}
