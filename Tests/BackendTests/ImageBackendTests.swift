import Foundation
import HoldfastAssistants
import HoldfastBackend
import HoldfastCore
import HoldfastJSON
import HoldfastMessageData
import HoldfastMessageServer
import HoldfastTestKit
import HoldfastUploads
import Testing

/// Tests of images over real sockets, with real files.
@Suite(.offThePool, .timeLimit(.minutes(60))) struct ImageBackendTests {
  private static let path = ImageRoute.upload.path
  private static let gif = "GIF89a" + String(repeating: "0123456789", count: 2_000)

  /// Uploads an image of the bakery in one request.
  private static func upload(
    _ rig: BackendRig, _ token: String, _ content: String = gif
  ) async throws -> ShopImage {
    let answer = try await rig.client().ask(
      "POST", path + "?shop_id=bakery", token: token, fields: ["Content-Type: image/gif"],
      body: content)
    #expect(answer.status == 200)
    return try Envelope.decodeImage(Array(answer.body.utf8), shop: BackendRig.shop, sent: .png)
  }

  private static func get(
    _ rig: BackendRig, _ id: MessageID, _ token: String, _ fields: [String] = []
  ) async throws -> SocketsClient.Response {
    try await rig.client().ask("GET", ImageRoute.image(id).path, token: token, fields: fields)
  }

  private static func files(_ scratch: Scratch, _ folder: String = "images") -> [String] {
    let path = scratch("data/\(folder)")
    return ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted()
  }

  @Test(arguments: [ShopServerPolicy.Dialect.positions, .plain])
  func `an image is served to members until its message is deleted`(
    _ dialect: ShopServerPolicy.Dialect
  ) async throws {
    let scratch = try Scratch()
    try await BackendRig.run(in: scratch("data"), { $0.policy.dialect = dialect }) { rig in
      let (ann, ben) = (try await rig.token(), try await rig.token("ben"))
      let image = try await Self.upload(rig, ann)
      #expect(image.url == "http://test" + ImageRoute.image(image.id).path)
      #expect(image.type == .gif)
      #expect(try scratch.mode(of: "data/images") == 0o700)
      #expect(try scratch.mode(of: "data/images/\(image.id)") == 0o600)
      #expect(try await Self.get(rig, image.id, ben).status == 404)
      let client = try rig.client()
      let posted = try await client.post(ImageReference.text(for: image.url), token: ann)
      let message = try posted.message()
      let whole = try await Self.get(rig, image.id, ben)
      #expect((whole.status, whole.body) == (200, Self.gif))
      #expect(whole.headers["content-type"] == "image/gif")
      let part = try await Self.get(rig, image.id, ben, ["Range: bytes=3-5"])
      #expect((part.status, part.body) == (206, "89a"))
      #expect(part.headers["content-range"] == "bytes 3-5/20006")
      let head = try await client.ask("HEAD", ImageRoute.image(image.id).path, token: ben)
      #expect((head.status, head.headers["content-length"]) == (200, "20006"))
      #expect(try await client.delete(message.id, token: ann).status == 200)
      #expect(try await Self.get(rig, image.id, ann).status == 404)
      await rig.backend.drainAndStop()
      #expect(Self.files(scratch) == [])
    }
  }

  @Test func `an image leaves the files after an edit without it`() async throws {
    let scratch = try Scratch()
    try await BackendRig.run(
      in: scratch("data"), { $0.policy.forgetDelay = .milliseconds(1) }
    ) { rig in
      let token = try await rig.token()
      let image = try await Self.upload(rig, token)
      let client = try rig.client()
      let text = ImageReference.text(for: image.url)
      let message = try await client.post(text, token: token).message()
      #expect(try await client.edit(message.id, to: text + "!", token: token).status == 200)
      #expect(try await Self.get(rig, image.id, token).status == 200)
      #expect(try await client.edit(message.id, to: "!", token: token).status == 200)
      #expect(try await Self.get(rig, image.id, token).status == 404)
      while !Self.files(scratch).isEmpty { await Task.yield() }
    }
  }

  @Test func `the uploader and admins delete an image, and its message keeps the text`()
    async throws
  {
    let scratch = try Scratch()
    try await BackendRig.run(in: scratch("data")) { rig in
      let (ann, ben) = (try await rig.token(), try await rig.token("ben"))
      let admin = try await rig.token("mod", admin: [BackendRig.shop])
      let client = try rig.client()
      for (token, status) in [(ann, 200), (ben, 403), (admin, 200)] {
        let image = try await Self.upload(rig, ann)
        let text = ImageReference.text(for: image.url)
        #expect(try await client.post(text, token: ann).status == 201)
        let target = ImageRoute.image(image.id).path
        let answer = try await client.ask("DELETE", target + "?shop_id=bakery", token: token)
        #expect(answer.status == status)
        #expect(Self.files(scratch).contains("\(image.id)") == (status == 403))
        #expect(try await client.page("page=1", token: ben).messages.first?.text == text)
      }
      #expect(Self.files(scratch).count == 1)
    }
  }

  @Test func `a form is an upload`() async throws {
    try await BackendRig.run({ $0.publicURL = PublicURL("https://chat.example") }) { rig in
      let token = try await rig.token()
      let body =
        "--b\r\nContent-Disposition: form-data; name=\"shop_id\"\r\n\r\nbakery\r\n"
        + "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.png\"\r\n"
        + "Content-Type: image/png\r\n\r\n\(Self.gif)\r\n--b--\r\n"
      let answer = try await rig.client().ask(
        "POST", Self.path, token: token, fields: ["Content-Type: multipart/form-data; boundary=b"],
        body: body)
      #expect(answer.status == 200)
      let image = try Envelope.decodeImage(
        Array(answer.body.utf8), shop: BackendRig.shop, sent: .png)
      #expect(image.type == .gif)
      #expect(image.url == "https://chat.example" + ImageRoute.image(image.id).path)
      #expect(try await Self.get(rig, image.id, token).body == Self.gif)
    }
  }

  @Test func `an upload that is cut goes on after a crash, without a byte twice`() async throws {
    let scratch = try Scratch()
    var location = ""
    try await BackendRig.run(in: scratch("data")) { rig in
      let token = try await rig.token()
      let client = try rig.client()
      let fields = UploadFields(.current, length: Self.gif.utf8.count, isComplete: true)
      let lines =
        [
          "POST \(Self.path)?shop_id=bakery HTTP/1.1", "Host: test",
          "Authorization: Bearer \(token)", "Content-Length: \(Self.gif.utf8.count)",
        ] + fields.fields.map { "\($0.name): \($0.value)" }
      let response = try await client.speak(
        lines.joined(separator: "\r\n") + "\r\n\r\n" + Self.gif.prefix(7_000))
      #expect(response.status == 104)
      location = try #require(response.headers["location"])
      await client.leave()
      #expect(try await Self.ask(rig, "HEAD", location, token).headers["upload-offset"] == "7000")
      #expect(Self.files(scratch, "image-uploads").count == 1)
    }
    try await BackendRig.run(in: scratch("data")) { rig in
      let token = try await rig.token()
      #expect(try await Self.ask(rig, "HEAD", location, token).headers["upload-offset"] == "7000")
      let last = try await Self.ask(
        rig, "PATCH", location, token, offset: 7_000, String(Self.gif.dropFirst(7_000)))
      #expect(last.status == 200)
      let image = try Envelope.decodeImage(
        Array(last.body.utf8), shop: BackendRig.shop, sent: .png)
      #expect(location.hasSuffix("id=\(image.id)"))
      #expect(try await Self.get(rig, image.id, token).body == Self.gif)
      #expect(Self.files(scratch, "image-uploads") == [])
    }
  }

  private static func ask(
    _ rig: BackendRig, _ method: String, _ location: String, _ token: String, offset: Int? = nil,
    _ body: String? = nil
  ) async throws -> SocketsClient.Response {
    let upload = UploadFields(.current, offset: offset, isComplete: body == nil ? nil : true)
    let fields = upload.fields.map { "\($0.name): \($0.value)" }
    return try await rig.client().ask(
      method, location, token: token,
      fields: fields + (body == nil ? [] : ["Content-Type: application/partial-upload"]),
      body: body)
  }

  @Test func `old files that a crash left are removed at the next start`() async throws {
    let scratch = try Scratch()
    var known = ""
    try await BackendRig.run(in: scratch("data")) { rig in
      known = "\(try await Self.upload(rig, rig.token()).id)"
    }
    // Another process may still store the image of the young one.
    let young = "\(UUID128(high: 9, low: 9))"
    let orphans = ["\(UUID128(high: 1, low: 1))", "\(known).draft", "odd"]
    for name in orphans + [young] { try scratch.write([1], to: "data/images/\(name)") }
    for name in orphans + [known] {
      try FileManager.default.setAttributes(
        [.modificationDate: Date(timeIntervalSinceNow: -3_600)],
        ofItemAtPath: scratch("data/images/\(name)"))
    }
    try await BackendRig.run(in: scratch("data")) { rig in
      while Self.files(scratch).count > 2 { await Task.yield() }
      #expect(Self.files(scratch) == [known, young].sorted())
    }
  }

  @Test func `an image that cannot be stored leaves nothing behind`() async throws {
    let scratch = try Scratch()
    try await BackendRig.run(in: scratch("data")) { rig in
      let token = try await rig.token()
      try scratch.write([1], to: "data/images")
      let answer = try await rig.client().ask(
        "POST", Self.path + "?shop_id=bakery", token: token, body: Self.gif)
      #expect(answer.status == 503)
      #expect(answer.headers["retry-after"] == "2")
      try FileManager.default.removeItem(atPath: scratch("data/images"))
      for number in 0...ImageServer.mostUnclaimed {
        let answer = try await rig.client().ask(
          "POST", Self.path + "?shop_id=bakery", token: token, body: Self.gif)
        #expect(answer.status == (number < ImageServer.mostUnclaimed ? 200 : 429))
      }
      #expect(Self.files(scratch).count == ImageServer.mostUnclaimed)
    }
  }

  @Test(arguments: ["images", "image-uploads"])
  func `the health recovers without another upload`(folder: String) async throws {
    let scratch = try Scratch()
    try await BackendRig.run(
      in: scratch("data"), { $0.policy.busyRetry = .milliseconds(20) }
    ) { rig in
      let token = try await rig.token()
      let client = try rig.client()
      try scratch.write([1], to: "data/\(folder)")
      let upload = UploadFields(.current, length: 1, isComplete: false)
      let fields = folder == "images" ? [] : upload.fields.map { "\($0.name): \($0.value)" }
      let refused = try await client.ask(
        "POST", Self.path + "?shop_id=bakery", token: token, fields: fields,
        body: folder == "images" ? Self.gif : "")
      #expect(refused.status == 503)
      #expect(try await client.ask("GET", "/healthz").status == 503)
      try FileManager.default.removeItem(atPath: scratch("data/\(folder)"))
      while try await client.ask("GET", "/healthz").status != 200 { await Task.yield() }
      #expect(Self.files(scratch) == [])
      #expect(Self.files(scratch, "image-uploads") == [])
    }
  }

  @Test func `a removed member neither uploads nor downloads`() async throws {
    try await BackendRig.run { rig in
      let token = try await rig.token()
      let image = try await Self.upload(rig, token)
      try await rig.backend.removeMember("ann", of: BackendRig.shop)
      #expect(try await Self.get(rig, image.id, token).status == 403)
      let answer = try await rig.client().ask(
        "POST", Self.path + "?shop_id=bakery", token: token, body: Self.gif)
      #expect(answer.status == 403)
    }
  }

  @Test func `a damaged image is an error of this image alone`() async throws {
    let scratch = try Scratch()
    try await BackendRig.run(in: scratch("data")) { rig in
      let token = try await rig.token()
      let image = try await Self.upload(rig, token)
      let other = try await Self.upload(rig, token)
      try scratch.write([1, 2, 3], to: "data/images/\(image.id)")
      let client = try rig.client()
      for method in ["GET", "HEAD"] {
        let target = ImageRoute.image(image.id).path
        #expect(try await client.ask(method, target, token: token).status == 500)
      }
      let reason = "the file is not the image that was stored"
      await rig.lines.wait { $0.contains(reason) }
      #expect(try await client.ask("GET", "/healthz").status == 200)
      #expect(try await Self.get(rig, other.id, token).body == Self.gif)
      try FileManager.default.removeItem(atPath: scratch("data/images/\(image.id)"))
      #expect(try await Self.get(rig, image.id, token).status == 404)
    }
  }

  @Test(arguments: [(-1, 200), (0, 200), (1, 413), (65_536, 413)])
  func `a body may have 5 MiB`(_ excess: Int, _ status: Int) async throws {
    try await BackendRig.run { rig in
      let start = "GIF89a"
      let count = ShopImage.mostBytes + excess - start.utf8.count
      let answer = try await rig.client().ask(
        "POST", Self.path + "?shop_id=bakery", token: rig.token(),
        body: start + String(repeating: "x", count: count))
      #expect(answer.status == status)
      guard status == 200 else { return }
      let image = try Envelope.decodeImage(
        Array(answer.body.utf8), shop: BackendRig.shop, sent: .png)
      let whole = try await Self.get(rig, image.id, rig.token())
      #expect(whole.body.utf8.count == ShopImage.mostBytes + excess)
    }
  }

  /// Posts a message with an image, and deletes the message.
  private static func deleteMessage(
    _ rig: BackendRig, _ token: String, with image: ShopImage, _ text: String
  ) async throws {
    let client = try rig.client()
    let whole = text + ImageReference.text(for: image.url)
    let message = try await client.post(whole, token: token).message()
    #expect(try await client.delete(message.id, token: token).status == 200)
  }

  @Test func `an image that cannot be removed delays neither texts nor other images`()
    async throws
  {
    let scratch = try Scratch()
    try await BackendRig.run(
      in: scratch("data"), { $0.policy.forgetDelay = .milliseconds(1) }
    ) { rig in
      let token = try await rig.token()
      let stuck = try await Self.upload(rig, token)
      let other = try await Self.upload(rig, token)
      // A directory cannot be unlinked.
      let path = scratch("data/images/\(stuck.id)")
      try FileManager.default.removeItem(atPath: path)
      try FileManager.default.createDirectory(
        atPath: path, withIntermediateDirectories: false)
      try await Self.deleteMessage(rig, token, with: stuck, "first-marker")
      try await Self.deleteMessage(rig, token, with: other, "second-marker")
      while Self.contains(scratch, "-marker") { await Task.yield() }
      while Self.files(scratch).count > 1 { await Task.yield() }
      await rig.lines.wait { $0.contains("Cannot remove") }
      #expect(try await rig.client().ask("GET", "/healthz").status == 200)
      try FileManager.default.removeItem(atPath: path)
      try scratch.write([1], to: "data/images/\(stuck.id)")
      while !Self.files(scratch).isEmpty { await Task.yield() }
    }
  }

  /// Returns whether a file of the store contains a text.
  private static func contains(_ scratch: Scratch, _ text: String) -> Bool {
    ["messages.sqlite", "messages.sqlite-wal"].contains { name in
      let content = (try? scratch.bytes(of: "data/\(name)")) ?? []
      return Data(content).range(of: Data(text.utf8)) != nil
    }
  }
}
