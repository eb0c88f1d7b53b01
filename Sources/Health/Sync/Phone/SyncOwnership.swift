import HoldfastCore
import HoldfastSyncData
import HoldfastUploads

/// The owner of the progress: a server with its user and epoch.
///
/// The server is asked for the owner before anything is sent, and each response contains its epoch.
/// If the owner changes, all data is read again. The server recognizes batches that it already has
/// by their hashes and ignores them.
struct SyncOwnership: Sendable, Hashable {
  /// Whether the server has identified the owner in this process.
  enum Identification: Sendable, Hashable {
    case unknown
    /// The request to the server is in progress.
    case asking(since: Instant)
    /// The owner is being stored. If the server changed before that, an accepted batch would be
    /// counted for the old owner.
    case storing
    case known
  }

  /// A change of the owner. It causes all data to be read again once nothing is being read or
  /// stored.
  private struct Change: Sendable, Hashable {
    var owner: SyncOwner
    /// The instant before which the change must not be stored, used after a failure.
    var notBefore: Instant?
  }

  /// The owner; `nil` until a server has identified it.
  private(set) var owner: SyncOwner?
  private(set) var identification = Identification.unknown
  private var change: Change?
  /// The number of changes of the owner in this process.
  private var changes = 0

  /// Creates the state of a phone without an owner.
  init() {}

  /// Whether a change of the owner waits to be stored.
  var isChanging: Bool { change != nil }

  /// Whether types may be read. Their data belongs to an owner, which must be stored first.
  var allowsReading: Bool { change == nil && identification != .storing }

  /// Whether batches may be sent.
  var allowsSending: Bool { identification == .known && change == nil }

  /// Whether the request for the owner is in progress.
  var isAsking: Bool { if case .asking = identification { true } else { false } }

  /// The instant at which the pending change may be stored.
  var deadline: Instant? { change?.notBefore }

  /// Sets the stored owner.
  mutating func restore(_ owner: SyncOwner?) { self.owner = owner }

  /// Ends the wait before another attempt to store a change.
  mutating func tryNow(at now: Instant) {
    if change?.notBefore != nil { change?.notBefore = now }
  }

  // MARK: Introduction

  /// Records that the server is being asked.
  mutating func ask(at now: Instant) { identification = .asking(since: now) }

  /// Requires another identification, unless one is in progress.
  mutating func forgetIdentification() {
    if case .asking = identification { return }
    identification = .unknown
  }

  /// Records the end of a request. Returns the instant at which it began; `nil` if none was in
  /// progress.
  mutating func answered(isKnown: Bool) -> Instant? {
    guard case .asking(let since) = identification else { return nil }  // a late event
    identification = isKnown ? .known : .unknown
    return since
  }

  /// Discards the identification, for example because it was for an earlier secret.
  mutating func verifyAgain() { identification = .unknown }

  // MARK: The owner

  /// Returns the owner with the epoch of a response; `nil` before the identification.
  func owner(epoch: String) -> SyncOwner? {
    guard identification == .known || identification == .storing, let owner = change?.owner ?? owner
    else { return nil }
    return SyncOwner(server: owner.server, epoch: epoch)
  }

  /// Compares the reported owner with the stored one.
  ///
  /// - Parameter isRolledBack: Whether the queue was restored to an earlier state.
  /// - Returns: The owner to store at once if there was none; `nil` otherwise.
  mutating func adopt(
    _ reported: SyncOwner, isRolledBack: Bool, at now: Instant, _ effects: inout [SyncModel.Effect]
  ) -> SyncOwner? {
    let before = change?.owner ?? owner
    let next = before.map { $0.after(reported) } ?? reported
    // Nothing has been sent yet.
    guard before != nil || isRolledBack else { return next }
    guard next != before || isRolledBack else { return nil }
    // Two servers may share one address, so that the epoch alternates between responses.
    change = Change(
      owner: next,
      notBefore: changes == 0 ? nil : now.advanced(by: SyncSettings.pause(after: changes)))
    changes += 1
    effects.append(.update(.notice(.readsAgain(next))))
    return nil
  }

  /// Returns whether a change may be stored now.
  mutating func isChangeDue(at now: Instant) -> Bool {
    guard let change else { return false }
    guard let due = change.notBefore else { return true }
    guard now >= due else { return false }
    self.change?.notBefore = nil
    return true
  }

  /// Removes the pending change. Returns its owner, which the caller must store.
  mutating func takeChange() -> SyncOwner? {
    defer { change = nil }
    return change?.owner
  }

  /// Records that an owner is being stored.
  mutating func store(_ owner: SyncOwner) {
    self.owner = owner
    identification = .storing
  }

  /// Records that the owner is stored.
  mutating func stored() {
    if identification == .storing, change == nil { identification = .known }
  }

  /// Records that an owner was not stored, and schedules a retry.
  ///
  /// - Parameter again: Whether all data is read again for that owner.
  /// - Returns: Whether the server has to be asked again.
  mutating func notStored(_ owner: SyncOwner, again: Bool, retryAt: Instant) -> Bool {
    guard change == nil else { return false }
    guard !again else {
      change = Change(owner: owner, notBefore: retryAt)
      return false
    }
    self.owner = nil
    identification = .unknown
    return true
  }
}
