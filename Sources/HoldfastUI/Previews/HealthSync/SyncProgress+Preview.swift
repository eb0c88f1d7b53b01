public import Foundation
public import Holdfast
import HoldfastHealthSync

extension SyncProgress {
  /// Returns a model for previews and for tests of an app's screens. It uses no network, no disk and
  /// no clock. Its methods have no effect.
  ///
  /// - Parameters:
  ///   - types: The counts of the synced types.
  ///   - quarantined: The batches that the server did not accept.
  ///   - needsSignIn: Whether the server refused the secret.
  ///   - notice: The most recent problem.
  ///   - lastSync: The time of the last complete sync.
  ///   - canAsk: Whether the user can be asked for access.
  ///   - phase: Whether the sync is open.
  public static func preview(
    _ types: [SyncTypeRow] = [], quarantined: [SyncUpdate.BatchReport] = [],
    needsSignIn: Bool = false, notice: SyncUpdate.Notice? = nil, lastSync: Date? = nil,
    canAsk: Bool = false, phase: OpeningPhase = .open
  ) -> SyncProgress {
    let model = SyncProgress(
      Opening(previewing: phase), Dates(clock: PreviewClock()),
      source: canAsk ? (samples: NoSamples(), types: { [] }) : nil)
    (model.types, model.quarantined, model.lastSync) = (types, quarantined, lastSync)
    (model.needsSignIn, model.notice) = (needsSignIn, notice)
    return model
  }
}
