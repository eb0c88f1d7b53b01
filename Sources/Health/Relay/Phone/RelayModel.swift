public import HoldfastCore
public import HoldfastHealth
public import HoldfastRelayData

/// A phone that is paired by a code and answers an assistant's questions.
///
/// A link decides when to connect. This machine translates that for the user and the questions:
///
///     start ──▶ starting ──code──▶ running ──lost──▶ reconnecting ──code──▶ running
///                  │                  │                    │
///                  │ two retries      │ idle, background   │ two retries
///                  ▼                  ▼                    ▼
///                error              idle                 error      stop: stopping ──▶ idle
///
/// Questions wait in one queue and are answered one at a time, in order of arrival. An answer is
/// complete when the backend has confirmed all of its messages by pongs. Until then, the phone
/// sends the answer again on every session that the backend resumes, and the backend recognizes a
/// repeated answer by its ID. On a new session no caller waits for the answer. The question is
/// dropped, since the backend has already reported to the caller that the phone is gone.
public struct RelayModel: TimedMachine {
  /// The settings of the relay.
  public let settings: RelaySettings
  /// The link, which decides whether, when and how to connect.
  public internal(set) var link: HeldLink
  /// The status that was most recently shown to the user.
  public internal(set) var status = RelayStatus(.idle)
  /// The token with which the backend recognizes the phone of an earlier session. It is never
  /// journaled.
  public internal(set) var resume: Secret?
  var phase = Phase.off
  /// The content of the most recent code message since the start; `nil` before the first one.
  var welcome: Welcome?
  var questions = QuestionQueue()
  var problems: Throttle
  /// The rate limit for replies to messages that were not understood. It stops a loop in which both
  /// ends reject each other's messages.
  var refusals = Windows([RelaySettings.refusals])
  /// The most recent lifecycle state of the app.
  var lifecycle = AppLifecycle.foreground
  /// The instant of the backend's most recent message, or of the start.
  var lastMessage = Instant.zero

  enum Phase: Sendable, Hashable {
    /// Stopped. The link's status contains the reason.
    case off
    /// Started by the user.
    case on
    /// Stopped by the user. The socket's closing handshake may last until this instant.
    case stopping(AttemptID, until: Instant)
    /// Ended because nothing was received for too long while the network was unavailable.
    case quiet
  }

  /// Creates a relay that is not started.
  ///
  /// - Parameter seed: The seed of the random source.
  public init(settings: RelaySettings, seed: UInt64) {
    self.settings = settings
    link = HeldLink(policy: settings.policy, seed: seed)
    problems = Throttle(every: RelaySettings.problemInterval)
  }

  /// The number of open questions. The first one is being answered, and the others wait.
  package var openQuestions: Int { questions.items.count }

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
    case link, reading, quiet, stop
  }

  package func due(_ timer: Timer) -> Instant? {
    switch timer {
    case .link: link.deadline
    case .reading: questions.deadline
    case .quiet: quietDeadline
    case .stop: stopDeadline
    }
  }

  package mutating func expire(_ timer: Timer, _ step: inout Step) {
    switch timer {
    case .link: follow(link.tick(at: step.now), &step)
    case .reading: expireReading(&step)
    case .quiet: endQuiet(&step)
    case .stop: phase = .off
    }
  }

  /// Completes a step: starts the next operation for the first question, and reports changes to the
  /// user.
  private mutating func finish(_ step: inout Step) {
    advanceLine(&step)
    let current = observed
    guard current != status else { return }
    let before = status
    status = current
    step.show(.status(current))
    notify(before, &step)
  }

  /// The time of one call, and the effects produced so far.
  package struct Step {
    let now: Instant
    var effects: [Effect] = []

    mutating func show(_ update: RelayUpdate) { effects.append(.update(update)) }
  }

  /// Passes an input to the link and applies the link's effects.
  mutating func drive(_ input: HeldLink.Input, _ step: inout Step) {
    follow(link.handle(input, at: step.now), &step)
  }

  /// Shows a problem to the user, unless another one was shown within the interval.
  mutating func report(_ problem: RelayProblem, _ step: inout Step) {
    guard let withheld = problems.pass(at: step.now) else { return }
    step.show(.problem(problem, withheld: withheld))
  }
}

extension RelayModel {
  /// An input of a relay.
  public enum Input: Sendable, Equatable, Codable {
    // Inputs from the user.
    /// Connect. This is also valid after an error.
    case start
    /// End the connection and the pairing.
    case stop
    /// Use the token of an earlier process for the next connect. The token is ignored if the model
    /// already has one.
    case resume(Secret)

    /// An event of the device or of the socket.
    case link(LinkEvent)

    // Inputs from the socket.
    case opened(AttemptID)
    case message(AttemptID, Message)
    /// The socket could not send a message.
    case unsent(AttemptID)
    /// The closing handshake of an attempt is complete.
    case closed(AttemptID)

    // Inputs from the health data.
    /// An answer is ready to be sent.
    case prepared(WorkID, Prepared)
  }

  /// A message from the backend, as the model handles it.
  public enum Message: Sendable, Equatable, Codable {
    case paired(Welcome)
    case asked(RelayRequestID, HealthQuestion)
    case cancelled(RelayRequestID)
    case unknown(type: String, RelayRequestID?)
    case malformed(RelayWireError)

    /// Creates a message whose codes and tokens are secrets.
    public init(_ message: BackendMessage) {
      switch message {
      case .connectionCode(let code):
        self = .paired(
          Welcome(
            pair: RelayPair(
              code: Secret(code.code), word: Secret(code.word), message: Secret(code.message),
              expiresIn: code.expiresIn),
            resume: Self.resume(code.resumeToken), isResumed: code.resumed,
            acceptsParts: code.acceptsParts, newAssistants: code.newAssistants))
      case .question(let id, let question): self = .asked(id, question)
      case .cancel(let id): self = .cancelled(id)
      case .unknown(let type, let id): self = .unknown(type: type, id)
      }
    }

    /// Returns the token if it is valid in a header field (RFC 9110 section 5.5); `nil` otherwise.
    private static func resume(_ token: String?) -> Secret? {
      guard let token, !token.isEmpty, token.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
        return nil
      }
      return Secret(token)
    }
  }

  /// The content of a code message. Only this message proves that a connection works.
  public struct Welcome: Sendable, Hashable, Codable {
    /// The code and word with which an assistant pairs.
    public var pair: RelayPair
    /// The token for resuming the session; `nil` from a backend that cannot resume.
    public var resume: Secret?
    /// Whether the backend recognized this phone and kept its pairings.
    public var isResumed: Bool
    /// Whether the backend accepts long answers in parts.
    public var acceptsParts: Bool
    /// The assistants that have signed in since the last code, oldest first.
    public var newAssistants: [PairedAssistants.Assistant]

    /// Creates a welcome. The defaults describe a basic backend, which neither resumes sessions nor
    /// accepts parts.
    public init(
      pair: RelayPair, resume: Secret? = nil, isResumed: Bool = false, acceptsParts: Bool = false,
      newAssistants: [PairedAssistants.Assistant] = []
    ) {
      self.pair = pair
      self.resume = resume
      self.isResumed = isResumed
      self.acceptsParts = acceptsParts
      self.newAssistants = newAssistants
    }

    /// Returns whether this is the code of a pair, with the same text.
    fileprivate func shows(_ other: RelayPair) -> Bool {
      (pair.code, pair.word, pair.message) == (other.code, other.word, other.message)
    }
  }

  /// A summary of an answer for the model. It does not contain the health data.
  public struct Prepared: Sendable, Hashable, Codable {
    /// The number of messages in which the answer is sent, at least 1.
    public var parts: Int
    /// The result that the answer reports.
    public var content: Content

    /// A success or a failure.
    public enum Content: Sendable, Hashable, Codable {
      case points(Int, isTruncated: Bool)
      /// The question cannot be answered in its present form.
      case refused(reason: String)
      /// The store does not respond.
      case unreadable(reason: String)
    }

    /// Creates the summary of an answer that has one or more messages.
    public init(parts: Int, content: Content) {
      self.parts = parts
      self.content = content
    }
  }

  mutating func take(_ input: Input, _ step: inout Step) {
    switch input {
    case .start: start(&step)
    case .stop: stop(&step)
    case .resume(let token): resume = resume ?? token
    case .link(let event): handle(event, &step)
    case .opened(let attempt): opened(attempt, &step)
    case .message(let attempt, let message): received(message, attempt, &step)
    case .unsent(let attempt):
      drive(.reject(attempt, .local(detail: "the socket takes no more")), &step)
    case .closed(let attempt): closed(attempt)
    case .prepared(let work, let prepared): takePrepared(work, prepared, &step)
    }
  }

  /// Handles an event of the device or of the socket.
  private mutating func handle(_ event: LinkEvent, _ step: inout Step) {
    switch event {
    case .device(.again): start(&step)
    case .device(.lifecycle(let next)):
      lifecycle = next
      drive(HeldLink.Input(event), &step)
    case .device(.reachability), .device(.woke), .ping, .lost:
      drive(HeldLink.Input(event), &step)
    case .pong(let attempt, let id):
      drive(HeldLink.Input(event), &step)
      confirm(attempt, id, &step)
    case .oversized(let attempt, let bytes): oversized(bytes, attempt, &step)
    }
  }
}

/// The ID of the work that reads the data for one answer.
public struct WorkID: NumberedID {
  /// The number, counted from the start of the model.
  public let number: UInt64

  /// Creates an ID from its number.
  public init(_ number: UInt64) { self.number = number }
}

extension RelayModel.Input: LinkInput {
  public init(_ event: LinkEvent, at wall: Timestamp) { self = .link(event) }
  public var event: LinkEvent? { if case .link(let event) = self { event } else { nil } }
}

extension RelayModel {
  /// An effect of a relay. Effects are carried out in order.
  public enum Effect: Sendable, Equatable, Codable {
    /// Open the socket. The token, if present, identifies the phone to the backend.
    case open(AttemptID, resume: Secret?)
    /// Close the socket with a code of RFC 6455 section 7.4, then report `.closed`.
    case close(AttemptID, HeldLink.CloseReason)
    case ping(AttemptID, UInt64)
    /// Read the data that answers a question. Keep the answer until it is sent or discarded.
    case read(WorkID, RelayRequestID, HealthQuestion, inParts: Bool)
    /// Send one message of an answer. The index starts at 0.
    case send(AttemptID, WorkID, part: Int)
    /// Stop reading, and release the answer.
    case discard(WorkID)
    /// Keep a failure in place of an answer.
    case fail(WorkID, RelayRequestID, HealthQuestion.Kind, reason: String)
    /// Send a failure at once, with the kind of the question if that is known.
    case refuse(AttemptID, RelayRequestID?, HealthQuestion.Kind?, reason: String)
    /// Show the status as a notification, or update the notification.
    case notify(RelayStatus)
    /// Remove the notification.
    case unnotify
    case update(RelayUpdate)
  }
}

// The link and the user.
extension RelayModel {
  /// Translates the effects of the link.
  mutating func follow(_ effects: [HeldLink.Effect], _ step: inout Step) {
    for effect in effects {
      switch effect {
      case .prepare(let attempt): drive(.prepared(attempt), &step)
      case .open(let attempt): step.effects.append(.open(attempt, resume: resume))
      case .close(let attempt, let reason):
        step.effects.append(.close(attempt, reason))
      case .ping(let attempt, let id): step.effects.append(.ping(attempt, id))
      case .status(let status): followed(status, &step)
      // No preset of a relay has credentials or standby.
      case .refreshCredentials, .poll, .arm, .disarm: continue
      }
    }
  }

  private mutating func followed(_ status: LinkStatus, _ step: inout Step) {
    switch status.phase {
    case .connected: return
    case .connecting, .reconnecting, .held: questions.interrupt()
    case .disconnected: end(&step)
    case .standby, .failed:
      end(&step)
      if let failure = status.failure { report(.connection(failure), &step) }
    }
  }

  /// Ends the session, whose callers no longer wait for answers.
  private mutating func end(_ step: inout Step) {
    welcome = nil
    drop(&step) { _ in true }
    questions.forgetAnswered()
  }

  mutating func start(_ step: inout Step) {
    if lifecycle == .background, case .leave = settings.policy.gate.background {
      report(.inBackground, &step)
      return
    }
    phase = .on
    lastMessage = step.now
    drive(.setIntent(.live), &step)
    // If the user starts the relay again, it does not wait for the next retry.
    if link.status.retryAt != nil { drive(.trigger(.userRefresh), &step) }
  }

  /// Stops the relay and ends the pairing. The backend treats the next start as a new phone.
  mutating func stop(_ step: inout Step) {
    resume = nil
    guard phase == .on else { return }
    let attempt = link.currentAttempt
    drive(.setIntent(.none), &step)
    phase =
      attempt.map { .stopping($0, until: step.now.advanced(by: RelaySettings.stopTimeout)) }
      ?? .off
  }

  mutating func closed(_ attempt: AttemptID) {
    guard case .stopping(attempt, _) = phase else { return }  // a late event
    phase = .off
  }

  var stopDeadline: Instant? {
    guard case .stopping(_, let until) = phase else { return nil }
    return until
  }

  /// The instant at which the idle time ends while the network is unavailable. While connected, the
  /// link's own idle rule applies.
  var quietDeadline: Instant? {
    guard phase == .on, link.status.phase == .held, let idle = settings.policy.liveness.idle
    else { return nil }
    return lastMessage.advanced(by: idle.after)
  }

  mutating func endQuiet(_ step: inout Step) {
    drive(.setIntent(.none), &step)
    phase = .quiet
  }

  /// The current status for the user.
  var observed: RelayStatus {
    switch phase {
    case .stopping: RelayStatus(.stopping)
    case .quiet: RelayStatus(.idle, reason: .ended(.idle))
    case .off, .on: RelayStatus(link.status, hasRun: welcome != nil)
    }
  }

  /// Shows, updates or removes the notification, which is visible while the relay is active.
  func notify(_ before: RelayStatus, _ step: inout Step) {
    guard settings.hasNotification else { return }
    if status.isWorking {
      if before.state != status.state || before.attempt != status.attempt {
        step.effects.append(.notify(status))
      }
    } else if before.isWorking {
      step.effects.append(.unnotify)
    }
  }
}

extension RelayStatus {
  /// Whether the relay is active.
  fileprivate var isWorking: Bool {
    switch state {
    case .starting, .running, .reconnecting: true
    case .idle, .error, .stopping: false
    }
  }
}

// Received messages, and the answers to them.
extension RelayModel {
  mutating func opened(_ attempt: AttemptID, _ step: inout Step) {
    guard link.currentAttempt == attempt else { return }  // a late event
    questions.forgetAnswered()
    drive(.opened(attempt), &step)
  }

  mutating func received(_ message: Message, _ attempt: AttemptID, _ step: inout Step) {
    guard link.currentAttempt == attempt else { return }  // a late event
    noteActivity(attempt, &step)
    switch message {
    case .paired(let welcome): paired(welcome, attempt, &step)
    case .asked(let id, let question): asked(id, question, attempt, &step)
    case .cancelled(let id):
      guard let index = questions.items.firstIndex(where: { $0.id == id }) else { return }
      remove(index, .cancelled, &step)
    case .unknown(let type, let id):
      report(.unknownType(type), &step)
      refuse(id, nil, "messages of this type are not understood", attempt, &step)
    case .malformed(let error):
      report(.malformed(error.description), &step)
      refuse(error.id, error.kind, "the message cannot be read: \(error)", attempt, &step)
    }
  }

  mutating func oversized(_ bytes: UInt64, _ attempt: AttemptID, _ step: inout Step) {
    guard link.currentAttempt == attempt else { return }  // a late event
    noteActivity(attempt, &step)
    report(.oversized(bytes: bytes), &step)
    refuse(nil, nil, "a message of \(bytes) bytes is too long", attempt, &step)
  }

  /// Records a message from the backend. Every message counts as activity, even one that is not
  /// understood. Pings and pongs do not count.
  private mutating func noteActivity(_ attempt: AttemptID, _ step: inout Step) {
    lastMessage = step.now
    drive(.validData(attempt), &step)
  }

  private mutating func paired(_ next: Welcome, _ attempt: AttemptID, _ step: inout Step) {
    let isNew = link.status.phase != .connected
    let couldSendParts = welcome?.acceptsParts ?? next.acceptsParts
    // A code that is sent again to report an assistant is not shown again.
    let repeatsPair = !isNew && !next.newAssistants.isEmpty && welcome?.shows(next.pair) == true
    welcome = next
    // A backend that resumed the session may omit the token, both now and with later codes.
    if next.resume != nil || isNew && !next.isResumed { resume = next.resume }
    if isNew {
      if next.isResumed { questions.adopt(attempt) } else { drop(&step) { $0.attempt != attempt } }
      // An answer that was split for a backend that accepts parts does not suit a backend that does
      // not.
      if couldSendParts != next.acceptsParts { readAgain(&step) }
      drive(.established(attempt), &step)
    }
    for assistant in next.newAssistants { step.show(.assistant(assistant)) }
    if !repeatsPair { step.show(.pair(next.pair)) }
  }

  private mutating func asked(
    _ id: RelayRequestID, _ question: HealthQuestion, _ attempt: AttemptID, _ step: inout Step
  ) {
    guard !questions.knows(id) else {
      questions.adopt(id, attempt)
      return
    }
    guard questions.items.count < RelaySettings.queueLimit else {
      questions.noteAnswered(id)
      report(.busy, &step)
      step.effects.append(
        .refuse(attempt, id, question.kind, reason: "too many questions wait for this phone"))
      return
    }
    questions.items.append(
      QuestionQueue.Item(id: id, question: question, attempt: attempt, askedAt: step.now))
  }

  private mutating func refuse(
    _ id: RelayRequestID?, _ kind: HealthQuestion.Kind?, _ reason: String, _ attempt: AttemptID,
    _ step: inout Step
  ) {
    guard refusals.pass(at: step.now) else { return }
    step.effects.append(.refuse(attempt, id, kind, reason: reason))
  }

  /// Starts the next operation for the first question.
  mutating func advanceLine(_ step: inout Step) {
    guard let welcome, let first = questions.items.first else { return }
    switch first.progress {
    case .waiting:
      let work = questions.newWork()
      questions.items[0].progress = .reading(
        work, until: step.now.advanced(by: RelaySettings.readTimeout))
      step.effects.append(
        .read(work, first.id, first.question, inParts: welcome.acceptsParts))
    case .prepared(let work, let prepared):
      guard link.status.phase == .connected, link.currentAttempt == first.attempt else { return }
      send(work, prepared, part: 0, first.attempt, &step)
    case .reading, .sending: return
    }
  }

  /// Sends one part, after the previous part was confirmed.
  ///
  /// Sending all parts at once could fill a slow uplink and delay the link's own pings too long.
  private mutating func send(
    _ work: WorkID, _ prepared: Prepared, part: Int, _ attempt: AttemptID, _ step: inout Step
  ) {
    let ping = questions.newPing()
    questions.items[0].progress = .sending(work, prepared, part: part, ping: ping)
    step.effects.append(.send(attempt, work, part: part))
    step.effects.append(.ping(attempt, ping))
  }

  mutating func takePrepared(_ work: WorkID, _ prepared: Prepared, _ step: inout Step) {
    guard case .reading(work, _)? = questions.items.first?.progress else {
      step.effects.append(.discard(work))  // a late event
      return
    }
    questions.items[0].progress = .prepared(work, prepared)
    if case .unreadable(let reason) = prepared.content { report(.unreadable(reason), &step) }
  }

  /// Handles a pong, which confirms everything that was sent before its ping.
  mutating func confirm(_ attempt: AttemptID, _ id: UInt64, _ step: inout Step) {
    guard link.currentAttempt == attempt, let first = questions.items.first,
      case .sending(let work, let prepared, let part, id) = first.progress
    else { return }
    if part + 1 < prepared.parts {
      send(work, prepared, part: part + 1, attempt, &step)
      return
    }
    questions.noteAnswered(first.id)
    switch prepared.content {
    case .points(let count, let isTruncated):
      remove(0, .answered(points: count, isTruncated: isTruncated), &step)
    case .refused(let reason), .unreadable(let reason):
      remove(0, .refused(reason: reason), &step)
    }
  }

  /// Replaces the answer with a failure because the store did not respond in time.
  mutating func expireReading(_ step: inout Step) {
    guard let first = questions.items.first, case .reading(let late, _) = first.progress else {
      return
    }
    let reason = "the health data could not be read in time"
    let work = questions.newWork()
    step.effects.append(.discard(late))
    step.effects.append(.fail(work, first.id, first.question.kind, reason: reason))
    questions.items[0].progress = .prepared(
      work, Prepared(parts: 1, content: .unreadable(reason: reason)))
    report(.unreadable(reason), &step)
  }

  private mutating func readAgain(_ step: inout Step) {
    for index in questions.items.indices {
      if let work = questions.items[index].progress.work { step.effects.append(.discard(work)) }
      questions.items[index].progress = .waiting
    }
  }

  /// Drops the questions whose callers no longer wait.
  mutating func drop(_ step: inout Step, where isOver: (QuestionQueue.Item) -> Bool) {
    for index in questions.items.indices.reversed() where isOver(questions.items[index]) {
      remove(index, .dropped, &step)
    }
  }

  private mutating func remove(
    _ index: Int, _ outcome: RelayReceipt.Outcome, _ step: inout Step
  ) {
    let item = questions.items.remove(at: index)
    if let work = item.progress.work { step.effects.append(.discard(work)) }
    step.show(.ended(RelayReceipt(item, outcome, at: step.now)))
  }
}

extension QuestionQueue {
  /// Moves all questions to the new connection of a resumed session.
  mutating func adopt(_ attempt: AttemptID) {
    for index in items.indices { items[index].attempt = attempt }
  }

  /// Moves a question to the connection on which the backend asked it again.
  mutating func adopt(_ id: RelayRequestID, _ attempt: AttemptID) {
    guard let index = items.firstIndex(where: { $0.id == id }) else { return }
    items[index].attempt = attempt
  }

  /// Marks an answer in transit as prepared again, since it may have been lost with the connection.
  mutating func interrupt() {
    guard case .sending(let work, let prepared, _, _)? = items.first?.progress else { return }
    items[0].progress = .prepared(work, prepared)
  }
}

// The invariants that span the parts of a relay.
extension RelayModel {
  public func check(_ check: inout InvariantCheck) {
    check.require(
      phase == .on || !link.isWanted, "relay: the link is wanted only after the user's start")
    checkSession(&check)
    checkAnswer(&check)
    if check.isThorough {
      check.require(status == observed, "relay: the user is shown the present state")
    }
    link.check(&check)
    questions.check(&check)
    refusals.check(&check)
  }

  /// Checks that a session begins with a code and ends with the link.
  private func checkSession(_ check: inout InvariantCheck) {
    switch link.status.phase {
    case .connected:
      check.require(
        welcome != nil || settings.policy.establish.milestone == .opened,
        "relay: connected means that a code came")
    case .disconnected, .failed:
      check.require(
        welcome == nil && questions.items.isEmpty, "relay: a session that is over has no questions")
    case .connecting, .reconnecting, .held, .standby: return
    }
  }

  /// Checks that an answer is in transit only over the current connection.
  private func checkAnswer(_ check: inout InvariantCheck) {
    guard let first = questions.items.first, case .sending = first.progress else { return }
    check.require(
      link.status.phase == .connected && link.currentAttempt == first.attempt,
      "relay: an answer is sent over the connection that waits for it")
  }
}

extension RelayModel: Journaled {
  public static var journalName: String { "health-relay" }

  /// The values from which a relay is created: its policy, and whether it shows a notification.
  public struct Birth: Codable, Sendable, Hashable {
    var policy: LinkPolicy
    var extra: Extra

    struct Extra: Codable, Hashable {
      /// "true" or "false".
      var notification: String?
    }

    public init(_ settings: RelaySettings) {
      policy = settings.policy
      extra = Extra(notification: settings.hasNotification ? "true" : "false")
    }
  }

  public init(_ birth: Birth, seed: UInt64) {
    let hasNotification = birth.extra.notification == "true"
    self.init(
      settings: RelaySettings(policy: birth.policy, hasNotification: hasNotification), seed: seed)
  }
}
