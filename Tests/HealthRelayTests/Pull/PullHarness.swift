import HoldfastCore
import HoldfastHealth
import HoldfastRelayData
import Testing

@testable import HoldfastHealthRelay

/// A test harness with a pull model, its clock, and its effects since the last `take`.
struct PullHarness {
  /// The delays between the tries of one exchange.
  static let waits: [Duration] = [.milliseconds(500), .seconds(1), .seconds(2), .seconds(4)]

  var pull: PullModel
  var now = Instant.second(100)
  private(set) var log: [PullModel.Effect] = []

  init(_ settings: PullSettings = PullSettings()) {
    pull = PullModel(settings)
  }

  static func begun() -> PullHarness {
    var harness = PullHarness()
    harness.give(.begin)
    return harness
  }

  /// Returns a pull that has begun and has leased `count` questions.
  static func leased(
    _ count: Int = 1, for lease: Duration = .seconds(25), settings: PullSettings = PullSettings()
  ) -> PullHarness {
    var harness = PullHarness(settings)
    harness.give(.begin)
    harness.give(.leased(StepID(1), questions(count, for: lease)))
    return harness
  }

  static let time = HealthTime.instant(Timestamp(nanoseconds: 0), minutesEast: nil)
  static let query = HealthDataQuery(valueType: .steps, start: time, end: time)

  static func question(_ number: Int) -> LeasedQuestion {
    // The text is neither empty nor too long.
    guard let id = RelayRequestID("q\(number)") else { preconditionFailure("no id") }
    return LeasedQuestion(id: id, question: .healthData(query), lease: "lease\(number)")
  }

  static func questions(_ count: Int, for lease: Duration = .seconds(25)) -> LeasedQuestions {
    LeasedQuestions(questions: (0..<count).map { question($0 + 1) }, expiresIn: lease)
  }

  mutating func give(_ input: PullModel.Input) {
    log += pull.handle(input, at: now)
    #expect(pull.brokenInvariants(.thorough) == [])
  }

  /// Lets time pass and calls the pull at each of its deadlines.
  mutating func pass(_ duration: Duration) {
    let end = now.advanced(by: duration)
    while let due = pull.deadline, due <= end {
      now = max(now, due)
      log += pull.tick(at: now)
      #expect(pull.brokenInvariants(.thorough) == [])
    }
    now = end
    log += pull.tick(at: now)
  }

  mutating func take() -> [PullModel.Effect] {
    defer { log = [] }
    return log
  }

  /// The newest step that an effect in the log starts, or 0 if there is none.
  var step: StepID {
    for effect in log.reversed() {
      switch effect {
      case .lease(let step, _, _), .read(let step, _), .post(let step, _, _, _, _),
        .refuse(let step, _, _):
        return step
      case .discard, .finish: continue
      }
    }
    return StepID(0)
  }

  /// Reports that the first question in line has been read, so that its first message is sent.
  mutating func read(parts: Int = 1) {
    give(.prepared(step, parts: parts))
  }

  mutating func succeed() { give(.posted(step)) }
  mutating func fail(_ failure: LinkFailure) { give(.failed(step, failure)) }
  mutating func fail(_ status: Int, retryAfter: Duration? = nil) {
    fail(.http(status: status, retryAfter: retryAfter, detail: ""))
  }

  var report: PullReport? { pull.outcome }
}
