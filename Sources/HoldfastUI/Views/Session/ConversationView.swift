#if canImport(SwiftUI)
  import Holdfast
  public import SwiftUI

  /// A conversation with an assistant, with a field for the next prompt.
  ///
  ///     ConversationView(links.conversation())
  public struct ConversationView: View {
    private let chat: Conversation
    private let signIn: (@MainActor () -> Void)?

    /// Creates a view of a conversation.
    ///
    /// - Parameter signIn: A closure that lets the user sign in; `nil` if the app has no such screen.
    public init(_ chat: Conversation, signIn: (@MainActor () -> Void)? = nil) {
      (self.chat, self.signIn) = (chat, signIn)
    }

    /// The view's content.
    public var body: some View {
      let chat = chat
      ScrollView { TurnRows(chat: chat) }
        .defaultScrollAnchor(.bottom)
        .safeAreaInset(edge: .top) { ConversationHeader(chat: chat, signIn: signIn) }
        .safeAreaInset(edge: .bottom) {
          VStack(alignment: .leading, spacing: 8) {
            CancelButton(chat: chat)
            Composer(prompt: Phrase("turns.compose")) { try await chat.ask($0) }
          }
          .padding()
        }
        // Another conversation has its own draft, and begins at its newest turn.
        .id(ObjectIdentifier(chat))
        .task(id: ObjectIdentifier(chat)) { await chat.follow() }
    }
  }

  /// The state of the connection, what is missing, and the latest problem.
  private struct ConversationHeader: View {
    let chat: Conversation
    let signIn: (@MainActor () -> Void)?

    var body: some View {
      VStack(alignment: .leading, spacing: 8) {
        OpeningView(phase: chat.phase) { chat.retry() }
        ConnectionStatusView(chat.connection, retry: { chat.reconnect() }, signIn: signIn)
        if let quality = chat.quality, let phrase = Phrase(quality) {
          Label {
            Text(phrase)
          } icon: {
            Image(systemName: "wifi.exclamationmark").accessibilityHidden(true)
          }
          .font(.footnote)
          .foregroundStyle(.secondary)
        }
        if let gap = chat.gap { NoticeView(phrase: Phrase(gap), dismiss: nil) }
        if let notice = chat.notice, let phrase = Phrase(notice) {
          NoticeView(phrase: phrase, dismiss: nil)
        }
      }
      .padding(.horizontal)
    }
  }

  /// A button that ends the answer in progress.
  private struct CancelButton: View {
    let chat: Conversation

    var body: some View {
      if chat.isAnswering {
        Button(role: .cancel, action: { chat.cancel() }) { Text(Phrase("turns.cancel")) }
      }
    }
  }

  /// The turns of the conversation.
  private struct TurnRows: View {
    let chat: Conversation

    // The rows are lazy and equatable for the same reason as those of the list of messages.
    var body: some View {
      LazyVStack(alignment: .leading, spacing: 12) {
        if chat.turns.isEmpty, chat.phase == .open {
          Text(Phrase("turns.empty")).foregroundStyle(.secondary)
        }
        ForEach(chat.turns) { row in TurnRowView(row: row, chat: chat).equatable() }
      }
      .padding()
    }
  }

  /// A turn.
  struct TurnRowView: View, nonisolated Equatable {
    let row: TurnRow
    let chat: Conversation

    nonisolated static func == (left: TurnRowView, right: TurnRowView) -> Bool {
      left.row == right.row && left.chat === right.chat
    }

    var body: some View {
      let text = TurnText(row)
      VStack(alignment: .leading, spacing: 4) {
        VStack(alignment: .leading, spacing: 2) {
          HStack(alignment: .firstTextBaseline) {
            Text(text.author)
            if let date = row.date { Text(date, style: .time) }
          }
          .font(.caption)
          .foregroundStyle(.secondary)
          Text(verbatim: row.text)
          if let state = text.state { TurnStateView(state: state, text: text, row: row) }
        }
        .accessibilityElement(children: .combine)
        if row.hasFailed {
          HStack {
            Button(action: { chat.retry(row) }) { Text(Phrase("action.sendAgain")) }
            Button(role: .destructive, action: { chat.discard(row) }) {
              Text(Phrase("action.discard"))
            }
          }
        }
      }
      .frame(maxWidth: .infinity, alignment: .leading)
    }
  }

  /// The outcome of a prompt.
  private struct TurnStateView: View {
    let state: Phrase
    let text: TurnText
    let row: TurnRow

    var body: some View {
      if text.isBusy {
        ProgressView { Text(state) }.font(.caption)
      } else {
        Text(state).font(.caption).foregroundStyle(row.hasFailed ? Color.red : Color.secondary)
      }
    }
  }
#endif
