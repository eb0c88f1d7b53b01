#if canImport(SwiftUI)
  import Holdfast
  import HoldfastFeaturePorts
  import SwiftUI

  /// A button that asks the user for access to health data, and why the question could not be shown.
  struct AskButton: View {
    /// Shows the system's question.
    let ask: @MainActor () async throws(HealthSourceFailure) -> Void
    @State private var isAsking = false
    @State private var refusal: HealthSourceFailure?

    var body: some View {
      Button(action: start) { Text(Phrase("sync.ask")) }.disabled(isAsking)
      if let refusal { Text(Phrase(refusal)).font(.footnote).foregroundStyle(.red) }
    }

    private func start() {
      (isAsking, refusal) = (true, nil)
      Task {
        do throws(HealthSourceFailure) {
          try await ask()
        } catch {
          refusal = error
        }
        isAsking = false
      }
    }
  }
#endif
