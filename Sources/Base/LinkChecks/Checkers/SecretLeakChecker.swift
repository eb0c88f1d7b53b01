import HoldfastCore

/// A checker that detects tokens in anything that the model stores, sends or shows.
struct SecretLeakChecker<Feature: ObservedFeature>: LinkChecker {
  private(set) var found = Findings()
  private var logged = LogSample()

  mutating func requested(
    _ role: EffectRole, _ effect: Feature.Effect, _ phoneState: PhoneState<Feature>
  ) {
    var leak: String?
    Feature.expose(effect) { text, destination in
      if leak == nil, phoneState.secrets.appear(in: text) { leak = destination }
    }
    if leak == nil, Feature.isLogged(effect), logged.takesNext() {
      if phoneState.secrets.appear(in: "\(effect)") { leak = "a log" }
    }
    guard let leak else { return }
    found.add(.leaked, at: phoneState.now, "a token appears in \(leak)")
  }
}

/// A sample that contains every eighth value that a log would describe.
///
/// Describing a value takes longer than a step of the model. A sample is sufficient, because the
/// same code describes all values of a kind.
package struct LogSample {
  private var seen = 0

  package init() {}

  /// Counts a value and returns whether it is in the sample.
  package mutating func takesNext() -> Bool {
    seen += 1
    return seen % 8 == 1
  }
}

extension LinkFailure {
  /// The human-readable detail, if there is one.
  package var text: String? {
    switch self {
    case .unreachable(let detail), .dns(let detail), .tls(_, let detail), .closed(_, let detail),
      .http(_, _, let detail), .protocolError(let detail), .proxy(let detail), .local(let detail):
      detail
    case .refused, .timeout, .reset, .ended, .captivePortal: nil
    }
  }
}

extension LinkStatus.Reason {
  /// The human-readable detail, if there is one.
  package var text: String? {
    switch self {
    case .failure(let failure), .exhausted(let failure): failure.text
    case .blocked, .signIn, .ended, .debouncing, .limited: nil
    }
  }
}
