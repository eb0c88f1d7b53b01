#if canImport(SwiftUI)
  import Foundation
  public import SwiftUI

  /// The state of a connection: what it does, why there is none, and when the next attempt begins.
  ///
  /// The view is empty while data arrives, and if no connection was requested.
  ///
  ///     ConnectionStatusView(shop.connection) { shop.reconnect() } signIn: { isSigningIn = true }
  public struct ConnectionStatusView: View {
    private let state: ConnectionState
    private let retry: @MainActor () -> Void
    private let signIn: (@MainActor () -> Void)?

    /// Creates a view of a state.
    ///
    /// - Parameters:
    ///   - retry: A closure that connects again.
    ///   - signIn: A closure that lets the user sign in; `nil` if the app has no such screen.
    public init(
      _ state: ConnectionState, retry: @escaping @MainActor () -> Void,
      signIn: (@MainActor () -> Void)? = nil
    ) {
      (self.state, self.retry, self.signIn) = (state, retry, signIn)
    }

    /// The view's content.
    public var body: some View {
      let text = ConnectionText(state)
      if text.isShown {
        HStack(alignment: .firstTextBaseline) {
          Label {
            VStack(alignment: .leading, spacing: 2) {
              Text(text.title).font(.headline)
              if let reason = text.reason {
                Text(reason).font(.subheadline).foregroundStyle(.secondary)
              }
              CountdownText(end: state.retryAt)
            }
          } icon: {
            Image(systemName: text.symbol).accessibilityHidden(true)
          }
          .accessibilityElement(children: .combine)
          Spacer(minLength: 8)
          button(text.action)
        }
        .frame(maxWidth: .infinity, alignment: .leading)
      }
    }

    @ViewBuilder private func button(_ action: ConnectionText.Action?) -> some View {
      switch (action, signIn) {
      case (.retry, _): Button(action: retry) { Text(Phrase("action.retry")) }
      case (.signIn, let signIn?): Button(action: signIn) { Text(Phrase("action.signIn")) }
      case (.signIn, nil), (nil, _): EmptyView()
      }
    }
  }

  /// The time until the next attempt, which counts down.
  struct CountdownText: View {
    let end: Date?

    var body: some View {
      if let end {
        TimelineView(Countdown(end: end)) { context in
          if let phrase = ConnectionText.countdown(to: end, at: context.date) {
            Text(phrase)
              .font(.footnote)
              .monospacedDigit()
              .foregroundStyle(.secondary)
              // A screen reader asks for the number instead of reading each one.
              .accessibilityAddTraits(.updatesFrequently)
          }
        }
      }
    }
  }

  extension Countdown: TimelineSchedule {
    func entries(from startDate: Date, mode: TimelineScheduleMode) -> some Sequence<Date> {
      sequence(first: startDate) { next(after: $0, isCoarse: mode == .lowFrequency) }
    }
  }
#endif
