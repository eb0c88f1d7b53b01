import HoldfastSyncData

#if canImport(SwiftUI)
  import Foundation
  import HoldfastCore
  import HoldfastHealthSync
  import SwiftUI

  extension SyncTypeRow {
    /// Creates the counts of a type.
    static func sample(_ name: String, pending: Int = 0, synced: Int) -> SyncTypeRow {
      SyncTypeRow(
        SyncTypeReport(
          type: "HKQuantityTypeIdentifier" + name, pending: pending, quarantined: 0,
          synced: synced, anchor: nil))
    }
  }

  extension SyncBatchReport {
    /// A batch that the server did not accept.
    static let sample = SyncBatchReport(
      type: "HKQuantityTypeIdentifierHeartRate", file: "1", records: 20, deletions: 0,
      state: .quarantined, reason: .text("too old"))
  }

  struct SyncCard_Previews: PreviewProvider {
    static var previews: some View {
      card(.preview(canAsk: true))
      card(.preview([.sample("StepCount", pending: 2, synced: 1_200)], canAsk: true))
      card(.preview([.sample("StepCount", synced: 14_000)], lastSync: .now))
      card(.preview([.sample("StepCount", synced: 9)], quarantined: [.sample], lastSync: .now))
      card(
        .preview(
          [.sample("StepCount", synced: 9)],
          notice: .source(type: "HKQuantityTypeIdentifierStepCount", .locked(detail: ""))))
      card(
        .preview([.sample("StepCount", pending: 1, synced: 9)], notice: .unreachable(.refused)))
      card(.preview([.sample("StepCount", pending: 1, synced: 9)], needsSignIn: true))
    }

    private static func card(_ sync: SyncProgress) -> some View {
      SyncCard(sync, signIn: {}).padding()
    }
  }
#endif
