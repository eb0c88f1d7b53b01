import Foundation
import HoldfastBackend
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastJSON
import HoldfastMessageData
import HoldfastMessageStream
import HoldfastPorts
import HoldfastSocket
import HoldfastTestKit
import HoldfastUploads
import Synchronization
import Testing

@testable import Holdfast

/// Tests of images on the server whose messages were discarded, and of downloads, with a server in
/// memory.
@Suite(.timeLimit(.minutes(60))) struct AbandonedImageTests {
  private static let shop = ShopID(UUID128(high: 0, low: 5))
  private static let entry = UUID128(high: 0, low: 7)
  private static let base = "https://shop.example/api/v1/auth/shops/messages/image/"

  private static func image(_ number: Int) -> MessageID { UUID128(high: 9, low: UInt64(number)) }
  private static func url(_ number: Int) -> String { base + image(number).description }

  private let network = FakeNetwork(clock: TestClock())
  private let api: ImageAPI
  private let calls = Calls()

  /// A record of the requests.
  private final class Calls: Sendable {
    private let state = Mutex<[HTTPCall]>([])
    var all: [HTTPCall] { state.withLock { $0 } }
    func note(_ call: HTTPCall) { state.withLock { $0.append(call) } }
  }

  private func serve(_ rule: @escaping @Sendable (HTTPCall) -> HTTPAnswer) {
    network.serve { [calls] call in
      calls.note(call)
      return .success(rule(call))
    }
  }

  init() {
    let rest = RestCaller(
      http: network, credentials: .fixed("token"), note: { Envelope.decodeNote($0) })
    api = ImageAPI(server: "https://shop.example", rest: rest)
  }

  private func uploads(_ images: OutboxImages) -> ImageUploads {
    ImageUploads(api, images, of: Self.shop, clock: TestClock())
  }

  private static func answer(
    _ status: Int, _ headers: [String: String] = [:], _ body: [UInt8] = []
  ) -> HTTPAnswer {
    HTTPAnswer(status: status, headers: headers, body: body)
  }

  private static func part(_ range: String, _ body: [UInt8] = [1, 2, 3]) -> HTTPAnswer {
    answer(206, ["content-range": range], body)
  }

  private func scratch(_ body: (String) async throws -> Void) async throws {
    let path = NSTemporaryDirectory() + "holdfast-images-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: path) }
    try await body(path)
  }

  // MARK: Which images are abandoned

  @Test(arguments: [
    (false, false, true), (false, true, false), (true, false, false), (true, true, false),
  ])
  func `an uploaded image is abandoned if its message cannot be on the server`(
    isSent: Bool, isPosted: Bool, isAbandoned: Bool
  ) throws {
    let images = OutboxImages(of: Self.shop, in: nil)
    try images.keep([1], of: Self.entry)
    images.noteUploaded(Self.entry, url: Self.url(1))
    if isPosted { images.noteSent(Self.entry) }
    images.remove(Self.entry, isSent: isSent)
    #expect(images.abandoned == (isAbandoned ? [Self.image(1)] : []))
  }

  @Test func `an upload that ends after its message was discarded is abandoned`() throws {
    let images = OutboxImages(of: Self.shop, in: nil)
    try images.keep([1], of: Self.entry)
    images.remove(Self.entry, isSent: false)
    #expect(images.abandoned == [])
    images.noteUploaded(Self.entry, url: Self.url(1))
    images.noteUploaded(Self.entry, url: "https://a.example/1.png")
    #expect(images.abandoned == [Self.image(1)])
  }

  @Test func `an interrupted upload is abandoned with its ticket`() throws {
    let images = OutboxImages(of: Self.shop, in: nil)
    try images.keep([1], of: Self.entry)
    let url = "/api/v1/auth/shops/messages/image/upload?id=\(Self.image(3))"
    images.change(
      .store(UploadTicket(.current, url: url, of: [1], isGzip: false)), of: Self.entry)
    images.remove(Self.entry, isSent: false)
    #expect(images.abandoned == [Self.image(3)])
  }

  @Test(
    arguments: [
      (.queued(tries: 0), false), (.queued(tries: 1), false), (.failed(reason: "x"), true),
    ] as [(OutboxEntry.State, Bool)])
  func `the next process deletes the image of an entry that a command discarded`(
    state: OutboxEntry.State, isAbandoned: Bool
  ) async throws {
    try await scratch { directory in
      let first = OutboxImages(of: Self.shop, in: directory)
      try first.keep([1], of: Self.entry)
      let entry = OutboxEntry(
        id: Self.entry, shop: Self.shop, text: "", createdAt: Timestamp(nanoseconds: 0),
        state: state,
        image: OutboxImage(
          type: .png, size: 1, url: Self.url(1), uploadedAt: Timestamp(nanoseconds: 1)))
      OutboxImages(of: Self.shop, in: directory).removeUnread(entry)
      let next = OutboxImages(of: Self.shop, in: directory)
      next.removeUnknown(keeping: [], at: Timestamp(nanoseconds: .max))
      #expect(next.abandoned == (isAbandoned ? [Self.image(1)] : []))
      #expect(try next.bytes(of: Self.entry) == nil)
      for image in next.abandoned { next.noteDeleted(image) }
      #expect(OutboxImages(of: Self.shop, in: directory).abandoned == [])
    }
  }

  @Test(arguments: [nil, NSTemporaryDirectory() + "holdfast-images-\(UUID().uuidString)"])
  func `64 images at most wait to be deleted, and the newest of them remain`(directory: String?) {
    defer { if let directory { try? FileManager.default.removeItem(atPath: directory) } }
    let images = OutboxImages(of: Self.shop, in: directory)
    for number in 0..<64 { images.abandon(Self.image(number)) }
    images.abandon(Self.image(63))
    #expect(images.abandoned == (0..<64).map(Self.image))
    images.abandon(Self.image(64))
    #expect(images.abandoned == (1...64).map(Self.image))
  }

  // MARK: Deletions

  @Test(arguments: [
    (200, true), (204, true), (403, true), (404, true), (410, true), (401, false), (429, false),
    (500, false), (503, false),
  ])
  func `an abandoned image is deleted until the server has answered`(
    status: Int, isDone: Bool
  ) async {
    let images = OutboxImages(of: Self.shop, in: nil)
    images.abandon(Self.image(1))
    images.abandon(Self.image(2))
    serve { _ in Self.answer(status) }
    await uploads(images).deleteAbandoned()
    #expect(images.abandoned == (isDone ? [] : [Self.image(1), Self.image(2)]))
    let made = calls.all
    #expect(made.allSatisfy { $0.method == "DELETE" && $0.query.first?.value == "\(Self.shop)" })
    #expect(made.map(\.url) == (isDone ? [Self.url(1), Self.url(2)] : [Self.url(1)]))
  }

  @Test func `the image of a message that is discarded during its upload is deleted`() async throws
  {
    let images = OutboxImages(of: Self.shop, in: nil)
    try images.keep([UInt8](repeating: 1, count: 100), of: Self.entry)
    let accepted = Envelope.image(
      ShopImage(id: Self.image(1), shop: Self.shop, url: Self.url(1), type: .png), note: "")
    serve { _ in
      images.remove(Self.entry, isSent: false)
      return Self.answer(200, [:], accepted)
    }
    let entry = OutboxEntry(
      id: Self.entry, shop: Self.shop, text: "", createdAt: Timestamp(nanoseconds: 0),
      image: OutboxImage(type: .png, size: 100))
    _ = await uploads(images).upload(entry, TryID(1))
    #expect(calls.all.map(\.method) == ["POST", "DELETE"])
    #expect(images.abandoned == [])
  }

  @Test func `a stream deletes what an earlier process abandoned`() async throws {
    let harness = try await StreamBackendHarness.make()
    let token = try await harness.backend.issueToken(
      user: "phone", name: "Phone", shops: [harness.shop], ttl: .seconds(3_600))
    let configuration = try harness.configuration()
    let png: [UInt8] = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]
    let server = ImageAPI(
      server: configuration.server,
      rest: RestCaller(http: harness.network, credentials: .fixed(token)))
    let upload = UploadRequest(
      "POST", server.upload(to: harness.shop), [UploadField("Content-Type", "image/png")], png)
    let answer = try await server.answer(to: upload)
    let image = try Envelope.decodeImage(answer.body, shop: harness.shop, sent: .png)
    #expect(try await server.bytes(of: image.id) == png)
    func stored() -> OutboxImages {
      OutboxImages(of: harness.shop, in: harness.directory + "/phone")
    }
    stored().abandon(image.id)
    let (stream, follower) = try await harness.follow()
    await follower.wait { $0.isLive }
    while !stored().abandoned.isEmpty { await Task.yield() }
    #expect(try await !server.has(image.id))
    await stream.close()
    await harness.end()
  }

  // MARK: Progress and downloads

  @Test func `the progress of an upload is that of its pieces`() async throws {
    let images = OutboxImages(of: Self.shop, in: nil)
    let size = 300_000
    try images.keep([UInt8](repeating: 1, count: size), of: Self.entry)
    serve { call in
      switch call.method {
      case "OPTIONS":
        Self.answer(
          204, ["upload-draft-interop-version": "8", "accept-patch": "application/partial-upload"])
      case "POST": Self.answer(201, ["location": "/up/1", "upload-complete": "?0"])
      case _: Self.answer(204, ["upload-offset": "262144", "upload-complete": "?0"])
      }
    }
    let uploads = uploads(images)
    let values = uploads.progress.values()
    let entry = OutboxEntry(
      id: Self.entry, shop: Self.shop, text: "", createdAt: Timestamp(nanoseconds: 0),
      image: OutboxImage(type: .png, size: size))
    _ = await uploads.upload(entry, TryID(1))
    uploads.progress.end()
    var seen: [[Int]] = []
    for await value in values { seen.append([value.sent, value.pending, value.size]) }
    #expect(seen.prefix(2) == [[0, 262_144, size], [262_144, size - 262_144, size]])
    for await _ in uploads.progress.values() { Issue.record("it has ended") }
  }

  private static let piece = ImageAPI.piece

  @Test(arguments: [1, piece - 1, piece, piece + 1, 2 * piece, ShopImage.mostBytes])
  func `an image is downloaded in pieces`(size: Int) async throws {
    let content = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    serve { call in
      let range = call.headers.first { $0.name == "Range" }?.value.dropFirst("bytes=".count)
      let ends = range?.split(separator: "-").compactMap { Int($0) } ?? []
      guard ends.count == 2 else { return Self.answer(400) }
      let last = min(ends[1], size - 1)
      return Self.part("bytes \(ends[0])-\(last)/\(size)", Array(content[ends[0]...last]))
    }
    let seen = Mutex<[Int]>([])
    let bytes = try await api.bytes(of: Self.image(1)) { received, total in
      seen.withLock { $0.append(received) }
      #expect(total == size)
    }
    #expect(bytes == content)
    #expect(seen.withLock(\.last) == size)
    #expect(calls.all.count == (size + Self.piece - 1) / Self.piece)
  }

  @Test func `a server without ranges sends the whole image`() async throws {
    serve { _ in Self.answer(200, [:], [1, 2, 3]) }
    #expect(try await api.bytes(of: Self.image(1)) == [1, 2, 3])
    #expect(calls.all.count == 1)
  }

  @Test func `a part that comes again is an error`() async {
    serve { _ in Self.part("bytes 0-2/\(ShopImage.mostBytes)") }
    await #expect(throws: LinkFailure.self) { try await api.bytes(of: Self.image(1)) }
    #expect(calls.all.count == 2)
  }

  @Test(arguments: [
    "", "bytes 1-3/4", "bytes 0-3/4", "bytes 0-2/2", "bytes 0-2/5242881", "bytes 0-2/*",
    "bytes */3", "items 0-2/3", "bytes 0-2/3/4",
  ])
  func `another part of an image is an error`(range: String) async {
    serve { _ in Self.part(range) }
    await #expect(throws: LinkFailure.self) { try await api.bytes(of: Self.image(1)) }
    #expect(calls.all.count == 1)
  }

  @Test func `an empty part of an image is an error`() async {
    serve { _ in Self.part("bytes 0-0/1", []) }
    await #expect(throws: LinkFailure.self) { try await api.bytes(of: Self.image(1)) }
  }
}
