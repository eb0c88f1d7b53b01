public import LinkCore

/// A feature whose journals can be checked.
public protocol ReplayedFeature: SimulatedFeature {
  associatedtype Record: RunRecord where Record.Feature == Self

  /// The promises that a journal can show to be broken.
  static var checkedInJournals: [Finding.Kind] { get }
  /// How a model stands at the beginning of its journal.
  static func state(of model: Model) -> State
}

/// What a journal tells about the world around its model.
public protocol RunRecord {
  associatedtype Feature: SimulatedFeature

  init()
  /// Whether the user wants the link, as far as the inputs say.
  var isWanted: Bool { get }
  /// Takes what an input says about the world, before the model is told.
  mutating func prepare(for input: Feature.Input, _ tape: inout RecordTape<Feature>)
  /// Takes what an effect sets going.
  mutating func note(_ effect: Feature.Effect, _ tape: inout RecordTape<Feature>)
  /// Notes how the model stands.
  func look(_ model: Feature.Model, _ state: inout Feature.State)
}

/// The checkers of a recorded run, and what they know.
public struct RecordTape<Feature: SimulatedFeature> {
  var bench = Bench<Feature>()

  init(_ standing: Standing<Feature>) {
    bench.views = [PhoneView(standing)]
  }

  /// How the only phone of a journal stands.
  public var standing: Standing<Feature> {
    get { bench.views[0].standing }
    set { bench.views[0].standing = newValue }
  }

  mutating func see(_ seen: Observation<Feature>) { bench.see(seen) }

  /// Something that was asked for is here.
  mutating func answer() { standing.underWay = max(0, standing.underWay - 1) }
}

/// A real run, told by its journal, before the checkers of the simulator.
///
/// A journal knows the phone's side only. What only the server or the network could tell is not
/// checked, nor is a timer that came late, since a device may have slept.
public struct Recorded<Feature: ReplayedFeature> {
  /// How late a timer of a real machine may come while it is awake.
  private static var slack: Duration { .seconds(1) }

  private var tape: RecordTape<Feature>
  private var record = Feature.Record()
  private var isLaunched = false
  /// The invariants that the model broke, each at the first step after which it did not hold.
  private var broken: [String: Instant] = [:]

  /// A run that begins with this model.
  public init(_ model: Feature.Model) {
    var standing = Standing<Feature>(
      policy: model.policy, status: model.status, own: Feature.state(of: model))
    standing.isAwake = true
    standing.isSignedIn = false
    tape = RecordTape(standing)
  }

  /// What was broken so far, as far as a journal can tell.
  public var findings: [Finding] {
    (tape.bench.findings + brokenInvariants).filter {
      Feature.checkedInJournals.contains($0.kind)
    }
  }

  private var brokenInvariants: [Finding] {
    broken.sorted { ($0.value, $0.key) < ($1.value, $1.key) }
      .map { Finding(.brokenInvariant, at: $0.value, $0.key) }
  }

  /// The model was given an input, or its deadline had come if there is none.
  ///
  /// - Parameters:
  ///   - effects: What it asked for.
  ///   - model: The model after that.
  public mutating func see(
    _ input: Feature.Input?, at now: Instant, effects: [Feature.Effect], then model: Feature.Model
  ) {
    pass(to: now)
    let attempt = input.flatMap { Feature.Model.role(of: $0).attempt }
    let isLate =
      attempt.map { $0 != tape.standing.currentAttempt && $0 != tape.standing.queuedAttempt }
      ?? false
    if let input {
      prepare(for: Feature.Model.role(of: input))
      record.prepare(for: input, &tape)
    }
    for effect in effects {
      let role = Feature.Model.role(of: effect)
      if role == .request || role == .store || role == .refreshCredentials {
        tape.standing.underWay += 1
      }
      record.note(effect, &tape)
    }
    tape.standing.status = model.status
    tape.standing.deadline = model.deadline?.advanced(by: Self.slack)
    tape.standing.currentAttempt = model.currentAttempt
    tape.standing.queuedAttempt = model.queuedAttempt
    tape.standing.isWanted = record.isWanted && !model.status.isEndedByRule
    record.look(model, &tape.standing.own)
    var model = model
    for name in model.brokenInvariants(.thorough) { broken[name] = broken[name] ?? now }
    if let input {
      tape.see(.told(.phone, input, isLate: isLate, effects: effects))
    } else {
      tape.see(.ticked(.phone, effects: effects))
    }
  }

  /// The journal ends here.
  public mutating func conclude() { tape.bench.conclude() }

  /// A deadline that passed long ago: the device slept.
  private mutating func pass(to now: Instant) {
    if !isLaunched {
      isLaunched = true
      tape.standing.now = now
      tape.see(.launched(.phone, run: 1))
    } else if let deadline = tape.standing.deadline, deadline < now {
      tape.standing.isAwake = false
      tape.see(.suspended(.phone))
      tape.standing.isAwake = true
      tape.standing.now = now
      tape.see(.resumed(.phone))
    }
    tape.standing.now = now
  }

  /// What an input says of the device and the connection.
  private mutating func prepare(for role: InputRole) {
    switch role {
    case .credentials(let event):
      tape.answer()
      switch event {
      case .available: tape.standing.isSignedIn = true
      case .refreshFailed: return
      case .rejected, .cleared: tape.standing.isSignedIn = false
      }
    case .opened(let attempt): tape.see(.upgraded(.phone, attempt, status: 101))
    case .answered, .refused: tape.answer()
    case .wanted, .left, .changed, .lifecycle, .trigger, .data, .draining, .heard, .lost, .other:
      return
    }
  }
}

extension LinkStatus {
  /// Whether a rule of the policy ended the link, such as one for idle times: the user begins anew.
  fileprivate var isEndedByRule: Bool {
    if phase == .disconnected, case .ended? = reason { true } else { false }
  }
}
