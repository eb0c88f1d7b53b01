import Foundation
import HoldfastCore
import HoldfastMessageData
import Testing

@testable import Holdfast
@testable import HoldfastUI

/// Tests of the images in memory.
@Suite(.timeLimit(.minutes(60))) @MainActor struct ShopImagesTests {
  private static func url(_ number: Int) -> String {
    let id = UUID128(high: 4, low: UInt64(number))
    return "https://shop.example/api/v1/auth/shops/messages/image/\(id)"
  }

  /// A server of images.
  @MainActor private final class Server {
    var size = 10
    var failure: LinkFailure?
    var asked: [String] = []

    func bytes(_ url: String) throws -> [UInt8] {
      asked.append(url)
      if let failure { throw failure }
      return [UInt8](repeating: 1, count: size)
    }

    /// The requests that wait for an answer.
    var waiting: [CheckedContinuation<Void, Never>] = []

    func slowBytes(_ url: String) async throws -> [UInt8] {
      asked.append(url)
      await withCheckedContinuation { waiting.append($0) }
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

  @Test(arguments: [(-1, true), (0, true), (1, false)])
  func `all images together have at most 32 MiB`(more: Int, isKept: Bool) async {
    let images = images()
    let all = (1...8).map { images.image(at: Self.url($0)) }
    for (index, image) in all.enumerated() {
      server.size = ShopImages.memoryBytes / 8 + (index == 7 ? more : 0)
      image.show()
      await change(of: image) { $0.phase != .loading }
    }
    #expect((all[0].size > 0) == isKept)
    #expect(all.dropFirst().allSatisfy { $0.size > 0 })
    #expect(all.reduce(0) { $0 + $1.size } <= ShopImages.memoryBytes)
  }

  @Test func `at most 4 images are fetched at the same time`() async {
    let images = ShopImages { try await self.server.slowBytes($0) }
    let all = (1...6).map { images.image(at: Self.url($0)) }
    for image in all { image.show() }
    all[4].clear()
    while server.waiting.count < 4 { await Task.yield() }
    for _ in 0..<20 { await Task.yield() }
    #expect(server.asked == (1...4).map(Self.url))
    server.waiting.removeFirst().resume()
    await change(of: all[0]) { $0.phase != .loading }
    while server.asked.count < 5 { await Task.yield() }
    #expect(server.asked.last == Self.url(6), "the fifth was forgotten")
    while server.waiting.count < 4 { await Task.yield() }
    for continuation in server.waiting { continuation.resume() }
    await change(of: all[5]) { $0.phase != .loading }
    #expect(all.map { $0.size > 0 } == [true, true, true, true, false, true])
  }

  @Test func `an edit keeps the image of its message unless it is removed`() {
    let shop = ShopMessages.preview()
    let reference = "[IMAGE:\(Self.url(1))]"
    let row = MessageRow(
      ShopMessage(
        id: UUID128(high: 1, low: 1), shop: shop.id, user: "u", username: nil,
        text: "Look\n\(reference)", createdAt: Timestamp(nanoseconds: 1)))
    #expect(row.caption == "Look")
    #expect(shop.text("New", of: row, .keep) == "New\n\(reference)")
    #expect(shop.text("New", of: row, .remove) == "New")
    let other = "New [IMAGE:\(Self.url(2))]"
    #expect(shop.text(other, of: row, .keep) == other)
    var newer = row.message
    newer.text = "No image"
    shop.take(.messages([newer], via: .live))
    #expect(shop.text("New", of: row, .keep) == "New", "its present text has no image")
  }

  @Test func `the progress of an upload is that of its row`() {
    let shop = ShopMessages.preview()
    let id = UUID128(high: 0, low: 9)
    shop.take(ShopStream.ImageProgress(entry: id, sent: 1, pending: 1, size: 4))
    #expect(shop.uploads == [:], "there is no such row")
    let image = OutboxImage(type: .png, size: 4)
    shop.take(
      .outbox(
        OutboxEntry(
          id: id, shop: shop.id, text: "", createdAt: Timestamp(nanoseconds: 1), image: image)))
    shop.take(ShopStream.ImageProgress(entry: id, sent: 1, pending: 1, size: 4))
    #expect(shop.uploads == [id: 0.25])
    shop.take(.outboxDone(id, message: nil))
    #expect(shop.uploads == [:])
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
