import LinkCore
import LinkStorage
import LinkWire

/// Whether the server said in this process whose progress this is.
enum SyncIntroduction: Sendable, Hashable {
  case unknown
  /// It was asked.
  case asking(since: Instant)
  /// It said so, and that is being stored: a batch that another server accepted would be counted
  /// for the one before.
  case storing
  case known
}

/// Another owner of the progress: what was read is read again once nothing of it is being stored.
struct SyncChange: Sendable, Hashable {
  var owner: SyncOwner
  /// Not before, after it could not be stored.
  var notBefore: Instant?
}

// Whose progress it is: the server is asked before anything is sent, and says its epoch with each
// answer. With another one all is read again, and the server's hashes make what it has nothing.
extension SyncModel {
  /// Whether types may be read: what is read belongs to an owner, who is stored first.
  var mayRead: Bool { change == nil && introduction != .storing }

  /// Whether the server is needed: a batch waits, or it has not said whose progress this is.
  var needsServer: Bool { hasWaiting || (introduction != .known && !lanes.isEmpty) }

  /// Asks the server who it is, and who is meant by the secret.
  mutating func introduce(at now: Instant, _ effects: inout [Effect]) {
    guard introduction == .unknown, needsServer, isSendingAllowed, server.heldUntil == nil else {
      return
    }
    if server.failures > 0, !mayTry(at: now) { return }
    introduction = .asking(since: now)
    effects.append(.identify)
  }

  mutating func identified(
    _ identity: SyncIdentity, at now: Instant, _ effects: inout [Effect]
  ) {
    guard case .asking(let since) = introduction else { return }  // late
    server.answered(at: now)
    // It was told about an earlier secret, perhaps of another person.
    if let renewedAt, since < renewedAt { return introduction = .unknown }
    introduction = .known
    // A stamp that the server knows and the queue does not: the queue was put back to an earlier
    // state, and what it says from now on is newer than all that it has said.
    let isPutBack = identity.stamp.map { $0 > stamp } ?? false
    if let newest = identity.stamp { stamp = max(stamp, newest) }
    heed(identity.owner, isPutBack: isPutBack, at: now, &effects)
  }

  /// Takes the epoch that an answer names.
  mutating func told(epoch: String, at now: Instant, _ effects: inout [Effect]) {
    guard introduction == .known || introduction == .storing,
      let owner = change?.owner ?? owner
    else { return }
    heed(SyncOwner(server: owner.server, epoch: epoch), isPutBack: false, at: now, &effects)
  }

  private mutating func heed(
    _ told: SyncOwner, isPutBack: Bool, at now: Instant, _ effects: inout [Effect]
  ) {
    let before = change?.owner ?? owner
    let next = before.map { $0.after(told) } ?? told
    guard before != nil || isPutBack else {
      // Nothing was sent yet.
      return own(next, again: false, &effects)
    }
    guard next != before || isPutBack else { return }
    // Two servers behind one address name another epoch with each answer.
    change = SyncChange(
      owner: next,
      notBefore: changes == 0 ? nil : now.advanced(by: SyncSettings.pause(after: changes)))
    changes += 1
    effects.append(.update(.notice(.readsAgain(next))))
  }

  private mutating func own(_ owner: SyncOwner, again: Bool, _ effects: inout [Effect]) {
    self.owner = owner
    introduction = .storing
    commit(.own(owner, again: again), [.own(owner, again: again)], &effects)
  }

  mutating func notIdentified(
    _ failure: LinkFailure, at now: Instant, _ effects: inout [Effect]
  ) {
    guard case .asking(let since) = introduction else { return }  // late
    introduction = .unknown
    if case .http(401, _, _) = failure {
      refuseSecret(since: since, at: now, &effects)
    } else {
      holdAll(failure, since: since, at: now, &effects)
    }
  }

  /// Forgets how far was read, in one transaction with the new owner. It waits for what is being
  /// read or stored, which belongs to the previous owner.
  mutating func readAgain(at now: Instant, _ effects: inout [Effect]) {
    guard let change else { return }
    if let due = change.notBefore {
      guard now >= due else { return }
      self.change?.notBefore = nil
    }
    for case .page in commits.values { return }
    for case .accepted in commits.values { return }
    for lane in lanes { if case .fetching = lane.run { return } }
    self.change = nil
    for place in lanes.indices {
      (lanes[place].anchor, lanes[place].synced) = (nil, 0)
      switch lanes[place].run {
      case .gathering, .resting: break
      case .idle: if lanes[place].isAsked { lanes[place].run = .gathering(until: now) }
      case .fetching, .committing, .full: begin(anew: place, at: now, &effects)
      }
      report(place, &effects)
    }
    own(change.owner, again: true, &effects)
  }

  /// It is stored whose progress it is.
  mutating func owned() {
    if introduction == .storing, change == nil { introduction = .known }
  }

  /// Tries again to store whose progress it is.
  mutating func notOwned(_ owner: SyncOwner, again: Bool, at now: Instant) {
    guard change == nil else { return }
    let pause = now.advanced(by: SyncSettings.pause(after: storeFailures))
    if again {
      change = SyncChange(owner: owner, notBefore: pause)
    } else {
      self.owner = nil
      introduction = .unknown
      server.heldUntil = max(server.heldUntil ?? pause, pause)
    }
  }
}
