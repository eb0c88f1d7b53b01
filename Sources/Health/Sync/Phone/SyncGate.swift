import HoldfastCore

/// A gate for uploads, which depends on the network, the app's state, the cost and the secret.
///
/// A refused secret is read again periodically until it has changed.
struct SyncGate: Sendable, Hashable {
  private(set) var conditions = SyncConditions()
  /// Whether the server refused the secret and no different one has been read since.
  private(set) var isSecretRefused = false
  private var gate: Gate
  /// The instant at which a refused secret is read again.
  private var askAt: Instant?
  /// The instant at which the secret was last replaced.
  private var renewedAt: Instant?

  /// Creates a gate without reported conditions.
  init(_ policy: GatePolicy) { gate = Gate(policy) }

  /// Allows uploads, with a secret that has not been refused.
  mutating func open(at now: Instant) {
    gate.intent = .live
    gate.credentials.renewed(expiresIn: nil, at: now)
  }

  /// Whether uploads may begin.
  var allowsSending: Bool {
    gate.isOpen && (gate.lifecycle == .foreground || conditions.allowsBackground)
  }

  /// Whether the secret is being read.
  var isReadingSecret: Bool { gate.credentials.isRefreshing }

  /// The reason that blocks uploads, apart from a missing or refused secret.
  var blockedReason: BlockedReason? { gate.blockedReason }

  /// The instants at which the secret is read again or the current read times out.
  var deadlines: [Instant?] { [gate.credentials.deadline, askAt] }

  /// Records the cost of uploads.
  mutating func note(_ conditions: SyncConditions) { self.conditions = conditions }

  /// Records a change of the device.
  ///
  /// - Parameter isFailing: Whether the most recent attempts failed.
  /// - Returns: Whether to retry at once.
  mutating func note(_ change: DeviceChange, isFailing: Bool) -> Bool {
    switch change {
    case .reachability(let reachability):
      let wasOpen = gate.blockedReason == nil
      gate.reachability = reachability
      return (!wasOpen || isFailing) && gate.blockedReason == nil
    case .lifecycle(let lifecycle):
      gate.lifecycle = lifecycle
      return lifecycle == .foreground
    case .woke, .again: return true
    }
  }

  /// Ends the wait before a refused secret is read again.
  mutating func tryNow(at now: Instant) {
    if askAt != nil { askAt = now }
  }

  /// Returns whether a request began before the secret was replaced.
  func isOfEarlierSecret(since: Instant) -> Bool { renewedAt.map { since < $0 } ?? false }

  /// Requests that the secret be read again after a refusal.
  ///
  /// - Parameter since: The instant at which the request began.
  mutating func refuseSecret(
    since: Instant, at now: Instant, _ effects: inout [SyncModel.Effect]
  ) {
    // Several refused uploads cause only one read. Uploads that began before the secret was
    // replaced cause none.
    guard gate.credentials.state == .available, !isOfEarlierSecret(since: since) else { return }
    gate.credentials.forget()
    ask(at: now, &effects)
  }

  private mutating func ask(at now: Instant, _ effects: inout [SyncModel.Effect]) {
    if gate.credentials.refresh(at: now) { effects.append(.requestSecret) }
  }

  /// Handles the result of reading the secret again. Returns whether the secret has changed.
  mutating func renew(
    isNew: Bool, at now: Instant, _ effects: inout [SyncModel.Effect]
  ) -> Bool {
    guard gate.credentials.isRefreshing else { return false }  // a late event
    guard isNew else {
      markRefused(at: now, &effects)
      return false
    }
    gate.credentials.renewed(expiresIn: nil, at: now)
    renewedAt = now
    if isSecretRefused { effects.append(.update(.notice(.secretRenewed))) }
    isSecretRefused = false
    return true
  }

  private mutating func markRefused(at now: Instant, _ effects: inout [SyncModel.Effect]) {
    gate.credentials.refreshRejected()
    askAt = now.advanced(by: SyncSettings.secretPause)
    if !isSecretRefused { effects.append(.update(.notice(.secretRefused))) }
    isSecretRefused = true
  }

  /// Reads a refused secret again if that is due.
  mutating func watchSecret(at now: Instant, _ effects: inout [SyncModel.Effect]) {
    if let deadline = gate.credentials.deadline, now >= deadline { markRefused(at: now, &effects) }
    guard let due = askAt, now >= due else { return }
    askAt = nil
    ask(at: now, &effects)
  }

  /// Reports each violated invariant.
  func check(_ check: inout InvariantCheck) {
    check.require(
      !isSecretRefused || gate.credentials.state == .missing,
      "sync: a refused secret is not used")
    gate.check(&check)
  }
}
