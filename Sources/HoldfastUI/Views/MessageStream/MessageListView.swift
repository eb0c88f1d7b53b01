#if canImport(SwiftUI)
  import Holdfast
  public import SwiftUI

  /// The messages of a shop, with a field for a new one.
  ///
  /// The list begins at the newest message. It shows messages that wait or could not be sent, the
  /// state of the connection, and loads older messages at its top.
  ///
  ///     MessageListView(links.shop(id), user: session.userID)
  public struct MessageListView: View {
    private let shop: ShopMessages
    private let user: String?
    private let signIn: (@MainActor () -> Void)?
    private let images: MessageImages?
    @State private var subject = ComposerSubject.new

    /// Creates a list.
    ///
    /// - Parameters:
    ///   - user: The id of the app's user, whose messages are shown on the other side.
    ///   - signIn: A closure that lets the user sign in; `nil` if the app has no such screen.
    ///   - images: The way in which images are shown and picked. Without it, messages show the addresses
    ///     of their images.
    public init(
      _ shop: ShopMessages, user: String? = nil, signIn: (@MainActor () -> Void)? = nil,
      images: MessageImages? = nil
    ) {
      (self.shop, self.user, self.signIn, self.images) = (shop, user, signIn, images)
    }

    /// The view's content.
    public var body: some View {
      let shop = shop
      ScrollView { MessageRows(shop: shop, user: user, subject: $subject, images: images) }
        .defaultScrollAnchor(.bottom)
        // The connection and the notice say why nothing can be fetched.
        .refreshable { try? await shop.refresh() }
        .safeAreaInset(edge: .top) { MessageListHeader(shop: shop, signIn: signIn) }
        .safeAreaInset(edge: .bottom) {
          MessageComposer(shop: shop, subject: $subject, source: images?.source).padding()
        }
        // Another shop has its own draft, and its list begins at its newest message.
        .id(ObjectIdentifier(shop))
        .task(id: ObjectIdentifier(shop)) { await shop.follow() }
    }
  }

  /// The state of the connection and the latest problem, above the messages.
  ///
  /// It is a view of its own, so that its changes do not evaluate the list.
  private struct MessageListHeader: View {
    let shop: ShopMessages
    let signIn: (@MainActor () -> Void)?

    var body: some View {
      VStack(alignment: .leading, spacing: 8) {
        OpeningView(phase: shop.phase) { shop.retry() }
        ConnectionStatusView(shop.connection, retry: { shop.reconnect() }, signIn: signIn)
        if let notice = shop.notice, let phrase = Phrase(notice) {
          NoticeView(phrase: phrase) { shop.dismissNotice() }
        }
      }
      .padding(.horizontal)
    }
  }

  /// The rows of the list.
  private struct MessageRows: View {
    let shop: ShopMessages
    let user: String?
    let subject: Binding<ComposerSubject>
    let images: MessageImages?

    // A lazy stack makes only the rows near the visible ones. It is preferred to `List`, which keeps no
    // anchor at its end. A row depends on nothing but its equatable inputs: when one of 1,000 messages
    // changes, this body and the body of that one row are evaluated.
    var body: some View {
      LazyVStack(alignment: .leading, spacing: 12) {
        if shop.hasOlder, let first = shop.messages.first {
          OlderMessagesButton(shop: shop).id(first.id)
        }
        if shop.messages.isEmpty, shop.waiting.isEmpty, shop.phase == .open {
          Text(Phrase("messages.empty")).foregroundStyle(.secondary)
        }
        let (gaps, parents) = (rowsAfterGaps, parents)
        ForEach(shop.messages) { row in
          MessageRowView(
            row: row, isOwn: row.message.user == user, hasGap: gaps.contains(row.id),
            parent: row.message.parent.flatMap { parents[$0] }, shop: shop, subject: subject,
            images: images
          ).equatable()
        }
        ForEach(shop.waiting) { row in
          WaitingRowView(row: row, shop: shop).equatable()
        }
      }
      .padding()
    }

    /// The shown messages to which others reply.
    private var parents: [MessageRow.ID: MessageRow] {
      let wanted = Set(shop.messages.lazy.compactMap(\.message.parent))
      guard !wanted.isEmpty else { return [:] }
      let found = shop.messages.lazy.filter { wanted.contains($0.id) }
      return Dictionary(found.map { ($0.id, $0) }) { $1 }
    }

    /// The rows before which a gap is shown. At the top of the list, the button above fills it.
    private var rowsAfterGaps: Set<MessageRow.ID> {
      guard !shop.gaps.isEmpty else { return [] }
      let keys = Set(shop.gaps.map(\.before))
      let rows = shop.messages.dropFirst(shop.hasOlder ? 1 : 0)
      return Set(rows.lazy.filter { keys.contains($0.message.key) }.map(\.id))
    }
  }

  /// The top of the list. It loads the next page when it becomes visible, and when it is pressed.
  private struct OlderMessagesButton: View {
    let shop: ShopMessages

    var body: some View {
      Button(action: { shop.loadOlder() }) { Text(Phrase("messages.older")) }
        .frame(maxWidth: .infinity)
        .onAppear { shop.loadOlder() }
    }
  }

  /// A message, and the gap before it if messages are missing there.
  struct MessageRowView: View, nonisolated Equatable {
    let row: MessageRow
    let isOwn: Bool
    let hasGap: Bool
    var parent: MessageRow?
    let shop: ShopMessages
    var subject = Binding.constant(ComposerSubject.new)
    var images: MessageImages?

    nonisolated static func == (left: MessageRowView, right: MessageRowView) -> Bool {
      left.row == right.row && left.isOwn == right.isOwn && left.hasGap == right.hasGap
        && left.parent == right.parent && left.shop === right.shop
    }

    var body: some View {
      VStack(spacing: 12) {
        if hasGap { GapView { shop.loadOlder() } }
        content.contextMenu {
          MessageMenu(row: row, isOwn: isOwn, shop: shop, subject: subject)
        }
        if row.change != nil {
          VStack(alignment: .trailing, spacing: 4) { MessageChangeView(row: row, shop: shop) }
            .frame(maxWidth: .infinity, alignment: .trailing)
        }
      }
    }

    private var content: some View {
      VStack(alignment: isOwn ? .trailing : .leading, spacing: 2) {
        HStack(alignment: .firstTextBaseline) {
          if isOwn { Text(Phrase("messages.own")) } else { Text(verbatim: row.author) }
          Text(row.date, style: .date)
          Text(row.date, style: .time)
          if row.message.isEdited { Text(Phrase("messages.edited")) }
        }
        .font(.caption)
        .foregroundStyle(.secondary)
        if let parent {
          Text(verbatim: "\(parent.author): \(parent.text)")
            .font(.caption).foregroundStyle(.secondary).lineLimit(1)
        }
        MessageBody(row: row, shop: shop, images: images)
      }
      .frame(maxWidth: .infinity, alignment: isOwn ? .trailing : .leading)
      .accessibilityElement(children: .combine)
    }
  }

  /// A place where messages are missing, with a button that loads them.
  private struct GapView: View {
    let load: @MainActor () -> Void

    var body: some View {
      VStack(spacing: 4) {
        Text(Phrase("messages.gap")).font(.footnote).foregroundStyle(.secondary)
        Button(action: load) { Text(Phrase("messages.gap.load")) }
      }
      .frame(maxWidth: .infinity)
    }
  }

  /// The image of a waiting message, with the progress of its upload.
  private struct OutgoingImageView: View {
    let row: WaitingRow
    let shop: ShopMessages

    var body: some View {
      if let part = shop.uploads[row.id], !row.hasFailed {
        ProgressView(value: part) { Text(Phrase("messages.image")) }
      } else {
        Text(Phrase("messages.image")).foregroundStyle(.secondary)
      }
    }
  }

  /// A message that the server does not have yet.
  struct WaitingRowView: View, nonisolated Equatable {
    let row: WaitingRow
    let shop: ShopMessages

    nonisolated static func == (left: WaitingRowView, right: WaitingRowView) -> Bool {
      left.row == right.row && left.shop === right.shop
    }

    var body: some View {
      VStack(alignment: .trailing, spacing: 4) {
        VStack(alignment: .trailing, spacing: 2) {
          if !row.text.isEmpty { Text(verbatim: row.text) }
          if row.entry.image != nil { OutgoingImageView(row: row, shop: shop) }
          if row.hasFailed {
            Text(Phrase("messages.failed")).font(.caption).foregroundStyle(.red)
          } else {
            Text(Phrase("messages.waiting")).font(.caption).foregroundStyle(.secondary)
          }
        }
        .accessibilityElement(children: .combine)
        if row.hasFailed {
          HStack {
            Button(action: { shop.retry(row) }) { Text(Phrase("action.retry")) }
            Button(role: .destructive, action: { shop.discard(row) }) {
              Text(Phrase("action.discard"))
            }
          }
        }
      }
      .frame(maxWidth: .infinity, alignment: .trailing)
    }
  }
#endif
