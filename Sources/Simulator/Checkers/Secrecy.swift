import LinkCore

/// A checker that finds tokens in anything that the model stores, sends or shows.
struct Secrecy<Feature: SimulatedFeature>: LinkChecker {
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
    found.add(.leaked, at: phoneState.now, "a token stands in \(leak)")
  }
}

/// A sample of every eighth value that a log would describe. A description costs more than a step,
/// and the same code describes all values of a kind.
struct LogSample {
  private var seen = 0

  /// Counts a value and returns whether it is in the sample.
  mutating func takesNext() -> Bool {
    seen += 1
    return seen % 8 == 1
  }
}

extension LinkFailure {
  /// The detail for people.
  var text: String? {
    switch self {
    case .unreachable(let detail), .dns(let detail), .tls(_, let detail), .closed(_, let detail),
      .http(_, _, let detail), .protocolError(let detail), .proxy(let detail), .local(let detail):
      detail
    case .refused, .timeout, .reset, .ended, .captivePortal: nil
    }
  }
}

extension LinkStatus.Reason {
  /// The detail for people.
  var text: String? {
    switch self {
    case .failure(let failure), .exhausted(let failure): failure.text
    case .blocked, .signIn, .ended, .debouncing, .limited: nil
    }
  }
}
