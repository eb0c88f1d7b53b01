import Foundation
import Holdfast
import HoldfastCore
import HoldfastMessageData
import HoldfastMessageStream
import HoldfastTestKit
@_spi(Script) import SwiftUI
import Testing

@testable import HoldfastUI

extension ShopMessages {
  /// Returns a shop with these messages.
  fileprivate static func with(
    _ messages: [MessageRow], waiting: [WaitingRow] = [], hasOlder: Bool = false
  ) -> ShopMessages {
    .preview(messages.map(\.message), waiting: waiting, hasOlder: hasOlder)
  }
}

/// Tests of the list of messages.
@Suite @MainActor struct MessageTests {
  private let rows: [MessageRow] = [
    .sample(1, "Two oat, please."), .sample(2, "They are on their way.", by: "Grace"),
    .sample(3, "Thank you!", isEdited: true),
  ]

  @Test func `messages, waiting messages and the field are shown in their order`() {
    let shop = ShopMessages.with(
      rows, waiting: [.sample(1, "And one rye."), .sample(2, "Hello?", failed: "no answer")])
    #expect(
      screen(MessageListView(shop, user: "Ada")).text == [
        "You  Sep 1, 2026  12:01 AM", "Two oat, please.",
        "Grace  Sep 1, 2026  12:02 AM", "They are on their way.",
        "You  Sep 1, 2026  12:03 AM  edited", "Thank you!",
        "And one rye.", "Waiting to be sent",
        "Hello?", "Not sent", "[Try again]  [Discard]",
        "_Message_  (Send)",
      ])
    #expect(
      screen(MessageListView(shop, user: "Grace"), "de").text == [
        "Ada  1. Sept. 2026  0:01", "Two oat, please.",
        "Du  1. Sept. 2026  0:02", "They are on their way.",
        "Ada  1. Sept. 2026  0:03  bearbeitet", "Thank you!",
        "And one rye.", "Wird gesendet, sobald es möglich ist",
        "Hello?", "Nicht gesendet", "[Erneut versuchen]  [Verwerfen]",
        "_Nachricht_  (Senden)",
      ])
  }

  @Test func `an author without a name is shown by the id`() {
    let shop = ShopMessages.with([.sample(1, "Hi", by: nil)])
    #expect(screen(MessageListView(shop)).text.first == "u-17  Sep 1, 2026  12:01 AM")
  }

  @Test func `an empty shop says so once it is open`() {
    #expect(screen(MessageListView(.preview())).lines.first == "No messages yet")
    let opening = ShopMessages.preview(phase: .opening)
    #expect(screen(MessageListView(opening)).lines == ["… Opening…", "_Message_  (Send)"])
  }

  @Test func `a row is one element for a screen reader`() {
    let shop = ShopMessages.with([.sample(1, "Two oat, please.", by: "Grace")])
    let labels = screen(MessageListView(shop)).elements.map { element in
      element.label.replacing("\u{202F}", with: " ")
    }
    #expect(labels == ["Grace, Sep 1, 2026, 12:01 AM, Two oat, please.", "Message", "Send"])
  }

  @Test func `the top of the list appears anew with each page`() {
    let shop = ShopMessages.with(rows, hasOlder: true)
    let shown = screen(MessageListView(shop))
    #expect(shown.lines.first == "[Show older messages]")
    shown.resetEvaluations()
    shop.take(.messages([MessageRow.sample(0, "Good morning.").message], via: .history))
    shown.render()
    #expect(shown.evaluations["OlderMessagesButton"] == 1)
    let empty = ShopMessages.with([], hasOlder: true)
    #expect(!screen(MessageListView(empty)).lines.contains("[Show older messages]"))
  }

  @Test func `a text is sent, and the field is empty at once`() async {
    let shop = ShopMessages.preview()
    let shown = screen(MessageListView(shop))
    shown.type("  ")
    #expect(shown.lines.last?.hasSuffix("(Send)") == true, "there is nothing to send")
    shown.type("Two oat, please.")
    #expect(shown.lines.last == "_Two oat, please._  [Send]")
    shown.press("Send")
    await shown.wait { !shop.waiting.isEmpty }
    #expect(
      shown.lines == ["Two oat, please.", "Waiting to be sent", "_Message_  (Send)"])
    shown.type("Thanks")
    shown.submitField()
    await shown.wait { shop.waiting.count == 2 }
    check(shown)
  }

  @Test func `a message's menu begins a reply or an edit, which can be cancelled`() async {
    let shop = ShopMessages.with(rows)
    let shown = screen(MessageListView(shop, user: "Ada"))
    // Own messages are the first and the last one.
    #expect(shown.buttons.filter { $0.name == "[Edit]" || $0.name == "Edit" }.count == 2)
    shown.press("Edit")
    #expect(shown.lines.suffix(2) == ["Edit message  [Cancel]", "_Two oat, please._  [Send]"])
    shown.press("Cancel")
    #expect(shown.lines.last == "_Message_  (Send)")
    shown.press("Reply")
    #expect(shown.lines.suffix(2) == ["Reply to Ada  [Cancel]", "_Message_  (Send)"])
    shown.type("With milk.")
    shown.press("Send")
    await shown.wait { !shop.waiting.isEmpty }
    #expect(shown.lines.last == "_Message_  (Send)")
    #expect(shop.waiting.map(\.text) == ["With milk."])
    check(shown)
  }

  @Test func `a reply shows what it replies to, and a refused change says why`() {
    var reply = MessageRow.sample(2, "Yes.", by: "Grace").message
    reply.parent = rows[0].id
    let shop = ShopMessages.preview([rows[0].message, reply])
    let shown = screen(MessageListView(shop, user: "Ada"))
    #expect(shown.text.contains("Ada: Two oat, please."))
    var entry = OutboxEntry(
      id: UUID128(high: 8, low: 1), shop: shop.id, text: "Three oat, please.",
      createdAt: reply.createdAt, action: .edit(rows[0].id))
    shop.take(.outbox(entry))
    shown.render()
    #expect(shown.text.contains("Three oat, please.") && shown.text.contains("Waiting to be sent"))
    entry.state = .failed(reason: "only the author can edit a message")
    shop.take(.outbox(entry))
    shown.render()
    #expect(shown.text.contains("Two oat, please."))
    #expect(
      shown.text.contains("Not changed")
        && shown.text.contains("only the author can edit a message"))
    check(shown)
  }

  @Test func `a text that was not accepted returns to the field`() async {
    let (refusals, sent) = (Mailbox<OpenError>(), Mailbox<String>())
    refusals.put(.tooMany(limit: 5))
    let shown = screen(
      Composer(prompt: Phrase("messages.compose")) { text in
        if let refusal = refusals.takeAll().first { throw refusal }
        sent.put(text)
      })
    shown.type("Two oat, please.")
    shown.press("Send")
    await shown.wait { shown.lines.contains("The text could not be sent.") }
    #expect(shown.lines.last == "_Two oat, please._  [Send]")
    shown.press("Send")
    await shown.wait { sent.count == 1 }
    #expect(!shown.lines.contains("The text could not be sent."))
  }

  @Test func `a text that was not accepted does not replace a newer one`() async {
    let draft = Draft()
    draft.text = "first"
    await draft.send { _ in
      draft.text = "second"
      throw OpenError.tooMany(limit: 5)
    }
    #expect(draft.text == "second" && draft.failure != nil)
    await draft.send { _ in throw CancellationError() }
    #expect(draft.text == "" && draft.failure == nil)
  }

  @Test func `a notice is shown until it is put away`() {
    let shop = ShopMessages.preview(notice: .rejected(count: 2))
    let shown = screen(MessageListView(shop))
    #expect(shown.lines.first == "2 messages could not be read.  [Dismiss]")
    shown.press("Dismiss")
    #expect(shop.notice == nil && shown.lines.first == "No messages yet")
  }

  @Test func `a shop that could not be opened offers to try again`() {
    let shop = ShopMessages.preview(phase: .failed(.store(.locked(detail: ""))))
    let shown = screen(MessageListView(shop))
    #expect(
      shown.lines.prefix(2) == [
        "The data can be read once this device is unlocked.", "[Try again]",
      ])
    shown.press("Try again")
    #expect(shop.phase == .opening)
    let closed = screen(MessageListView(.preview(phase: .failed(.closed))))
    #expect(closed.lines.first == "This was closed." && closed.buttons.map(\.name) == ["Send"])
  }

  @Test func `a model for previews shows what it was given, and what is sent to it`() async throws {
    let rows: [MessageRow] = [.sample(2, "later"), .sample(1, "earlier")]
    let shop = ShopMessages.preview(
      rows.map(\.message), waiting: [.sample(1, "Hello?", failed: "no answer")],
      connection: ConnectionState(phase: .reconnecting, retryAt: now + 9, reason: .server))
    #expect(shop.messages.map(\.text) == ["earlier", "later"] && !shop.hasOlder)
    let send: (String) -> UUID128 = shop.send
    _ = send("Bye")
    let shown = screen(MessageListView(shop))
    #expect(
      shown.lines.first == "Reconnecting…  The server is not available at present."
        + "  Next attempt in 9 seconds  [Try again]")
    #expect(shown.lines.suffix(3) == ["Bye", "Waiting to be sent", "_Message_  (Send)"])
    shown.type("And again")
    shown.press("Send")
    await shown.wait { shop.waiting.last?.text == "And again" }
    await shop.close()
    #expect(shop.phase == .failed(.closed))
    await #expect(throws: OpenError.closed) { try await shop.send(accepting: "again") }
    let asking = ShopMessages.preview(notice: .fetchFailed(.refused), phase: .opening)
    #expect(asking.phase == .opening && asking.notice == .fetchFailed(.refused))
  }

  @Test func `a gap is a row between messages, with a button`() {
    let shop = ShopMessages.with([.sample(1, "first"), .sample(5, "last")])
    let keys = shop.messages.map(\.message.key)
    shop.take(.gap(ShopGap(after: keys[0], before: keys[1])))
    let shown = screen(MessageListView(shop))
    let header = "Ada  Sep 1, 2026  12:05 AM"
    #expect(
      shown.text[1...5]
        == ["first", "Some messages are missing here.", "[Load them]", header, "last"])
    #expect(
      screen(MessageListView(shop), "de").lines[2...3]
        == ["Hier fehlen einige Nachrichten.", "[Nachrichten laden]"])
    #expect(shown.elements.map(\.label).contains("Some messages are missing here."))
    // At the top, the button for older messages fills the gap.
    let top = ShopMessages.with([.sample(5, "last")])
    top.take(.gap(ShopGap(after: nil, before: keys[1])))
    #expect(screen(MessageListView(top)).lines.contains("[Load them]"))
    top.take(.history(hasMore: true))
    #expect(!screen(MessageListView(top)).lines.contains("[Load them]"))
  }

  @Test func `long and empty texts are shown whole`() {
    let long = String(repeating: "Donaudampfschifffahrtsgesellschaft ", count: 300)
    let shop = ShopMessages.with([.sample(1, long), .sample(2, ""), .sample(3, "🥐\n\u{202E}abc")])
    #expect(screen(MessageListView(shop)).lines.contains(long))
  }

  @Test(arguments: ["en", "de"])
  func `each notice for the user has words`(language: String) {
    let notices: [StreamNotice] = [
      .fetchFailed(.refused), .store(.full(detail: "")), .store(.locked(detail: "")),
      .store(.fromTheFuture(found: 2, supported: 1)), .store(.other(detail: "")), .forbidden,
      .rejected(count: 1), .rejected(count: 2),
    ]
    let texts = notices.map { notice in
      screen(MessageListView(.preview(notice: notice)), language).lines.first
    }
    #expect(Set(texts).count == notices.count)
    #expect(Phrase(StreamNotice.storeRecovered) == nil && Phrase(StreamNotice.signIn) == nil)
  }
}

/// Tests of the work that a change of a long list causes.
@Suite @MainActor struct LongListTests {
  private let shop = ShopMessages.with((1...1_000).map { .sample($0, "message \($0)") })

  private func shown() -> Screen {
    let shown = screen(MessageListView(shop))
    #expect(shown.evaluations["MessageRowView"] == 1_000)
    shown.resetEvaluations()
    return shown
  }

  @Test func `a changed message evaluates one row of 1,000`() {
    let shown = shown()
    shop.take(.edited([MessageRow.sample(501, "changed", isEdited: true).message]))
    shown.render()
    #expect(shown.evaluations["MessageRowView"] == 1)
    #expect(shown.evaluations["MessageRows"] == 1)
    #expect(shown.evaluations["MessageListView"] == nil)
    #expect(shown.lines.contains("changed"))
  }

  @Test func `a new message evaluates its row, and so does a page of older ones`() {
    let shown = shown()
    shop.take(.messages([MessageRow.sample(1_001, "new").message], via: .live))
    shown.render()
    #expect(shown.evaluations["MessageRowView"] == 1)
    shown.resetEvaluations()
    let page = (1...50).map { number in
      var message = MessageRow.sample(1_100 + number, "older").message
      message.createdAt = .sample(minute: -number)
      return message
    }
    shop.take(.messages(page, via: .history))
    shown.render()
    #expect(shown.evaluations["MessageRowView"] == 50)
  }

  @Test func `a gap evaluates the row after it`() {
    let shown = shown()
    let key = shop.messages[500].message.key
    shop.take(.gap(ShopGap(after: shop.messages[499].message.key, before: key)))
    shown.render()
    #expect(shown.lines.contains("[Load them]"))
    #expect(shown.evaluations["MessageRowView"] == 1)
  }

  @Test func `a change of the connection, a notice or the draft evaluates no row`() {
    let shown = shown()
    shop.connection = ConnectionState(phase: .reconnecting, reason: .offline)
    shop.take(.notice(.fetchFailed(.refused)))
    shown.render()
    shown.type("draft")
    #expect(shown.evaluations["MessageListHeader"] == 1)
    #expect(shown.evaluations["MessageRows"] == nil)
    #expect(shown.evaluations["MessageRowView"] == nil)
  }

  @Test func `a waiting message evaluates no other row`() {
    let shown = shown()
    shop.take(.outbox(WaitingRow.sample(1, "Hello?").entry))
    shown.render()
    #expect(shown.evaluations["MessageRowView"] == nil)
    #expect(shown.evaluations["WaitingRowView"] == 1)
    shown.resetEvaluations()
    shown.render()
    #expect(shown.evaluations == [:])
  }
}
