import LinkCore

/// The checkers that a feature adds to those of its link, each for one promise.
public protocol FeatureCheckers: Sendable {
  associatedtype Feature: SimulatedFeature

  init()
  /// Checks a step of a phone's model: its effects, and the input, or `nil` for a tick.
  mutating func stepped(
    _ input: Feature.Input?, isLate: Bool, _ effects: [Feature.Effect],
    _ standing: Standing<Feature>)
  /// Checks an input of a step, with its effects.
  mutating func told(
    _ input: Feature.Input, isLate: Bool, _ effects: [Feature.Effect],
    _ standing: Standing<Feature>)
  /// Checks one effect of a step.
  mutating func asked(_ effect: Feature.Effect, _ standing: Standing<Feature>)
  /// Checks any other observation, with the resulting state of the phone that it concerns, or of
  /// the first phone.
  mutating func met(_ seen: Observation<Feature>, _ standing: Standing<Feature>)
  /// Handles the start of a phone's process.
  mutating func launched(_ standing: Standing<Feature>)
  /// Checks a fact that only the feature can observe.
  mutating func noted(_ fact: Feature.Fact, _ standing: Standing<Feature>)
  /// Concludes the checks at the end of the run.
  mutating func conclude(_ standing: Standing<Feature>)
  /// The broken promises so far.
  var findings: [Finding] { get }
}

extension FeatureCheckers {
  public mutating func stepped(
    _ input: Feature.Input?, isLate: Bool, _ effects: [Feature.Effect],
    _ standing: Standing<Feature>
  ) {
    if let input { told(input, isLate: isLate, effects, standing) }
    for effect in effects { asked(effect, standing) }
  }
  public mutating func told(
    _ input: Feature.Input, isLate: Bool, _ effects: [Feature.Effect],
    _ standing: Standing<Feature>
  ) {}
  public mutating func asked(_ effect: Feature.Effect, _ standing: Standing<Feature>) {}
  public mutating func met(_ seen: Observation<Feature>, _ standing: Standing<Feature>) {
    switch seen {
    case .launched: launched(standing)
    case .fact(let fact): noted(fact, standing)
    case .killed, .suspended, .resumed, .told, .ticked, .upgraded, .serverLost, .wentDead, .began,
      .ended, .calm:
      return
    }
  }
  public mutating func launched(_ standing: Standing<Feature>) {}
  public mutating func noted(_ fact: Feature.Fact, _ standing: Standing<Feature>) {}
  public mutating func conclude(_ standing: Standing<Feature>) {}
}

/// The state of a phone, together with the checkers of its link. Checkers read the state in place,
/// since a copy would retain everything that it holds.
struct PhoneView<Feature: SimulatedFeature>: Sendable {
  var standing: Standing<Feature>
  private(set) var checkers = LinkCheckers<Feature>()

  init(_ standing: Standing<Feature>) {
    self.standing = standing
  }

  fileprivate mutating func stepped(
    _ input: Feature.Input?, isLate: Bool, _ effects: [Feature.Effect],
    _ own: inout Feature.Checkers
  ) {
    checkers.stepped(input, isLate: isLate, effects, standing)
    own.stepped(input, isLate: isLate, effects, standing)
  }

  fileprivate mutating func met(_ seen: Observation<Feature>) {
    checkers.met(seen, standing)
    checkers.settled(standing)
  }

  fileprivate mutating func met(_ seen: Observation<Feature>, _ own: inout Feature.Checkers) {
    own.met(seen, standing)
  }

  fileprivate mutating func conclude() { checkers.conclude(standing) }

  fileprivate var wholeBy: Instant? { checkers.wholeBy(standing.policy) }
}

/// The checkers of a run: those of each phone's link, and the feature's own.
struct Bench<Feature: SimulatedFeature>: Sendable {
  var views: [PhoneView<Feature>] = []
  private var own = Feature.Checkers()

  /// Passes a step of a phone's model to the checkers.
  mutating func stepped(
    _ phone: HostID, _ input: Feature.Input?, isLate: Bool, _ effects: [Feature.Effect]
  ) {
    views[phone.index].stepped(input, isLate: isLate, effects, &own)
  }

  /// Passes any other observation to the checkers.
  ///
  /// - Parameter phone: The phone that the observation concerns; `nil` for all.
  mutating func met(_ seen: Observation<Feature>, of phone: Int?) {
    if let phone {
      views[phone].met(seen)
    } else {
      for phone in views.indices { views[phone].met(seen) }
    }
    views[phone ?? 0].met(seen, &own)
  }

  /// Passes an observation of either kind to the checkers.
  mutating func see(_ seen: Observation<Feature>) {
    switch seen {
    case .told(let phone, let input, let isLate, let effects):
      stepped(phone, input, isLate: isLate, effects)
    case .ticked(let phone, let effects): stepped(phone, nil, isLate: false, effects)
    case .launched, .killed, .suspended, .resumed, .upgraded, .serverLost, .wentDead, .began,
      .ended, .calm, .fact:
      met(seen, of: seen.host?.index)
    }
  }

  mutating func conclude() {
    own.conclude(views[0].standing)
    for phone in views.indices { views[phone].conclude() }
  }

  /// The time by which everything must be complete; `nil` before calm.
  var wholeBy: Instant? { views.compactMap(\.wholeBy).max() }

  /// The broken promises so far, ordered by time; at most 20.
  var findings: [Finding] {
    Array(
      (own.findings + views.flatMap(\.checkers.findings)).enumerated()
        .sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }
        .map(\.element).prefix(Findings.limit))
  }
}

/// The checkers of one link, one for each of its promises.
struct LinkCheckers<Feature: SimulatedFeature>: LinkChecker {
  private var outstanding = Outstanding<Feature>()
  private var windows = AttemptWindows<Feature>()
  private var tries = Tries<Feature>()
  private var refreshes = Refreshes<Feature>()
  private var connectedness = Connectedness<Feature>()
  private var lateness = Lateness<Feature>()
  private var secrecy = Secrecy<Feature>()
  private var bounds = Bounds<Feature>()
  private var healing = Healing<Feature>()
  private var haste = Haste<Feature>()
  private var retryAfterChecker = RetryAfterChecker<Feature>()
  private var refreshTimes = RefreshTimes<Feature>()
  private var signIns = SignIns<Feature>()
  private var leaving = Leaving<Feature>()

  var findings: [Finding] {
    outstanding.findings + windows.findings + tries.findings + refreshes.findings
      + connectedness.findings + lateness.findings + secrecy.findings + bounds.findings
      + healing.findings + haste.findings + retryAfterChecker.findings + refreshTimes.findings
      + signIns.findings + leaving.findings
  }

  var found = Findings()

  /// Returns the time by which everything must be complete; `nil` before calm.
  func wholeBy(_ policy: LinkPolicy) -> Instant? { healing.limit(policy) }

  mutating func told(_ role: InputRole, isLate: Bool, _ standing: Standing<Feature>) {
    outstanding.told(role, isLate: isLate, standing)
    tries.told(role, isLate: isLate, standing)
    refreshes.told(role, isLate: isLate, standing)
    connectedness.told(role, isLate: isLate, standing)
    lateness.told(role, isLate: isLate, standing)
    healing.told(role, isLate: isLate, standing)
    haste.told(role, isLate: isLate, standing)
    retryAfterChecker.told(role, isLate: isLate, standing)
    refreshTimes.told(role, isLate: isLate, standing)
    signIns.told(role, isLate: isLate, standing)
    leaving.told(role, isLate: isLate, standing)
  }

  mutating func ticked(_ standing: Standing<Feature>) {
    outstanding.ticked(standing)
    tries.ticked(standing)
    refreshes.ticked(standing)
    connectedness.ticked(standing)
    lateness.ticked(standing)
    haste.ticked(standing)
    refreshTimes.ticked(standing)
    signIns.ticked(standing)
  }

  mutating func asked(
    _ role: EffectRole, _ effect: Feature.Effect, _ standing: Standing<Feature>
  ) {
    outstanding.asked(role, effect, standing)
    windows.asked(role, effect, standing)
    tries.asked(role, effect, standing)
    refreshes.asked(role, effect, standing)
    lateness.asked(role, effect, standing)
    secrecy.asked(role, effect, standing)
    // Most effects only show something and are skipped here.
    if role == .other { return }
    healing.asked(role, effect, standing)
    haste.asked(role, effect, standing)
    retryAfterChecker.asked(role, effect, standing)
    refreshTimes.asked(role, effect, standing)
    signIns.asked(role, effect, standing)
    leaving.asked(role, effect, standing)
  }

  mutating func met(_ seen: Observation<Feature>, _ standing: Standing<Feature>) {
    // Most observations are facts of the feature, which do not concern the link.
    if case .fact = seen { return passed(standing) }
    outstanding.met(seen, standing)
    windows.met(seen, standing)
    tries.met(seen, standing)
    refreshes.met(seen, standing)
    connectedness.met(seen, standing)
    lateness.met(seen, standing)
    bounds.met(seen, standing)
    healing.met(seen, standing)
    haste.met(seen, standing)
    retryAfterChecker.met(seen, standing)
    refreshTimes.met(seen, standing)
    signIns.met(seen, standing)
    leaving.met(seen, standing)
  }

  private mutating func passed(_ standing: Standing<Feature>) {
    outstanding.passed(standing)
    connectedness.passed(standing)
    lateness.passed()
    refreshTimes.passed(standing)
  }

  mutating func settled(_ standing: Standing<Feature>) {
    outstanding.settled(standing)
    connectedness.settled(standing)
    lateness.settled(standing)
    bounds.settled(standing)
    healing.settled(standing)
    haste.settled(standing)
    refreshTimes.settled(standing)
  }

  mutating func conclude(_ standing: Standing<Feature>) {
    outstanding.conclude(standing)
    healing.conclude(standing)
  }
}

/// A checker of one promise of a link, which receives each input, each effect and the resulting
/// state.
protocol LinkChecker: Sendable {
  associatedtype Feature: SimulatedFeature
  var found: Findings { get }

  /// Handles an input of the model. The resulting effects follow.
  mutating func told(_ role: InputRole, isLate: Bool, _ standing: Standing<Feature>)
  /// Handles a tick of the model. The resulting effects follow.
  mutating func ticked(_ standing: Standing<Feature>)
  mutating func asked(_ role: EffectRole, _ effect: Feature.Effect, _ standing: Standing<Feature>)
  /// Handles any other observation.
  mutating func met(_ seen: Observation<Feature>, _ standing: Standing<Feature>)
  /// Handles the resulting state.
  mutating func settled(_ standing: Standing<Feature>)
  /// Handles the end of the run.
  mutating func conclude(_ standing: Standing<Feature>)
}

extension LinkChecker {
  mutating func told(_ role: InputRole, isLate: Bool, _ standing: Standing<Feature>) {}
  mutating func ticked(_ standing: Standing<Feature>) {}
  mutating func asked(
    _ role: EffectRole, _ effect: Feature.Effect, _ standing: Standing<Feature>
  ) {}
  mutating func met(_ seen: Observation<Feature>, _ standing: Standing<Feature>) {}
  mutating func settled(_ standing: Standing<Feature>) {}
  mutating func conclude(_ standing: Standing<Feature>) {}

  /// The broken promises so far.
  var findings: [Finding] { found.all }

  /// Handles a step of the model in order: the input, the effects, and the resulting state.
  mutating func stepped(
    _ input: Feature.Input?, isLate: Bool, _ effects: [Feature.Effect],
    _ standing: Standing<Feature>
  ) {
    if let input {
      told(Feature.Model.role(of: input), isLate: isLate, standing)
    } else {
      ticked(standing)
    }
    for effect in effects { asked(Feature.Model.role(of: effect), effect, standing) }
    settled(standing)
  }
}
