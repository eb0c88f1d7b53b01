import HealthRelay
import LinkCore
import LinkHealth
import LinkServerCore
import LinkWire

extension RelayWorld {
  /// A phone: its process, its user, and what it keeps.
  struct Phone {
    let index: Int
    let profile: RelayProfile
    var model: RelayModel
    var run = 0
    var process = Process.dead
    var isInFront = true
    var isUnreachable = false
    var isStranger = true
    /// Counts its ways out.
    var path = 0
    /// Its user wants it to run.
    var isWanted = true
    var reading: Duration?
    /// Answers that were read, until they are discarded.
    var answers: [WorkID: PhoneMessage] = [:]
    /// What the user sees and can read to an assistant.
    var pair: HealthRelay.RelayPair?
    /// What brings it back, as the app keeps it.
    var resume: Int?
    var hasToldPush = false
    var pull: PullModel?
    var pullRun = 0
    var pullAnswers: [StepID: PhoneMessage] = [:]
    /// When its backend last could hear it: pairings outlive an absence of a grace.
    var lastHere = Instant.zero

    enum Process { case dead, running, suspended }

    init(index: Int, profile: RelayProfile) {
      (self.index, self.profile) = (index, profile)
      model = RelayModel(settings: RelaySettings(profile), seed: 0)
    }

    var device: UUID128 { UUID128(high: 0xD, low: UInt64(index)) }

    var deadline: Instant? {
      let own = process == .running ? model.deadline : nil
      return [own, pull?.deadline].compactMap(\.self).min()
    }
  }

  // The process and its user.

  mutating func launch(_ index: Int) {
    phones[index].run += 1
    phones[index].process = .running
    phones[index].answers = [:]
    var settings = RelaySettings(phones[index].profile)
    settings.policy = seam.policy(settings.policy)
    phones[index].model = RelayModel(settings: settings, seed: chance.next())
    say("phone \(index) is launched", 1)
    if !phones[index].isInFront { give(index, .lifecycle(.background)) }
    tellWay(index)
    give(index, .start)
  }

  mutating func kill(_ index: Int) {
    guard phones[index].process != .dead else { return }
    phones[index].process = .dead
    phones[index].pair = nil
    // Who is launched again is a stranger: the token was in memory.
    unpair(index)
    phones[index].resume = nil
    say("phone \(index) is killed", 2)
    for line in lines where line.phone == index && line.phoneHolds { hangUp(line.number, 1006) }
  }

  /// Its pairings are over; the next code that it is told is a stranger's.
  mutating func unpair(_ index: Int) {
    judge.unpaired(index, at: now)
    phones[index].isStranger = true
  }

  mutating func suspend(_ index: Int, _ run: Int) {
    guard phones[index].run == run, phones[index].process == .running, !phones[index].isInFront
    else { return }
    phones[index].process = .suspended
    say("phone \(index) is suspended", 3)
    for line in lines where line.phone == index { loseSilently(line.number) }
  }

  /// The app is in front again.
  mutating func foreground(_ index: Int) {
    phones[index].isInFront = true
    let slept = phones[index].process == .suspended
    if slept { phones[index].process = .running }
    tellWay(index)
    give(index, .lifecycle(.foreground))
    if slept { give(index, .woke) }
    add(.wantsRunning(phone: index), after: .seconds(3))
  }

  /// Whether there is a way out; nobody hears of it who is suspended.
  mutating func tellWay(_ index: Int) {
    let path = PathID("path-\(phones[index].path)")
    give(
      index, .reachability(phones[index].isUnreachable ? .unreachable : .reachable(path: path)))
  }

  mutating func start(_ index: Int) {
    phones[index].isWanted = true
    give(index, .start)
  }

  /// A user who looks at a relay that does not run starts it.
  mutating func startAgain(_ index: Int) {
    guard phones[index].isWanted, phones[index].isInFront, phones[index].process == .running
    else { return }
    switch phones[index].model.status.state {
    case .idle, .error: give(index, .start)
    case .starting, .running, .reconnecting, .stopping: return
    }
  }

  // The model.

  mutating func give(_ index: Int, _ input: RelayModel.Input) {
    guard phones[index].process == .running else { return }
    for real in seam.toPhone(input) {
      carryOut(index, phones[index].model.handle(real, at: now))
    }
  }

  mutating func tickPhones() {
    for index in phones.indices {
      if let due = phones[index].model.deadline, due <= now, phones[index].process == .running {
        carryOut(index, phones[index].model.tick(at: now))
      }
      if let due = phones[index].pull?.deadline, due <= now {
        carryOutPull(index, phones[index].pull?.tick(at: now) ?? [])
      }
    }
  }

  private mutating func carryOut(_ index: Int, _ effects: [RelayModel.Effect]) {
    if let resume = phones[index].model.resume { phones[index].resume = Int(resume.text) }
    for effect in effects { perform(effect, of: index) }
    checkState(index)
  }

  private mutating func perform(_ effect: RelayModel.Effect, of index: Int) {
    let run = phones[index].run
    switch effect {
    case .open(let attempt, let resume):
      dial(index, attempt, resume: resume.flatMap { Int($0.text) })
    case .close(let attempt, let code):
      if let line = line(of: index, attempt) { hangUp(line, code) }
      add(.closed(phone: index, run: run, attempt), after: packet)
    case .ping(let attempt, let id): send(index, attempt, nil, ping: id)
    case .read(let work, let id, let question, _):
      let read = seam.read(question)
      let time = phones[index].reading ?? chance.duration(below: plan.reading)
      add(.read(phone: index, run: run, work, id, read), after: time)
    case .send(let attempt, let work, _):
      if let answer = phones[index].answers[work] { send(index, attempt, answer) }
    case .discard(let work): phones[index].answers[work] = nil
    case .fail(let work, let id, let kind, let reason):
      phones[index].answers[work] = .answer(kind, id, .failure(reason))
    case .refuse(let attempt, let id, _, let reason):
      send(index, attempt, .failure(id, reason: reason))
    case .notify, .unnotify: return
    case .update(let update): show(update, of: index)
    }
  }

  private mutating func show(_ update: RelayUpdate, of index: Int) {
    switch update {
    case .status(let status):
      say("phone \(index) shows \(status.state)", 4)
      switch status.state {
      case .running:
        tellPush(index)
        endPull(index)
      case .idle, .error:
        phones[index].pair = nil
        add(.wantsRunning(phone: index), after: .seconds(20) + chance.duration(below: .seconds(60)))
      case .starting, .reconnecting, .stopping: return
      }
    case .pair(let pair): phones[index].pair = pair
    case .ended, .problem: return
    }
  }

  mutating func finishReading(
    _ index: Int, _ run: Int, _ work: WorkID, _ id: RelayRequestID, _ question: HealthQuestion
  ) {
    guard phones[index].run == run, phones[index].process == .running else { return }
    let object = HealthObject.answer(of: index, to: question.number)
    phones[index].answers[work] = .answer(question.kind, id, object)
    give(
      index,
      .prepared(work, RelayModel.Prepared(parts: 1, content: .points(1, isTruncated: false))))
  }

  /// Running is shown over a socket on which the backend told a code, and not for long over one on
  /// which nothing passes any more.
  mutating func checkState(_ index: Int) {
    let phone = phones[index]
    guard phone.process == .running, phone.model.status.state == .running,
      let attempt = phone.model.link.currentAttempt
    else { return }
    guard
      let line = lines.first(where: {
        $0.phone == index && $0.attempt == attempt && $0.run == phone.run
      })
    else { return judge.find(.falselyRunning, now, "phone \(index) runs without a socket") }
    if !line.isGreeted {
      judge.find(.falselyRunning, now, "phone \(index) runs, and the backend told it no code")
    }
    let bound = RelaySettings(phone.profile).policy.liveness.bound ?? .zero
    if let dead = line.deadSince, dead.duration(to: now) > bound + .seconds(10) {
      judge.find(.falselyRunning, now, "phone \(index) runs over a dead connection")
    }
  }
}

extension HealthQuestion {
  /// A question of the world is known by its number.
  static func numbered(_ number: Int) -> HealthQuestion {
    let start = Timestamp(nanoseconds: Int64(number) * 1_000_000_000)
    return .healthData(
      HealthDataQuery(
        valueType: .steps, start: .instant(start, minutesEast: nil),
        end: .instant(start.advanced(by: .seconds(86_400)), minutesEast: nil)))
  }

  var number: Int {
    guard case .healthData(let query) = self, case .instant(let start, _) = query.start else {
      return -1
    }
    return Int(start.nanoseconds / 1_000_000_000)
  }
}
