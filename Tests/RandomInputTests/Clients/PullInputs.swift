import HoldfastCore
import HoldfastHealth
import HoldfastJSON
import HoldfastRelayData

@testable import HoldfastHealthRelay

/// Random inputs for a pull with random settings. The backend's answers are random.
struct PullInputs: InputGenerator {
  var run: RandomRun<PullModel>
  /// The number of exchanges out of eight that fail.
  private let misfortune: Int
  private var lastQuestion = 0
  // MARK: Notes for properties
  private(set) var leased = 0
  private(set) var held: Set<StepID> = []
  private(set) var hasFinished = false

  init(seed: UInt64) {
    var source = RandomPolicies(generator: RandomSource(seed: seed))
    misfortune = source.one([0, 1, 2, 3, 6])
    var settings = PullSettings()
    if source.oneIn(2) {
      let waits = source.one([[], [0], [500, 1_000, 2_000], [100, 100, 100, 100, 100]])
      settings = PullSettings(
        budget: .seconds(source.one([0, 1, 5, 12, 60])), leaseLimit: source.number(1...6),
        exchangeLimit: .seconds(source.one([1, 3, 8, 30])),
        leastTime: .milliseconds(source.one([0, 500, 2_000])),
        sendTime: .milliseconds(source.one([0, 400, 3_000])),
        retries: .list(waits.map { .milliseconds($0) }))
    }
    run = RandomRun(PullModel(settings), seed: seed, generator: source.generator)
  }

  mutating func act() {
    if oneIn(5) { passTime([.milliseconds(40), .seconds(1), .seconds(3), .seconds(10)]) }
    if oneIn(10) { return disturb() }
    let isBad = number(0...7) < misfortune
    switch machine.phase {
    case .new: give(oneIn(20) ? .cancel : .begin)
    case .leasing(let step, _, _): give(isBad ? .failed(step, failure()) : .leased(step, page()))
    case .reading(let step, _):
      if isBad { return awaitDue(butBy: one([0, 0, -1, 1])) }
      give(.prepared(step, parts: one([-1, 0, 1, 1, 1, 2, 3, 4])))
    case .posting(let step, _, _): give(isBad ? .failed(step, failure()) : .posted(step))
    case .pausing: awaitDue(butBy: one([0, 0, -1, 1]))
    case .ended: disturb()
    }
  }

  mutating func note(_ step: MachineStep<PullModel>) {
    leased += step.leased
    held = step.held(after: held)
    for case .finish in step.effects { hasFinished = true }
  }

  static func request(in effect: PullModel.Effect) -> String? {
    switch effect {
    case .lease(let step, _, _), .read(let step, _), .post(let step, _, _, _, _),
      .refuse(let step, _, _):
      "step \(step)"
    case .finish: "the end"
    case .discard: nil
    }
  }
}

extension PullInputs {
  /// Passes an input that is late, early, repeated or from another step.
  private mutating func disturb() {
    let step = StepID(UInt64(number(0...Int(machine.lastStep) + 1)))
    switch number(0...8) {
    case 0: give(.begin)
    case 1: give(.leased(step, page()))
    case 2, 3: if !held.contains(step) { give(.prepared(step, parts: number(0...2))) }
    case 4, 5: give(.posted(step))
    case 6: give(.failed(step, failure()))
    case 7: give(nil)
    case _: if oneIn(3) { give(.cancel) }
    }
  }

  /// Returns no questions, a few, or about as many as requested.
  private mutating func page() -> LeasedQuestions {
    let most = machine.settings.leaseLimit
    let count = one([0, 1, 1, 2, 2, most, most + 1])
    let times: [Duration] = [.zero, .seconds(6), .seconds(25), .seconds(60), .seconds(86_400)]
    return LeasedQuestions(
      questions: (0..<count).map { _ in question() }, expiresIn: one(times),
      rejected: (0..<one([0, 0, 0, 1, 2])).map { _ in rejected() })
  }

  private mutating func name() -> RelayRequestID {
    lastQuestion += 1
    guard let id = RelayRequestID("q\(lastQuestion)") else {
      preconditionFailure("it has few bytes")
    }
    return id
  }

  private mutating func question() -> LeasedQuestion {
    let id = name()
    let time = HealthTime.instant(Timestamp(nanoseconds: 0), minutesEast: nil)
    let question: HealthQuestion =
      oneIn(3)
      ? .summary(SummaryQuery(start: time, end: time))
      : .healthData(HealthDataQuery(valueType: .steps, start: time, end: time))
    return LeasedQuestion(id: id, question: question, lease: "lease \(id)")
  }

  /// Returns a question that cannot be decoded.
  private mutating func rejected() -> LeasedQuestions.Rejected {
    let kind: HealthQuestion.Kind = oneIn(2) ? .healthData : .summary
    let error = RelayWireError(.missing(field: "payload"), id: name(), kind: kind)
    return LeasedQuestions.Rejected(lease: "lease \(lastQuestion)", error: error)
  }

  private mutating func failure() -> LinkFailure {
    if oneIn(3) { return linkFailure() }
    let retryAfterChecker: [Duration?] = [
      nil, nil, .zero, .seconds(2), .seconds(60), .seconds(7_200),
    ]
    return .http(
      status: one([204, 401, 403, 404, 409, 409, 409, 410, 413, 429, 500, 503]),
      retryAfter: one(retryAfterChecker), detail: "refused")
  }
}

// MARK: The promises of a pull
extension PullInputs {
  static let properties: [MachineProperty<PullInputs>] = [
    MachineProperty("nothing is requested after the end") { generator, step in
      guard generator.hasFinished else { return true }
      return step.effects.allSatisfy { if case .discard = $0 { true } else { false } }
    },
    MachineProperty("each question that was leased is counted once") { generator, step in
      guard let report = step.report else { return true }
      return report.answered + report.unwanted + report.left == generator.leased + step.leased
    },
    MachineProperty("nothing is held after the end") { generator, step in
      step.report == nil || step.held(after: generator.held).isEmpty
    },
  ]
}

extension MachineStep<PullModel> {
  /// The number of questions that the pull accepted in this step.
  fileprivate var leased: Int {
    guard case .leased(let step, let page)? = input, case .leasing(step, _, _) = before.phase,
      now < before.end
    else { return 0 }
    return page.questions.count + page.rejected.count
  }

  fileprivate var report: PullReport? {
    for case .finish(let report) in effects { return report }
    return nil
  }

  /// Returns the steps whose messages the pull holds after this step.
  fileprivate func held(after held: Set<StepID>) -> Set<StepID> {
    var held = held
    for effect in effects {
      switch effect {
      case .read(let step, _): held.insert(step)
      case .discard(let step): held.remove(step)
      case .lease, .post, .refuse, .finish: continue
      }
    }
    return held
  }
}
