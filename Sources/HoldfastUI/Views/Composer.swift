#if canImport(SwiftUI)
  import SwiftUI

  /// A field for a text, and a button that sends it.
  struct Composer: View {
    let prompt: Phrase
    let send: @MainActor (String) async throws -> Void
    @State private var draft = Draft()

    var body: some View {
      VStack(alignment: .leading, spacing: 4) {
        if let failure = draft.failure {
          Text(failure).font(.footnote).foregroundStyle(.red)
        }
        HStack(alignment: .lastTextBaseline) {
          TextField(text: $draft.text, prompt: Text(prompt), axis: .vertical) { Text(prompt) }
            .lineLimit(1...6)
            .submitLabel(.send)
            .onSubmit(submit)
          Button(action: submit) { Image(systemName: "arrow.up.circle.fill").font(.title2) }
            .buttonStyle(.borderless)
            .disabled(!draft.canSend)
            .accessibilityLabel(Text(Phrase("action.send")))
        }
      }
    }

    private func submit() {
      let (draft, send) = (draft, send)
      Task { await draft.send(with: send) }
    }
  }
#endif
