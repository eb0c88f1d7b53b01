package import HoldfastCore

/// The checkers that a feature adds to those of its link. Each checks one guarantee.
public protocol FeatureCheckers: Sendable {
  associatedtype Feature: ObservedFeature

  init()
  /// Checks a step of a phone's model: its input, which is `nil` for a tick, and its effects.
  mutating func stepped(
    _ input: Feature.Input?, isLate: Bool, _ effects: [Feature.Effect],
    _ phoneState: PhoneState<Feature>)
  /// Checks the input of a step, together with the step's effects.
  mutating func received(
    _ input: Feature.Input, isLate: Bool, _ effects: [Feature.Effect],
    _ phoneState: PhoneState<Feature>)
  /// Checks one effect of a step.
  mutating func requested(_ effect: Feature.Effect, _ phoneState: PhoneState<Feature>)
  /// Checks an observation that is not a step.
  ///
  /// The state is that of the phone that the observation concerns, or of the first phone if it
  /// concerns all.
  mutating func handle(_ seen: Observation<Feature>, _ phoneState: PhoneState<Feature>)
  /// Handles the start of a phone's process.
  mutating func launched(_ phoneState: PhoneState<Feature>)
  /// Checks a fact that is specific to the feature.
  mutating func noted(_ fact: Feature.Fact, _ phoneState: PhoneState<Feature>)
  /// Completes the checks at the end of the run.
  mutating func conclude(_ phoneState: PhoneState<Feature>)
  /// The violations found so far.
  var findings: [Finding] { get }
}

extension FeatureCheckers {
  public mutating func stepped(
    _ input: Feature.Input?, isLate: Bool, _ effects: [Feature.Effect],
    _ phoneState: PhoneState<Feature>
  ) {
    if let input { received(input, isLate: isLate, effects, phoneState) }
    for effect in effects { requested(effect, phoneState) }
  }
  public mutating func received(
    _ input: Feature.Input, isLate: Bool, _ effects: [Feature.Effect],
    _ phoneState: PhoneState<Feature>
  ) {}
  public mutating func requested(_ effect: Feature.Effect, _ phoneState: PhoneState<Feature>) {}
  public mutating func handle(_ seen: Observation<Feature>, _ phoneState: PhoneState<Feature>) {
    switch seen {
    case .launched: launched(phoneState)
    case .fact(let fact): noted(fact, phoneState)
    case .killed, .suspended, .resumed, .received, .ticked, .upgraded, .serverLost, .wentDead,
      .server,
      .began,
      .ended, .calm:
      return
    }
  }
  public mutating func launched(_ phoneState: PhoneState<Feature>) {}
  public mutating func noted(_ fact: Feature.Fact, _ phoneState: PhoneState<Feature>) {}
  public mutating func conclude(_ phoneState: PhoneState<Feature>) {}
}

/// The state of a phone, together with the checkers of its link.
///
/// Checkers read the state in place, because a copy would retain everything that it holds.
public struct PhoneView<Feature: ObservedFeature>: Sendable {
  package var phoneState: PhoneState<Feature>
  private var checkers = LinkCheckers<Feature>()

  package init(_ phoneState: PhoneState<Feature>) {
    self.phoneState = phoneState
  }

  fileprivate mutating func stepped(
    _ input: Feature.Input?, isLate: Bool, _ effects: [Feature.Effect],
    _ own: inout Feature.Checkers
  ) {
    checkers.stepped(input, isLate: isLate, effects, phoneState)
    own.stepped(input, isLate: isLate, effects, phoneState)
  }

  fileprivate mutating func handle(_ seen: Observation<Feature>) {
    checkers.handle(seen, phoneState)
    checkers.stepEnded(phoneState)
  }

  fileprivate mutating func handle(_ seen: Observation<Feature>, _ own: inout Feature.Checkers) {
    own.handle(seen, phoneState)
  }

  fileprivate mutating func conclude() { checkers.conclude(phoneState) }

  fileprivate var findings: [Finding] { checkers.findings }

  fileprivate var wholeBy: Instant? { checkers.wholeBy(phoneState.policy) }
}

/// The checkers of what phones do: those of each phone's link, and those of the feature.
public struct CheckerSet<Feature: ObservedFeature>: Sendable {
  package var views: [PhoneView<Feature>] = []
  private var own = Feature.Checkers()

  package init() {}

  /// Passes a step of a phone's model to the checkers.
  package mutating func stepped(
    _ phone: HostID, _ input: Feature.Input?, isLate: Bool, _ effects: [Feature.Effect]
  ) {
    views[phone.index].stepped(input, isLate: isLate, effects, &own)
  }

  /// Passes an observation that is not a step to the checkers.
  ///
  /// - Parameter phone: The phone that the observation concerns; `nil` if it concerns all.
  package mutating func handle(_ seen: Observation<Feature>, of phone: Int?) {
    if let phone {
      views[phone].handle(seen)
    } else {
      for phone in views.indices { views[phone].handle(seen) }
    }
    views[phone ?? 0].handle(seen, &own)
  }

  /// Passes an observation of any kind to the checkers.
  package mutating func see(_ seen: Observation<Feature>) {
    switch seen {
    case .received(let phone, let input, let isLate, let effects):
      Feature.step(phone, input, isLate: isLate, effects, &self)
    case .ticked(let phone, let effects):
      Feature.step(phone, nil, isLate: false, effects, &self)
    case .launched, .killed, .suspended, .resumed, .upgraded, .serverLost, .wentDead, .server,
      .began,
      .ended, .calm, .fact:
      Feature.observe(seen, of: seen.host?.index, &self)
    }
  }

  package mutating func conclude() {
    own.conclude(views[0].phoneState)
    for phone in views.indices { views[phone].conclude() }
  }

  /// The time by which everything must be complete; `nil` before the calm phase.
  package var wholeBy: Instant? { views.compactMap(\.wholeBy).max() }

  /// Returns the violations found so far, ordered by time; at most 20.
  ///
  /// - Parameter others: The violations that checkers outside of the set have found.
  package func findings(with others: [Finding] = []) -> [Finding] {
    Array(
      (own.findings + others + ofLinks).enumerated()
        .sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }
        .map(\.element).prefix(Findings.limit))
  }

  /// The violations of the guarantees of links. In a world with several phones, each names its
  /// phone.
  private var ofLinks: [Finding] {
    guard views.count > 1 else { return views.flatMap(\.findings) }
    return views.enumerated().flatMap { index, view in
      view.findings.map {
        var finding = $0
        finding.phone = index
        return finding
      }
    }
  }
}

/// The checkers of one link, one for each of its guarantees.
struct LinkCheckers<Feature: ObservedFeature>: LinkChecker {
  private var outstanding = Outstanding<Feature>()
  private var windows = AttemptWindows<Feature>()
  private var tries = Tries<Feature>()
  private var refreshes = Refreshes<Feature>()
  private var connectedness = Connectedness<Feature>()
  private var lateness = Lateness<Feature>()
  private var secrecy = SecretLeakChecker<Feature>()
  private var bounds = Bounds<Feature>()
  private var healing = Healing<Feature>()
  private var retryRate = RetryRateChecker<Feature>()
  private var retryAfterChecker = RetryAfterChecker<Feature>()
  private var refreshTimes = RefreshTimes<Feature>()
  private var signIns = SignIns<Feature>()
  private var leaving = Leaving<Feature>()

  var findings: [Finding] {
    outstanding.findings + windows.findings + tries.findings + refreshes.findings
      + connectedness.findings + lateness.findings + secrecy.findings + bounds.findings
      + healing.findings + retryRate.findings + retryAfterChecker.findings + refreshTimes.findings
      + signIns.findings + leaving.findings
  }

  var found = Findings()

  /// Returns the time by which everything must be complete; `nil` before the calm phase.
  func wholeBy(_ policy: LinkPolicy) -> Instant? { healing.limit(policy) }

  mutating func received(_ role: InputRole, isLate: Bool, _ phoneState: PhoneState<Feature>) {
    outstanding.received(role, isLate: isLate, phoneState)
    tries.received(role, isLate: isLate, phoneState)
    refreshes.received(role, isLate: isLate, phoneState)
    connectedness.received(role, isLate: isLate, phoneState)
    lateness.received(role, isLate: isLate, phoneState)
    healing.received(role, isLate: isLate, phoneState)
    retryRate.received(role, isLate: isLate, phoneState)
    retryAfterChecker.received(role, isLate: isLate, phoneState)
    refreshTimes.received(role, isLate: isLate, phoneState)
    signIns.received(role, isLate: isLate, phoneState)
    leaving.received(role, isLate: isLate, phoneState)
  }

  mutating func ticked(_ phoneState: PhoneState<Feature>) {
    outstanding.ticked(phoneState)
    tries.ticked(phoneState)
    refreshes.ticked(phoneState)
    connectedness.ticked(phoneState)
    lateness.ticked(phoneState)
    retryRate.ticked(phoneState)
    refreshTimes.ticked(phoneState)
    signIns.ticked(phoneState)
  }

  mutating func requested(
    _ role: EffectRole, _ effect: Feature.Effect, _ phoneState: PhoneState<Feature>
  ) {
    outstanding.requested(role, effect, phoneState)
    windows.requested(role, effect, phoneState)
    tries.requested(role, effect, phoneState)
    refreshes.requested(role, effect, phoneState)
    lateness.requested(role, effect, phoneState)
    secrecy.requested(role, effect, phoneState)
    // Most effects only update the screen. They are skipped here.
    if role == .other { return }
    healing.requested(role, effect, phoneState)
    retryRate.requested(role, effect, phoneState)
    retryAfterChecker.requested(role, effect, phoneState)
    refreshTimes.requested(role, effect, phoneState)
    signIns.requested(role, effect, phoneState)
    leaving.requested(role, effect, phoneState)
  }

  mutating func handle(_ seen: Observation<Feature>, _ phoneState: PhoneState<Feature>) {
    // Most observations are facts of the feature. They do not concern the link.
    if case .fact = seen { return passed(phoneState) }
    outstanding.handle(seen, phoneState)
    windows.handle(seen, phoneState)
    tries.handle(seen, phoneState)
    refreshes.handle(seen, phoneState)
    connectedness.handle(seen, phoneState)
    lateness.handle(seen, phoneState)
    bounds.handle(seen, phoneState)
    healing.handle(seen, phoneState)
    retryRate.handle(seen, phoneState)
    retryAfterChecker.handle(seen, phoneState)
    refreshTimes.handle(seen, phoneState)
    signIns.handle(seen, phoneState)
    leaving.handle(seen, phoneState)
  }

  private mutating func passed(_ phoneState: PhoneState<Feature>) {
    outstanding.passed(phoneState)
    connectedness.passed(phoneState)
    lateness.passed()
    refreshTimes.passed(phoneState)
  }

  mutating func stepEnded(_ phoneState: PhoneState<Feature>) {
    outstanding.stepEnded(phoneState)
    connectedness.stepEnded(phoneState)
    lateness.stepEnded(phoneState)
    bounds.stepEnded(phoneState)
    healing.stepEnded(phoneState)
    retryRate.stepEnded(phoneState)
    refreshTimes.stepEnded(phoneState)
  }

  mutating func conclude(_ phoneState: PhoneState<Feature>) {
    outstanding.conclude(phoneState)
    healing.conclude(phoneState)
  }
}

/// A checker of one guarantee of a link. It receives each input, each effect and the resulting
/// state.
protocol LinkChecker: Sendable {
  associatedtype Feature: ObservedFeature
  var found: Findings { get }

  /// Handles an input of the model. The resulting effects follow.
  mutating func received(_ role: InputRole, isLate: Bool, _ phoneState: PhoneState<Feature>)
  /// Handles a tick of the model. The resulting effects follow.
  mutating func ticked(_ phoneState: PhoneState<Feature>)
  mutating func requested(
    _ role: EffectRole, _ effect: Feature.Effect, _ phoneState: PhoneState<Feature>)
  /// Handles an observation that is not a step.
  mutating func handle(_ seen: Observation<Feature>, _ phoneState: PhoneState<Feature>)
  /// Handles the state after a step.
  mutating func stepEnded(_ phoneState: PhoneState<Feature>)
  /// Handles the end of the run.
  mutating func conclude(_ phoneState: PhoneState<Feature>)
}

extension LinkChecker {
  mutating func received(_ role: InputRole, isLate: Bool, _ phoneState: PhoneState<Feature>) {}
  mutating func ticked(_ phoneState: PhoneState<Feature>) {}
  mutating func requested(
    _ role: EffectRole, _ effect: Feature.Effect, _ phoneState: PhoneState<Feature>
  ) {}
  mutating func handle(_ seen: Observation<Feature>, _ phoneState: PhoneState<Feature>) {}
  mutating func stepEnded(_ phoneState: PhoneState<Feature>) {}
  mutating func conclude(_ phoneState: PhoneState<Feature>) {}

  /// The violations found so far.
  var findings: [Finding] { found.all }

  /// Handles a step of the model in order: the input, the effects, and the resulting state.
  mutating func stepped(
    _ input: Feature.Input?, isLate: Bool, _ effects: [Feature.Effect],
    _ phoneState: PhoneState<Feature>
  ) {
    if let input {
      received(Feature.Model.role(of: input), isLate: isLate, phoneState)
    } else {
      ticked(phoneState)
    }
    for effect in effects { requested(Feature.Model.role(of: effect), effect, phoneState) }
    stepEnded(phoneState)
  }
}
