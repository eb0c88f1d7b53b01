import LinkCore

/// Finds a token in anything that the model asks to write, to send or to show.
struct Secrecy<Feature: SimulatedFeature>: LinkChecker {
  private(set) var found = Findings()
  private var logged = LogSample()

  mutating func asked(
    _ role: EffectRole, _ effect: Feature.Effect, _ standing: Standing<Feature>
  ) {
    var leak: String?
    Feature.expose(effect) { text, place in
      if leak == nil, standing.secrets.appear(in: text) { leak = place }
    }
    if leak == nil, Feature.isLogged(effect), logged.takesNext() {
      if standing.secrets.appear(in: "\(effect)") { leak = "a log" }
    }
    guard let leak else { return }
    found.add(.leaked, at: standing.now, "a token stands in \(leak)")
  }
}

/// Each eighth of the values that a log would describe: a description costs more than a step, and
/// all of one kind are made by the same lines.
struct LogSample {
  private var seen = 0

  /// Counts one more; returns whether it is looked at.
  mutating func takesNext() -> Bool {
    seen += 1
    return seen % 8 == 1
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
    case .obstacle, .signIn, .ended, .settling, .limited: nil
    }
  }
}
