#if canImport(SwiftUI)
  import Foundation
  import Holdfast
  import SwiftUI

  /// The purpose of the text in the field.
  enum ComposerSubject: Hashable {
    /// A new message.
    case new
    /// A reply to a message.
    case reply(MessageRow)
    /// The new text of a message.
    case edit(MessageRow)

    fileprivate var phrase: Phrase? {
      switch self {
      case .new: nil
      case .reply(let row): Phrase("messages.replying", row.author)
      case .edit: Phrase("messages.editing")
      }
    }

    fileprivate var edited: MessageRow? {
      if case .edit(let row) = self { row } else { nil }
    }
  }

  /// A field for a new message, a reply or a new text, below the messages.
  struct MessageComposer: View {
    let shop: ShopMessages
    @Binding var subject: ComposerSubject
    var source: MessageImages.ImageSource?

    var body: some View {
      VStack(alignment: .leading, spacing: 4) {
        if let phrase = subject.phrase {
          HStack {
            Text(phrase).font(.footnote).foregroundStyle(.secondary)
            Button(action: { subject = .new }) { Text(Phrase("action.cancel")) }
          }
        }
        Composer(
          prompt: Phrase("messages.compose"), text: subject.edited?.caption ?? "",
          attach: subject.edited == nil ? source : nil
        ) {
          try await submit($0, $1)
        }
        // An edit has a draft of its own.
        .id(subject.edited?.id)
      }
    }

    private func submit(_ text: String, _ image: Data?) async throws {
      let current = subject
      subject = .new
      do {
        switch current {
        case .new: try await shop.send(accepting: text, image: image)
        case .reply(let row):
          try await shop.send(accepting: text, image: image, replyingTo: row)
        case .edit(let row): shop.edit(row, text: text)
        }
      } catch {
        // The text returns to the field.
        if subject == .new { subject = current }
        throw error
      }
    }
  }

  /// The menu of a message: a reply and, for the user's own messages, an edit and a deletion.
  struct MessageMenu: View {
    let row: MessageRow
    let isOwn: Bool
    let shop: ShopMessages
    @Binding var subject: ComposerSubject

    var body: some View {
      Button(action: { subject = .reply(row) }) { Text(Phrase("action.reply")) }
      if isOwn {
        Button(action: { subject = .edit(row) }) { Text(Phrase("action.edit")) }
        Button(role: .destructive, action: { shop.delete(row) }) { Text(Phrase("action.delete")) }
      }
    }
  }

  /// The state of the user's edit or deletion of a message.
  struct MessageChangeView: View {
    let row: MessageRow
    let shop: ShopMessages

    var body: some View {
      if let reason = row.reason {
        Text(Phrase(row.isDeletion ? "messages.notDeleted" : "messages.notEdited"))
          .font(.caption).foregroundStyle(.red)
        Text(verbatim: reason).font(.caption).foregroundStyle(.secondary)
        HStack {
          Button(action: { shop.retryChange(of: row) }) { Text(Phrase("action.retry")) }
          Button(role: .destructive, action: { shop.discardChange(of: row) }) {
            Text(Phrase("action.discard"))
          }
        }
      } else if row.change != nil {
        Text(Phrase("messages.waiting")).font(.caption).foregroundStyle(.secondary)
      }
    }
  }

  extension MessageRow {
    fileprivate var isDeletion: Bool { if case .delete = change?.action { true } else { false } }
  }
#endif
