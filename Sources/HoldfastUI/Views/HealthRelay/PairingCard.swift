#if canImport(SwiftUI)
  import Holdfast
  import HoldfastCore
  import HoldfastFeaturePorts
  public import SwiftUI

  /// The pairing of the phone with assistants: the code to give to one, and its last questions.
  ///
  ///     PairingCard(links.healthRelay())
  public struct PairingCard: View {
    private let relay: HealthPairing
    private let signIn: (@MainActor () -> Void)?

    /// Creates a card.
    ///
    /// - Parameter signIn: A closure that lets the user sign in; `nil` if the app has no such screen.
    public init(_ relay: HealthPairing, signIn: (@MainActor () -> Void)? = nil) {
      (self.relay, self.signIn) = (relay, signIn)
    }

    /// The view's content.
    public var body: some View {
      let relay = relay
      PairingView(relay: relay, signIn: signIn)
        .id(ObjectIdentifier(relay))
        .card()
        .task(id: ObjectIdentifier(relay)) { await relay.follow() }
    }
  }

  /// The content of the card. Its state belongs to one model.
  private struct PairingView: View {
    let relay: HealthPairing
    let signIn: (@MainActor () -> Void)?
    /// Why the token of the pairing could not be read or removed.
    @State private var failure: StoreFailure?
    @State private var isForgetting = false

    var body: some View {
      let text = PairingText(relay.connection, relay.pair)
      VStack(alignment: .leading, spacing: 12) {
        Text(Phrase("pairing.title")).font(.headline).accessibilityAddTraits(.isHeader)
        if relay.phase == .open {
          PairingStateView(text: text)
          ConnectionStatusView(relay.connection, retry: { relay.reconnect() }, signIn: signIn)
          problems
          if relay.access.isUsed { AccessView(access: relay.access) }
          if relay.canAsk {
            AskButton { () async throws(HealthSourceFailure) in try await relay.ask() }
          }
          buttons(text)
          ReceiptList(receipts: relay.receipts)
        } else {
          OpeningView(phase: relay.phase) { relay.retry() }
        }
      }
    }

    @ViewBuilder private var problems: some View {
      if let failure { Text(Phrase(failure)).font(.footnote).foregroundStyle(.red) }
      if let problem = relay.problem, let phrase = Phrase(problem) {
        NoticeView(phrase: phrase, dismiss: nil)
      }
    }

    @ViewBuilder private func buttons(_ text: PairingText) -> some View {
      if text.action == .start {
        Button(action: { attempt { () throws(StoreFailure) in try relay.start() } }) {
          Text(Phrase("pairing.start"))
        }
        .buttonStyle(.borderedProminent)
      }
      if text.canForget {
        Button(role: .destructive, action: { isForgetting = true }) {
          Text(Phrase("pairing.forget"))
        }
        .confirmationDialog(
          Text(Phrase("pairing.forget.title")), isPresented: $isForgetting,
          titleVisibility: .visible
        ) {
          Button(
            role: .destructive,
            action: { attempt { () throws(StoreFailure) in try relay.stop() } }
          ) {
            Text(Phrase("pairing.forget.confirm"))
          }
          Button(role: .cancel, action: {}) { Text(Phrase("action.cancel")) }
        } message: {
          Text(Phrase("pairing.forget.message"))
        }
      }
    }

    private func attempt(_ act: () throws(StoreFailure) -> Void) {
      do throws(StoreFailure) {
        try act()
        failure = nil
      } catch {
        failure = error
      }
    }
  }

  /// The state of a pairing, with its code.
  private struct PairingStateView: View {
    let text: PairingText

    var body: some View {
      if text.isBusy {
        ProgressView { Text(text.title) }
      } else {
        Text(text.title)
      }
      if let code = text.code {
        VStack(alignment: .leading, spacing: 4) {
          Text(verbatim: code.code).font(.largeTitle).monospacedDigit()
          Text(verbatim: code.word).font(.title2)
        }
        .privacySensitive()
        .accessibilityElement(children: .combine)
        .accessibilityLabel(Text(code.spoken))
        if let validity = code.validity {
          Text(validity).font(.footnote).foregroundStyle(.secondary)
        }
      }
    }
  }

  /// The last questions of assistants.
  private struct ReceiptList: View {
    let receipts: [ReceiptRow]

    /// The number of questions that are shown.
    private static let limit = 5

    var body: some View {
      if !receipts.isEmpty {
        Text(Phrase("pairing.questions")).font(.subheadline).accessibilityAddTraits(.isHeader)
        ForEach(receipts.prefix(Self.limit)) { row in
          HStack(alignment: .firstTextBaseline) {
            Text(Phrase(row.receipt.outcome))
            Spacer(minLength: 8)
            Text(row.date, style: .time).foregroundStyle(.secondary)
          }
          .font(.footnote)
          .accessibilityElement(children: .combine)
        }
      }
    }
  }
#endif
