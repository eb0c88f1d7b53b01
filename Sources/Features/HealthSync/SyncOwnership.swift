import LinkCore
import LinkWire

/// The owner of the progress: a server with its user and epoch.
///
/// The server is asked for the owner before anything is sent, and names its epoch in each response.
/// If the owner changes, everything is read again. The server's hashes turn batches that it already
/// has into no-ops.
struct SyncOwnership: Sendable, Hashable {
  /// Whether the server has identified the owner in this process.
  enum Identification: Sendable, Hashable {
    case unknown
    /// The request to the server is in progress.
    case asking(since: Instant)
    /// The owner is being stored. Until then a batch accepted by a new server would count for the
    /// old one.
    case storing
    case known
  }

  /// A change of the owner, which causes a full reading once nothing is being read or stored.
  private struct Change: Sendable, Hashable {
    var owner: SyncOwner
    /// The earliest instant of the change, after it could not be stored.
    var notBefore: Instant?
  }

  /// The owner; nil until a server first identified it.
  private(set) var owner: SyncOwner?
  private(set) var identification = Identification.unknown
  private var change: Change?
  /// The number of changes of the owner in this process.
  private var changes = 0

  /// Creates the state of a phone that has no owner.
  init() {}

  /// Whether a change of the owner waits to be stored.
  var isChanging: Bool { change != nil }

  /// Whether types may be read. Their data belongs to an owner, who must be stored first.
  var allowsReading: Bool { change == nil && identification != .storing }

  /// Whether batches may be sent.
  var allowsSending: Bool { identification == .known && change == nil }

  /// When a change may be stored.
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

  /// Records the end of a request; returns when it began, or nil if none was in progress.
  mutating func answered(isKnown: Bool) -> Instant? {
    guard case .asking(let since) = identification else { return nil }  // late
    identification = isKnown ? .known : .unknown
    return since
  }

  /// Discards the identification, for example because it was for an earlier secret.
  mutating func verifyAgain() { identification = .unknown }

  // MARK: The owner

  /// Returns the owner with the epoch of a response; nil before the identification.
  func owner(epoch: String) -> SyncOwner? {
    guard identification == .known || identification == .storing, let owner = change?.owner ?? owner
    else { return nil }
    return SyncOwner(server: owner.server, epoch: epoch)
  }

  /// Compares the reported owner with the stored one.
  ///
  /// - Parameter isRolledBack: Whether the queue was restored to an earlier state.
  /// - Returns: The first owner, to be stored at once; nil if there is an owner.
  mutating func adopt(
    _ reported: SyncOwner, isRolledBack: Bool, at now: Instant, _ effects: inout [SyncModel.Effect]
  ) -> SyncOwner? {
    let before = change?.owner ?? owner
    let next = before.map { $0.after(reported) } ?? reported
    // Nothing has been sent yet.
    guard before != nil || isRolledBack else { return next }
    guard next != before || isRolledBack else { return nil }
    // Behind one address there may be two servers, so that each response names another epoch.
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

  /// Removes the pending change, and returns its owner to be stored.
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
  /// - Parameter again: Whether everything is read again with that owner.
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
