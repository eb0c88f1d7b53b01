import Foundation
import Holdfast
import HoldfastCore
import HoldfastMessageStream
import HoldfastStorage
@_spi(Script) import SwiftUI
import Testing

@testable import HoldfastUI

/// Tests of the list of messages.
@Suite @MainActor struct MessageTests {
  @Test func `messages, waiting messages and the field are shown in their order`() {
    let shop = ScriptedMessages.sample
    shop.hasOlder = false
    #expect(
      screen(MessageListView(model: shop, user: "Ada")).text == [
        "You  Sep 1, 2026  12:01 AM", "Two oat, please.",
        "Grace  Sep 1, 2026  12:02 AM", "They are on their way.",
        "You  Sep 1, 2026  12:03 AM  edited", "Thank you!",
        "And one rye.", "Waiting to be sent",
        "Hello?", "Not sent", "[Try again]  [Discard]",
        "_Message_  (Send)",
      ])
    #expect(
      screen(MessageListView(model: shop, user: "Grace"), "de").text == [
        "Ada  1. Sept. 2026  0:01", "Two oat, please.",
        "Du  1. Sept. 2026  0:02", "They are on their way.",
        "Ada  1. Sept. 2026  0:03  bearbeitet", "Thank you!",
        "And one rye.", "Wird gesendet, sobald es möglich ist",
        "Hello?", "Nicht gesendet", "[Erneut versuchen]  [Verwerfen]",
        "_Nachricht_  (Senden)",
      ])
  }

  @Test func `an author without a name is shown by the id`() {
    let shop = ScriptedMessages([.sample(1, "Hi", by: nil)])
    #expect(screen(MessageListView(model: shop)).text.first == "u-17  Sep 1, 2026  12:01 AM")
  }

  @Test func `an empty shop says so once it is open`() {
    let shop = ScriptedMessages()
    #expect(screen(MessageListView(model: shop)).lines.first == "No messages yet")
    shop.phase = .opening
    #expect(screen(MessageListView(model: shop)).lines == ["… Opening…", "_Message_  (Send)"])
  }

  @Test func `a row is one element for a screen reader`() {
    let shop = ScriptedMessages([.sample(1, "Two oat, please.", by: "Grace")])
    let labels = screen(MessageListView(model: shop)).elements.map { element in
      element.label.replacing("\u{202F}", with: " ")
    }
    #expect(labels == ["Grace, Sep 1, 2026, 12:01 AM, Two oat, please.", "Message", "Send"])
  }

  @Test func `the top of the list loads older messages`() {
    let shop = ScriptedMessages.sample
    let shown = screen(MessageListView(model: shop))
    // The button was visible, so that it has loaded a page.
    #expect(!shop.hasOlder && !shown.lines.contains("[Show older messages]"))
    shop.messages = [.sample(0, "Good morning.")] + shop.messages
    shop.hasOlder = true
    shown.render()
    #expect(!shop.hasOlder, "the next page begins with another message")
    let closed = ScriptedMessages()
    closed.hasOlder = true
    #expect(!screen(MessageListView(model: closed)).lines.contains("[Show older messages]"))
  }

  @Test func `a message is retried or discarded`() {
    let shop = ScriptedMessages()
    shop.waiting = [.sample(1, "Hello?", failed: "no answer")]
    let shown = screen(MessageListView(model: shop))
    shown.press("Try again")
    #expect(shown.lines.prefix(2) == ["Hello?", "Waiting to be sent"])
    shop.waiting = [.sample(1, "Hello?", failed: "no answer")]
    shown.render()
    #expect(shown.buttons.first { $0.name == "Discard" }?.isDestructive == true)
    shown.press("Discard")
    #expect(shop.waiting == [])
    check(shown)
  }

  @Test func `a text is sent, and the field is empty at once`() async {
    let shop = ScriptedMessages()
    let shown = screen(MessageListView(model: shop))
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

  @Test func `a text that was not accepted returns to the field`() async {
    let shop = ScriptedMessages()
    shop.refusal = .tooMany(limit: 5)
    let shown = screen(MessageListView(model: shop))
    shown.type("Two oat, please.")
    shown.press("Send")
    await shown.wait { shown.lines.contains("The text could not be sent.") }
    #expect(shown.lines.last == "_Two oat, please._  [Send]")
    shop.refusal = nil
    shown.press("Send")
    await shown.wait { !shop.waiting.isEmpty }
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

  @Test func `the connection is above the list, and its button connects`() {
    let shop = ScriptedMessages([.sample(1, "Hi")])
    shop.connection = ConnectionState(phase: .off, reason: .server, failure: .refused)
    let shown = screen(MessageListView(model: shop))
    #expect(
      shown.lines.first
        == "Not connected  The server is not available at present.  [Try again]")
    shown.press("Try again")
    #expect(shown.lines.first == "Connecting…")
  }

  @Test func `a notice is shown until it is put away`() {
    let shop = ScriptedMessages()
    shop.notice = .rejected(count: 2)
    let shown = screen(MessageListView(model: shop))
    #expect(shown.lines.first == "2 messages could not be read.  [Dismiss]")
    shown.press("Dismiss")
    #expect(shop.notice == nil && shown.lines.first == "No messages yet")
  }

  @Test func `the list is refreshed by pulling it down`() async {
    let shop = ScriptedMessages()
    shop.notice = .fetchFailed(.refused)
    let shown = screen(MessageListView(model: shop))
    #expect(await shown.pull())
    #expect(shop.notice == nil)
  }

  @Test func `a shop that could not be opened offers to try again`() {
    let shop = ScriptedMessages()
    shop.phase = .failed(.store(.locked(detail: "")))
    let shown = screen(MessageListView(model: shop))
    #expect(
      shown.lines.prefix(2) == [
        "The data can be read once this device is unlocked.", "[Try again]",
      ])
    shown.press("Try again")
    #expect(shop.phase == .opening)
    shop.phase = .failed(.closed)
    shown.render()
    #expect(shown.lines.first == "This was closed." && shown.buttons.map(\.name) == ["Send"])
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

  @Test func `a gap is a row between messages, whose button loads them`() {
    let shop = ScriptedMessages([.sample(1, "first"), .sample(5, "last")])
    let keys = shop.messages.map(\.message.key)
    shop.gaps = [ShopGap(after: keys[0], before: keys[1])]
    let shown = screen(MessageListView(model: shop))
    let header = "Ada  Sep 1, 2026  12:05 AM"
    #expect(
      shown.text[1...5]
        == ["first", "Some messages are missing here.", "[Load them]", header, "last"])
    #expect(
      screen(MessageListView(model: shop), "de").lines[2...3]
        == ["Hier fehlen einige Nachrichten.", "[Nachrichten laden]"])
    #expect(shown.elements.map(\.label).contains("Some messages are missing here."))
    // At the top, the button for older messages fills the gap.
    let top = ScriptedMessages([.sample(5, "last")])
    top.gaps = [ShopGap(after: nil, before: keys[1])]
    #expect(screen(MessageListView(model: top)).lines.contains("[Load them]"))
    top.hasOlder = true
    #expect(!screen(MessageListView(model: top)).lines.contains("[Load them]"))
    shown.press("Load them")
    #expect(shop.gaps == [] && !shown.lines.contains("[Load them]"))
    check(shown)
  }

  @Test func `the screen follows its model`() async {
    let shown = screen(MessageListView(model: ScriptedMessages()))
    let tasks = shown.takeTasks()
    #expect(tasks.count == 1)
    for task in tasks { await task() }
  }

  @Test func `long and empty texts are shown whole`() {
    let long = String(repeating: "Donaudampfschifffahrtsgesellschaft ", count: 300)
    let shop = ScriptedMessages([.sample(1, long), .sample(2, ""), .sample(3, "🥐\n\u{202E}abc")])
    #expect(screen(MessageListView(model: shop)).lines.contains(long))
  }

  @Test(arguments: ["en", "de"])
  func `each notice for the user has words`(language: String) {
    let notices: [StreamNotice] = [
      .fetchFailed(.refused), .store(.full(detail: "")), .store(.locked(detail: "")),
      .store(.fromTheFuture(found: 2, supported: 1)), .store(.other(detail: "")), .forbidden,
      .rejected(count: 1), .rejected(count: 2),
    ]
    let texts = notices.map { notice in
      let shop = ScriptedMessages()
      shop.notice = notice
      return screen(MessageListView(model: shop), language).lines.first
    }
    #expect(Set(texts).count == notices.count)
    #expect(Phrase(StreamNotice.storeRecovered) == nil && Phrase(StreamNotice.signIn) == nil)
  }
}

/// Tests of the work that a change of a long list causes.
@Suite @MainActor struct LongListTests {
  private let shop = ScriptedMessages((1...1_000).map { .sample($0, "message \($0)") })

  private func shown() -> Screen {
    let shown = screen(MessageListView(model: shop))
    #expect(shown.evaluations["MessageRowView"] == 1_000)
    shown.resetEvaluations()
    return shown
  }

  @Test func `a changed message evaluates one row of 1,000`() {
    let shown = shown()
    shop.messages[500] = .sample(501, "changed", isEdited: true)
    shown.render()
    #expect(shown.evaluations["MessageRowView"] == 1)
    #expect(shown.evaluations["MessageRows"] == 1)
    #expect(shown.evaluations["MessageListView"] == nil)
    #expect(shown.lines.contains("changed"))
  }

  @Test func `a new message evaluates its row, and so does a page of older ones`() {
    let shown = shown()
    shop.messages.append(.sample(1_001, "new"))
    shown.render()
    #expect(shown.evaluations["MessageRowView"] == 1)
    shown.resetEvaluations()
    shop.messages = (-49...0).map { .sample(1_100 - $0, "older") } + shop.messages
    shown.render()
    #expect(shown.evaluations["MessageRowView"] == 50)
  }

  @Test func `a gap evaluates the row after it`() {
    let shown = shown()
    let key = shop.messages[500].message.key
    shop.gaps = [ShopGap(after: shop.messages[499].message.key, before: key)]
    shown.render()
    #expect(shown.lines.contains("[Load them]"))
    #expect(shown.evaluations["MessageRowView"] == 1)
  }

  @Test func `a change of the connection, a notice or the draft evaluates no row`() {
    let shown = shown()
    shop.connection = ConnectionState(phase: .reconnecting, reason: .offline)
    shop.notice = .fetchFailed(.refused)
    shown.render()
    shown.type("draft")
    #expect(shown.evaluations["MessageListHeader"] == 1)
    #expect(shown.evaluations["MessageRows"] == nil)
    #expect(shown.evaluations["MessageRowView"] == nil)
  }

  @Test func `a waiting message evaluates no other row`() {
    let shown = shown()
    shop.waiting.append(.sample(1, "Hello?"))
    shown.render()
    #expect(shown.evaluations["MessageRowView"] == nil)
    #expect(shown.evaluations["WaitingRowView"] == 1)
    shown.resetEvaluations()
    shown.render()
    #expect(shown.evaluations == [:])
  }
}
