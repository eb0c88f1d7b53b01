import HoldfastCore
import HoldfastHealth
import HoldfastRelayData
import HoldfastRelayServer
import Testing

@testable import HoldfastHealthRelay

/// A test harness with a relay model, its clock, a log of its effects, and a scripted backend.
struct RelayHarness {
  var model: RelayModel
  var now = Instant.zero
  /// The effects since the last `take`, oldest first.
  var log: [RelayModel.Effect] = []
  /// The times at which sockets were opened, in seconds.
  var opens: [Double] = []
  var statuses: [RelayStatus] = []
  var problems: [RelayProblem] = []
  var problemTimes: [Instant] = []
  var receipts: [RelayReceipt] = []
  /// Whether pings are answered at once.
  var answersPings = true

  init(_ settings: RelaySettings, seed: UInt64 = 7) {
    model = RelayModel(settings: settings, seed: seed)
    give(.reachability(.reachable(path: PathID("wlan0"))))
  }

  init(_ profile: RelayProfile, seed: UInt64 = 7) {
    self.init(RelaySettings(profile), seed: seed)
  }

  /// Returns a relay that the user has started.
  static func started(_ profile: RelayProfile) -> RelayHarness {
    var harness = RelayHarness(profile)
    harness.give(.start)
    return harness
  }

  /// Returns a running relay with an empty log.
  static func running(
    _ profile: RelayProfile = .service, _ welcome: RelayModel.Welcome = .first
  ) -> RelayHarness {
    var harness = started(profile)
    harness.connect(welcome)
    harness.forget()
    return harness
  }

  /// Returns a running relay that has received the question "a".
  static func asked(
    _ profile: RelayProfile = .service, _ welcome: RelayModel.Welcome = .first
  ) -> RelayHarness {
    var harness = running(profile, welcome)
    harness.ask("a")
    return harness
  }

  var attempt: AttemptID { model.link.currentAttempt ?? AttemptID(0) }
  var state: RelayStatus.State { model.status.state }
  var seconds: Double { Double(now.nanoseconds) / 1e9 }

  mutating func give(_ input: RelayModel.Input) {
    note(model.handle(input, at: now))
  }

  /// Passes an event of the socket to the model.
  mutating func give(_ event: LinkEvent) { give(.link(event)) }

  /// Passes a change of the device to the model.
  mutating func give(_ change: DeviceChange) { give(.link(.device(change))) }

  mutating func say(_ message: RelayModel.Message) {
    give(.message(attempt, message))
  }

  /// Lets time pass and calls the model at each of its deadlines.
  mutating func pass(_ duration: Duration) {
    let end = now.advanced(by: duration)
    while let deadline = model.deadline, deadline <= end {
      now = max(now, deadline)
      note(model.tick(at: now))
    }
    now = end
  }

  mutating func connect(_ welcome: RelayModel.Welcome = .first) {
    give(.opened(attempt))
    say(.paired(welcome))
  }

  mutating func lose(_ failure: LinkFailure = .reset) { give(.lost(attempt, failure)) }

  /// Loses the link and reconnects with a welcome.
  mutating func reconnect(_ welcome: RelayModel.Welcome) {
    lose()
    pass(.seconds(2))
    connect(welcome)
  }

  mutating func ask(_ id: String, on attempt: AttemptID? = nil) {
    give(.message(attempt ?? self.attempt, .asked(.of(id), .steps)))
  }

  /// Reports that the answer to the question being read is ready.
  mutating func prepare(parts: Int = 1, points: Int = 3) {
    guard let work else { return }
    give(
      .prepared(
        work, RelayModel.Prepared(parts: parts, content: .points(points, isTruncated: false))))
  }

  /// The read in progress.
  var work: WorkID? {
    model.questions.items.first?.progress.work
  }

  mutating func forget() {
    (log, opens, statuses, problems, receipts) = ([], [], [], [], [])
  }

  /// Clears the log and returns its effects other than updates and pings.
  mutating func take() -> [RelayModel.Effect] {
    defer { log = [] }
    return log.filter {
      switch $0 {
      case .update, .ping: false
      case .open, .close, .read, .send, .discard, .fail, .refuse, .notify, .unnotify: true
      }
    }
  }

  private mutating func note(_ effects: [RelayModel.Effect]) {
    #expect(model.brokenInvariants(.thorough) == [])
    log += effects
    for effect in effects {
      switch effect {
      case .open: opens.append(seconds)
      case .update(.status(let status)): statuses.append(status)
      case .update(.problem(let problem, _)):
        problems.append(problem)
        problemTimes.append(now)
      case .update(.ended(let receipt)): receipts.append(receipt)
      case .ping(let attempt, let id): if answersPings { give(.pong(attempt, id)) }
      case .close, .read, .send, .discard, .fail, .refuse, .notify, .unnotify, .update(.pair),
        .update(.assistant):
        break
      }
    }
  }
}

extension RelayModel.Welcome {
  static let first = RelayModel.Welcome(
    pair: RelayPair(code: Secret("123456"), word: Secret("harbour")), resume: Secret("t1"),
    acceptsParts: true)
  static let resumed = RelayModel.Welcome(
    pair: RelayPair(code: Secret("654321"), word: Secret("meadow")), resume: Secret("t2"),
    isResumed: true, acceptsParts: true)
  /// The welcome of a backend that supports only version 1.2 of the contract.
  static let plain = RelayModel.Welcome(
    pair: RelayPair(code: Secret("111111"), word: Secret("lantern")))
}

extension RelayRequestID {
  static func of(_ text: String) -> RelayRequestID {
    // The tests pass texts of 1 to 64 bytes.
    guard let id = RelayRequestID(text) else { preconditionFailure("no id: \(text)") }
    return id
  }
}

extension HealthQuestion {
  static let steps: HealthQuestion = {
    // Both texts are dates.
    guard let start = HealthTime("2026-11-01"), let end = HealthTime("2026-11-02") else {
      preconditionFailure("no dates")
    }
    return .healthData(HealthDataQuery(valueType: .steps, start: start, end: end))
  }()
}
