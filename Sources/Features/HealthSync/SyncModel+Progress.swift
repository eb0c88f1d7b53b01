public import LinkCore
import LinkStorage

// How far a sync has come, for who watches over it.
extension SyncModel {
  /// The policy that it follows.
  public var policy: LinkPolicy { settings.policy }

  /// How many uploads of one type are handed over at once.
  package var depth: Int { settings.depth }

  /// Whether all that fired was read, all that was read is accepted or parked, and the server was
  /// told so.
  package var isComplete: Bool {
    stage == .running && refresh == .none && isSent && lanes.allSatisfy(\.isRead)
      && !needsServer && change == nil
  }

  /// Whether it has work that nothing outside keeps it from doing now.
  package var canWork: Bool {
    guard stage == .running else { return false }
    if needsServer, isSendingAllowed { return true }
    if !unsaved.isEmpty || change != nil { return true }
    return lanes.contains { lane in
      switch lane.run {
      case .gathering, .resting: conditions.isUnlocked
      case .fetching, .committing: true
      case .full: lane.pending > 0
      case .idle: lane.isAgain
      }
    }
  }

  /// The batches that are handed over.
  package var sending: [String] {
    lanes.flatMap { lane in
      lane.batches.compactMap { batch in
        if case .sending = batch.state { batch.queued.file } else { nil }
      }
    }
  }

  /// The batches that wait or are on their way, of all types.
  package var pending: Int { lanes.reduce(0) { $0 + $1.pending } }

  /// The batches that are parked, of all types.
  package var parked: Int { lanes.reduce(0) { $0 + $1.parked } }
}
