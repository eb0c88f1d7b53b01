import LinkCore
import LinkWire

// The secret, the device, the end; and where everything stands.
extension SyncModel {
  /// Has the secret read again that an upload was refused with.
  ///
  /// - Parameter since: When the upload was handed over.
  mutating func refuseSecret(since: Instant, at now: Instant, _ effects: inout [Effect]) {
    // The refusal of several uploads asks once, also of those that were handed over before the
    // secret was replaced.
    guard gate.credentials.state == .available, renewedAt.map({ since >= $0 }) ?? true else {
      return
    }
    gate.credentials.forget()
    askSecret(at: now, &effects)
  }

  private mutating func askSecret(at now: Instant, _ effects: inout [Effect]) {
    if gate.credentials.refresh(at: now) { effects.append(.askSecret) }
  }

  mutating func secret(isNew: Bool, at now: Instant, _ effects: inout [Effect]) {
    guard gate.credentials.isRefreshing else { return }  // late
    guard isNew else { return refusedAgain(at: now, &effects) }
    gate.credentials.renewed(expiresIn: nil, at: now)
    renewedAt = now
    // It may be that of another person.
    if case .asking = introduction {} else { introduction = .unknown }
    if isSecretRefused { effects.append(.update(.notice(.secretRenewed))) }
    isSecretRefused = false
  }

  private mutating func refusedAgain(at now: Instant, _ effects: inout [Effect]) {
    gate.credentials.refreshRejected()
    askAt = now.advanced(by: SyncSettings.secretPause)
    if !isSecretRefused { effects.append(.update(.notice(.secretRefused))) }
    isSecretRefused = true
  }

  /// Reads a refused secret again from time to time.
  mutating func watchSecret(at now: Instant, _ effects: inout [Effect]) {
    if let deadline = gate.credentials.deadline, now >= deadline {
      refusedAgain(at: now, &effects)
    }
    guard let due = askAt, now >= due else { return }
    askAt = nil
    askSecret(at: now, &effects)
  }

  mutating func device(_ change: DeviceChange, at now: Instant) {
    switch change {
    case .reachability(let reachability):
      let wasOpen = gate.obstacle == nil
      gate.reachability = reachability
      if !wasOpen || server.failures > 0, gate.obstacle == nil { tryNow(at: now) }
    case .lifecycle(let lifecycle):
      gate.lifecycle = lifecycle
      if lifecycle == .foreground { tryNow(at: now) }
    case .woke, .again: tryNow(at: now)
    }
  }

  mutating func changed(_ conditions: SyncConditions, at now: Instant) {
    self.conditions = conditions
  }

  /// Ends all waits of ours; windows and the server's wishes still count.
  mutating func tryNow(at now: Instant) {
    if server.heldUntil != nil { server.heldUntil = server.retry.earliest(at: now) }
    server.exhausted = nil
    if askAt != nil { askAt = now }
    if saveAt != nil { saveAt = now }
    if change?.notBefore != nil { change?.notBefore = now }
    for place in lanes.indices {
      lanes[place].isExhausted = false
      if lanes[place].retryAt != nil { lanes[place].retryAt = server.retry.earliest(at: now) }
      if case .resting = lanes[place].run { lanes[place].run = .resting(until: now) }
    }
  }

  mutating func stop(at now: Instant, _ effects: inout [Effect]) {
    switch stage {
    case .new: stage = .stopped
    case .running: stage = .stopping(until: now.advanced(by: SyncSettings.flushTimeout))
    case .stopping, .stopped: return
    }
    giveBack(wakes.keys.sorted(), &effects)
  }

  /// Where the sync stands, for a user who waits for its end.
  public var standing: SyncStanding {
    guard stage != .new else { return .working }
    if isSecretRefused, needsServer { return .secretRefused }
    if let exhausted = server.exhausted, needsServer { return .unreachable(exhausted) }
    if storeFailures >= SyncSettings.mostFailures, let storeFailure {
      return .unwritable(storeFailure)
    }
    for lane in lanes where !lane.isRead && !isStuck(lane) { return .working }
    if needsServer, let obstacle = gate.obstacle { return .unreachable(obstacle.failure) }
    let pending = lanes.filter { $0.pending > 0 }
    if let failure = pending.first?.lastFailure, pending.allSatisfy(\.isExhausted) {
      return .unreachable(failure)
    }
    guard isSent, refresh == .none, !needsServer, change == nil else { return .working }
    for lane in lanes where isStuck(lane) {
      switch lane.sourceFailure {
      case .source(let failure): return .unreadable(failure)
      case .store(let failure): return .unwritable(failure)
      case nil: continue
      }
    }
    return .done(parked: lanes.reduce(0) { $0 + $1.parked })
  }

  /// Whether a type is not read any further now: its source fails, or as many batches are parked as
  /// may wait.
  private func isStuck(_ lane: SyncLane) -> Bool {
    lane.sourceFailures >= SyncSettings.mostFailures || (lane.run == .full && lane.pending == 0)
  }
}

extension Obstacle {
  /// The failure that a try would have met.
  fileprivate var failure: LinkFailure {
    switch self {
    case .unreachable: .unreachable(detail: "this device is offline")
    case .captivePortal: .captivePortal
    case .background: .local(detail: "the app is in background")
    }
  }
}
