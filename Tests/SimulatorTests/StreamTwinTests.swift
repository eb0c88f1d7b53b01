import LinkCore
import LinkWire
import Testing

@testable import LinkSimulator

/// The second account of what message streams write and read.
@Suite struct StreamTwinTests {
  private static let id = UUID128(high: 1, low: 2)

  private func shop() throws -> ShopID { try #require(ShopID("shop")) }

  private func message() throws -> Message {
    Message(
      id: Self.id, shop: try shop(), user: "u", username: nil, text: "a\"",
      createdAt: Timestamp(nanoseconds: 1_500_000_000),
      position: Position(epoch: "e", offset: 7))
  }

  private static let json =
    #"{"id":"00000000-0000-0001-0000-000000000002","shop_id":"shop","user_id":"u","#
    + #""username":"","message":"a\"","created_at":"1970-01-01T00:00:01.5Z","updated_at":null,"#
    + #""is_edited":false,"parent_id":null,"position":"e:7"}"#

  @Test func `the account writes and reads the message of the contract`() throws {
    let message = try message()
    #expect(StreamScribe.tree(message).json == Self.json)
    var reading = StreamReading(message.shop, MessageLimits())
    #expect(try reading.frame(Array(Self.json.utf8)) == .message(message))
  }

  @Test(arguments: [
    (#""shop_id":"shop""#, #""shop_id":"pub""#, MessageError.wrongShop(found: "pub")),
    (#""shop_id":"shop""#, #""shop_id":"a/b""#, .badIdentifier(field: "shop_id")),
    (#""user_id":"u""#, #""user_id":1"#, .wrongType(field: "user_id")),
    (#""user_id":"u""#, #""user_id":null"#, .missing(field: "user_id")),
    (#""created_at":"1970"#, #""created_at":"70"#, .badDate(field: "created_at")),
    (#""position":"e:7""#, #""position":"e:07""#, .badIdentifier(field: "position")),
  ])
  func `the account names what is wrong with a message`(
    good: String, bad: String, error: MessageError
  ) throws {
    let bytes = Array(Self.json.replacing(good, with: bad).utf8)
    var reading = StreamReading(try shop(), MessageLimits())
    #expect(throws: error) { try reading.frame(bytes) }
  }

  @Test func `the account names the fault of an entry and not of its page`() throws {
    let bytes = Array(#"{"data":{"messages":[1,\#(Self.json)],"head":"e:7"}}"#.utf8)
    var reading = StreamPageReading(try shop(), MessageLimits())
    let page = Page(
      messages: [try message()], hasNext: false, head: Position(epoch: "e", offset: 7),
      rejected: 1, fault: .wrongType(field: "an entry"))
    #expect(try reading.page(bytes) == page)
  }

  @Test(arguments: [("", []), ("_w", [0xFF]), ("-_8", [0xFB, 0xFF]), ("AAAA", [0, 0, 0])])
  func `the account of base64url is that of the standard`(text: String, bytes: [UInt8]) {
    #expect(TokenWalk.letters(bytes) == text)
    #expect(TokenWalk.bytes(text) == bytes)
  }

  @Test(arguments: ["A", "_x", "-_9", "AA=", "A+AA", "AAAAA"])
  func `the account refuses letters that no bytes are written as`(text: String) {
    #expect(TokenWalk.bytes(text) == nil)
  }

  @Test func `a frame or an answer that is read otherwise is found`() throws {
    let message = try message()
    let answer = Envelope.message(message, status: 201, note: "sent")
    let (frame, text) = (Array(Self.json.utf8), StreamWireWalk.text(answer))
    let limits = MessageLimits()
    try StreamWireWalk.expect(each: [
      (nil, { $0.compareFrame(.success(.message(message)), of: frame, limits) }),
      (
        "\(Self.json), read as a frame,",
        { $0.compareFrame(.success(.draining(within: .zero)), of: frame, limits) }
      ),
      (nil, { $0.compareAnswer(.success(message), note: "sent", of: answer) }),
      (
        "\(text), read as an answer,",
        { $0.compareAnswer(.failure(.badDate(field: "a")), note: "sent", of: answer) }
      ),
      ("the note of \(text)", { $0.compareAnswer(.success(message), note: nil, of: answer) }),
    ])
  }

  @Test func `a page or a post that is read otherwise is found`() throws {
    let (shop, message) = (try shop(), try message())
    let pages = PageCodec.encode(
      Page(messages: [message], hasNext: false, head: message.position),
      query: .page(number: 1, limit: 2), total: 1)
    let page = try PageCodec.decode(pages, shop: shop, limits: MessageLimits())
    #expect(page.messages == [message])
    let new = NewMessage(shop: shop, text: "a", parent: nil)
    let post = new.encode()
    try StreamWireWalk.expect(each: [
      (nil, { $0.comparePage(.success(page), of: pages) }),
      (
        "\(StreamWireWalk.text(pages)), read as a page,",
        { $0.comparePage(.success(Page(messages: [], hasNext: true)), of: pages) }
      ),
      (nil, { $0.comparePost(.success(new), of: post) }),
      (
        "\(StreamWireWalk.text(post)), read as a post,",
        { $0.comparePost(.success(NewMessage(shop: shop, text: "b", parent: nil)), of: post) }
      ),
    ])
  }

  @Test func `a token that is read or written otherwise is found`() throws {
    let claims = Claims(
      user: "u", name: "U", shops: [try shop()], expiresAt: Timestamp(nanoseconds: 1_000_000_000))
    let (payload, now) = (claims.encode(), Timestamp(nanoseconds: 0))
    try TokenWalk.expect(each: [
      (nil, { $0.compareLetters("_w", of: [0xFF]) }),
      ("base64url of [255]", { $0.compareLetters("_x", of: [0xFF]) }),
      (nil, { $0.compareBytes([0xFF], of: "_w") }),
      ("_w, read,", { $0.compareBytes(nil, of: "_w") }),
      (nil, { $0.comparePayload(payload, of: claims) }),
      ("a payload", { $0.comparePayload([], of: claims) }),
      (nil, { $0.compareClaims(.success(claims), of: payload) }),
      (
        "\(TokenWalk.text(payload)), read,",
        { $0.compareClaims(.failure(.missing(field: "sub")), of: payload) }
      ),
      (nil, { $0.compareBeginning(true, of: claims, now, .zero) }),
      ("whether a token is valid already", { $0.compareBeginning(false, of: claims, now, .zero) }),
    ])
  }
}
