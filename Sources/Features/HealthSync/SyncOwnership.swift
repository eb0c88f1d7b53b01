import LinkCore
import LinkWire

/// Whose progress it is: the server is asked before anything is sent, and says its epoch with each
/// answer. With another owner all is read again, and the server's hashes make what it has nothing.
struct SyncOwnership: Sendable, Hashable {
  /// Whether the server said in this process whose progress this is.
  enum Introduction: Sendable, Hashable {
    case unknown
    /// It was asked.
    case asking(since: Instant)
    /// It said so, and that is being stored: a batch that another server accepted would be counted
    /// for the one before.
    case storing
    case known
  }

  /// Another owner, with whom all is read again once nothing is being read or stored.
  private struct Change: Sendable, Hashable {
    var owner: SyncOwner
    /// Not before, after it could not be stored.
    var notBefore: Instant?
  }

  /// The owner; nil before a server said so for the first time.
  private(set) var owner: SyncOwner?
  private(set) var introduction = Introduction.unknown
  private var change: Change?
  /// The number of changes of the owner in this process.
  private var changes = 0

  /// Creates the state of a phone that has no owner.
  init() {}

  /// Whether another owner is waiting to be stored.
  var isChanging: Bool { change != nil }

  /// Whether types may be read: what is read belongs to an owner, who is stored first.
  var allowsReading: Bool { change == nil && introduction != .storing }

  /// Whether batches may be sent.
  var allowsSending: Bool { introduction == .known && change == nil }

  /// When a change may be stored.
  var deadline: Instant? { change?.notBefore }

  /// Takes the stored owner.
  mutating func restore(_ owner: SyncOwner?) { self.owner = owner }

  /// Ends the wait for the next try to store a change.
  mutating func tryNow(at now: Instant) {
    if change?.notBefore != nil { change?.notBefore = now }
  }

  // MARK: Introduction

  /// Notes that the server is asked.
  mutating func ask(at now: Instant) { introduction = .asking(since: now) }

  /// Has the server asked again, unless it is being asked.
  mutating func forgetIntroduction() {
    if case .asking = introduction { return }
    introduction = .unknown
  }

  /// Takes the end of a question; returns when it began, or nil if none was asked.
  mutating func answered(isKnown: Bool) -> Instant? {
    guard case .asking(let since) = introduction else { return nil }  // late
    introduction = isKnown ? .known : .unknown
    return since
  }

  /// Notes that the answer was about an earlier secret, perhaps of another person.
  mutating func distrust() { introduction = .unknown }

  // MARK: The owner

  /// The owner under an epoch that an answer names; nil before an introduction.
  func owner(epoch: String) -> SyncOwner? {
    guard introduction == .known || introduction == .storing, let owner = change?.owner ?? owner
    else { return nil }
    return SyncOwner(server: owner.server, epoch: epoch)
  }

  /// Compares what a server said with what is known.
  ///
  /// - Parameter isPutBack: Whether the queue was put back to an earlier state.
  /// - Returns: The first owner, who is to be stored at once; nil if there is one.
  mutating func heed(
    _ told: SyncOwner, isPutBack: Bool, at now: Instant, _ effects: inout [SyncModel.Effect]
  ) -> SyncOwner? {
    let before = change?.owner ?? owner
    let next = before.map { $0.after(told) } ?? told
    // Nothing was sent yet.
    guard before != nil || isPutBack else { return next }
    guard next != before || isPutBack else { return nil }
    // Two servers behind one address name another epoch with each answer.
    change = Change(
      owner: next,
      notBefore: changes == 0 ? nil : now.advanced(by: SyncSettings.pause(after: changes)))
    changes += 1
    effects.append(.update(.notice(.readsAgain(next))))
    return nil
  }

  /// Whether a change may be stored now.
  mutating func isChangeDue(at now: Instant) -> Bool {
    guard let change else { return false }
    guard let due = change.notBefore else { return true }
    guard now >= due else { return false }
    self.change?.notBefore = nil
    return true
  }

  /// Takes the owner of a change, who is stored next.
  mutating func takeChange() -> SyncOwner? {
    defer { change = nil }
    return change?.owner
  }

  /// Notes that an owner is being stored.
  mutating func store(_ owner: SyncOwner) {
    self.owner = owner
    introduction = .storing
  }

  /// Notes that the owner is stored.
  mutating func stored() {
    if introduction == .storing, change == nil { introduction = .known }
  }

  /// Notes that an owner was not stored, and tries again later.
  ///
  /// - Parameter again: Whether all is read again with that owner.
  /// - Returns: Whether the server has to be asked again.
  mutating func notStored(_ owner: SyncOwner, again: Bool, retryAt: Instant) -> Bool {
    guard change == nil else { return false }
    guard !again else {
      change = Change(owner: owner, notBefore: retryAt)
      return false
    }
    self.owner = nil
    introduction = .unknown
    return true
  }
}
