@testable import HealthRelay
import LinkCore
import LinkHealth
import LinkJSON
import LinkWire

/// Random inputs for a phone of the relay, with any policy.
struct PhoneRelayInputs: InputGenerator {
  var run: RandomRun<RelayModel>
  /// The reading that was asked for last, the newest pings, and the socket that was closed last.
  private var reading: WorkID?
  private var pings: [UInt64] = [1]
  private var closed = AttemptID(1)
  /// The socket that was told to be open.
  private var opened: AttemptID?
  private var lastNew = 0
  /// Whether pings are seldom answered.
  private let isDeaf: Bool
  // What the properties compare with.
  private(set) var held: Set<WorkID> = []

  /// The usual two, and two whose links come to what theirs seldom do.
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
    var source = RandomPolicies(chance: Chance(seed: seed))
    isDeaf = source.oneIn(4)
    let settings = RelaySettings(
      policy: source.one(Self.policies), hasNotification: source.oneIn(2))
    run = RandomRun(
      RelayModel(settings: settings, seed: source.chance.next()), seed: seed,
      chance: source.chance)
  }

  mutating func begin() {
    if oneIn(3) { give(.resume(Secret("early"))) }
    if oneIn(4) { changeDevice() }
    give(.start)
    if oneIn(6) { fillLine() }
  }

  mutating func act() {
    if oneIn(2) { pass() }
    switch number(0...29) {
    case 0: use()
    case 1: changeDevice()
    case 2: disturb()
    case 3: if oneIn(2) { askMany() } else { repeatNonsense() }
    case 4: if oneIn(9) { fillLine() }
    case _: goOn()
    }
  }

  mutating func note(_ step: MachineStep<RelayModel>) {
    for effect in step.effects {
      switch effect {
      case .read(let work, _, _, _): reading = work
      case .ping(_, let id): pings = (pings + [id]).suffix(3)
      case .close(let attempt, _): closed = attempt
      case .fail, .discard, .open, .send, .refuse, .notify, .unnotify, .update: continue
      }
    }
    held = step.held(after: held).kept
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
}

// Time, people and devices.
extension PhoneRelayInputs {
  private mutating func pass() {
    let beside = one([Duration.zero, .zero, .nanoseconds(-1), .nanoseconds(1)])
    switch number(0...11) {
    case 0, 1: advance(to: due?.advanced(by: beside))
    case 2:
      advance(to: now.advanced(by: .seconds(30)).advanced(by: beside))
      give(.message(attempt, nonsense()))
    case 3:
      advance(to: now.advanced(by: .seconds(60)).advanced(by: beside))
      give(.message(attempt, nonsense()))
    case 4: advance(to: machine.line.deadline?.advanced(by: beside))
    case 5: advance(to: now.advanced(by: .seconds(number(2...45))))
    case _:
      skip(to: now.advanced(by: .milliseconds(one([0, 1, 40, 300, 1_000, 2_500]))))
    }
    if oneIn(3) { give(nil) }
  }

  private mutating func advance(to target: Instant?) {
    guard let target, target > now else { return }
    for _ in 0..<8 where !oneIn(40) {
      guard let due, due < target, !isOver else { break }
      skip(to: due)
      let before = pings
      give(nil)
      if pings != before, !isDeaf || oneIn(4) { give(.pong(attempt, pings[pings.count - 1])) }
    }
    skip(to: target)
    if oneIn(3) { give(nil) }
  }

  private mutating func use() {
    switch number(0...5) {
    case 0: give(.stop)
    case 1: give(.resume(Secret(one(["early", "late"]))))
    case 2: give(.closed(oneIn(2) ? closed : attempt))
    case _: give(.start)
    }
  }

  private mutating func changeDevice() {
    switch number(0...7) {
    case 0: give(.reachability(.unreachable))
    case 1: give(.reachability(.captivePortal))
    case 2: give(.reachability(.reachable(path: PathID("cell"))))
    case 3: give(.lifecycle(.background))
    case 4: give(.woke)
    case 5: give(.lifecycle(.foreground))
    case _: give(.reachability(.reachable(path: PathID("wifi"))))
    }
  }

  private var attempt: AttemptID { machine.link.currentAttempt ?? AttemptID(99) }

  /// Does what brings the phone on, mostly.
  private mutating func goOn() {
    if machine.status.state == .stopping {
      if oneIn(2) { return give(.closed(closed)) }
      return oneIn(2) ? advance(to: due) : give(.start)
    }
    guard machine.link.currentAttempt != nil else {
      if machine.link.status.phase == .held, oneIn(3) {
        give(.lifecycle(.foreground))
        return give(.reachability(.reachable(path: PathID("wifi"))))
      }
      let isIdle = machine.deadline == nil || !machine.link.isWanted
      return isIdle || oneIn(6) ? give(.start) : advance(to: due)
    }
    if machine.link.status.phase == .connected { return talk() }
    if opened != attempt, oneIn(6) { return ask(number(0...9)) }
    if opened != attempt, !oneIn(9) {
      opened = attempt
      return give(.opened(attempt))
    }
    if oneIn(4) { return talk() }
    give(.message(attempt, oneIn(2) ? welcome() : greeting()))
  }
}

// What is said to the phone.
extension PhoneRelayInputs {
  /// A backend speaks to a connected phone, or the phone's health data answers.
  private mutating func talk() {
    let line = machine.line.items.map(\.id)
    switch number(0...15) {
    case 0...3: ask(number(0...9))
    case 4...6: prepare()
    case 7...9: give(.pong(attempt, oneIn(9) ? one(pings) : pings[pings.count - 1]))
    case 10: give(.pong(AttemptID(attempt.number &- 1), pings[pings.count - 1]))
    case 11: give(.message(attempt, .cancelled(one(line + [name(number(0...9))]))))
    case 12: give(.message(attempt, nonsense()))
    case 13: give(.message(attempt, welcome()))
    case 14: if oneIn(4) { give(.lost(attempt, linkFailure())) }
    case _: give(oneIn(2) ? .ping(attempt) : .oversized(attempt, bytes: 70_000))
    }
  }

  /// Something comes from another socket, too late, or seldom.
  private mutating func disturb() {
    let here = attempt
    let other = oneIn(3) ? here : AttemptID(UInt64(number(1...3)) &+ here.number &- 2)
    switch number(0...9) {
    case 0: give(.opened(other))
    case 1: give(.message(other, welcome()))
    case 2: give(.message(other, .asked(name(number(0...9)), question())))
    case 3: give(.ping(other))
    case 4: give(.pong(other, one(pings)))
    case 5: give(.oversized(other, bytes: UInt64(number(65_537...65_539))))
    case 6: give(.lost(other, linkFailure()))
    case 7: give(.unsent(other))
    case 8: give(.closed(other))
    case _: prepareLate()
    }
  }

  /// Answers the reading that was asked for last, once.
  private mutating func prepare() {
    guard let work = reading, !oneIn(9) else { return prepareLate() }
    reading = nil
    give(.prepared(work, answer()))
  }

  /// Answers a reading that was discarded, or that nobody asked for.
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

  /// A message that a phone does not understand.
  private mutating func nonsense() -> RelayModel.Message {
    let id = oneIn(2) ? name(number(0...9)) : nil
    if oneIn(2) { return .unknown(type: one(["news", "hello"]), id) }
    let fault: FieldFault = one([
      .missing(field: "request_id"), .tooLong(bytes: 65_537), .malformed(detail: "no JSON"),
    ])
    let kind: HealthQuestion.Kind? = one([nil, .healthData, .summary])
    return .malformed(RelayWireError(fault, id: id, kind: kind))
  }

  private mutating func welcome() -> RelayModel.Message {
    let tokens: [String?] = [nil, "t1", "t2"]
    var code = ConnectionCode(code: "\(number(100_000...999_999))", word: "anchor", message: "say")
    code.resumeToken = one(tokens)
    code.expiresIn = one([nil, .seconds(600)])
    code.resumed = oneIn(2)
    code.acceptsParts = oneIn(2)
    return RelayModel.Message(.connectionCode(code))
  }

  /// The code of a backend that knows the phone and takes parts, or of a plain one.
  private mutating func greeting() -> RelayModel.Message {
    var code = ConnectionCode(code: "123456", word: "meadow", message: "")
    if machine.resume == Secret("t1") || oneIn(3) {
      code.resumeToken = "t1"
      code.resumed = machine.resume != nil
      code.acceptsParts = true
    }
    return RelayModel.Message(.connectionCode(code))
  }

  /// Asks about as many questions as stand in line at the most.
  private mutating func askMany() {
    guard machine.link.currentAttempt != nil else { return }
    for _ in 0..<max(0, number(31...35) - machine.line.items.count) { askNew() }
  }

  private mutating func askNew() {
    lastNew += 1
    ask(10 + lastNew)
  }

  /// Says about as much that is not understood as is refused in a minute.
  private mutating func repeatNonsense() {
    for _ in 0..<number(1...22) {
      give(.message(attempt, nonsense()))
      if oneIn(2) { skip(to: now.advanced(by: .milliseconds(number(1...900)))) }
    }
  }

  /// Asks as many questions as are remembered, and a few of them again.
  private mutating func fillLine() {
    guard machine.link.currentAttempt != nil else { return }
    let room = RelaySettings.lineLimit - machine.line.items.count
    let first = lastNew + 1 + room
    for _ in 0..<room + RelaySettings.answeredLimit + number(-1...2) { askNew() }
    for place in [first, first + 1, first + 2, lastNew] { ask(10 + place) }
  }
}

// What a phone of the relay promises of each step.
extension PhoneRelayInputs {
  static let properties: [MachineProperty<PhoneRelayInputs>] = [
    MachineProperty("a question leaves the line only with a receipt") { _, step in
      let after = Set(step.after.line.items.map(\.id))
      let left = step.before.line.items.map(\.id).filter { !after.contains($0) }
      return Set(left).isSubset(of: step.receipts.map(\.id))
    },
    MachineProperty("a receipt is of a question that was asked") { _, step in
      Set(step.receipts.map(\.id)).isSubset(of: step.before.line.items.map(\.id))
    },
    MachineProperty("only an answer that is held is sent") { generator, step in
      step.effects.allSatisfy { effect in
        guard case .send(_, let work, _) = effect else { return true }
        return step.held(after: generator.held).read.contains(work)
      }
    },
    MachineProperty("what is held belongs to a question in line") { generator, step in
      let worked = step.after.line.items.compactMap(\.progress.work)
      return step.held(after: generator.held).kept == Set(worked)
    },
    MachineProperty("only the present attempt is used") { _, step in
      let present = [step.before.link.currentAttempt, step.after.link.currentAttempt]
      return step.effects.compactMap(\.attempt).allSatisfy { present.contains($0) }
    },
    MachineProperty("each change of status is told, and nothing else") { _, step in
      let told = step.effects.compactMap { effect in
        if case .update(.status(let status)) = effect { status } else { nil }
      }
      return told == (step.before.status == step.after.status ? [] : [step.after.status])
    },
  ]
}

extension MachineStep<RelayModel> {
  /// Whose answers were held at some time in this step, and whose are held after it.
  fileprivate func held(after held: Set<WorkID>) -> (read: Set<WorkID>, kept: Set<WorkID>) {
    var (read, kept) = (held, held)
    for effect in effects {
      switch effect {
      case .read(let work, _, _, _), .fail(let work, _, _, _):
        read.insert(work)
        kept.insert(work)
      case .discard(let work): kept.remove(work)
      case .open, .close, .ping, .send, .refuse, .notify, .unnotify, .update: continue
      }
    }
    return (read, kept)
  }

  fileprivate var receipts: [RelayReceipt] {
    effects.compactMap { effect in
      if case .update(.ended(let receipt)) = effect { receipt } else { nil }
    }
  }
}

extension RelayModel.Effect {
  fileprivate var attempt: AttemptID? {
    switch self {
    case .open(let attempt, _), .close(let attempt, _), .ping(let attempt, _),
      .send(let attempt, _, _), .refuse(let attempt, _, _, _):
      attempt
    case .read, .discard, .fail, .notify, .unnotify, .update: nil
    }
  }
}
