import HoldfastCore
import HoldfastHealth
import HoldfastJSON
import HoldfastRelayData

@testable import HoldfastHealthRelay

/// Random inputs for a phone of the relay. The phone has a random policy.
struct PhoneRelayInputs: LinkedGenerator {
  var run: RandomRun<RelayModel>
  /// The most recent request to read health data. `closed` is the most recently closed socket.
  private var reading: WorkID?
  private var closed = AttemptID(1)
  /// The newest ping. `isAsked` is true while the ping is unanswered.
  private var ping: UInt64 = 1
  private var isAsked = false
  /// The socket that was most recently reported as open.
  private var opened: AttemptID?
  /// Whether pings are rarely answered.
  private let isDeaf: Bool
  /// The reads whose answers the phone holds, for use in properties.
  private var held: Set<WorkID> = []

  /// The two usual policies, and two policies whose links reach states that are rare with the usual
  /// ones.
  private static let policies: [LinkPolicy] = {
    let open = try? LinkPolicy.healthRelayService.setting([
      ("liveness.idle", "40s idle"), ("gate.networkChange", "reconnect"),
      ("establish.milestone", "opened"),
    ])
    let hidden = try? LinkPolicy.healthRelayForeground.setting([
      ("gate.background", "2s hold"), ("gate.foreground", "500ms"), ("establish.prepare", "1s"),
      ("liveness.idle", "50s idle"),
    ])
    return [.healthRelayService, .healthRelayForeground, open, hidden].compactMap(\.self)
  }()

  init(seed: UInt64) {
    var source = RandomPolicies(generator: RandomSource(seed: seed))
    isDeaf = source.oneIn(4)
    let settings = RelaySettings(
      policy: source.one(Self.policies), hasNotification: source.oneIn(2))
    run = RandomRun(
      RelayModel(settings: settings, seed: source.generator.next()), seed: seed,
      generator: source.generator)
  }

  mutating func begin() {
    if oneIn(3) { give(.resume(Secret("early"))) }
    if oneIn(4) { changeDevice() }
    give(.start)
  }

  mutating func act() {
    if oneIn(2) { passTime([.milliseconds(300), .seconds(2), .seconds(30), .seconds(60)]) }
    switch number(0...29) {
    case 0: use()
    case 1: changeDevice()
    case 2, 3: disturb()
    case 4: if oneIn(9) { for index in 0..<number(30...40) { ask(10 + index) } }
    case _: goOn()
    }
  }

  mutating func answerWhileWaiting() {
    if isAsked, !isDeaf || oneIn(4) { answerPing() }
  }

  mutating func note(_ step: MachineStep<RelayModel>) {
    for effect in step.effects {
      switch effect {
      case .read(let work, _, _, _): reading = work
      case .ping(_, let id): (ping, isAsked) = (id, true)
      case .close(let attempt, _): closed = attempt
      case .fail, .discard, .open, .send, .refuse, .notify, .unnotify, .update: continue
      }
    }
    held = step.held(after: held)
  }

  static func request(in effect: RelayModel.Effect) -> String? {
    switch effect {
    case .open(let attempt, _): "open \(attempt)"
    case .close(let attempt, _): "close \(attempt)"
    case .ping(let attempt, let id): "ping \(attempt) \(id)"
    case .read(let work, _, _, _), .fail(let work, _, _, _): "work \(work)"
    case .send, .discard, .refuse, .notify, .unnotify, .update: nil
    }
  }

  static func attempt(of effect: RelayModel.Effect) -> AttemptID? {
    switch effect {
    case .open(let attempt, _), .close(let attempt, _), .ping(let attempt, _),
      .send(let attempt, _, _), .refuse(let attempt, _, _, _):
      attempt
    case .read, .discard, .fail, .notify, .unnotify, .update: nil
    }
  }

  static let properties: [MachineProperty<PhoneRelayInputs>] = [
    .usesPresentAttempt,
    .reportsChanges(of: { $0.status }) { effect -> RelayStatus? in
      if case .update(.status(let status)) = effect { status } else { nil }
    },
    MachineProperty("each held read belongs to a queued question") { generator, step in
      step.held(after: generator.held)
        == Set(step.after.questions.items.compactMap(\.progress.work))
    },
  ]
}

// MARK: Inputs from users, devices and sockets
extension PhoneRelayInputs {
  private mutating func use() {
    switch number(0...5) {
    case 0: give(.stop)
    case 1: give(.resume(Secret(one(["early", "late"]))))
    case 2: give(.closed(oneIn(2) ? closed : attempt))
    case _: give(.start)
    }
  }

  private mutating func answerPing() {
    isAsked = false
    report(.pong(attempt, ping))
  }

  /// Passes an input that usually advances the phone.
  private mutating func goOn() {
    if machine.status.state == .stopping {
      if oneIn(2) { return give(.closed(closed)) }
      return oneIn(2) ? awaitDue() : give(.start)
    }
    guard machine.link.currentAttempt != nil else {
      if machine.link.status.phase == .held, oneIn(3) { return free() }
      let isIdle = machine.deadline == nil || !machine.link.isWanted
      return isIdle || oneIn(6) ? give(.start) : awaitDue()
    }
    if machine.link.status.phase == .connected { return talk() }
    if opened != attempt, !oneIn(9) {
      opened = attempt
      return give(.opened(attempt))
    }
    oneIn(3) ? talk() : give(.message(attempt, welcome()))
  }

  /// Passes a message from the backend to a connected phone, or an answer from its health data.
  private mutating func talk() {
    switch number(0...13) {
    case 0...3: ask(number(0...9))
    case 4...6: prepare()
    case 7...9: answerPing()
    case 10: give(.message(attempt, .cancelled(name(number(0...9)))))
    case 11: for _ in 0..<number(1...9) { give(.message(attempt, nonsense())) }
    case 12: give(.message(attempt, welcome()))
    case _: if oneIn(4) { report(.lost(attempt, linkFailure())) }
    }
  }

  /// Passes an input from another socket, a late input, or a rare input.
  private mutating func disturb() {
    let attempt = anyAttempt()
    switch number(0...8) {
    case 0: give(.opened(attempt))
    case 1: give(.message(attempt, welcome()))
    case 2: give(.message(attempt, .asked(name(number(0...9)), question())))
    case 3: give(.unsent(attempt))
    case 4: give(.closed(attempt))
    case 5: prepareLate()
    case _: disturbLink(ping: ping)
    }
  }
}

// MARK: Messages and reads of the phone
extension PhoneRelayInputs {
  /// Answers the most recent request to read health data, but only once.
  private mutating func prepare() {
    guard let work = reading, !oneIn(9) else { return prepareLate() }
    reading = nil
    give(.prepared(work, answer()))
  }

  /// Answers a read request that was discarded or never made.
  private mutating func prepareLate() {
    let work = WorkID(UInt64(number(1...9)))
    if !held.contains(work) { give(.prepared(work, answer())) }
  }

  private mutating func ask(_ number: Int) {
    give(.message(attempt, .asked(name(number), question())))
  }

  private func name(_ number: Int) -> RelayRequestID {
    guard let id = RelayRequestID("q\(number)") else { preconditionFailure("it has few bytes") }
    return id
  }

  private mutating func question() -> HealthQuestion {
    let start = HealthTime.instant(Timestamp(nanoseconds: 0), minutesEast: nil)
    if oneIn(9) { return .types }
    if oneIn(3) { return .summary(SummaryQuery(start: start, end: start)) }
    return .healthData(HealthDataQuery(valueType: .steps, start: start, end: start))
  }

  private mutating func answer() -> RelayModel.Prepared {
    let content: RelayModel.Prepared.Content
    switch number(0...5) {
    case 0: content = .refused(reason: "a type without sums")
    case 1: content = .unreadable(reason: "locked")
    case _: content = .points(number(0...3), isTruncated: oneIn(2))
    }
    return RelayModel.Prepared(parts: one([1, 1, 2, 3]), content: content)
  }

  /// Returns a message that a phone cannot interpret.
  private mutating func nonsense() -> RelayModel.Message {
    let id = oneIn(2) ? name(number(0...9)) : nil
    if oneIn(2) { return .unknown(type: "news", id) }
    let kind: HealthQuestion.Kind? = one([nil, .healthData, .summary, .types])
    return .malformed(RelayWireError(.missing(field: "request_id"), id: id, kind: kind))
  }

  /// Returns a backend's connection code. It usually states correctly whether the phone has
  /// returned.
  private mutating func welcome() -> RelayModel.Message {
    let tokens: [String?] = [nil, "t1", "t1", "t2"]
    var code = ConnectionCode(code: "\(number(100_000...999_999))", word: "anchor", message: "say")
    code.resumeToken = one(tokens)
    code.expiresIn = one([nil, .seconds(600)])
    code.resumed = oneIn(4) ? oneIn(2) : machine.resume != nil
    code.acceptsParts = !oneIn(3)
    return RelayModel.Message(.connectionCode(code))
  }
}

extension MachineStep<RelayModel> {
  /// Returns the reads whose answers the phone holds after this step.
  fileprivate func held(after held: Set<WorkID>) -> Set<WorkID> {
    var held = held
    for effect in effects {
      switch effect {
      case .read(let work, _, _, _), .fail(let work, _, _, _): held.insert(work)
      case .discard(let work): held.remove(work)
      case .open, .close, .ping, .send, .refuse, .notify, .unnotify, .update: continue
      }
    }
    return held
  }
}
