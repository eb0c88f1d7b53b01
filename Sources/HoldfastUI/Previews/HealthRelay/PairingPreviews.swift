#if canImport(SwiftUI)
  import HoldfastCore
  import HoldfastHealthRelay
  import HoldfastRelayData
  import SwiftUI

  extension RelayPair {
    /// A pairing code.
    static let sample = RelayPair(
      code: Secret("402918"), word: Secret("amber-fox"), expiresIn: .seconds(600))
  }

  extension AssistantRow {
    /// An assistant that has asked.
    static let sample = AssistantRow(
      PairedAssistants.Assistant(
        id: "a", name: AssistantName("Claude"), since: nil,
        lastQuestion: Timestamp(seconds: 1_788_256_800, nanoseconds: 0),
        expiresAt: Timestamp(seconds: 1_788_264_000, nanoseconds: 0)))
  }

  struct PairingCard_Previews: PreviewProvider {
    static var previews: some View {
      card(.preview())
      card(.preview(connection: ConnectionState(phase: .connecting, attempt: 1)))
      card(.preview(.sample, connection: .live))
      card(.preview(connection: .live))
      card(.preview(connection: .live, assistants: [.sample], usesSynced: true))
      card(
        .preview(
          .sample,
          connection: ConnectionState(phase: .reconnecting, reason: .interrupted, attempt: 1)))
      card(
        .preview(connection: ConnectionState(phase: .off, reason: .server, failure: .refused)))
    }

    private static func card(_ pairing: HealthPairing) -> some View {
      PairingCard(pairing).padding()
    }
  }
#endif
