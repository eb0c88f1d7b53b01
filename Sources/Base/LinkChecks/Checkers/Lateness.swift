import HoldfastCore

/// A checker that detects effects of events that belong to an earlier attempt.
struct Lateness<Feature: ObservedFeature>: LinkChecker {
  private(set) var found = Findings()
  private var isLate = false
  /// The phase after the previous step.
  private var phase = LinkStatus.Phase.disconnected
  private var deadline: Instant?

  private static var name: String { "an event of an older attempt" }

  mutating func received(_ role: InputRole, isLate: Bool, _ phoneState: PhoneState<Feature>) {
    // An action that is due anyway may coincide with any input.
    self.isLate = isLate && deadline.map { $0 > phoneState.now } ?? true
  }

  mutating func ticked(_ phoneState: PhoneState<Feature>) { isLate = false }

  mutating func requested(
    _ role: EffectRole, _ effect: Feature.Effect, _ phoneState: PhoneState<Feature>
  ) {
    guard isLate else { return }
    switch role {
    case .close, .notice, .signIn: return
    case .open, .ping, .refreshCredentials, .request, .store, .other:
      let effectName = "\(effect)".prefix { $0 != "(" }
      found.add(.late, at: phoneState.now, "\(Self.name) led to \(effectName)")
    }
  }

  mutating func handle(_ seen: Observation<Feature>, _ phoneState: PhoneState<Feature>) { passed() }

  /// Records an observation that is not a step of the model.
  mutating func passed() { isLate = false }

  mutating func stepEnded(_ phoneState: PhoneState<Feature>) {
    if isLate, phoneState.status.phase != phase {
      found.add(.late, at: phoneState.now, "\(Self.name) made \(phase) \(phoneState.status.phase)")
    }
    isLate = false
    phase = phoneState.status.phase
    deadline = phoneState.deadline
  }
}
