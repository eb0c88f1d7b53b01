import HoldfastCore
import HoldfastMessageData
import Testing

@testable import HoldfastMessageStream

/// Tests of messages with an image: the upload comes first, and the message has its URL.
struct ImageSendTests {
  private static let url = "https://shop.example/api/v1/auth/shops/messages/image/1"
  private static let other = "https://shop.example/api/v1/auth/shops/messages/image/2"
  private static let shop = StreamHarness.settings.shop
  private static let id = UUID128(high: 0, low: 7)

  private static func image(size: Int = 1_000, url: String? = nil, age: Duration = .zero)
    -> OutboxImage
  {
    OutboxImage(
      type: .png, size: size, url: url,
      uploadedAt: url.map { _ in Harness.wall.advanced(by: .zero - age) })
  }

  private static func entry(
    _ text: String = "Look", url: String? = nil, age: Duration = .zero, tries: Int = 0
  ) -> OutboxEntry {
    OutboxEntry(
      id: id, shop: shop, text: text, createdAt: Harness.wall, state: .queued(tries: tries),
      image: image(url: url, age: age))
  }

  private static func sent(_ text: String = "Look", size: Int = 1_000) -> Harness {
    var harness = Harness.connected(at: 3)
    harness.send(text, size: size)
    return harness
  }

  private static func answer(_ text: String) -> ShopMessage {
    ShopMessage(
      id: UUID128(high: 0, low: 90), shop: shop, user: "me", username: nil, text: text,
      createdAt: Harness.wall,
      position: Harness.at(4))
  }

  @Test func `uploads the image, stores its URL, and then sends the text with the reference`() {
    var harness = Self.sent()
    #expect(harness.uploads.map(\.image) == [Self.image()])
    #expect(harness.sentTexts == [])
    harness.storesPromptly = false
    harness.give(.uploaded(Self.id, url: Self.url, at: Harness.wall))
    #expect(harness.sentTexts == [], "the URL is not stored yet")
    harness.storeLast()
    #expect(harness.sentTexts == ["Look\n[IMAGE:\(Self.url)]"])
    #expect(harness.lastStored?.image == Self.image(url: Self.url))
    harness.storesPromptly = true
    harness.give(.posted(Self.id, Self.answer("Look\n[IMAGE:\(Self.url)]")))
    #expect(harness.model.outbox.entries == [])
    #expect(harness.uploads.count == 1)
  }

  @Test func `an image needs no text`() {
    var harness = Self.sent("")
    harness.give(.uploaded(Self.id, url: Self.url, at: Harness.wall))
    #expect(harness.sentTexts == ["[IMAGE:\(Self.url)]"])
  }

  @Test func `messages written later wait for the upload, also while its URL is stored`() {
    var harness = Self.sent()
    harness.give(.send(id: UUID128(high: 0, low: 8), text: "later", parent: nil, at: Harness.wall))
    harness.storesPromptly = false
    harness.give(.uploaded(Self.id, url: Self.url, at: Harness.wall))
    #expect(harness.sentTexts == [])
    harness.storeLast()
    harness.give(.posted(Self.id, Self.answer("x")))
    #expect(harness.sentTexts == ["Look\n[IMAGE:\(Self.url)]", "later"])
  }

  @Test func `an upload that failed is tried again, and one that succeeded late counts`() {
    var harness = Self.sent()
    harness.fail(Self.id, .reset)
    harness.pass(2)
    #expect(harness.uploads.count == 2)
    harness.fail(Self.id, .http(status: 503, retryAfter: nil, detail: ""))
    harness.give(.uploaded(Self.id, url: Self.url, at: Harness.wall))
    harness.pass(10)
    #expect(harness.uploads.count == 2)
    #expect(harness.sentTexts == ["Look\n[IMAGE:\(Self.url)]"])
    harness.give(.uploaded(Self.id, url: Self.other, at: Harness.wall))
    #expect(harness.model.outbox.entries.first?.image?.url == Self.url, "it may have been sent")
  }

  @Test(arguments: [
    (404, "", "the server takes no images"), (405, "", "the server takes no images"),
    (413, "", "the image is too large"),
    (413, "at most 1 MB", "the image is too large: at most 1 MB"),
    (415, "", "the server does not take this type of image"),
    (400, "no file", "the server refused the image: no file"),
    (410, "", "the server refused the image (410)"),
  ])
  func `a refused image fails its message with the reason`(
    status: Int, detail: String, reason: String
  ) {
    var harness = Self.sent()
    harness.fail(Self.id, .http(status: status, retryAfter: nil, detail: detail))
    #expect(harness.model.outbox.entries.map(\.state) == [.failed(reason: reason)])
    harness.give(.retry(Self.id))
    #expect(harness.uploads.count == 2)
  }

  @Test(arguments: [
    (StreamModel.longestUploadPause - .nanoseconds(1), false),
    (StreamModel.longestUploadPause, false),
    (StreamModel.longestUploadPause + .nanoseconds(1), true),
  ])
  func `an image that the server takes only much later does not stop other messages`(
    pause: Duration, isFailed: Bool
  ) {
    var harness = Self.sent()
    harness.give(.send(id: UUID128(high: 0, low: 8), text: "later", parent: nil, at: Harness.wall))
    harness.fail(Self.id, .http(status: 429, retryAfter: pause, detail: "16 images wait"))
    let reason =
      "the server takes no image now: 16 images wait; "
      + "discard messages with images that failed, or retry later"
    #expect((harness.model.outbox.entries.first?.state == .failed(reason: reason)) == isFailed)
    #expect(harness.sentTexts == (isFailed ? ["later"] : []))
  }

  @Test(arguments: [401, 403, 408, 429, 500, 503])
  func `other answers to an upload are handled as for messages`(status: Int) {
    var harness = Self.sent()
    harness.fail(Self.id, .http(status: status, retryAfter: nil, detail: ""))
    let isFailed =
      harness.model.outbox.entries.first?.state == .failed(reason: "no member of this shop")
    #expect(isFailed == (status == 403))
    #expect(harness.sentTexts == [])
  }

  @Test func `an image that is no longer on the device fails its message`() {
    var harness = Self.sent()
    let number = harness.uploadTries.last
    harness.give(.uploadRefused(Self.id, try: number ?? TryID(0), reason: "gone"))
    #expect(harness.model.outbox.entries.map(\.state) == [.failed(reason: "gone")])
    harness.give(.retry(Self.id))
    harness.give(.uploadRefused(Self.id, try: number ?? TryID(0), reason: "late"))
    #expect(harness.model.outbox.entries.map(\.state) == [.queued(tries: 0)])
  }

  @Test func `a new launch uploads an image without a URL, and sends one with a URL`() {
    let waiting = TimelineSnapshot(
      cursor: ShopCursor(position: Harness.at(3), wholeAt: Harness.wall), outbox: [Self.entry()])
    let first = Harness.launched(with: waiting)
    #expect(first.uploads.count == 1)
    var stored = waiting
    stored.outbox = [Self.entry(url: Self.url)]
    let second = Harness.launched(with: stored)
    #expect(second.uploads.count == 0)
    #expect(second.sentTexts == ["Look\n[IMAGE:\(Self.url)]"])
  }

  @Test(arguments: [
    (Duration.seconds(20 * 3600) - .nanoseconds(1), false), (.seconds(20 * 3600), true),
    (.seconds(-1), true),
  ])
  func `an image that was uploaded 20 h ago is looked up before its message is sent`(
    age: Duration, isLookedUp: Bool
  ) {
    let snapshot = TimelineSnapshot(
      cursor: ShopCursor(position: Harness.at(3), wholeAt: Harness.wall),
      outbox: [Self.entry(url: Self.url, age: age)])
    var harness = Harness.launched(with: snapshot)
    #expect(harness.uploads.count == (isLookedUp ? 1 : 0))
    guard isLookedUp else { return }
    harness.give(.uploaded(Self.id, url: Self.url, at: Harness.wall))
    #expect(harness.sentTexts == ["Look\n[IMAGE:\(Self.url)]"])
    harness.fail(Self.id, .refused)
    harness.pass(59)
    #expect(harness.uploads.count == 1, "it was found a minute ago")
    harness.pass(60)
    harness.give(.retry(Self.id))
  }

  @Test func `an image that is gone after a day is uploaded again`() {
    let snapshot = TimelineSnapshot(
      cursor: ShopCursor(position: Harness.at(3), wholeAt: Harness.wall),
      outbox: [Self.entry(url: Self.url, age: .seconds(90_000))])
    var harness = Harness.launched(with: snapshot)
    harness.give(.uploaded(Self.id, url: Self.other, at: Harness.wall))
    #expect(harness.sentTexts == ["Look\n[IMAGE:\(Self.other)]"])
    #expect(harness.lastStored?.image == Self.image(url: Self.other))
  }

  @Test(arguments: [(9_500, true), (9_501, false)])
  func `the text leaves room for the reference`(count: Int, isAccepted: Bool) {
    let text = String(repeating: "a", count: count)
    let harness = Self.sent(text)
    #expect((harness.uploads.count == 1) == isAccepted)
    let reason = "it has 9501 characters; a message with an image has at most 9500"
    let refused = harness.shownEntries.last?.state == .failed(reason: reason)
    #expect(refused == !isAccepted)
  }

  @Test(arguments: [
    (0, false), (1, true), (ShopImage.mostBytes, true), (ShopImage.mostBytes + 1, false),
  ])
  func `an image has 1 to 5 MiB`(size: Int, isAccepted: Bool) {
    #expect((Self.sent(size: size).uploads.count == 1) == isAccepted)
  }

  @Test func `a reference that makes the text too long fails the message`() {
    var harness = Self.sent(String(repeating: "a", count: 9_500))
    let long = "https://shop.example/" + String(repeating: "a", count: 500)
    harness.give(.uploaded(Self.id, url: long, at: Harness.wall))
    #expect(harness.sentTexts == [])
    let reason = "the server's reference to the image makes the text too long"
    #expect(harness.model.outbox.entries.map(\.state) == [.failed(reason: reason)])
  }

  @Test func `an upload may take as long as its size needs`() {
    var harness = Self.sent(size: ShopImage.mostBytes)
    for second in 1...722 {
      if second % 30 == 0, let attempt = harness.model.link.currentAttempt {
        harness.give(.ping(attempt))
      }
      harness.pass(1)
      #expect(harness.uploads.count == (second < 721 ? 1 : 2))
    }
  }

  @Test(
    arguments: [
      ("new", true, "new\n[IMAGE:\(url)]"), ("new", nil, "new"), ("new", false, "new"),
      ("new [IMAGE:\(other)]", true, "new [IMAGE:\(other)]"),
    ] as [(String, Bool?, String)])
  func `an edit keeps the image of its message if it is to`(
    text: String, keepsImages: Bool?, sent: String
  ) {
    var harness = Harness.connected(at: 3)
    var message = Self.answer("Look\n[IMAGE:\(Self.url)]")
    message.position = Harness.at(4)
    harness.receive(message)
    harness.give(
      .edit(
        id: Self.id, message.id, text: text, at: Harness.wall, keepsImages: keepsImages))
    #expect(harness.sentTexts == [sent])
  }

  @Test func `an edit keeps the image of an edit that waits`() {
    var harness = Harness.connected(at: 3)
    var message = Self.answer("Look")
    message.position = Harness.at(4)
    harness.receive(message)
    harness.storesPromptly = false
    let text = "a [IMAGE:\(Self.url)]"
    harness.give(.edit(id: Self.id, message.id, text: text, at: Harness.wall))
    harness.give(
      .edit(
        id: UUID128(high: 0, low: 8), message.id, text: "b", at: Harness.wall, keepsImages: true))
    let last = harness.model.outbox.entries.last
    #expect(last?.text == "b\n[IMAGE:\(Self.url)]")
  }

  @Test func `an edit of an unknown message has the text alone`() {
    var harness = Harness.connected(at: 3)
    harness.give(
      .edit(id: Self.id, Self.answer("x").id, text: "new", at: Harness.wall, keepsImages: true))
    #expect(harness.sentTexts == ["new"])
  }

  @Test func `a pause that ends while the URL is stored is no deadline`() {
    var harness = Self.sent()
    harness.fail(Self.id, .reset)
    harness.storesPromptly = false
    harness.give(.uploaded(Self.id, url: Self.url, at: Harness.wall))
    harness.pass(2)
    #expect(harness.model.sendDeadline == nil)
    harness.storeLast()
    #expect(harness.sentTexts == ["Look\n[IMAGE:\(Self.url)]"])
  }

  @Test func `a discarded message is not sent when its upload ends`() {
    var harness = Self.sent()
    harness.give(.discard(Self.id))
    #expect(harness.model.outbox.entries == [])
    harness.give(.uploaded(Self.id, url: Self.url, at: Harness.wall))
    #expect(harness.sentTexts == [])
  }

  @Test func `a plain server's message is recognized by its text with the reference`() {
    var harness = Harness.plain(user: "me")
    harness.send("Look", size: 1_000)
    harness.give(.uploaded(Self.id, url: Self.url, at: Harness.wall))
    harness.fail(Self.id, .reset)
    var echo = Self.answer("Look\n[IMAGE:\(Self.url)]")
    echo.position = nil
    harness.receive(echo)
    #expect(harness.model.outbox.entries == [])
  }
}

extension Harness {
  fileprivate mutating func send(_ text: String, size: Int) {
    give(
      .send(
        id: UUID128(high: 0, low: 7), text: text, parent: nil, at: Harness.wall,
        image: OutboxImage(type: .png, size: size)))
  }

  fileprivate var uploads: [OutboxEntry] {
    effects.compactMap { if case .upload(let entry, _) = $0 { entry } else { nil } }
  }

  fileprivate var uploadTries: [TryID] {
    effects.compactMap { if case .upload(_, let number) = $0 { number } else { nil } }
  }

  fileprivate var sentTexts: [String] {
    effects.compactMap { if case .post(let entry, _) = $0 { entry.postedText } else { nil } }
  }

  fileprivate var shownEntries: [OutboxEntry] {
    effects.compactMap { if case .update(.outbox(let entry)) = $0 { entry } else { nil } }
  }

  /// The last entry that was passed to the store.
  fileprivate var lastStored: OutboxEntry? {
    effects.compactMap {
      if case .commit(_, let change) = $0 { change.outboxPut.last } else { nil }
    }
    .last
  }
}
