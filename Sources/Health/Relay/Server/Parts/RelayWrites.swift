package import HoldfastCore
package import HoldfastRelayData
package import HoldfastServerParts

/// The changes that are being stored, and those that the store failed to store.
package struct RelayWrites: Sendable {
  /// A group of changes that are being stored.
  struct Write: Sendable {
    var changes: [RelayChange]
    var next: Next
  }

  /// The action to take once the changes are durable.
  package enum Next: Sendable {
    /// No action.
    case nothing
    /// Send the phone its resume token.
    case phone(PhoneID)
    /// Send the assistant its token.
    case access(RequestID, StoredAccess, RelaySecret)
    /// Report a renewal. If nobody waits for it, the access returns to its earlier state.
    case renewal(before: RelayAccess)
    case logout(RequestID)
    case push(RequestID, PhoneID)
    case synced(RequestID, user: String?)
  }

  private let bound: Int
  private var writes = StoreQuestions<Write>()
  /// The removals that failed. They are retried until they are durable.
  ///
  /// Each of them removes a stored item, so the bounds of stored data also bound this list.
  private var pendingEnds: [RelayChange] = []
  /// The phones whose write failed.
  ///
  /// Without a retry, their stored state would show an earlier departure after a restart, and they
  /// would lose their pairings.
  private var pendingPhones: Set<PhoneID> = []
  /// The reason why the last write failed, or `nil` if it succeeded.
  private(set) var failure: StoreFailure?

  init(bound: Int) {
    self.bound = bound
  }

  /// Whether no write is outstanding.
  var isIdle: Bool { writes.isEmpty }

  /// Whether a failed write is waiting for its retry.
  var hasPending: Bool { !pendingEnds.isEmpty || !pendingPhones.isEmpty }

  /// Whether so many writes are outstanding that no new work may start.
  ///
  /// Work that has started still completes. Each call, socket and phone adds only a few writes.
  var isBehind: Bool { writes.count >= bound }

  /// Returns whether a new phone is being stored.
  func storesPhone(_ id: PhoneID) -> Bool {
    writes.all.contains { if case .phone(id) = $0.next { true } else { false } }
  }

  /// Returns whether the push address of a phone is being stored.
  func storesPush(of id: PhoneID) -> Bool {
    writes.all.contains { if case .push(_, id) = $0.next { true } else { false } }
  }

  /// Returns the login times of the accesses to a phone that are being stored.
  func logins(at phone: PhoneID) -> [Timestamp] {
    writes.all.compactMap { write in
      guard case .access(_, let access, _) = write.next, access.phone == phone else { return nil }
      return access.since
    }
  }

  /// Assigns a token to changes that are being stored.
  package mutating func begin(_ changes: [RelayChange], then next: Next) -> StoreToken {
    writes.ask(Write(changes: changes, next: next))
  }

  /// Handles the result of a write. Returns the next action, or `nil` for an unknown token.
  ///
  /// Failed removals and failed writes of phones are retried later. A retry writes the phone's
  /// state at that time.
  package mutating func end(_ token: StoreToken, failure: StoreFailure?) -> Next? {
    guard let write = writes.take(token) else { return nil }
    self.failure = failure
    if failure != nil {
      for change in write.changes {
        switch change {
        case .phone(let phone): pendingPhones.insert(phone.id)
        case .endPhone, .endAccess, .endQuestion: pendingEnds.append(change)
        case .access, .question, .session, .endSession: continue
        }
      }
    }
    return write.next
  }

  /// Removes and returns the changes to retry. They contain the current state of the phones.
  mutating func takePending(_ phone: (PhoneID) -> RelayPhone?) -> [RelayChange] {
    let phones = pendingPhones.sorted().compactMap(phone).filter { !$0.isOver }
    defer { (pendingEnds, pendingPhones) = ([], []) }
    return pendingEnds + phones.flatMap(\.changes)
  }

  /// Drops all writes. Returns the pulls that waited for them, in order.
  mutating func giveUp() -> [RequestID] {
    (pendingEnds, pendingPhones) = ([], [])
    return writes.removeAll().compactMap { write in
      switch write.next {
      case .push(let request, _), .synced(let request, _): request
      case .nothing, .phone, .access, .renewal, .logout: nil
      }
    }
  }
}
