import Holdfast
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastHealthSync
import HoldfastSyncData

/// The progress of a sync, in words.
struct SyncText: Sendable, Hashable {
  /// An action that the user can take.
  enum Action: Sendable, Hashable {
    case signIn, retry
  }

  /// The name of a symbol.
  let symbol: String
  let title: Phrase
  /// The reason why the sync waits; `nil` if it does not wait.
  let reason: Phrase?
  let action: Action?
  /// Whether something is in progress.
  let isBusy: Bool
  /// The number of sent values; `nil` before the first count.
  let sent: Int?
  /// The number of batches that the server did not accept.
  let quarantined: Int

  init(
    _ types: [SyncTypeRow], quarantined: [SyncBatchReport], needsSignIn: Bool, _ notice: SyncNotice?
  ) {
    let pending = types.reduce(0) { $0 + $1.report.pending }
    self.quarantined = quarantined.count
    sent = types.isEmpty ? nil : types.reduce(0) { $0 + $1.report.synced }
    let isWaiting = types.isEmpty || pending > 0
    let cause = needsSignIn ? Phrase("sync.signIn") : notice.flatMap { Self.cause($0, isWaiting) }
    reason = cause
    isBusy = cause == nil && isWaiting
    action = needsSignIn ? .signIn : cause != nil ? .retry : nil
    title =
      types.isEmpty
      ? Phrase("sync.reading") : pending > 0 ? Phrase("sync.pending", pending) : Phrase("sync.done")
    symbol =
      cause != nil ? "exclamationmark.triangle" : isWaiting ? "arrow.up.circle" : "checkmark.circle"
  }

  /// Returns why a sync waits.
  ///
  /// A failure of the network is no longer of interest once everything is sent.
  private static func cause(_ notice: SyncNotice, _ isWaiting: Bool) -> Phrase? {
    switch notice {
    case .source(type: _, let failure): Phrase(failure)
    case .store(let failure): Phrase(failure)
    case .unreachable: isWaiting ? Phrase("sync.unreachable") : nil
    case .secretRefused, .secretRenewed, .divided, .readsAgain, .notRefreshed: nil
    }
  }
}

extension Phrase {
  /// Creates the text of a failure of the source.
  init(_ failure: HealthSourceFailure) {
    switch failure {
    case .locked: self.init("sync.locked")
    case .failed: self.init("sync.source")
    }
  }
}
