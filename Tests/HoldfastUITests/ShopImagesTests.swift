import Foundation
import HoldfastCore
import HoldfastStorage
import HoldfastWire
import Testing

@testable import Holdfast
@testable import HoldfastUI

/// Tests of the images in memory.
@Suite(.timeLimit(.minutes(5))) @MainActor struct ShopImagesTests {
  private static func url(_ number: Int) -> String {
    let id = UUID128(high: 4, low: UInt64(number))
    return "https://shop.example/api/v1/auth/shops/messages/image/\(id)"
  }

  /// A server of images.
  private final class Server {
    var size = 10
    var failure: LinkFailure?
    var asked: [String] = []

    func bytes(_ url: String) throws -> [UInt8] {
      asked.append(url)
      if let failure { throw failure }
      return [UInt8](repeating: 1, count: size)
    }
  }

  private let server = Server()

  private func images() -> ShopImages {
    let server = server
    return ShopImages { try server.bytes($0) }
  }

  @Test func `an image is fetched once when it is shown`() async {
    let images = images()
    let image = images.image(at: Self.url(1))
    #expect(image.phase == .waiting)
    #expect(images.image(at: Self.url(1)) === image)
    image.show()
    image.show()
    #expect(image.phase == .loading)
    await change(of: image) { $0.phase != .loading }
    #expect(image.phase == .loaded(Data(repeating: 1, count: 10)))
    image.show()
    #expect(server.asked == [Self.url(1)])
  }

  @Test func `a failure is shown, and the next attempt may succeed`() async {
    let image = images().image(at: Self.url(1))
    let images = images()
    let other = images.image(at: Self.url(2))
    server.failure = .reset
    other.show()
    await change(of: other) { $0.phase != .loading }
    #expect(other.phase == .failed(.reset))
    server.failure = nil
    other.show()
    await change(of: other) { $0.phase != .loading }
    #expect(other.phase == .loaded(Data(repeating: 1, count: 10)))
    #expect(image.phase == .waiting)
  }

  @Test func `an address of another kind is never fetched`() {
    let image = images().image(at: "https://tracker.example/pixel.png")
    image.show()
    #expect(!image.isFetchable)
    #expect(image.phase == .waiting)
    #expect(server.asked == [])
  }

  @Test func `images that were shown least recently make room`() async {
    server.size = ShopImages.memoryBytes / 4
    let images = images()
    let all = (1...5).map { images.image(at: Self.url($0)) }
    for image in all.prefix(4) {
      image.show()
      await change(of: image) { $0.phase != .loading }
    }
    #expect(all.prefix(4).allSatisfy { $0.size > 0 })
    all[0].show()
    all[4].show()
    await change(of: all[4]) { $0.phase != .loading }
    #expect(all.map { $0.size > 0 } == [true, false, true, true, true])
  }

  @Test func `at most 500 images are known`() {
    let images = images()
    let first = images.image(at: Self.url(0))
    for number in 1..<ShopImages.most { _ = images.image(at: Self.url(number)) }
    #expect(images.image(at: Self.url(0)) === first)
    _ = images.image(at: Self.url(ShopImages.most))
    #expect(images.image(at: Self.url(0)) !== first)
  }

  @Test func `a forgotten image leaves memory, also if its answer is late`() async {
    let images = images()
    let loaded = images.image(at: Self.url(1))
    loaded.show()
    await change(of: loaded) { $0.phase != .loading }
    let late = images.image(at: Self.url(2))
    late.show()
    images.forget([Self.url(1), Self.url(2)])
    #expect(loaded.phase == .waiting)
    await Task.yield()
    #expect(late.phase == .waiting)
    #expect(images.image(at: Self.url(1)) !== loaded)
  }

  @Test func `the image of a deleted or edited message leaves memory`() async {
    let shop = ShopMessages.preview()
    func message(_ number: Int, _ text: String, edited: Bool = false) -> ShopMessage {
      ShopMessage(
        id: UUID128(high: 1, low: UInt64(number)), shop: shop.id, user: "u", username: nil,
        text: text, createdAt: Timestamp(nanoseconds: Int64(number)), isEdited: edited)
    }
    let texts = (1...3).map { "a [IMAGE:\(Self.url($0))]" }
    shop.take(.messages((1...3).map { message($0, texts[$0 - 1]) }, via: .live))
    let held = (1...3).map { shop.images.image(at: Self.url($0)) }
    shop.take(.deleted([DeletedMessage(id: UUID128(high: 1, low: 1))]))
    shop.take(.edited([message(2, "no image any more", edited: true)]))
    shop.take(.edited([message(3, texts[2] + " edited", edited: true)]))
    let same = (1...3).map { shop.images.image(at: Self.url($0)) === held[$0 - 1] }
    #expect(same == [false, false, true])
  }

  @Test(arguments: [
    ("Look", "Look", 0), ("Look\n[IMAGE:https://a.example/1]", "Look", 1),
    ("[IMAGE:https://a.example/1]", "", 1),
    ("a [IMAGE:https://a.example/1] b [IMAGE:https://a.example/2]", "a\nb", 2),
    (" [IMAGE:none] ", " [IMAGE:none] ", 0),
  ])
  func `a row separates its caption and its images`(text: String, caption: String, count: Int) {
    let row = MessageRow(
      ShopMessage(
        id: UUID128(high: 1, low: 1), shop: ShopID(UUID128(high: 1, low: 1)), user: "u",
        username: nil, text: text, createdAt: Timestamp(nanoseconds: 0)))
    #expect(row.caption == caption)
    #expect(row.images.count == count)
  }
}

/// Tests of a draft with an image.
@MainActor struct DraftImageTests {
  private struct Trouble: Error {}

  @Test func `an image can be sent without a text, and returns if it is not accepted`() async {
    let draft = Draft()
    #expect(!draft.canSend)
    await draft.attach { nil }
    #expect(!draft.canSend)
    await draft.attach { Data([1]) }
    #expect(draft.canSend)
    await draft.send { (_, _) async throws in throw Trouble() }
    #expect(draft.image == Data([1]))
    #expect(draft.failure != nil)
    var sent: [Data?] = []
    await draft.send { (_, image) async throws in sent.append(image) }
    #expect(sent == [Data([1])])
    #expect(draft.image == nil)
    #expect(!draft.canSend)
  }

  @Test func `a source that fails is reported, and one that is cancelled is not`() async {
    let draft = Draft()
    await draft.attach { throw CancellationError() }
    #expect(draft.failure == nil)
    await draft.attach { throw Trouble() }
    #expect(draft.failure != nil)
    await draft.attach { Data([1]) }
    #expect(draft.failure == nil)
    draft.detach()
    #expect(draft.image == nil)
  }
}
