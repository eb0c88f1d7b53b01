import HealthRelay
import LinkCore
import LinkHealth
import LinkWire

/// What a phone of the relay must do, told a second time (seed 000, contracts 1.8 and 1.9).
///
/// When to connect is the decision of a link, which is the same here and judged by others: the twin
/// tells its own link what happened. All else is told anew.
struct RelayPhoneTwin: Sendable {
  let policy: LinkPolicy
  let hasNotification: Bool
  var link: HeldLink
  var now = Instant.zero
  var acts: [RelayPhoneAct] = []

  var mode = Mode.off
  /// What the next socket is opened with.
  var token: Secret?
  /// What came with the newest code of this session.
  var code: RelayModel.Welcome?
  var line: [Question] = []
  /// Questions that are answered, the latest last.
  var answered: [RelayRequestID] = []
  var readings: UInt64 = 0
  var proofs: UInt64 = 0
  var isBehind = false
  var shown = RelayStatus(.idle)
  /// When the user was told of a problem last, and how many were not told since.
  var toldAt: Instant?
  var untold = 0
  /// When refusals of what was not understood went out.
  var refusedAt: [Instant] = []
  /// The newest word of the backend, or the start.
  var lastWord = Instant.zero

  /// The state of the user's wish.
  enum Mode: Sendable, Equatable {
    case off, on, quiet
    /// The goodbye to a socket, and when its wait ends.
    case leaving(AttemptID, until: Instant)
  }

  /// A question that waits or is worked on.
  struct Question: Sendable {
    let id: RelayRequestID
    let question: HealthQuestion
    let since: Instant
    /// The connection that waits for it.
    var socket: AttemptID
    var reading: UInt64?
    var readBy: Instant?
    var answer: RelayModel.Prepared?
    /// The part that is on its way, and the ping behind it.
    var sent: (part: Int, ping: UInt64)?
  }

  init(_ policy: LinkPolicy, hasNotification: Bool, seed: UInt64) {
    (self.policy, self.hasNotification) = (policy, hasNotification)
    link = HeldLink(policy: policy, seed: seed)
  }

  // Steps.

  /// Returns all that must be asked for; time passes without an input.
  mutating func step(_ input: RelayModel.Input?, at time: Instant) -> [RelayPhoneAct] {
    (now, acts) = (time, [])
    if let input { take(input) } else { pass() }
    work()
    showState()
    return acts
  }

  var deadline: Instant? {
    [link.deadline, line.first?.readBy, quietAt, goneAt].compactMap(\.self).min()
  }

  /// The end of a wish without a way out, where a policy knows an idle time.
  var quietAt: Instant? {
    guard mode == .on, link.status.phase == .held, let idle = policy.liveness.idle else {
      return nil
    }
    return lastWord.advanced(by: idle.after)
  }

  private var goneAt: Instant? {
    if case .leaving(_, let until) = mode { return until }
    return nil
  }

  private mutating func pass() {
    if isDue(link.deadline) { follow(link.tick(at: now)) }
    if isDue(line.first?.readBy) { giveUpReading() }
    if isDue(quietAt) {
      drive(.want(.none))
      mode = .quiet
    }
    if isDue(goneAt) { mode = .off }
  }

  private func isDue(_ time: Instant?) -> Bool { time.map { $0 <= now } ?? false }

  mutating func ask(_ effect: RelayModel.Effect) { acts.append(.effect(effect)) }

  /// Tells of a problem, at most once in 30 s.
  mutating func tell(_ problem: RelayProblem) {
    if let toldAt, now < toldAt.advanced(by: .seconds(30)) {
      untold += 1
      return
    }
    ask(.update(.problem(problem, withheld: untold)))
    (toldAt, untold) = (now, 0)
  }

  // Inputs.

  private mutating func take(_ input: RelayModel.Input) {
    switch input {
    case .start: start()
    case .stop: stop()
    case .resume(let kept): if token == nil { token = kept }
    case .reachability(let way): drive(.reachability(way))
    case .lifecycle(let place):
      isBehind = place == .background
      drive(.lifecycle(place))
    case .woke: drive(.trigger(.woke))
    case .opened(let of):
      guard of == link.currentAttempt else { return }
      answered = []
      drive(.opened(of))
    case .message(let of, let message):
      if of == link.currentAttempt { hear(message, of) }
    case .ping(let of): drive(.heard(of))
    case .pong(let of, let id):
      drive(.pong(of, id))
      if of == link.currentAttempt { arrived(id, of) }
    case .oversized(let of, let bytes):
      guard of == link.currentAttempt else { return }
      drive(.validData(of))
      lastWord = now
      tell(.oversized(bytes: bytes))
      refuse(nil, nil, "a message of \(bytes) bytes is too long", of)
    case .lost(let of, let failure): drive(.lost(of, failure))
    case .unsent(let of): drive(.reject(of, .local(detail: "the socket takes no more")))
    case .closed(let of): if case .leaving(of, _) = mode { mode = .off }
    case .prepared(let work, let answer): read(work, answer)
    }
  }

  /// A phone that leaves its link in background starts none there.
  private mutating func start() {
    if case .leave = policy.gate.background, isBehind { return tell(.inBackground) }
    (mode, lastWord) = (.on, now)
    drive(.want(.live))
  }

  /// Ends the pairing; the goodbye has 5 s.
  private mutating func stop() {
    token = nil
    guard mode == .on else { return }
    let open = link.currentAttempt
    drive(.want(.none))
    mode = open.map { .leaving($0, until: now.advanced(by: .seconds(5))) } ?? .off
  }

  // The link.

  mutating func drive(_ input: HeldLink.Input) { follow(link.handle(input, at: now)) }

  private mutating func follow(_ effects: [HeldLink.Effect]) {
    for effect in effects {
      switch effect {
      case .prepare(let of): drive(.prepared(of))
      case .open(let of): ask(.open(of, resume: token))
      case .close(let of, let reason): ask(.close(of, code: Self.code(reason)))
      case .ping(let of, let id): ask(.ping(of, id))
      case .status(let status): follow(status)
      case .refreshCredentials, .poll, .arm, .disarm: continue
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

  private mutating func follow(_ status: LinkStatus) {
    switch status.phase {
    case .connected: return
    case .connecting, .reconnecting, .held:
      if !line.isEmpty { line[0].sent = nil }
    case .disconnected: endSession()
    case .standby, .failed:
      endSession()
      switch status.reason {
      case .failure(let failure), .exhausted(let failure): tell(.connection(failure))
      case .obstacle, .signIn, .ended, .settling, nil: return
      }
    }
  }

  private mutating func endSession() {
    code = nil
    answered = []
    dropQuestions { _ in true }
  }

  // What is shown.

  /// What the user must see now.
  var state: RelayStatus {
    let status = link.status
    switch mode {
    case .leaving: return RelayStatus(.stopping)
    case .quiet: return RelayStatus(.idle, reason: .ended(.idle))
    case .off, .on: break
    }
    var word = RelayStatus.State.error
    switch status.phase {
    case .disconnected: word = .idle
    case .connected: word = .running
    case .connecting, .reconnecting, .held: word = code == nil ? .starting : .reconnecting
    case .standby, .failed: break
    }
    return RelayStatus(
      word, attempt: status.of.map { _ in status.attempt } ?? 0, of: status.of,
      retryAt: status.retryAt, reason: status.reason)
  }

  private mutating func showState() {
    let (before, next) = (shown, state)
    guard next != before else { return }
    shown = next
    ask(.update(.status(next)))
    guard hasNotification else { return }
    let up: [RelayStatus.State] = [.starting, .running, .reconnecting]
    if !up.contains(next.state) {
      if up.contains(before.state) { ask(.unnotify) }
    } else if next.state != before.state || next.attempt != before.attempt {
      ask(.notify(next))
    }
  }
}

/// An effect of a phone, with all that can be seen of it.
enum RelayPhoneAct: Sendable, Equatable {
  case effect(RelayModel.Effect)
  /// A receipt, which only the phone itself can make.
  case ended(
    RelayRequestID, HealthQuestion, RelayReceipt.Outcome, took: Duration)

  init(_ effect: RelayModel.Effect) {
    if case .update(.ended(let receipt)) = effect {
      self = .ended(receipt.id, receipt.question, receipt.outcome, took: receipt.took)
    } else {
      self = .effect(effect)
    }
  }
}
