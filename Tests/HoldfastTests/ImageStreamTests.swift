import Foundation
import Holdfast
import HoldfastCore
import HoldfastMessageData
import HoldfastTestKit
import Testing

/// Tests of messages with images, with the whole client and the whole backend.
@Suite(.timeLimit(.minutes(60))) struct ImageStreamTests {
  private static func image(_ size: Int) throws -> ShopStream.Image {
    let head: [UInt8] = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]
    return try ShopStream.Image(
      head + (head.count..<size).map { UInt8(truncatingIfNeeded: ($0 &* 2_654_435_761) >> 9) })
  }

  /// Returns the files in the folder of waiting images.
  private static func waiting(_ harness: StreamBackendHarness) -> [String] {
    let folder = harness.directory + "/phone/outbox-images"
    let found = FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? []
    return found.filter {
      UUID128(($0 as NSString).lastPathComponent) != nil || $0.hasSuffix(".upload")
    }
  }

  @Test(arguments: [1_000, 400_000])
  func `an image arrives with its message, can be downloaded, and goes with the message`(
    size: Int
  ) async throws {
    let harness = try await StreamBackendHarness.make()
    let (stream, follower) = try await harness.follow()
    await follower.wait { $0.isLive }
    let image = try Self.image(size)
    let id = try await stream.send("Look", image: image)
    await follower.wait { seen in seen.messages.contains { $0.message.id == id } }
    let text = try #require(await follower.seen.messages.first?.message.text)
    #expect(text.hasPrefix("Look\n[IMAGE:http://127.0.0.1:"))
    let url = try #require(ImageReference.urls(in: text).first.map(String.init))
    #expect(try await stream.image(at: url) == image.bytes)
    #expect(Self.waiting(harness) == [])
    try await stream.delete(id)
    let failure = await #expect(throws: LinkFailure.self) { try await stream.image(at: url) }
    guard case .http(404, _, _)? = failure else {
      Issue.record("\(String(describing: failure))")
      return
    }
    await stream.close()
    await harness.end()
  }

  @Test func `after a cut the next attempt sends only the rest`() async throws {
    let harness = try await StreamBackendHarness.make()
    let (stream, follower) = try await harness.follow()
    await follower.wait { $0.isLive }
    let image = try Self.image(900_000)
    try await harness.proxy.set(.rate(bytesPerSecond: 400_000))
    let before = await harness.proxy.traffic.bytesUp
    let sending = Task { try await stream.send(image: image) }
    _ = await harness.proxy.traffic { $0.bytesUp - before > 500_000 }
    try await harness.proxy.set(.cut)
    try await harness.proxy.set(.pass)
    let id = try await sending.value
    await follower.wait { seen in seen.messages.contains { $0.message.id == id } }
    let sent = await harness.proxy.traffic.bytesUp - before
    // At most one piece was under way when the connection was cut.
    #expect(sent < 900_000 + 300_000, "\(sent)")
    let text = await follower.seen.messages.first?.message.text ?? ""
    let url = try #require(ImageReference.urls(in: text).first.map(String.init))
    #expect(try await stream.image(at: url) == image.bytes)
    await stream.close()
    await harness.end()
  }

  @Test func `a stream that is opened again sends the image that waits`() async throws {
    let harness = try await StreamBackendHarness.make()
    let (stream, follower) = try await harness.follow()
    await follower.wait { $0.isLive }
    try await harness.proxy.set(.refuse)
    let image = try Self.image(100_000)
    let key = try await stream.enqueue("later", image: image)
    await follower.wait { $0.outbox.contains { $0.id == key } }
    #expect(Self.waiting(harness).count == 1)
    await stream.close()
    try await harness.proxy.set(.pass)
    let (again, reader) = try await harness.follow()
    await reader.wait {
      $0.sent.contains(key) && $0.texts.contains { $0.hasPrefix("later\n[IMAGE:") }
    }
    #expect(Self.waiting(harness) == [])
    await again.close()
    await harness.end()
  }

  @Test func `a discarded image leaves the device`() async throws {
    let harness = try await StreamBackendHarness.make()
    let (stream, follower) = try await harness.follow()
    await follower.wait { $0.isLive }
    try await harness.proxy.set(.refuse)
    let key = try await stream.enqueue(image: try Self.image(1_000))
    await follower.wait { $0.outbox.contains { $0.id == key } }
    stream.discard(key)
    await follower.wait { $0.sent.contains(key) }
    await stream.close()
    #expect(Self.waiting(harness) == [])
    await harness.end()
  }
}
