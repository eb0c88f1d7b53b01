#if canImport(SwiftUI)
  import Foundation
  import SwiftUI

  /// A field for a text, and a button that sends it.
  struct Composer: View {
    let prompt: Phrase
    let attach: (@MainActor () async throws -> Data?)?
    let send: @MainActor (String, Data?) async throws -> Void
    @State private var draft: Draft

    /// Creates a composer.
    ///
    /// - Parameter text: The text that the field has at first.
    init(
      prompt: Phrase, text: String = "",
      send: @escaping @MainActor (String) async throws -> Void
    ) {
      self.init(prompt: prompt, text: text, attach: nil) { text, _ in try await send(text) }
    }

    /// Creates a composer that can send an image with the text.
    ///
    /// - Parameter attach: A closure that lets the user pick an image; `nil` for none.
    init(
      prompt: Phrase, text: String = "", attach: (@MainActor () async throws -> Data?)?,
      send: @escaping @MainActor (String, Data?) async throws -> Void
    ) {
      (self.prompt, self.attach, self.send) = (prompt, attach, send)
      _draft = State(initialValue: Draft(text))
    }

    var body: some View {
      VStack(alignment: .leading, spacing: 4) {
        if let failure = draft.failure {
          Text(failure).font(.footnote).foregroundStyle(.red)
        }
        if draft.image != nil {
          HStack {
            Text(Phrase("compose.image")).font(.footnote).foregroundStyle(.secondary)
            Button(action: { draft.detach() }) { Text(Phrase("action.remove")) }
          }
        }
        HStack(alignment: .lastTextBaseline) {
          if let attach {
            Button(action: { pick(attach) }) { Image(systemName: "photo").font(.title2) }
              .buttonStyle(.borderless)
              .accessibilityLabel(Text(Phrase("compose.attach")))
          }
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

    private func pick(_ attach: @escaping @MainActor () async throws -> Data?) {
      let draft = draft
      Task { await draft.attach(from: attach) }
    }

    private func submit() {
      let (draft, send) = (draft, send)
      Task { await draft.send(with: send) }
    }
  }
#endif
