#if canImport(SwiftUI)
  import Foundation
  import Holdfast
  import HoldfastCore
  import HoldfastMessageStream
  import HoldfastMessageData
  import SwiftUI

  struct MessageListView_Previews: PreviewProvider {
    private static let rows: [MessageRow] = [
      .sample(1, "Two oat, please."), .sample(2, "They are on their way.", by: "Grace"),
      .sample(3, "Thank you!", isEdited: true),
    ]

    static var previews: some View {
      MessageListView(sample(), user: "Ada")
      MessageListView(.preview())
      MessageListView(
        sample(
          ConnectionState(
            phase: .reconnecting, retryAt: .now + 40, reason: .offline, attempt: 4),
          notice: .fetchFailed(.refused)), signIn: {})
      MessageListView(.preview(phase: .failed(.store(.locked(detail: "")))))
    }

    /// Returns a shop with messages of all kinds.
    private static func sample(
      _ connection: ConnectionState = .live, notice: StreamNotice? = nil
    ) -> ShopMessages {
      .preview(
        rows.map(\.message),
        gaps: [ShopGap(after: rows[0].message.key, before: rows[1].message.key)],
        waiting: [.sample(1, "And one rye."), .sample(2, "Hello?", failed: "no answer")],
        connection: connection, hasOlder: true, notice: notice)
    }
  }
#endif
