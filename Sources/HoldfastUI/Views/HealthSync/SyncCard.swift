#if canImport(SwiftUI)
  import Foundation
  import Holdfast
  import HoldfastSyncData
  public import SwiftUI

  /// The progress of syncing health samples: what was sent, what waits, and why.
  ///
  ///     SyncCard(links.healthSync())
  public struct SyncCard: View {
    private let sync: SyncProgress
    private let signIn: (@MainActor () -> Void)?

    /// Creates a card.
    ///
    /// - Parameter signIn: A closure that lets the user sign in; `nil` if the app has no such screen.
    public init(_ sync: SyncProgress, signIn: (@MainActor () -> Void)? = nil) {
      (self.sync, self.signIn) = (sync, signIn)
    }

    /// The view's content.
    public var body: some View {
      let sync = sync
      SyncView(sync: sync, signIn: signIn)
        .id(ObjectIdentifier(sync))
        .card()
        .task(id: ObjectIdentifier(sync)) { await sync.follow() }
    }
  }

  /// The content of the card. Its state belongs to one model.
  private struct SyncView: View {
    let sync: SyncProgress
    let signIn: (@MainActor () -> Void)?

    var body: some View {
      VStack(alignment: .leading, spacing: 12) {
        Text(Phrase("sync.title")).font(.headline).accessibilityAddTraits(.isHeader)
        if sync.phase == .open {
          let text = SyncText(
            sync.types, quarantined: sync.quarantined, needsSignIn: sync.needsSignIn, sync.notice)
          SyncStateView(text: text)
          SyncCounts(text: text, lastSync: sync.lastSync)
          buttons(text)
        } else {
          OpeningView(phase: sync.phase) { sync.retry() }
        }
      }
    }

    @ViewBuilder private func buttons(_ text: SyncText) -> some View {
      switch (text.action, signIn) {
      case (.signIn, let signIn?): Button(action: signIn) { Text(Phrase("action.signIn")) }
      case (.retry, _): Button(action: { sync.retryNow() }) { Text(Phrase("action.retry")) }
      case (.signIn, nil), (nil, _): EmptyView()
      }
      if text.quarantined > 0 {
        Button(action: { sync.retryNow() }) { Text(Phrase("action.sendAgain")) }
      }
      if sync.canAsk { AskButton { () async throws(HealthSourceFailure) in try await sync.ask() } }
    }
  }

  /// The current activity of a sync, or the reason why it waits.
  private struct SyncStateView: View {
    let text: SyncText

    var body: some View {
      if text.isBusy {
        ProgressView { Text(text.title) }
      } else {
        Label {
          VStack(alignment: .leading, spacing: 2) {
            Text(text.title)
            if let reason = text.reason {
              Text(reason).font(.footnote).foregroundStyle(.secondary)
            }
          }
        } icon: {
          Image(systemName: text.symbol).accessibilityHidden(true)
        }
        .accessibilityElement(children: .combine)
      }
    }
  }

  /// The results of a sync.
  private struct SyncCounts: View {
    let text: SyncText
    let lastSync: Date?

    var body: some View {
      if let sent = text.sent { Text(Phrase("sync.sent", sent)).font(.footnote) }
      if text.quarantined > 0 {
        Text(Phrase("sync.quarantined", text.quarantined)).font(.footnote).foregroundStyle(.red)
      }
      if let lastSync {
        LabeledContent {
          HStack {
            Text(lastSync, style: .date)
            Text(lastSync, style: .time)
          }
        } label: {
          Text(Phrase("sync.last"))
        }
        .font(.footnote)
        .foregroundStyle(.secondary)
      }
    }
  }
#endif
