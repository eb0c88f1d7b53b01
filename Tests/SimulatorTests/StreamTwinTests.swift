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

  @Test func `walks return the first difference that they find`() {
    var wire = StreamWireWalk(Chance(seed: 1))
    #expect(wire.walk(20) == nil)
    wire.compare("a frame", 1, 2)
    wire.compare("a page", 3, 4)
    #expect(wire.walk(20) == "a frame is 1, and must be 2")
    var tokens = TokenWalk(Chance(seed: 1))
    #expect(tokens.walk(20) == nil)
    tokens.compare("a token", "a", "b")
    #expect(tokens.walk(20) == "a token is a, and must be b")
  }
}
