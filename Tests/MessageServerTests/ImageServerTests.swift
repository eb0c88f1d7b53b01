import HoldfastCore
import HoldfastIdentity
import HoldfastJSON
import HoldfastMessageData
import HoldfastServerFixtures
import HoldfastTestKit
import Testing

@testable import HoldfastMessageServer
@testable import HoldfastServerParts

/// Tests of the rules of images: uploads in one request, downloads and deletions.
@Suite struct ImageServerTests {
  private typealias Effect = ImageServer.Effect

  private static let shopField = ("shop_id", Array("bakery".utf8))

  private static let complete: [ImageCall] = [
    ImageStage.upload(), ImageStage.upload(type: nil), ImageStage.upload(type: "text/plain"),
    ImageStage.form([shopField, ("file", ImageStage.png)]),
    ImageStage.form([("file", ImageStage.png), ("other", []), shopField]),
  ]

  @Test(arguments: complete) func `an image is stored and answered with its address`(
    _ call: ImageCall
  ) throws {
    var stage = ImageStage()
    let store = Effect.store(
      StoreToken(2), ImageStage.name, Stage.shop, user: "ann", .png, ImageStage.png)
    #expect(stage.ask(call) == [store])
    let answer = try #require(stage.done(.stored(ImageStage.image(isClaimed: false))).answer)
    #expect(answer.status == 200)
    let url = "https://a.example" + ImageRoute.image(ImageStage.name).path
    let image = ShopImage(id: ImageStage.name, shop: Stage.shop, url: url, type: .png)
    #expect(try Envelope.decodeImage(answer.body, shop: Stage.shop, sent: .gif) == image)
    #expect(stage.server.metricsText.contains("holdfast_images_stored_bytes_total 10\n"))
  }

  /// A byte more than 5 MiB.
  private static let long = ImageStage.png + [UInt8](repeating: 0, count: 5_242_871)

  private static let refused: [(ImageCall, Int, String)] = [
    (ImageStage.upload(shop: nil), 400, "shop_id: missing or not an id"),
    (ImageStage.upload(shop: "a/b"), 400, "shop_id: missing or not an id"),
    (ImageStage.upload(shop: "cellar"), 403, "not a member of this shop"),
    (ImageStage.upload([]), 415, "the content is not a JPEG, PNG, GIF, WebP or HEIC image"),
    (ImageStage.upload([1, 2]), 415, "the content is not a JPEG, PNG, GIF, WebP or HEIC image"),
    (ImageStage.upload(long), 413, "An image has at most 5242880 bytes."),
    (ImageStage.form([shopField]), 400, "file: missing"),
    (ImageStage.form([("file", ImageStage.png)]), 400, "shop_id: missing or not an id"),
    (
      ImageStage.form([("shop_id", Array("cellar".utf8)), ("file", ImageStage.png)]), 403,
      "not a member of this shop"
    ),
    (ImageStage.form([shopField, ("file", [1])]), 415, "the content is not"),
    (ImageStage.form([shopField], boundary: "other"), 400, "the multipart body is incomplete"),
    (ImageStage.form([shopField], boundary: ""), 400, "the Content-Type has no valid boundary"),
    (ImageCall("GET", .upload), 405, "this route takes POST, HEAD, PATCH, DELETE, OPTIONS"),
    (ImageCall("POST", .image(ImageStage.name)), 405, "this route takes GET, HEAD, DELETE"),
  ]

  @Test(arguments: refused) func `a request that cannot be served is refused`(
    _ call: ImageCall, _ status: Int, _ message: String
  ) {
    var stage = ImageStage()
    let answer = stage.ask(call).answer
    #expect(answer?.status == status)
    #expect(answer?.text.contains(message) == true, "\(answer?.text ?? "")")
    #expect((answer?.field("Allow") != nil) == (status == 405))
  }

  @Test(arguments: [5_242_879, 5_242_880, 5_242_881])
  func `an image has at most 5 MiB, in a form as well`(_ count: Int) {
    let content = Array(Self.long.prefix(count))
    for call in [
      ImageStage.upload(content), ImageStage.form([Self.shopField, ("file", content)]),
    ] {
      var stage = ImageStage()
      let effects = stage.ask(call)
      if case .store(_, _, _, _, .png, let stored)? = effects.first {
        #expect(stored.count == count)
      }
      #expect(effects.answer?.status == (count > ShopImage.mostBytes ? 413 : nil))
    }
  }

  @Test func `a compressed body is refused`() {
    var call = ImageStage.upload()
    call.isPlain = false
    var stage = ImageStage()
    #expect(stage.ask(call).answer?.status == 415)
  }

  @Test(arguments: [
    ImageStage.upload(), ImageStage.get(), ImageStage.get("DELETE"), ImageStage.piece("HEAD"),
  ]) func `every request needs a valid token`(_ call: ImageCall) {
    var stage = ImageStage()
    let expired = Credential.valid(Stage.claims(ttl: .zero))
    for (credential, reason) in [
      (Credential.missing, "no token"), (.invalid(reason: "odd"), "invalid token: odd"),
      (expired, "the token has expired"),
    ] {
      let answer = stage.ask(call, credential).answer
      #expect(answer?.status == 401)
      #expect(answer?.text.contains(reason) == true)
      let error = #"Bearer error="invalid_token", error_description="\#(reason)""#
      #expect(answer?.field("WWW-Authenticate") == (credential == .missing ? "Bearer" : error))
    }
    let unchecked = stage.ask(call, .unchecked(retryAfter: .seconds(3))).answer
    #expect(unchecked?.status == 503)
    #expect(unchecked?.field("Retry-After") == "3")
  }

  @Test func `a removed member is refused until the removal ends`() {
    let removal = Membership(shop: Stage.shop, user: "ann")
    var stage = ImageStage(removed: [removal])
    #expect(stage.ask(ImageStage.upload()).answer?.status == 403)
    let image = ImageStage.image()
    #expect(stage.ask(ImageStage.get(), finding: image).answer?.status == 403)
    _ = stage.feed(.removals([]))
    #expect(stage.ask(ImageStage.upload()).answer == nil)
    _ = stage.feed(.removals([removal]))
    #expect(stage.ask(ImageStage.upload()).answer?.status == 403)
  }

  @Test func `uploads and deletions have the rate of posts, and downloads have none`() {
    var stage = ImageStage { $0.postBurst = 2 }
    for _ in 0..<9 { #expect(stage.ask(ImageStage.get()).answer == nil) }
    #expect(stage.ask(ImageStage.upload()).answer == nil)
    #expect(stage.ask(ImageStage.get("DELETE")).answer == nil)
    let answer = stage.ask(ImageStage.upload()).answer
    #expect(answer?.status == 429)
    #expect(answer?.field("Retry-After") == "1")
    #expect(stage.ask(ImageStage.get("DELETE")).answer?.status == 429)
    #expect(stage.ask(ImageStage.upload(), ImageStage.token("ben")).answer == nil)
  }

  @Test(arguments: [2, 3]) func `the work under way is bounded`(_ count: Int) {
    var stage = ImageStage { $0.maxRequests = 2 }
    for _ in 1..<count { #expect(stage.ask(ImageStage.get()).answer == nil) }
    let answer = stage.ask(ImageStage.get()).answer
    #expect(answer?.status == (count > 2 ? 503 : nil))
  }

  @Test func `an image that could not be stored is refused, and may be sent again`() {
    var stage = ImageStage()
    _ = stage.ask(ImageStage.upload())
    let failed = stage.done(.failed(.full(detail: "x"))).answer
    #expect(failed?.status == 503)
    #expect(failed?.field("Retry-After") == "2")
    #expect(
      stage.server.serviceHealth == .failing(reason: "the disk of the image store is full"))
    _ = stage.ask(ImageStage.upload())
    #expect(stage.done(.tooMany(wait: .zero)).answer?.status == 429)
    _ = stage.ask(ImageStage.upload())
    #expect(stage.done(.stored(ImageStage.image())).answer?.status == 200)
    #expect(stage.server.serviceHealth == .ok)
  }

  @Test func `a store that failed is tried again until it works`() {
    var stage = ImageStage()
    _ = stage.ask(ImageStage.upload())
    _ = stage.done(.failed(.full(detail: "x")))
    for outcome in [ImageOutcome.failed(.full(detail: "x")), .cleaned] {
      #expect(stage.server.serviceHealth != .ok)
      #expect(stage.server.deadline == stage.now.advanced(by: .seconds(2)))
      stage.now = stage.now.advanced(by: .seconds(2) - .nanoseconds(1))
      #expect(stage.tick() == [])
      stage.now = stage.now.advanced(by: .nanoseconds(1))
      guard case .clean? = stage.tick().first else {
        Issue.record("the store is not tried again")
        return
      }
      _ = stage.done(outcome)
    }
    #expect(stage.server.serviceHealth == .ok)
    #expect(stage.server.deadline == stage.now.advanced(by: .seconds(3_600)))
  }

  @Test func `a damaged store is damaged until something is stored`() {
    var stage = ImageStage()
    _ = stage.ask(ImageStage.upload())
    _ = stage.done(.failed(.corrupt(detail: "x")))
    stage.now = stage.now.advanced(by: .seconds(2))
    _ = stage.tick()
    _ = stage.done(.cleaned)
    #expect(stage.server.serviceHealth == .failing(reason: "the image store is damaged"))
  }
}

/// Tests of downloads and deletions.
@Suite struct ImageDownloadTests {
  private static let tag = "\"\(ImageStage.name)\""

  @Test(
    arguments: [
      (nil, 0..<10, 200, nil), ("bytes=0-3", 0..<4, 206, "bytes 0-3/10"),
      ("bytes=0-", 0..<10, 206, "bytes 0-9/10"), ("bytes=-1", 9..<10, 206, "bytes 9-9/10"),
      ("bytes=0-1,3-4", 0..<10, 200, nil),
    ] as [(String?, Range<Int>, Int, String?)])
  func `a member receives an image or a part of it`(
    _ field: String?, _ range: Range<Int>, _ status: Int, _ named: String?
  ) {
    var stage = ImageStage()
    let image = ImageStage.image(by: "ben")
    let effects = stage.ask(ImageStage.get(range: field), finding: image)
    #expect(effects == [.open(StoreToken(3), image, range)])
    let answer = stage.done(.content(.ready)).answer
    #expect(answer?.status == status)
    #expect(answer?.content == range)
    #expect(answer?.body == [])
    #expect(
      stage.server.metricsText.contains("holdfast_images_served_bytes_total \(range.count)\n"))
    #expect(answer?.field("Content-Range") == named)
    #expect(answer?.field("Content-Type") == "image/png")
    #expect(answer?.field("ETag") == Self.tag)
    #expect(answer?.field("Cache-Control") == "private, no-cache")
    #expect(answer?.field("X-Content-Type-Options") == "nosniff")
    #expect(answer?.field("Content-Disposition") == "inline")
    #expect(answer?.field("Accept-Ranges") == "bytes")
  }

  @Test func `a range after the end is refused with the size`() {
    var stage = ImageStage()
    let answer = stage.ask(ImageStage.get(range: "bytes=10-"), finding: ImageStage.image()).answer
    #expect(answer?.status == 416)
    #expect(answer?.field("Content-Range") == "bytes */10")
  }

  @Test(arguments: [
    (Self.tag, 206), ("W/" + Self.tag, 200), ("\"x\"", 200),
    ("Fri, 27 Nov 2026 22:00:00 GMT", 200),
  ]) func `a range is conditional`(_ condition: String, _ status: Int) {
    var stage = ImageStage()
    var call = ImageStage.get(range: "bytes=0-3")
    call.ifRange = condition
    _ = stage.ask(call, finding: ImageStage.image())
    #expect(stage.done(.content(.ready)).answer?.status == status)
  }

  @Test(arguments: [
    (Self.tag, true), ("\"a\" , W/" + Self.tag, true), ("*", true), ("\"a\"", false),
    ("\(ImageStage.name)", false),
  ]) func `an image that the client has is not sent`(_ known: String, _ isKnown: Bool) {
    var stage = ImageStage()
    for method in ["GET", "HEAD"] {
      var call = ImageStage.get(method)
      call.ifNoneMatch = known
      let answer = stage.ask(call, finding: ImageStage.image()).answer
      #expect((answer?.status == 304) == isKnown)
      #expect(answer == nil || answer?.field("ETag") == Self.tag)
    }
  }

  @Test func `HEAD has no ranges, and the content is not read`() {
    var stage = ImageStage()
    let image = ImageStage.image()
    let effects = stage.ask(ImageStage.get("HEAD", range: "bytes=0-3"), finding: image)
    #expect(effects == [.open(StoreToken(3), image, 0..<0)])
    let answer = stage.done(.content(.ready)).answer
    #expect(answer?.status == 200)
    #expect(answer?.content == 0..<10)
    #expect(stage.server.metricsText.contains("holdfast_images_served_total 0\n"))
  }

  @Test(
    arguments: [
      ("ann", false, nil), ("ben", false, 404), ("ann", true, nil), ("ben", true, nil),
    ] as [(String, Bool, Int?)])
  func `an unclaimed image is served to its uploader alone`(
    _ user: String, _ isClaimed: Bool, _ status: Int?
  ) {
    var stage = ImageStage()
    let image = ImageStage.image(isClaimed: isClaimed)
    let effects = stage.ask(ImageStage.get(), ImageStage.token(user), finding: image)
    #expect(effects.answer?.status == status)
  }

  @Test func `an image that is unknown or was deleted meanwhile is not found`() {
    var stage = ImageStage()
    #expect(stage.ask(ImageStage.get(), finding: nil).answer?.status == 404)
    _ = stage.ask(ImageStage.get(), finding: ImageStage.image())
    #expect(stage.done(.content(.missing)).answer?.status == 404)
    _ = stage.ask(ImageStage.get(), finding: ImageStage.image())
    #expect(stage.done(.failed(.other(detail: "x"))).answer?.status == 503)
  }

  @Test func `a damaged image is an error of this image alone`() {
    var stage = ImageStage()
    _ = stage.ask(ImageStage.get(), finding: ImageStage.image())
    let answer = stage.done(.content(.damaged)).answer
    #expect(answer?.status == 500)
    #expect(answer?.text.contains("the image is damaged or cannot be read") == true)
    #expect(stage.server.serviceHealth == .ok)
    #expect(stage.server.metricsText.contains("holdfast_image_store_failures_total 1\n"))
  }

  @Test func `a file that opens after its client left is not sent`() {
    var stage = ImageStage()
    _ = stage.ask(ImageStage.get(), finding: ImageStage.image())
    #expect(stage.feed(.abandoned(RequestID(1))) == [])
    #expect(stage.done(.content(.ready)) == [])
    #expect(stage.server.metricsText.contains("holdfast_images_served_total 0\n"))
  }

  @Test(
    arguments: [
      ("ann", [], true, nil), ("ben", [], true, 403), ("ben", [Stage.shop], true, nil),
      ("ben", [Stage.other], true, 403), ("ben", [], false, 404), ("ann", [], false, nil),
    ] as [(String, [ShopID], Bool, Int?)])
  func `the uploader and admins delete an image`(
    _ user: String, _ admin: [ShopID], _ isClaimed: Bool, _ status: Int?
  ) {
    var stage = ImageStage()
    let token = ImageStage.token(user, admin: admin)
    let image = ImageStage.image(isClaimed: isClaimed)
    let effects = stage.ask(ImageStage.get("DELETE"), token, finding: image)
    #expect(effects.answer?.status == status)
    guard status == nil else { return }
    #expect(effects == [.delete(StoreToken(3), ImageStage.name)])
    let answer = stage.done(.deleted).answer
    #expect(answer?.status == 200)
    #expect(answer?.text == #"{"message":"Image deleted successfully"}"#)
  }

  @Test(arguments: [(nil, 400), ("a b", 400), ("cellar", 404)] as [(String?, Int)])
  func `a deletion names the shop`(_ shop: String?, _ status: Int) {
    var stage = ImageStage()
    var call = ImageStage.get("DELETE")
    call.shop = shop
    #expect(stage.ask(call, finding: ImageStage.image()).answer?.status == status)
  }
}
