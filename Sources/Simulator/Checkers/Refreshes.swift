import LinkCore

/// Finds credentials that are refreshed more than once for a cause, or twice at a time.
struct Refreshes<Feature: SimulatedFeature>: LinkChecker {
  private(set) var found = Findings()
  /// When the refresh that runs began.
  private var running: Instant?
  /// What is told now refuses the credentials.
  private var isRefused = false
  /// The last refresh was for a refusal, and is not answered yet.
  private var isForRefusal = false
  /// Refreshes for a refusal that brought new credentials. One that brought none is made again.
  private var inRow = 0
  /// When the last new credentials came.
  private var broughtAt: Instant?

  /// Credentials that are refused later than this may have expired, which is another cause: the
  /// shortest life of a token in plans (120 s), less 10 s that its answer may take.
  private static var life: Duration { .seconds(110) }
  /// One for the socket, one for the requests beside it.
  private static var causes: Int { 2 }

  mutating func told(_ role: InputRole, isLate: Bool, _ standing: Standing<Feature>) {
    isRefused = false
    switch role {
    case .credentials(let event):
      running = nil
      if case .available = event {
        broughtAt = standing.now
        if isForRefusal { inRow += 1 }
      }
      isForRefusal = false
    case .lost(_, let failure), .refused(let failure):
      isRefused = standing.policy.verdict(on: failure) == .refresh
      if let broughtAt, broughtAt.duration(to: standing.now) >= Self.life { inRow = 0 }
    case .opened, .answered, .wanted, .left, .changed, .lifecycle: inRow = 0
    case .trigger, .data, .draining, .heard, .other: return
    }
  }

  mutating func ticked(_ standing: Standing<Feature>) { isRefused = false }

  mutating func asked(
    _ role: EffectRole, _ effect: Feature.Effect, _ standing: Standing<Feature>
  ) {
    // What comes after is the user's, who signs in.
    if case .signIn = role { inRow = 0 }
    guard case .refreshCredentials = role else { return }
    let time = standing.policy.gate.refreshTimeout
    if let running, running.duration(to: standing.now) < time {
      found.add(.storm, at: standing.now, "credentials were refreshed while a refresh runs")
    }
    running = standing.now
    isForRefusal = isRefused
    guard isRefused else { return }
    if inRow == Self.causes {
      found.add(
        .storm, at: standing.now, "refreshed \(inRow + 1) times in a row for refusals")
    }
  }

  mutating func met(_ seen: Observation<Feature>, _ standing: Standing<Feature>) {
    guard case .launched = seen else { return }
    running = nil
    isForRefusal = false
    inRow = 0
  }
}
