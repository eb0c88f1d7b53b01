import Foundation
import Holdfast
import HoldfastCore
import HoldfastMessageData
@_spi(Script) import SwiftUI
import Testing

@testable import HoldfastUI

/// Tests of images in the list of messages.
@Suite @MainActor struct ImageTests {
  private static let url =
    "https://shop.example/api/v1/auth/shops/messages/image/9b2e6f0c-5a0e-4d0b-8f7e-2f4f3f1d6c11"

  private static func images(source: MessageImages.ImageSource? = nil) -> MessageImages {
    MessageImages(source: source) { $0 == Data([1]) ? Image(systemName: "photo") : nil }
  }

  @Test func `an image that cannot be fetched can be fetched again`() async {
    let shop = ShopMessages.preview([MessageRow.sample(1, "Look\n[IMAGE:\(Self.url)]").message])
    let shown = screen(MessageListView(shop, images: Self.images()))
    #expect(shown.lines.contains("Look"))
    #expect(shown.lines.contains("… Loading the image"))
    let image = shop.images.image(at: Self.url)
    while image.phase == .loading { await Task.yield() }
    shown.render()
    #expect(shown.lines.contains("[The image cannot be shown. Try again]"))
  }

  @Test func `without a decoder and for other servers, the address is shown`() {
    let message = MessageRow.sample(1, "[IMAGE:\(Self.url)]").message
    let plain = screen(MessageListView(.preview([message])))
    #expect(plain.lines.contains("[IMAGE:\(Self.url)]"))
    let foreign = MessageRow.sample(1, "[IMAGE:https://other.example/1.png]").message
    let shown = screen(MessageListView(.preview([foreign]), images: Self.images()))
    #expect(shown.lines.contains("https://other.example/1.png"))
  }

  @Test func `a waiting message says that it has an image`() {
    var row = WaitingRow.sample(1, "")
    row.entry.image = OutboxImage(type: .png, size: 1)
    let shown = screen(MessageListView(.preview(waiting: [row])))
    #expect(shown.lines.contains("Image"))
  }

  @Test func `an image is attached and removed`() async {
    let shown = screen(MessageListView(.preview(), images: Self.images { Data([1]) }))
    #expect(shown.lines.last == "[Add an image]  _Message_  (Send)")
    shown.press("Add an image")
    while !shown.lines.contains(where: { $0.hasPrefix("An image is attached") }) {
      await Task.yield()
      shown.render()
    }
    #expect(shown.lines.last == "[Add an image]  _Message_  [Send]")
    shown.press("Remove")
    shown.render()
    #expect(shown.lines.last == "[Add an image]  _Message_  (Send)")
  }
}
