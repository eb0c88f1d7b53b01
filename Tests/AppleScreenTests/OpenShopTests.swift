import Foundation
import Holdfast
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastMessageData
import HoldfastPorts
import HoldfastTestKit
@_spi(Script) import SwiftUI
import Testing

@testable import HoldfastUI

/// Tests of a screen over an open shop, whose server is a script.
@Suite(.timeLimit(.minutes(60))) @MainActor struct OpenShopTests {
  private let network = FakeNetwork(clock: BootClock())

  /// Accepts the socket, and answers a message that the app sends once the test allows it.
  private func serveShop(_ answers: Mailbox<Void>) {
    network.serve(sockets: { await $0.accept() })
    network.serve(requests: { call in
      guard call.method == "POST" else {
        return .success(Self.json(#"{"messages":[]}"#, status: 200))
      }
      _ = await answers.next()
      return .success(
        Self.json(
          #"{"id":"550e8400-e29b-41d4-a716-446655440001","shop_id":"bakery","user_id":"ada","#
            + #""message":"Two oat, please.","created_at":"2026-09-01T10:00:00Z"}"#, status: 201))
    })
  }

  nonisolated private static func json(_ text: String, status: Int) -> HTTPAnswer {
    HTTPAnswer(
      status: status, headers: ["content-type": "application/json"], body: Array(text.utf8))
  }

  private func shop(in scratch: Scratch) throws -> ShopMessages {
    try links(in: scratch, network).shop(try #require(ShopID("bakery")))
  }

  @Test func `a typed message waits, and appears as sent when the server has it`() async throws {
    let answers = Mailbox<Void>()
    serveShop(answers)
    let scratch = try Scratch()
    let shop = try shop(in: scratch)
    let shown = screen(MessageListView(shop, user: "ada"))
    #expect(shown.lines == ["… Opening…", "_Message_  (Send)"])
    await shown.wait { shop.connection.phase == .live }
    #expect(shown.lines.first == "No messages yet")

    shown.type("Two oat, please.")
    shown.press("Send")
    await shown.wait { shown.lines.contains("Waiting to be sent") }
    #expect(shown.lines == ["Two oat, please.", "Waiting to be sent", "_Message_  (Send)"])
    answers.put(())
    await shown.wait { !shop.hasOlder && !shown.lines.contains("Waiting to be sent") }
    #expect(
      shown.text == [
        "You  Sep 1, 2026  10:00 AM", "Two oat, please.", "_Message_  (Send)",
      ])
    check(shown)
    await shop.close()
    for task in shown.tasks { await task.value }
    shown.render()
    #expect(shown.lines.first == "This was closed.")
  }

  /// Returns a message of the shop, and the server's text of it.
  nonisolated private static func message(_ number: Int) throws -> (ShopMessage, text: String) {
    let text =
      #"{"id":"550e8400-e29b-41d4-a716-44665544000\#(number)","shop_id":"bakery","#
      + #""user_id":"grace","message":"message \#(number)","#
      + #""created_at":"2026-09-01T10:00:0\#(number)Z"}"#
    let message = ShopMessage(
      id: try #require(UUID128("550e8400-e29b-41d4-a716-44665544000\(number)")),
      shop: try #require(ShopID("bakery")), user: "grace", username: nil,
      text: "message \(number)",
      createdAt: Timestamp(
        nanoseconds: (1_788_256_800 + Int64(number)) * 1_000_000_000))
    return (message, text)
  }

  @Test func `a gap of an earlier run is filled when the list loads older messages`() async throws {
    let scratch = try Scratch()
    let (first, missing, last) = try (Self.message(1), Self.message(2), Self.message(3))
    let store = try await HoldfastPlatform.store(in: scratch("shops"))
    let gap = ShopGap(after: first.0.key, before: last.0.key)
    _ = try await store.commit(
      TimelineChange(
        messages: [first.0, last.0],
        cursor: ShopCursor(time: last.0.createdAt, wholeAt: last.0.createdAt), gaps: [gap]),
      to: first.0.shop)
    await store.close()
    let answers = Mailbox<Void>()
    let page = Self.json(
      #"{"messages":[\#(last.text),\#(missing.text),\#(first.text)]}"#, status: 200)
    network.serve(sockets: { await $0.accept() })
    network.serve(requests: { _ in
      _ = await answers.next()
      return .success(page)
    })

    let shop = try shop(in: scratch)
    let shown = screen(MessageListView(shop))
    await shown.wait { !shop.gaps.isEmpty }
    #expect(shop.gaps == [gap])
    #expect(shown.lines.contains("[Show older messages]") && !shown.lines.contains("[Load them]"))
    for _ in 1...20 { answers.put(()) }
    await shown.wait { shop.gaps.isEmpty && shop.messages.count == 3 }
    #expect(shop.messages.map(\.text) == (1...3).map { "message \($0)" })
    check(shown)
    await shop.close()
    for task in shown.tasks { await task.value }
  }

  @Test func `a message that the server refused is sent again or discarded`() async throws {
    let answers = Mailbox<HTTPAnswer>()
    network.serve(sockets: { await $0.accept() })
    network.serve(requests: { call in
      let page = Self.json(#"{"messages":[]}"#, status: 200)
      return .success(call.method == "GET" ? page : await answers.next() ?? page)
    })
    let scratch = try Scratch()
    let shop = try shop(in: scratch)
    let shown = screen(MessageListView(shop))
    let refusal = Self.json(#"{"message":"no shouting"}"#, status: 400)
    for text in ["message 1", "LOUD"] {
      await shown.wait { shop.phase == .open }
      shown.type(text)
      shown.press("Send")
      answers.put(refusal)
      await shown.wait { shown.lines.contains("Not sent") }
      if text == "LOUD" { break }
      answers.put(Self.json(try Self.message(1).text, status: 201))
      shown.press("Try again")
      await shown.wait { shop.messages.map(\.text) == [text] }
    }
    shown.press("Discard")
    await shown.wait { shop.waiting.isEmpty }
    check(shown)
    await shop.close()
  }

  @Test func `a shop is refreshed by pulling the list down`() async throws {
    network.serve(sockets: { await $0.accept() })
    network.serve(requests: { _ in .success(Self.json(#"{"messages":[]}"#, status: 200)) })
    let scratch = try Scratch()
    let shop = try shop(in: scratch)
    let shown = screen(MessageListView(shop))
    await shown.wait { shop.connection.phase == .live }
    let page = Self.json(#"{"messages":[\#(try Self.message(1).text)]}"#, status: 200)
    network.serve(requests: { _ in .success(page) })
    #expect(await shown.pull())
    #expect(shown.lines.contains("message 1"))
    check(shown)
    await shop.close()
  }
}
