public import HoldfastCore

/// A feature whose journals can be checked.
public protocol ReplayedFeature: ObservedFeature {
  associatedtype Record: RunRecord where Record.Feature == Self

  /// The kinds of violations that can be detected in a journal.
  static var checkedInJournals: [Finding.Kind] { get }
  /// Returns the feature's state for a model at the beginning of its journal.
  static func state(of model: Model) -> State
}

/// The information in a journal about the world around its model.
public protocol RunRecord {
  associatedtype Feature: ObservedFeature

  init()
  /// Whether the user wants the link, according to the inputs so far.
  var isWanted: Bool { get }
  /// Records the information that an input contains about the world, before the model receives it.
  mutating func prepare(for input: Feature.Input, _ tape: inout RecordedState<Feature>)
  /// Records the operation that an effect starts.
  mutating func note(_ effect: Feature.Effect, _ tape: inout RecordedState<Feature>)
  /// Copies the model's state to the feature's state.
  func look(_ model: Feature.Model, _ state: inout Feature.State)
}

/// The checkers of a recorded run, and the phone state that they check.
public struct RecordedState<Feature: ObservedFeature> {
  var checkers = CheckerSet<Feature>()
  var watch: RunWatch<Feature>?

  init(_ phoneState: PhoneState<Feature>) {
    checkers.views = [PhoneView(phoneState)]
  }

  /// The state of the only phone in the journal.
  public var phoneState: PhoneState<Feature> {
    get { checkers.views[0].phoneState }
    set { checkers.views[0].phoneState = newValue }
  }

  package mutating func see(_ seen: Observation<Feature>) {
    checkers.see(seen)
    watch?(seen, phoneState)
  }

  /// Records the answer to a pending request.
  package mutating func answer() { phoneState.underWay = max(0, phoneState.underWay - 1) }
}

/// A real run whose journal is replayed to the checkers of the simulator.
///
/// A journal contains only the phone's side. Guarantees that depend on the server or the network
/// are not checked. Late timers are not reported, because a device may have slept.
public struct Recorded<Feature: ReplayedFeature> {
  /// The maximum delay of a timer on a real device that is awake.
  private static var slack: Duration { .seconds(1) }

  private var tape: RecordedState<Feature>
  private var record = Feature.Record()
  private var isLaunched = false
  /// The broken invariants. The value is the time of the first step after which the invariant did
  /// not hold.
  private var broken: [String: Instant] = [:]

  /// Creates a run that begins with a model.
  ///
  /// - Parameter watch: Receives every observation, with the state of the phone right after it.
  public init(_ model: Feature.Model, watch: RunWatch<Feature>? = nil) {
    var phoneState = PhoneState<Feature>(
      policy: model.policy, status: model.status, own: Feature.state(of: model))
    phoneState.isAwake = true
    phoneState.isSignedIn = false
    tape = RecordedState(phoneState)
    tape.watch = watch
  }

  /// The findings so far, limited to the kinds that can be detected in a journal.
  public var findings: [Finding] {
    (tape.checkers.findings() + brokenInvariants).filter {
      Feature.checkedInJournals.contains($0.kind)
    }
  }

  private var brokenInvariants: [Finding] {
    broken.sorted { ($0.value, $0.key) < ($1.value, $1.key) }
      .map { Finding(.brokenInvariant, at: $0.value, $0.key) }
  }

  /// Records that the model received an input, or reached its deadline if the input is `nil`.
  ///
  /// - Parameters:
  ///   - effects: The effects that the model returned.
  ///   - model: The model after the step.
  public mutating func see(
    _ input: Feature.Input?, at now: Instant, effects: [Feature.Effect], then model: Feature.Model
  ) {
    pass(to: now)
    let attempt = input.flatMap { Feature.Model.role(of: $0).attempt }
    let isLate =
      attempt.map { $0 != tape.phoneState.currentAttempt && $0 != tape.phoneState.queuedAttempt }
      ?? false
    if let input {
      prepare(for: Feature.Model.role(of: input))
      record.prepare(for: input, &tape)
    }
    for effect in effects {
      let role = Feature.Model.role(of: effect)
      if role == .request || role == .store || role == .refreshCredentials {
        tape.phoneState.underWay += 1
      }
      record.note(effect, &tape)
    }
    tape.phoneState.status = model.status
    tape.phoneState.deadline = model.deadline?.advanced(by: Self.slack)
    tape.phoneState.currentAttempt = model.currentAttempt
    tape.phoneState.queuedAttempt = model.queuedAttempt
    tape.phoneState.wait = model.wait
    tape.phoneState.isWanted = record.isWanted && !model.status.isEndedByRule
    record.look(model, &tape.phoneState.own)
    var model = model
    for name in model.brokenInvariants(.thorough) { broken[name] = broken[name] ?? now }
    if let input {
      tape.see(.received(.phone, input, isLate: isLate, effects: effects))
    } else {
      tape.see(.ticked(.phone, effects: effects))
    }
  }

  /// Ends the run at the end of the journal.
  public mutating func conclude() { tape.checkers.conclude() }

  /// Advances to a time. If a deadline passed without a step in the meantime, the device was
  /// asleep.
  private mutating func pass(to now: Instant) {
    if !isLaunched {
      isLaunched = true
      tape.phoneState.now = now
      tape.see(.launched(.phone, run: 1))
    } else if let deadline = tape.phoneState.deadline, deadline < now {
      tape.phoneState.isAwake = false
      tape.see(.suspended(.phone))
      tape.phoneState.isAwake = true
      tape.phoneState.now = now
      tape.see(.resumed(.phone))
    }
    tape.phoneState.now = now
  }

  /// Records the information about the device and the connection that an input contains.
  private mutating func prepare(for role: InputRole) {
    switch role {
    case .credentials(let event):
      tape.answer()
      switch event {
      case .available: tape.phoneState.isSignedIn = true
      case .refreshFailed: return
      case .rejected, .cleared: tape.phoneState.isSignedIn = false
      }
    case .opened(let attempt): tape.see(.upgraded(.phone, attempt, status: 101))
    case .answered, .refused: tape.answer()
    case .wanted, .left, .changed, .lifecycle, .trigger, .data, .draining, .received, .lost, .other:
      return
    }
  }
}

extension LinkStatus {
  /// Whether a rule of the policy ended the link, such as the idle time-out. Only the user can
  /// start it again.
  fileprivate var isEndedByRule: Bool {
    if phase == .disconnected, case .ended? = reason { true } else { false }
  }
}
