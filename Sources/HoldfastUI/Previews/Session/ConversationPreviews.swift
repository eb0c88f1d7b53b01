#if canImport(SwiftUI)
  import Foundation
  import Holdfast
  import HoldfastCore
  import HoldfastSession
  import SwiftUI

  extension TurnRow {
    /// Turns of all kinds.
    static let samples: [TurnRow] = [
      .prompt(1, "Which tests fail?", .answered), .answer(2, "None of them."),
      .prompt(3, "And on the server?", .failed), .prompt(4, "Is it up?", .unsure),
      .prompt(5, "How long did they take?", .accepted),
    ]

    /// Creates a prompt of the user.
    static func prompt(
      _ number: Int, _ text: String, _ state: SessionPromptState.State
    ) -> TurnRow {
      TurnRow(
        id: UUID128(high: 0, low: UInt64(number)).description, role: .user, text: text,
        date: Date(Timestamp.sample(minute: number)), state: state)
    }

    /// Creates an answer.
    static func answer(_ number: Int, _ text: String) -> TurnRow {
      TurnRow(
        id: "answer \(number)", role: .assistant, text: text,
        date: Date(Timestamp.sample(minute: number)))
    }
  }

  struct ConversationView_Previews: PreviewProvider {
    static var previews: some View {
      ConversationView(.preview(TurnRow.samples))
      ConversationView(.preview())
      ConversationView(
        .preview(
          TurnRow.samples,
          connection: ConnectionState(phase: .off, reason: .signIn, needsSignIn: true),
          gap: .pruned), signIn: {})
    }
  }
#endif
