import LinkCore
import LinkStorage
import LinkWire

/// The changes that wait for the store, and those that it failed to make.
struct RelayWrites: Sendable {
  /// Changes on their way to the store.
  struct Write: Sendable {
    var changes: [RelayChange]
    var next: Next
  }

  /// What follows once a change is durable.
  enum Next: Sendable {
    /// Nothing.
    case nothing
    /// The phone is told its resume token.
    case phone(PhoneID)
    /// The assistant is told its token.
    case access(RequestID, StoredAccess, RelaySecret)
    case logout(RequestID)
    case push(RequestID, PhoneID)
  }

  private let bound: Int
  private var writes: [StoreToken: Write] = [:]
  /// Ends that the store failed to keep, asked for again until they are durable. Each is of
  /// something that was stored, so what bounds that bounds these.
  private var pendingEnds: [RelayChange] = []
  /// Phones that the store failed to keep as they are: after a restart they would count as away
  /// since they left before, and lose their pairings.
  private var pendingPhones: Set<PhoneID> = []
  private var lastToken: UInt64 = 0
  /// Why the last change was not stored; `nil` once one was.
  private(set) var failure: StoreFailure?

  init(bound: Int) {
    self.bound = bound
  }

  /// Whether nothing waits for an answer of the store.
  var isIdle: Bool { writes.isEmpty }

  /// Whether the store failed to keep something that it is asked to keep again.
  var hasPending: Bool { !pendingEnds.isEmpty || !pendingPhones.isEmpty }

  /// Whether the store is so far behind that nothing new may begin: what has begun still ends, and
  /// each call, socket and phone adds a few changes at the most.
  var isBehind: Bool { writes.count >= bound }

  /// Whether a phone that is new waits for the store.
  func storesPhone(_ id: PhoneID) -> Bool {
    writes.values.contains { if case .phone(id) = $0.next { true } else { false } }
  }

  /// Whether the push address of a phone waits for the store.
  func storesPush(of id: PhoneID) -> Bool {
    writes.values.contains { if case .push(_, id) = $0.next { true } else { false } }
  }

  /// Returns when the accesses to a phone that wait for the store were granted.
  func logins(at phone: PhoneID) -> [Timestamp] {
    writes.values.compactMap { write in
      guard case .access(_, let access, _) = write.next, access.phone == phone else { return nil }
      return access.since
    }
  }

  /// Names changes that go to the store.
  mutating func begin(_ changes: [RelayChange], then next: Next) -> StoreToken {
    lastToken += 1
    let token = StoreToken(lastToken)
    writes[token] = Write(changes: changes, next: next)
    return token
  }

  /// Takes the answer of the store; returns what follows, `nil` if nothing waited for it.
  ///
  /// Ends that it failed to keep are kept later, and phones as they are then.
  mutating func end(_ token: StoreToken, failure: StoreFailure?) -> Next? {
    guard let write = writes.removeValue(forKey: token) else { return nil }
    self.failure = failure
    if failure != nil {
      for change in write.changes {
        switch change {
        case .phone(let phone): pendingPhones.insert(phone.id)
        case .endPhone, .endAccess, .endQuestion: pendingEnds.append(change)
        case .access, .question: continue
        }
      }
    }
    return write.next
  }

  /// Takes the changes that the store failed to keep, with the phones as they are now.
  mutating func takePending(_ phone: (PhoneID) -> RelayPhone?) -> [RelayChange] {
    let phones = pendingPhones.sorted().compactMap(phone).filter { !$0.isOver }
    defer { (pendingEnds, pendingPhones) = ([], []) }
    return pendingEnds + phones.flatMap(\.changes)
  }

  /// Waits for nothing any more; returns the pulls that waited, in order of their changes.
  mutating func giveUp() -> [RequestID] {
    let pulls = writes.sorted { $0.key < $1.key }.compactMap { _, write in
      if case .push(let request, _) = write.next { request } else { nil }
    }
    (writes, pendingEnds, pendingPhones) = ([:], [], [])
    return pulls
  }
}
