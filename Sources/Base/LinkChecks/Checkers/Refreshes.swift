import HoldfastCore

/// A checker that detects credentials that are refreshed too often after refusals, or again while a
/// refresh is in progress.
struct Refreshes<Feature: ObservedFeature>: LinkChecker {
  private(set) var found = Findings()
  /// The time at which the refresh in progress began.
  private var running: Instant?
  /// Whether the current input refuses the credentials.
  private var isRefused = false
  /// Whether the last refresh was caused by a refusal and is still unanswered.
  private var isForRefusal = false
  /// The number of consecutive refreshes that followed a refusal and returned new credentials. A
  /// refresh that returned none may be repeated.
  private var inRow = 0
  /// The time at which new credentials last arrived.
  private var broughtAt: Instant?

  /// The age from which refused credentials may have expired. Expiry is another cause for a
  /// refresh.
  ///
  /// The age is the shortest lifetime of a token in plans (120 s) minus the 10 s that the response
  /// may take.
  private static var life: Duration { .seconds(110) }
  /// The number of permitted causes: one for the socket, and one for the requests outside it.
  private static var causes: Int { 2 }

  mutating func received(_ role: InputRole, isLate: Bool, _ phoneState: PhoneState<Feature>) {
    isRefused = false
    switch role {
    case .credentials(let event):
      running = nil
      if case .available = event {
        broughtAt = phoneState.now
        if isForRefusal { inRow += 1 }
      }
      isForRefusal = false
    case .lost(_, let failure), .refused(let failure):
      isRefused = phoneState.policy.action(on: failure) == .refresh
      if let broughtAt, broughtAt.duration(to: phoneState.now) >= Self.life { inRow = 0 }
    case .opened, .answered, .wanted, .left, .changed, .lifecycle: inRow = 0
    case .trigger, .data, .draining, .received, .other: return
    }
  }

  mutating func ticked(_ phoneState: PhoneState<Feature>) { isRefused = false }

  mutating func requested(
    _ role: EffectRole, _ effect: Feature.Effect, _ phoneState: PhoneState<Feature>
  ) {
    // After a sign-in request, the next credentials come from the user.
    if case .signIn = role { inRow = 0 }
    guard case .refreshCredentials = role else { return }
    let time = phoneState.policy.gate.refreshTimeout
    if let running, running.duration(to: phoneState.now) < time {
      found.add(.storm, at: phoneState.now, "credentials were refreshed while a refresh runs")
    }
    running = phoneState.now
    isForRefusal = isRefused
    guard isRefused else { return }
    if inRow == Self.causes {
      found.add(
        .storm, at: phoneState.now, "refreshed \(inRow + 1) times in a row for refusals")
    }
  }

  mutating func handle(_ seen: Observation<Feature>, _ phoneState: PhoneState<Feature>) {
    guard case .launched = seen else { return }
    running = nil
    isForRefusal = false
    inRow = 0
  }
}
