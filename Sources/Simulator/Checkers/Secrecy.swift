import LinkCore

/// Finds a token in anything that the model asks to write, to send or to show.
struct Secrecy<Feature: SimulatedFeature>: LinkChecker {
  private(set) var found = Findings()
  /// How many effects came that a log would tell of.
  private var logged = 0

  mutating func asked(
    _ role: EffectRole, _ effect: Feature.Effect, _ standing: Standing<Feature>
  ) {
    var leak: String?
    Feature.expose(effect) { text, place in
      if leak == nil, standing.secrets.appear(in: text) { leak = place }
    }
    if leak == nil, Feature.isLogged(effect) {
      // A description costs more than a step, and all of one kind are made by the same lines.
      if logged.isMultiple(of: 8), standing.secrets.appear(in: "\(effect)") { leak = "a log" }
      logged += 1
    }
    guard let leak else { return }
    found.add(.leaked, at: standing.now, "a token stands in \(leak)")
  }
}

extension LinkFailure {
  /// What it says for people.
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
  /// What it says for people.
  var text: String? {
    switch self {
    case .failure(let failure), .exhausted(let failure): failure.text
    case .obstacle, .signIn, .ended, .settling: nil
    }
  }
}
