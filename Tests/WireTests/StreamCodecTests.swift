import HoldfastCore
import HoldfastMessageData
import HoldfastTestKit
import Testing

private func decode(_ bytes: [UInt8]) throws(MessageError) -> StreamFrame {
  try StreamCodec.decode(bytes, shop: Sample.shop)
}

@Suite struct StreamCodecTests {
  @Test func `writes the members in the order of the contract, and reads them`() throws {
    #expect(StreamCodec.encode(Sample.message).text == Sample.messageText)
    #expect(try decode(Array(text: Sample.messageText)) == .message(Sample.message))
  }

  @Test func `reads the example of the requirements`() throws {
    let text = #"""
      {
        "id": "550e8400-e29b-41d4-a716-446655440000",
        "shop_id": "123e4567-e89b-12d3-a456-426614174000",
        "user_id": "789e0123-e45b-67c8-d901-234567890abc",
        "username": "john_doe",
        "message": "Hello team! The vehicle inspection is complete.",
        "created_at": "2026-01-03T15:30:00Z",
        "updated_at": null,
        "is_edited": false
      }
      """#
    let message = ShopMessage(
      id: Sample.id, shop: Sample.shop, user: "789e0123-e45b-67c8-d901-234567890abc",
      username: "john_doe", text: "Hello team! The vehicle inspection is complete.",
      createdAt: Sample.time)
    #expect(try decode(Array(text: text)) == .message(message))
  }

  private static let plainChanges: [[(String, String)]] = [
    [], [("username", #""""#)], [("username", "null")], [("is_edited", "null")],
    [("is_edited", "false")], [("updated_at", "null")], [("parent_id", "null")],
    [("updated_at", #""2026-01-03T15:30:00.000Z""#)], [("position", "null")],
    [("updated_at", #""2026-01-03T16:30:00+01:00""#)], [("likes", #"{"a":[1,2,{"b":null}]}"#)],
    [("created_at", #""2026-01-03T17:30:00.000000+02:00""#)], [("type", #""message""#)],
    [("id", #""550E8400-E29B-41D4-A716-446655440000""#)], [("type", "3")], [("within_ms", "1.5")],
    [("shop_id", #""123E4567-E89B-12D3-A456-426614174000""#)],
    [("created_at", #""2026-01-03 15:30:00+00""#)], [("created_at", #""2026-01-03T15:30Z""#)],
    [("created_at", #""2026-01-03T17:30:00.000+0200""#)], [("event", #""created""#)],
    [("user_id", #""\u0075id-7""#)], [("\\u0069d", #""550e8400-e29b-41d4-a716-446655440000""#)],
  ]

  @Test(arguments: plainChanges)
  func `accepts a plain server's message`(changes: [(String, String)]) throws {
    #expect(try decode(Sample.plainText(changes)) == .message(Sample.plain))
  }

  @Test func `keeps an edit's time, even one equal to the creation`() throws {
    let time = #""2026-01-03T15:30:00Z""#
    var message = Sample.plain
    message.updatedAt = Sample.time
    message.isEdited = true
    #expect(
      try decode(Sample.plainText([("updated_at", time), ("is_edited", "true")]))
        == .message(message))
    message.updatedAt = Sample.time.advanced(by: .seconds(1))
    message.isEdited = false
    #expect(
      try decode(Sample.plainText([("updated_at", #""2026-01-03T15:30:01Z""#)]))
        == .message(message))
  }

  private static let badMembers: [(String, String?, MessageError)] = [
    ("id", nil, .missing(field: "id")), ("id", "null", .missing(field: "id")),
    ("id", "1", .wrongType(field: "id")), ("id", #""550e8400""#, .badIdentifier(field: "id")),
    ("id", #""550e8400xe29b-41d4-a716-446655440000""#, .badIdentifier(field: "id")),
    ("shop_id", nil, .missing(field: "shop_id")), ("shop_id", "[]", .wrongType(field: "shop_id")),
    ("shop_id", #""a/b""#, .badIdentifier(field: "shop_id")),
    ("shop_id", #""elsewhere""#, .wrongShop(found: "elsewhere")),
    ("user_id", nil, .missing(field: "user_id")),
    ("user_id", "7", .wrongType(field: "user_id")),
    ("user_id", #""""#, .badIdentifier(field: "user_id")),
    ("username", "{}", .wrongType(field: "username")),
    ("message", nil, .missing(field: "message")), ("message", "null", .missing(field: "message")),
    ("message", "true", .wrongType(field: "message")),
    ("created_at", nil, .missing(field: "created_at")),
    ("created_at", "1767454200", .wrongType(field: "created_at")),
    ("created_at", #""yesterday""#, .badDate(field: "created_at")),
    ("updated_at", #""""#, .badDate(field: "updated_at")),
    ("updated_at", "false", .wrongType(field: "updated_at")),
    ("is_edited", #""no""#, .wrongType(field: "is_edited")),
    ("parent_id", #""""#, .badIdentifier(field: "parent_id")),
    ("parent_id", "{}", .wrongType(field: "parent_id")),
    ("position", #""7""#, .badIdentifier(field: "position")),
    ("position", "7", .wrongType(field: "position")),
  ]

  @Test(arguments: badMembers)
  func `refuses a bad member`(field: String, value: String?, error: MessageError) {
    #expect(throws: error) { try decode(Sample.plainText([(field, value)])) }
  }

  @Test func `the last of repeated members counts`() throws {
    var text = Sample.plainText([("message", nil)]).text
    text = String(text.dropLast()) + #","message":"first","message":"Hi"}"#
    #expect(try decode(Array(text: text)) == .message(Sample.plain))
    let emptied = String(text.dropLast()) + #","message":null}"#
    #expect(throws: MessageError.missing(field: "message")) { try decode(Array(text: emptied)) }
  }

  private static let notices: [(String, StreamFrame)] = [
    (#"{"type":"draining","within_ms":5000}"#, .draining(within: .seconds(5))),
    (#"{"type":"draining","within_ms":5000.0}"#, .draining(within: .seconds(5))),
    (#"{"type":"draining","within_ms":5e3}"#, .draining(within: .seconds(5))),
    (#"{"within_ms":0,"type":"draining"}"#, .draining(within: .zero)),
    (#"{"within_ms":5000,"type":7,"type":"draining"}"#, .draining(within: .seconds(5))),
    (#"{"type":"typing","message":{"not":"ours"},"user_id":3}"#, .unknown(type: "typing")),
    (#"{"type":""}"#, .unknown(type: "")),
    (#"{"event":"ping"}"#, .unknown(type: "ping")),
    (#"{"event":"heartbeat","data":{"message":1}}"#, .unknown(type: "heartbeat")),
    (#"{"event":"a","type":"b"}"#, .unknown(type: "b")), ("ping", .unknown(type: "ping")),
    ("keep-alive", .unknown(type: "keep-alive")), ("2", .unknown(type: "2")),
    ("2::", .unknown(type: "2::")),
    ("A_Z-09:aaaaaaaaaaaaaaaaaaaaaaaaz", .unknown(type: "A_Z-09:aaaaaaaaaaaaaaaaaaaaaaaaz")),
  ]

  @Test(arguments: notices)
  func `reads notices`(text: String, frame: StreamFrame) throws {
    #expect(try decode(Array(text: text)) == frame)
  }

  private static let edited: ShopMessage = {
    var message = Sample.message
    message.changed = ShopPosition(epoch: "e1", offset: 9)
    return message
  }()
  private static let deletion = ShopDeletion(
    id: Sample.id, shop: Sample.shop, position: ShopPosition(epoch: "e1", offset: 7),
    changed: ShopPosition(epoch: "e1", offset: 9))
  private static let deletionText =
    #"{"type":"deleted","message_id":"550e8400-e29b-41d4-a716-446655440000","#
    + #""shop_id":"123e4567-e89b-12d3-a456-426614174000","position":"e1:7","changed":"e1:9"}"#

  @Test func `writes and reads the exact text of each event`() throws {
    let message = Sample.messageText.dropLast() + #","changed":"e1:9""#
    let events: [(ShopEvent, String, StreamFrame)] = [
      (.posted(Sample.message), Sample.messageText, .message(Sample.message)),
      (.posted(Self.edited), message + "}", .message(Self.edited)),
      (.edited(Self.edited), message + #","event":"edited"}"#, .edited(Self.edited)),
      (.deleted(Self.deletion), Self.deletionText, .deleted(Self.deletion)),
    ]
    for (event, text, frame) in events {
      #expect(StreamCodec.encode(event).text == text)
      #expect(try decode(Array(text: text)) == frame)
    }
  }

  @Test(arguments: [
    "null", "7", "{}", #""soon""#, #""e1:7""#, #""e1:6""#, #""e2:9""#, #""2026-01-03""#,
  ])
  func `a message keeps no change that is not a later position`(changed: String) throws {
    let text = Sample.messageText.dropLast() + #","changed":\#(changed),"event":"edited"}"#
    #expect(try decode(Array(text: String(text))) == .message(Sample.message))
    let plain = Sample.plainText([("changed", changed), ("event", #""edited""#)])
    #expect(try decode(plain) == .message(Sample.plain))
    #expect(try decode(Sample.plainText([("message_id", changed)])) == .message(Sample.plain))
  }

  private static let badDeletions: [(String, String, MessageError)] = [
    (#""message_id":"55"#, #""message_id":"x"#, .badIdentifier(field: "message_id")),
    (#""message_id""#, #""other""#, .missing(field: "message_id")),
    (#""shop_id":"12"#, #""shop_id":"x"#, .wrongShop(found: "x3e4567-e89b-12d3-a456-426614174000")),
    (#""shop_id""#, #""other""#, .missing(field: "shop_id")),
    (#""position":"e1:7""#, #""position":"e1:9""#, .badIdentifier(field: "changed")),
    (#""position":"e1:7""#, #""position":"e2:7""#, .badIdentifier(field: "changed")),
    (#""position""#, #""other""#, .missing(field: "position")),
    (#""changed""#, #""other""#, .missing(field: "changed")),
    (#""changed":"e1:9""#, #""changed":9"#, .wrongType(field: "changed")),
  ]

  @Test(arguments: badDeletions)
  func `refuses an incomplete deletion`(part: String, other: String, error: MessageError) {
    let text = Self.deletionText.replacing(part, with: other)
    #expect(throws: error) { try decode(Array(text: text)) }
  }

  @Test(arguments: [
    #"{"type":"deleted"}"#, #"{"type":"deleted","message_id":7}"#,
    #"{"event":"deleted","id_of_message":"x"}"#,
  ])
  func `a notice of another server without positions is ignored`(text: String) throws {
    #expect(try decode(Array(text: text)) == .unknown(type: "deleted"))
  }

  private static let badNotices: [(String, MessageError)] = [
    (#"{"type":"draining"}"#, .missing(field: "within_ms")),
    (#"{"type":"draining","within_ms":-1}"#, .wrongType(field: "within_ms")),
    (#"{"type":"draining","within_ms":"5"}"#, .wrongType(field: "within_ms")),
    ("{}", .missing(field: "id")), (#"{"type":null}"#, .missing(field: "id")),
    (#"{"type":7}"#, .missing(field: "id")), (#"{"event":7}"#, .missing(field: "id")),
    (#"{"type":"draining","within_ms":1.5}"#, .wrongType(field: "within_ms")),
  ]

  @Test(arguments: [
    "A_Z-09:aaaaaaaaaaaaaaaaaaaaaaaaaz", "hello world", "", "<p>", "[]", "\"ping\"", "é", "ping\n",
    "{",
  ])
  func `text that is neither JSON nor a word is malformed`(text: String) {
    #expect {
      try decode(Array(text: text))
    } throws: { error in
      if case .malformed? = error as? MessageError { true } else { false }
    }
  }

  @Test(arguments: badNotices)
  func `refuses incomplete notices`(text: String, error: MessageError) {
    #expect(throws: error) { try decode(Array(text: text)) }
  }

  @Test func `writes the draining notice`() throws {
    let frame = StreamCodec.encodeDraining(within: .milliseconds(5000))
    #expect(frame.text == #"{"type":"draining","within_ms":5000}"#)
    #expect(StreamCodec.encodeDraining(within: .seconds(-1)).text.hasSuffix(":0}"))
    for limit in [Duration.zero, .milliseconds(1), .seconds(90)] {
      #expect(try decode(StreamCodec.encodeDraining(within: limit)) == .draining(within: limit))
    }
  }

  @Test func `limits the bytes of a frame`() throws {
    let short = Sample.plainText().count
    for size in [10_239, 10_240, 10_241] {
      let frame = Sample.plainText() + Array(repeating: 0x20, count: size - short)
      if size <= 10_240 {
        #expect(try decode(frame) == .message(Sample.plain))
      } else {
        #expect(throws: MessageError.frameTooLong(bytes: size)) { try decode(frame) }
      }
    }
  }

  @Test(arguments: ["a", "é", "🚚"])
  func `limits the scalars of a text`(scalar: String) throws {
    let limits = MessageLimits(maxFrameBytes: 100_000)
    for count in [9_999, 10_000, 10_001] {
      let text = String(repeating: scalar, count: count)
      let frame = Sample.plainText([("message", "\"\(text)\"")])
      if count <= 10_000 {
        var message = Sample.plain
        message.text = text
        #expect(
          try StreamCodec.decode(frame, shop: Sample.shop, limits: limits) == .message(message))
      } else {
        #expect(throws: MessageError.textTooLong(characters: count)) {
          try StreamCodec.decode(frame, shop: Sample.shop, limits: limits)
        }
      }
    }
  }

  @Test func `limits the bytes of a user id`() throws {
    for count in [1, 255, 256, 257] {
      let user = String(repeating: "u", count: count)
      let frame = Sample.plainText([("user_id", "\"\(user)\"")])
      if count <= 256 {
        var message = Sample.plain
        message.user = user
        #expect(try decode(frame) == .message(message))
      } else {
        #expect(throws: MessageError.badIdentifier(field: "user_id")) { try decode(frame) }
      }
    }
  }

  @Test(arguments: [false, true], ["a", "\u{E9}", "\"", "\u{1}"])
  func `a text whose frame is too long whatever its author is a fault`(
    isEdit: Bool, character: String
  ) throws {
    let time = Timestamp(nanoseconds: 0)
    var message = ShopMessage(
      id: MessageID(high: 0, low: 0), shop: Sample.shop, user: "ann", username: nil, text: "",
      createdAt: time, updatedAt: isEdit ? time : nil, isEdited: isEdit)
    func bytes(_ text: String) -> Int {
      message.text = text
      return StreamCodec.encode(isEdit ? .edited(message) : .posted(message)).count
    }
    let each = bytes(character) - bytes("")
    let most = (10_240 - bytes("")) / each
    for count in [0, 1, most - 1, most, most + 1] {
      let text = String(repeating: character, count: count)
      let fault = MessageLimits().fault(
        ofFrameWith: text, in: Sample.shop, by: "ann", isEdit: isEdit)
      #expect(fault == (count > most ? .frameTooLong(bytes: bytes(text)) : nil))
    }
  }
}
