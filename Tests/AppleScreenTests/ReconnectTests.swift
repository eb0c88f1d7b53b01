import Foundation
import Holdfast
import HoldfastCore
import HoldfastMessageData
import HoldfastPorts
import HoldfastTestKit
@_spi(Script) import SwiftUI
import Testing

@testable import HoldfastUI

/// Tests of the buttons that connect again after a server has refused the link.
@Suite(.timeLimit(.minutes(60))) @MainActor struct ReconnectTests {
  @Test func `a shop that the server refused connects again`() async throws {
    let network = FakeNetwork(clock: BootClock())
    network.serve(sockets: { await $0.reject(status: 403) })
    network.serve(requests: { _ in
      .success(
        HTTPAnswer(
          status: 200, headers: ["content-type": "application/json"],
          body: Array(#"{"messages":[]}"#.utf8)))
    })
    let scratch = try Scratch()
    let shop = try links(in: scratch, network).shop(try #require(ShopID("bakery")))
    let shown = screen(MessageListView(shop, user: "ada"))
    await shown.wait { shown.lines.contains { $0.hasSuffix("[Try again]") } }
    #expect(shop.connection.phase == .off)
    network.serve(sockets: { await $0.accept() })
    shown.press("Try again")
    await shown.wait { shop.connection.phase == .live }
    #expect(!shown.text.contains { $0.hasSuffix("[Try again]") })
    await shop.close()
    for task in shown.tasks { await task.value }
  }
}
