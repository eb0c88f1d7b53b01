import HoldfastCore
import HoldfastIdentity
import HoldfastMessageData
import HoldfastServerFixtures
import HoldfastTestKit
import HoldfastUploads
import Testing

@testable import HoldfastMessageServer
@testable import HoldfastServerParts

/// A test harness that drives a server of images at a settable time.
struct ImageStage {
  static let png: [UInt8] = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1, 2]
  static let name = UUID128(high: 1, low: 1)

  var server: ImageServer
  var now = Instant.zero
  private var last: UInt64 = 0

  init(removed: [Membership] = [], _ configure: (inout ShopServerPolicy) -> Void = { _ in }) {
    var policy = ShopServerPolicy()
    configure(&policy)
    server = ImageServer(policy: policy, removed: removed, at: now)
    // The first removal of old images.
    _ = tick()
    _ = done(.cleaned)
  }

  static func token(_ user: String = "ann", admin: [ShopID] = []) -> Credential {
    var claims = Stage.claims(user)
    claims.admin = admin
    return .valid(claims)
  }

  static func image(by user: String = "ann", isClaimed: Bool = true) -> StoredImage {
    StoredImage(
      id: name, shop: Stage.shop, user: user, type: .png, size: png.count, createdAt: Stage.dawn,
      message: isClaimed ? UUID128(high: 2, low: 2) : nil)
  }

  static func upload(
    _ body: [UInt8] = png, shop: String? = "bakery", type: String? = "image/png"
  ) -> ImageCall {
    var call = ImageCall(
      "POST", .upload, shop: shop, origin: "https://a.example", mediaType: type, body: body)
    call.candidate = name
    return call
  }

  static func form(_ parts: [(String, [UInt8])], boundary: String = "xx") -> ImageCall {
    var body: [UInt8] = []
    for (name, content) in parts {
      body += Array("--xx\r\nContent-Disposition: form-data; name=\"\(name)\"\r\n\r\n".utf8)
      body += content + [13, 10]
    }
    return upload(
      body + Array("--xx--".utf8), shop: nil, type: "multipart/form-data; boundary=\(boundary)")
  }

  static func get(_ method: String = "GET", range: String? = nil) -> ImageCall {
    var call = ImageCall(method, .image(name), shop: "bakery")
    call.range = range
    return call
  }

  /// Returns a request about an upload.
  static func piece(
    _ method: String, _ body: [UInt8] = [], offset: Int? = nil, length: Int? = nil,
    isComplete: Bool? = nil, _ dialect: UploadDialect = .current
  ) -> ImageCall {
    var call = ImageCall(
      method, .upload, shop: method == "POST" ? "bakery" : nil, mediaType: dialect.mediaType,
      body: body)
    call.upload = UploadFields(dialect, offset: offset, length: length, isComplete: isComplete)
    if method == "POST" { call.candidate = name } else { call.uploadID = name }
    return call
  }

  mutating func feed(_ input: ImageServer.Input) -> [ImageServer.Effect] {
    let effects = server.handle(input, at: now)
    #expect(server.brokenInvariants(.thorough) == [])
    return effects
  }

  mutating func tick() -> [ImageServer.Effect] {
    let effects = server.tick(at: now)
    #expect(server.brokenInvariants(.thorough) == [])
    return effects
  }

  mutating func ask(
    _ call: ImageCall, _ credential: Credential = token()
  ) -> [ImageServer.Effect] {
    last += 1
    return feed(.request(RequestID(last), call, credential, wall: Stage.dawn))
  }

  /// Ends the newest work.
  mutating func done(_ outcome: ImageOutcome) -> [ImageServer.Effect] {
    feed(.done(server.work.newest, outcome))
  }

  /// Downloads or deletes an image.
  mutating func ask(
    _ call: ImageCall, _ credential: Credential = token(), finding image: StoredImage?
  ) -> [ImageServer.Effect] {
    guard case .find(_, Self.name)? = ask(call, credential).first else { return [] }
    return done(.found(image))
  }
}

extension [ImageServer.Effect] {
  /// The answer if it is the only effect.
  var answer: ImageAnswer? {
    guard count == 1, case .answer(_, let answer) = self[0] else { return nil }
    return answer
  }
}

extension ImageAnswer {
  func field(_ name: String) -> String? { fields.first { $0.name == name }?.value }
  var text: String { String(decoding: body, as: UTF8.self) }
}
