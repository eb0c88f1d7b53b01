#if canImport(SwiftUI)
  import SwiftUI

  /// The phase of a model while its feature is not open.
  struct OpeningView: View {
    let phase: OpeningPhase
    let retry: @MainActor () -> Void

    var body: some View {
      if let text = OpeningText(phase) {
        if text.isBusy {
          ProgressView { Text(text.title) }
        } else {
          VStack(alignment: .leading, spacing: 4) {
            Text(text.title)
            if text.canRetry { Button(action: retry) { Text(Phrase("action.retry")) } }
          }
          .frame(maxWidth: .infinity, alignment: .leading)
        }
      }
    }
  }

  /// A text that the user can put away.
  struct NoticeView: View {
    let phrase: Phrase
    let dismiss: (@MainActor () -> Void)?

    var body: some View {
      HStack(alignment: .firstTextBaseline) {
        Text(phrase).font(.footnote).foregroundStyle(.secondary)
        Spacer(minLength: 8)
        if let dismiss {
          Button(action: dismiss) { Image(systemName: "xmark") }
            .buttonStyle(.borderless)
            .accessibilityLabel(Text(Phrase("action.dismiss")))
        }
      }
    }
  }

  extension View {
    /// Shows a view as a card.
    func card() -> some View {
      padding()
        .frame(maxWidth: .infinity, alignment: .leading)
        .background(.quaternary, in: RoundedRectangle(cornerRadius: 16))
    }
  }
#endif
