import Foundation
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

/// Tests of the requests that upload an image, with a server in memory.
@Suite(.timeLimit(.minutes(60))) struct ImageUploadTests {
  private static let shop = ShopID(UUID128(high: 0, low: 5))
  private static let id = UUID128(high: 0, low: 7)
  private static let image = "9b2e6f0c-5a0e-4d0b-8f7e-2f4f3f1d6c11"
  private static let url = "https://shop.example/api/v1/auth/shops/messages/image/\(image)"
  private static let endpoint =
    "https://shop.example/api/v1/auth/shops/messages/image/upload?shop_id=\(shop)"

  private let network = FakeNetwork(clock: TestClock())
  private let images: OutboxImages
  private let uploads: ImageUploads
  private let calls = Calls()

  init() {
    let rest = RestCaller(
      http: network, credentials: .fixed("token"), note: { Envelope.decodeNote($0) })
    images = OutboxImages(of: Self.shop, in: nil)
    uploads = ImageUploads(
      ImageAPI(server: "https://shop.example", rest: rest), images, of: Self.shop,
      clock: TestClock())
  }

  /// A record of the requests.
  private final class Calls: Sendable {
    private let state = Mutex<[HTTPCall]>([])
    var all: [HTTPCall] { state.withLock { $0 } }
    var names: [String] { all.map { "\($0.method) \($0.body.count)" } }
    func note(_ call: HTTPCall) { state.withLock { $0.append(call) } }
  }

  private func serve(_ rule: @escaping @Sendable (HTTPCall) -> HTTPAnswer) {
    network.serve { [calls] call in
      calls.note(call)
      return .success(rule(call))
    }
  }

  private static func bytes(_ size: Int) -> [UInt8] {
    [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]
      + (8..<max(8, size)).map { UInt8(truncatingIfNeeded: $0 &* 31) }
  }

  private static func entry(url: String? = nil, size: Int = 1_000) -> OutboxEntry {
    OutboxEntry(
      id: id, shop: shop, text: "", createdAt: Timestamp(nanoseconds: 0),
      image: OutboxImage(
        type: .png, size: size, url: url, uploadedAt: url.map { _ in Timestamp(nanoseconds: 1) }))
  }

  private static let accepted = HTTPAnswer(
    status: 200, headers: ["content-type": "application/json"],
    body: Envelope.image(
      ShopImage(id: UUID128(image) ?? id, shop: shop, url: url, type: .png), note: ""))

  /// The offer to resume uploads.
  private static let offer = answer(
    204, ["upload-draft-interop-version": "8", "accept-patch": "application/partial-upload"])

  private static func answer(_ status: Int, _ headers: [String: String] = [:]) -> HTTPAnswer {
    HTTPAnswer(status: status, headers: headers, body: [])
  }

  @Test func `a small image is sent as the form of the original protocol`() async throws {
    try images.keep(Self.bytes(1_000), of: Self.id)
    serve { _ in Self.accepted }
    let result = await uploads.upload(Self.entry(), TryID(1))
    guard case .uploaded(Self.id, Self.url, _)? = result else {
      Issue.record("\(String(describing: result))")
      return
    }
    let call = try #require(calls.all.first)
    #expect(calls.all.count == 1)
    #expect(call.method == "POST")
    #expect(call.url == Self.endpoint)
    #expect(call.headers.contains { $0.name == "Authorization" && $0.value == "Bearer token" })
    let type = try #require(call.headers.first { $0.name == "Content-Type" }?.value)
    let boundary = try #require(type.split(separator: "boundary=").last)
    let parts = call.body.split(separator: Array("--\(boundary)".utf8))
    #expect(parts.count == 3)
    let field = "\r\nContent-Disposition: form-data; name=\"shop_id\"\r\n\r\n\(Self.shop)\r\n"
    #expect(Array(parts[0]) == Array(field.utf8))
    #expect(parts[1].contains(Self.bytes(1_000)))
    #expect(Array(parts[2]) == Array("--\r\n".utf8))
  }

  @Test func `a large image is sent in pieces to a server that resumes uploads`() async throws {
    let size = 300_000
    try images.keep(Self.bytes(size), of: Self.id)
    serve { call in
      switch call.method {
      case "OPTIONS": Self.offer
      case "POST": Self.answer(201, ["location": "/up/1", "upload-complete": "?0"])
      case "PATCH" where call.headers.contains { $0.name == "Upload-Complete" && $0.value == "?1" }:
        Self.accepted
      default: Self.answer(204, ["upload-offset": "262144", "upload-complete": "?0"])
      }
    }
    let result = await uploads.upload(Self.entry(size: size), TryID(1))
    guard case .uploaded(Self.id, Self.url, _)? = result else {
      Issue.record("\(String(describing: result))")
      return
    }
    #expect(calls.names == ["OPTIONS 0", "POST 0", "PATCH 262144", "PATCH \(size - 262_144)"])
    let types = calls.all[1].headers.filter { $0.name == "Content-Type" }.map(\.value)
    #expect(types == ["image/png"], "the type of the whole is that of the creation")
    #expect(images.ticket(of: Self.id) == nil)
  }

  @Test func `an interrupted upload resumes at its offset`() async throws {
    let size = 300_000
    let bytes = Self.bytes(size)
    try images.keep(bytes, of: Self.id)
    images.change(
      .store(UploadTicket(.draft(8), url: "https://shop.example/up/1", of: bytes, isGzip: false)),
      of: Self.id)
    serve { call in
      switch call.method {
      case "OPTIONS": Self.offer
      case "HEAD": Self.answer(204, ["upload-offset": "262144", "upload-complete": "?0"])
      default: Self.accepted
      }
    }
    _ = await uploads.upload(Self.entry(size: size), TryID(1))
    #expect(calls.names == ["OPTIONS 0", "HEAD 0", "PATCH \(size - 262_144)"])
  }

  @Test func `the token does not go to the server of an earlier upload`() async throws {
    let bytes = Self.bytes(300_000)
    try images.keep(bytes, of: Self.id)
    images.change(
      .store(UploadTicket(.draft(8), url: "https://old.example/up/1", of: bytes, isGzip: false)),
      of: Self.id)
    serve { call in
      switch call.method {
      case "OPTIONS": Self.offer
      case "POST": Self.answer(201, ["location": "https://old.example/up/2"])
      default: Self.answer(204, ["upload-offset": "0", "upload-complete": "?0"])
      }
    }
    _ = await uploads.upload(Self.entry(size: bytes.count), TryID(1))
    #expect(calls.all.map(\.method) == ["OPTIONS", "POST", "POST"])
    #expect(calls.all.allSatisfy { $0.url.hasPrefix("https://shop.example/") })
  }

  @Test(arguments: [200, 404])
  func `an upload whose last answer was lost is not sent again`(status: Int) async throws {
    let bytes = Self.bytes(300_000)
    try images.keep(bytes, of: Self.id)
    let upload = "https://shop.example/api/v1/auth/shops/messages/image/upload?id=\(Self.image)"
    images.change(
      .store(UploadTicket(.draft(8), url: upload, of: bytes, isGzip: false)), of: Self.id)
    serve { call in
      if call.method == "HEAD", call.url == Self.url { return Self.answer(status) }
      return call.method == "OPTIONS" || call.method == "HEAD" ? Self.answer(404) : Self.accepted
    }
    let result = await uploads.upload(Self.entry(size: 300_000), TryID(1))
    guard case .uploaded(Self.id, Self.url, _)? = result else {
      Issue.record("\(String(describing: result))")
      return
    }
    #expect(calls.all.map(\.method) == (status == 200 ? ["HEAD"] : ["HEAD", "OPTIONS", "POST"]))
  }

  @Test func `a large image goes as a form to a server that resumes no uploads`() async throws {
    try images.keep(Self.bytes(300_000), of: Self.id)
    serve { $0.method == "OPTIONS" ? Self.answer(404) : Self.accepted }
    _ = await uploads.upload(Self.entry(size: 300_000), TryID(1))
    #expect(calls.all.map(\.method) == ["OPTIONS", "POST"])
    #expect(calls.all.last.map { $0.body.count > 300_000 } == true)
  }

  @Test(arguments: [400, 404, 413, 415, 503])
  func `a refusal is the failure of the attempt`(status: Int) async throws {
    try images.keep(Self.bytes(1_000), of: Self.id)
    serve { _ in
      HTTPAnswer(
        status: status, headers: [:],
        body: Array(#"{"status":\#(status),"message":"no","data":null}"#.utf8))
    }
    let result = await uploads.upload(Self.entry(), TryID(3))
    let failure = LinkFailure.http(status: status, retryAfter: nil, detail: "no")
    #expect(result == .postFailed(Self.id, try: TryID(3), failure))
  }

  @Test(arguments: ["", #"{"status":200,"data":{"message_id":"#])
  func `an answer that was cut is a lost answer`(body: String) async throws {
    try images.keep(Self.bytes(1_000), of: Self.id)
    serve { _ in HTTPAnswer(status: 200, headers: [:], body: Array(body.utf8)) }
    let result = await uploads.upload(Self.entry(), TryID(3))
    guard case .postFailed(Self.id, try: TryID(3), .protocolError(let detail))? = result else {
      Issue.record("\(String(describing: result))")
      return
    }
    #expect(detail.hasPrefix("the answer to the image could not be read"))
  }

  @Test(arguments: [true, false])
  func `after a cut answer, an image that the server has is not sent again`(
    isKnown: Bool
  ) async throws {
    let bytes = Self.bytes(100_000)
    try images.keep(bytes, of: Self.id)
    let upload = isKnown ? "\(Self.endpoint)&id=\(Self.image)" : "https://shop.example/up/1"
    let location = isKnown ? upload.replacing("shop_id=\(Self.shop)&", with: "") : upload
    serve { call in
      switch call.method {
      case "OPTIONS": Self.offer
      case "POST": Self.answer(201, ["location": location, "upload-complete": "?0"])
      default: Self.answer(200)
      }
    }
    let first = await uploads.upload(Self.entry(size: bytes.count), TryID(1))
    guard case .postFailed? = first else {
      Issue.record("\(String(describing: first))")
      return
    }
    #expect((images.ticket(of: Self.id) != nil) == isKnown, "only its URL contains the image's id")
    let second = await uploads.upload(Self.entry(size: bytes.count), TryID(2))
    let again = isKnown ? ["HEAD"] : ["POST", "PATCH"]
    #expect(calls.all.map(\.method) == ["OPTIONS", "POST", "PATCH"] + again)
    guard isKnown else { return }
    guard case .uploaded(Self.id, Self.url, _)? = second else {
      Issue.record("\(String(describing: second))")
      return
    }
    #expect(images.ticket(of: Self.id) == nil)
  }

  @Test func `a complete answer without an image is an error`() async throws {
    try images.keep(Self.bytes(1_000), of: Self.id)
    serve { _ in HTTPAnswer(status: 200, headers: [:], body: Array("{}".utf8)) }
    let result = await uploads.upload(Self.entry(), TryID(3))
    guard case .uploadRefused(Self.id, try: TryID(3), let reason)? = result else {
      Issue.record("\(String(describing: result))")
      return
    }
    #expect(reason.hasPrefix("the answer to the image could not be read"))
  }

  @Test func `an image that is gone from the device is an error`() async {
    let result = await uploads.upload(Self.entry(), TryID(3))
    let reason = "the image is no longer on this device"
    #expect(result == .uploadRefused(Self.id, try: TryID(3), reason: reason))
  }

  @Test(arguments: [
    (200, ["HEAD"]), (404, ["HEAD", "POST"]), (410, ["HEAD", "POST"]), (503, ["HEAD"]),
  ])
  func `an image with an old URL is sent again only if it is gone`(
    status: Int, methods: [String]
  ) async throws {
    try images.keep(Self.bytes(1_000), of: Self.id)
    serve { $0.method == "HEAD" ? Self.answer(status) : Self.accepted }
    let result = await uploads.upload(Self.entry(url: Self.url), TryID(1))
    #expect(calls.all.map(\.method) == methods)
    guard status == 503 else {
      guard case .uploaded(Self.id, Self.url, _)? = result else {
        Issue.record("\(String(describing: result))")
        return
      }
      return
    }
    let failure = LinkFailure.http(status: 503, retryAfter: nil, detail: "")
    #expect(result == .postFailed(Self.id, try: TryID(1), failure))
  }

  @Test func `files are their owner's, and old ones of no entry are removed at the start`() throws {
    let scratch = NSTemporaryDirectory() + "holdfast-images-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: scratch) }
    let first = OutboxImages(of: Self.shop, in: scratch)
    let other = UUID128(high: 0, low: 8)
    try first.keep(Self.bytes(100), of: Self.id)
    try first.keep(Self.bytes(200), of: other)
    let paths = FileManager.default.enumerator(atPath: scratch)?.compactMap { $0 as? String } ?? []
    let files = paths.filter { $0.hasSuffix("\(Self.id)") || $0.hasSuffix("\(other)") }
    #expect(files.count == 2)
    for file in files {
      let found = try FileManager.default.attributesOfItem(atPath: "\(scratch)/\(file)")
      #expect((found[.posixPermissions] as? Int).map { $0 & 0o777 } == 0o600)
    }
    let path = try #require(files.first { $0.hasSuffix("\(other)") })
    let changed = Timestamp(nanoseconds: 1_800_000_000_000_000_000)
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSince1970: 1_800_000_000)],
      ofItemAtPath: "\(scratch)/\(path)")
    let second = OutboxImages(of: Self.shop, in: scratch)
    let fresh = UUID128(high: 0, low: 9)
    try second.keep(Self.bytes(300), of: fresh)
    second.removeUnknown(keeping: [Self.entry()], at: changed.advanced(by: .seconds(3_600)))
    #expect(try second.bytes(of: other) == Self.bytes(200), "its message may be being stored")
    let late = changed.advanced(by: .seconds(3_600) + .nanoseconds(1))
    second.removeUnknown(keeping: [Self.entry()], at: late)
    #expect(try second.bytes(of: Self.id) == Self.bytes(100))
    #expect(try second.bytes(of: other) == nil)
    #expect(try second.bytes(of: fresh) == Self.bytes(300), "its entry is not stored yet")
    second.remove(Self.id, isSent: true)
    #expect(try second.bytes(of: Self.id) == nil)
    let elsewhere = OutboxImages(of: ShopID(UUID128(high: 0, low: 6)), in: scratch)
    elsewhere.removeUnknown(keeping: [], at: Timestamp(nanoseconds: .max))
    #expect(try second.bytes(of: fresh) == Self.bytes(300), "it belongs to another shop")
  }

  @Test func `the images in memory have a limit`() throws {
    let one = [UInt8](repeating: 1, count: OutboxImages.memoryBytes / 16)
    for number in 0..<16 { try images.keep(one, of: UUID128(high: 1, low: UInt64(number))) }
    #expect(throws: StoreFailure.self) { try images.keep([1], of: Self.id) }
    images.remove(UUID128(high: 1, low: 0), isSent: true)
    try images.keep([1], of: Self.id)
  }
}

/// Tests of images that an app sends.
struct OutgoingImageTests {
  @Test func `an image is known by its content and has at most 5 MiB`() throws {
    let png: [UInt8] = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]
    #expect(try ShopStream.Image(png).type == .png)
    #expect(throws: ShopStream.ImageFailure.empty) { try ShopStream.Image([UInt8]()) }
    #expect(throws: ShopStream.ImageFailure.unknownType) {
      try ShopStream.Image(Array("<svg/>".utf8))
    }
    let most = png + [UInt8](repeating: 0, count: ShopImage.mostBytes - png.count)
    #expect(try ShopStream.Image(most).bytes.count == ShopImage.mostBytes)
    #expect(throws: ShopStream.ImageFailure.tooLarge) {
      try ShopStream.Image(most + [0])
    }
    #expect(throws: ShopStream.ImageFailure.tooLarge) {
      try ShopStream.Image(Data(most + [0]))
    }
  }

  @Test func `a file is read up to the limit`() throws {
    let path = NSTemporaryDirectory() + "holdfast-\(UUID().uuidString).png"
    let url = URL(filePath: path)
    let missing = #expect(throws: ShopStream.ImageFailure.self) {
      try ShopStream.Image(contentsOf: url)
    }
    #expect(missing?.description.hasPrefix("the image cannot be read: ") == true)
    defer { try? FileManager.default.removeItem(atPath: path) }
    try Data([0xff, 0xd8, 0xff, 0xe0]).write(to: url)
    #expect(try ShopStream.Image(contentsOf: url).type == .jpeg)
    try Data(count: ShopImage.mostBytes + 1).write(to: url)
    #expect(throws: ShopStream.ImageFailure.tooLarge) {
      try ShopStream.Image(contentsOf: url)
    }
  }
}
