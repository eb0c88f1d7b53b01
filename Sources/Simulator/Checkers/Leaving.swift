import LinkCore

/// Finds anything that goes out to the network while the user does not want the link: before they
/// first do, and after they left.
struct Leaving<Feature: SimulatedFeature>: LinkChecker {
  private(set) var found = Findings()
  private var isAway = true

  mutating func told(_ role: InputRole, isLate: Bool, _ standing: Standing<Feature>) {
    switch role {
    case .wanted: isAway = false
    case .left: isAway = true
    case .changed, .lifecycle, .trigger, .credentials, .opened, .data, .draining, .heard, .lost,
      .answered, .refused, .other:
      return
    }
  }

  mutating func asked(
    _ role: EffectRole, _ effect: Feature.Effect, _ standing: Standing<Feature>
  ) {
    guard isAway else { return }
    let what: String
    switch role {
    case .open: what = "a connection was tried"
    case .ping: what = "a ping was sent"
    case .refreshCredentials: what = "credentials were refreshed"
    case .request: what = "a request was sent"
    case .close, .store, .notice, .signIn, .other: return
    }
    found.add(.storm, at: standing.now, "\(what) after the user left")
  }

  mutating func met(_ seen: Observation<Feature>, _ standing: Standing<Feature>) {
    if case .launched = seen { isAway = true }
  }
}
