import HoldfastCore
import HoldfastJSON
import HoldfastMessageData
import HoldfastTestKit
import Testing

private func decode(_ text: String) throws(MessageError) -> Page {
  try PageCodec.decode(Array(text: text), shop: Sample.shop)
}

@Suite struct PageCodecTests {
  private let position = ShopPosition(epoch: "e1", offset: 9)

  @Test func `writes the whole envelope`() {
    let page = Page(messages: [Sample.message], hasNext: true, head: position)
    let body = PageCodec.encode(page, query: .page(number: 2, limit: 20), total: 41)
    let expected =
      #"{"status":200,"message":"","data":{"messages":["# + Sample.messageText
      + #"],"pagination":{"page":2,"limit":20,"total_pages":3,"has_next":true,"has_prev":true},"#
      + #""head":"e1:9","recovered":true}}"#
    #expect(body.text == expected)
  }

  private static let gone = ShopDeletion(
    id: Sample.id, shop: Sample.shop, position: ShopPosition(epoch: "e1", offset: 1),
    changed: ShopPosition(epoch: "e1", offset: 8))
  private static let goneText =
    #"{"message_id":"550e8400-e29b-41d4-a716-446655440000","position":"e1:1","changed":"e1:8"}"#

  @Test func `writes and reads the changes of a page`() throws {
    var page = Page(messages: [Sample.message], hasNext: true, head: position)
    (page.deleted, page.through) = ([Self.gone], ShopPosition(epoch: "e1", offset: 8))
    let start = #"{"status":200,"message":"","data":{"messages":["# + Sample.messageText
    let numbers =
      #"],"pagination":{"page":1,"limit":2,"total_pages":3,"has_next":true,"has_prev":false},"#
    let changes = PageCodec.encode(page, query: .changes(after: position, limit: 2), total: 5)
    #expect(
      changes.text == start + numbers + #""deleted":["# + Self.goneText
        + #"],"through":"e1:8","head":"e1:9","recovered":true}}"#)
    #expect(try decode(changes.text) == page)
    (page.through, page.changesThrough, page.changes) = (nil, page.through, [Sample.message])
    let newest = PageCodec.encode(page, query: .newest(knowing: position, limit: 2), total: 5)
    #expect(
      newest.text == start + numbers + #""changes":["# + Sample.messageText + #"],"deleted":["#
        + Self.goneText + #"],"changes_through":"e1:8","head":"e1:9","recovered":true}}"#)
    #expect(try decode(newest.text) == page)
    page.oldest = ShopPosition(epoch: "e1", offset: 5)
    let removed = PageCodec.encode(page, query: .newest(knowing: position, limit: 2), total: 5)
    #expect(
      removed.text
        == newest.text.replacing(#""head":"e1:9""#, with: #""head":"e1:9","oldest":"e1:5""#))
    #expect(try decode(removed.text) == page)
  }

  @Test(arguments: [(3, true), (4, false), (5, false), (9, false)] as [(UInt64, Bool)])
  func `the event before the oldest one is the last that may be missing`(
    offset: UInt64, isMissed: Bool
  ) {
    var page = Page(messages: [], hasNext: false, head: position)
    let start = ShopPosition(epoch: "e1", offset: offset)
    #expect(!page.hasRemoved(after: start))
    page.oldest = ShopPosition(epoch: "e1", offset: 5)
    #expect(page.hasRemoved(after: start) == isMissed)
    #expect(!page.hasRemoved(after: ShopPosition(epoch: "e2", offset: offset)))
    page.oldest?.offset = 0
    #expect(!page.hasRemoved(after: start))
  }

  @Test func `a page without changes has empty lists if they were requested`() {
    let page = Page(messages: [], hasNext: false, head: position)
    for (query, lists) in [
      (PageQuery.changes(after: position, limit: 1), #""deleted":[],"head""#),
      (.newest(knowing: position, limit: 1), #""changes":[],"deleted":[],"head""#),
    ] {
      #expect(PageCodec.encode(page, query: query, total: 0).text.contains(lists))
    }
    for query in [PageQuery.after(position, limit: 1), .page(number: 1, limit: 1)] {
      let text = PageCodec.encode(page, query: query, total: 0).text
      #expect(!text.contains("deleted") && !text.contains("changes"))
    }
  }

  @Test func `a page by message id has a cursor instead of numbers`() throws {
    var page = Page(messages: [Sample.message], hasNext: true, head: position)
    page.nextCursor = Sample.id
    for query in [PageQuery.beforeID(Sample.id, limit: 1), .afterID(Sample.id, limit: 1)] {
      let text = PageCodec.encode(page, query: query, total: 5).text
      #expect(
        text == #"{"status":200,"message":"","data":{"messages":["# + Sample.messageText
          + #"],"next_cursor":"\#(Sample.id)","head":"e1:9","recovered":true}}"#)
      #expect(try decode(text) == page)
      let last = Page(messages: [], hasNext: false, head: position)
      let end = PageCodec.encode(last, query: query, total: 0).text
      #expect(
        end == #"{"status":200,"message":"","data":{"messages":[],"head":"e1:9","recovered":true}}"#
      )
    }
  }

  @Test func `counts deletions and changes that are not valid`() throws {
    let bad = Self.goneText.replacing("e1:8", with: "e1:0")
    let page = try decode(
      #"{"messages":[],"deleted":[\#(bad),\#(Self.goneText),7],"changes":[{},3]}"#)
    #expect(page.deleted == [Self.gone])
    #expect(page.rejected == 4)
    #expect(page.fault == .missing(field: "id"))
  }

  private static let pageCounts: [(UInt64, UInt64)] = [
    (0, 1), (1, 1), (20, 1), (21, 2), (40, 2), (41, 3), (UInt64.max, 922_337_203_685_477_581),
  ]

  @Test(arguments: pageCounts)
  func `counts the pages, at least one`(total: UInt64, pages: UInt64) {
    let page = Page(messages: [], hasNext: false)
    for query in [PageQuery.page(number: 1, limit: 20), .after(position, limit: 20)] {
      let body = PageCodec.encode(page, query: query, total: total).text
      #expect(
        body.contains(
          #""page":1,"limit":20,"total_pages":\#(pages),"has_next":false,"has_prev":false"#))
    }
  }

  @Test func `reads every form of a plain server`() throws {
    let one = Page(messages: [Sample.plain], hasNext: false)
    let more = Page(messages: [Sample.plain], hasNext: true)
    let none = Page(messages: [], hasNext: false)
    let entry = Sample.plainText().text
    let forms: [(String, Page)] = [
      (#"{"status":200,"data":[\#(entry)],"message":""}"#, one),
      (#"{"data":{"messages":[\#(entry)],"pagination":{"page":1,"has_next":true}}}"#, more),
      (#"{"data":{"messages":[\#(entry)],"next_cursor":"550e8400"}}"#, more),
      (#"{"data":{"messages":[\#(entry)],"next_cursor":null}}"#, one),
      (#"{"data":{"messages":[\#(entry)],"next_cursor":""}}"#, one),
      (#"{"messages":[\#(entry)],"head":null,"recovered":null}"#, one),
      (#"{"data":{"messages":null,"pagination":null}}"#, none),
      (#"{"messages":[],"pagination":{"has_next":null}}"#, none),
      (#"{"data":[]}"#, none),
    ]
    for (text, page) in forms { #expect(try decode(text) == page) }
  }

  @Test func `the last of repeated members counts`() throws {
    let entry = Sample.plainText().text
    let none = Page(messages: [], hasNext: false)
    let forms: [(String, Page)] = [
      (#"{"messages":[],"head":"e1:9","head":null}"#, none),
      (
        #"{"messages":[],"head":null,"head":"e1:9"}"#,
        Page(messages: [], hasNext: false, head: position)
      ),
      (#"{"messages":[\#(entry),7],"messages":[]}"#, none),
      (#"{"messages":[],"recovered":false,"recovered":null}"#, none),
      (#"{"messages":[],"next_cursor":"550e8400","next_cursor":null}"#, none),
      (#"{"messages":[],"pagination":{"has_next":true,"has_next":false}}"#, none),
    ]
    for (text, page) in forms { #expect(try decode(text) == page, "\(text)") }
  }

  @Test func `counts entries that are not messages of the shop`() throws {
    let foreign = Sample.plainText([("shop_id", "\"\(Sample.otherShop)\"")]).text
    let undated = Sample.plainText([("created_at", "null")]).text
    let good = Sample.plainText().text
    let page = try decode(#"{"data":[\#(foreign),\#(good),\#(undated),null,7,[{}],{}]}"#)
    let fault = MessageError.wrongShop(found: "\(Sample.otherShop)")
    #expect(page == Page(messages: [Sample.plain], hasNext: false, rejected: 6, fault: fault))
  }

  @Test(arguments: [
    ("null", MessageError.missing(field: "created_at")),
    (#""2026-02-30T00:00:00Z""#, .badDate(field: "created_at")),
    (#""2026-01-01T24:00:00Z""#, .badDate(field: "created_at")),
    (#""9999-01-01T00:00:00Z""#, .badDate(field: "created_at")),
  ])
  func `reports why the first entry is not a message`(date: String, fault: MessageError) throws {
    let entry = Sample.plainText([("created_at", date)]).text
    let page = try decode(#"{"data":[\#(entry),7]}"#)
    #expect(page == Page(messages: [], hasNext: false, rejected: 2, fault: fault))
  }

  private static let noPages: [(String, MessageError)] = [
    (#"{"status":200,"message":"","data":null}"#, .missing(field: "messages")),
    ("{}", .missing(field: "messages")),
    (#"{"data":{}}"#, .missing(field: "messages")),
    (#"{"data":"none"}"#, .wrongType(field: "data")),
    (#"{"data":{"messages":{}}}"#, .wrongType(field: "messages")),
    (#"{"messages":[],"pagination":[]}"#, .wrongType(field: "pagination")),
    (#"{"messages":[],"pagination":{"has_next":1}}"#, .wrongType(field: "has_next")),
    (#"{"messages":[],"head":9}"#, .wrongType(field: "head")),
    (#"{"messages":[],"head":"9"}"#, .badIdentifier(field: "head")),
    (#"{"messages":[],"recovered":"no"}"#, .wrongType(field: "recovered")),
    (#"{"messages":[],"next_cursor":1}"#, .wrongType(field: "next_cursor")),
    (#"{"messages":[],"deleted":{}}"#, .wrongType(field: "deleted")),
    (#"{"messages":[],"changes":"x"}"#, .wrongType(field: "changes")),
    (#"{"messages":[],"oldest":"9"}"#, .badIdentifier(field: "oldest")),
    (#"{"messages":[],"through":"9"}"#, .badIdentifier(field: "through")),
    (#"{"messages":[],"changes_through":9}"#, .wrongType(field: "changes_through")),
    ("[]", .malformed(detail: "expected '{' at byte 0")),
    ("<html>", .malformed(detail: "expected '{' at byte 0")),
  ]

  @Test(arguments: noPages)
  func `refuses text that is not a page`(text: String, error: MessageError) {
    #expect(throws: error) { try decode(text) }
  }

  @Test func `accepts no more than 64 levels of nested data`() {
    let text = String(repeating: #"{"data":"#, count: 70) + "[]" + String(repeating: "}", count: 70)
    #expect(throws: MessageError.self) { try decode(text) }
  }
}

@Suite struct EnvelopeTests {
  @Test func `writes errors, one message and all messages`() {
    #expect(
      Envelope.error(status: 403, message: "not a \"member\"").text
        == #"{"status":403,"message":"not a \"member\"","data":null}"#)
    #expect(
      Envelope.message(Sample.message, status: 201, note: "Message created successfully").text
        == #"{"status":201,"message":"Message created successfully","data":"#
        + Sample.messageText + "}")
    #expect(
      Envelope.messages([Sample.message, Sample.message]).text
        == #"{"status":200,"message":"","data":["# + Sample.messageText + ","
        + Sample.messageText + "]}")
    #expect(Envelope.messages([]).text == #"{"status":200,"message":"","data":[]}"#)
  }

  @Test func `reads the answer to a message, in an envelope or alone`() throws {
    var generator = RandomSource(seed: 10)
    for _ in 0..<200 {
      let message = generator.message()
      let wrapped = Envelope.message(message, status: 201, note: "created")
      #expect(try Envelope.decodeMessage(wrapped, shop: Sample.shop) == message)
      let bare = StreamCodec.encode(message)
      #expect(try Envelope.decodeMessage(bare, shop: Sample.shop) == message)
    }
    let swapped = #"{"data":\#(Sample.plainText().text),"message":7,"status":"x"}"#
    #expect(
      try Envelope.decodeMessage(Array(text: swapped), shop: Sample.shop) == Sample.plain)
  }

  @Test func `writes and reads the answer to a deletion`() throws {
    let deletion = ShopDeletion(
      id: Sample.id, shop: Sample.shop, position: ShopPosition(epoch: "e1", offset: 1),
      changed: ShopPosition(epoch: "e1", offset: 8))
    let text =
      #"{"status":200,"message":"gone","data":{"message_id":"\#(Sample.id)","position":"e1:1","#
      + #""changed":"e1:8"}}"#
    #expect(Envelope.deletion(deletion, note: "gone").text == text)
    #expect(try Envelope.decodeDeletion(Array(text: text), shop: Sample.shop) == deletion)
    for plain in [
      Envelope.deletion(nil, note: "gone").text, #"{"message":"gone"}"#, #"{"data":[1]}"#, "{}",
    ] {
      #expect(try Envelope.decodeDeletion(Array(text: plain), shop: Sample.shop) == nil)
    }
    #expect(throws: MessageError.missing(field: "message_id")) {
      try Envelope.decodeDeletion(Array(text: #"{"data":{}}"#), shop: Sample.shop)
    }
    #expect(throws: MessageError.self) {
      try Envelope.decodeDeletion(Array(text: "gone"), shop: Sample.shop)
    }
  }

  @Test func `reads the answer to an edit`() throws {
    var edit = Sample.message
    edit.changed = edit.position.map { ShopPosition(epoch: $0.epoch, offset: $0.offset + 1) }
    let body = Envelope.message(edit, status: 200, note: "done")
    #expect(try Envelope.decodeEdit(body, shop: Sample.shop) == edit)
    for plain in [
      #"{"message":"Message updated successfully"}"#, #"{"data":null}"#, #"{"data":"x"}"#, "{}",
    ] {
      #expect(try Envelope.decodeEdit(Array(text: plain), shop: Sample.shop) == nil)
    }
    #expect(throws: MessageError.missing(field: "id")) {
      try Envelope.decodeEdit(Array(text: #"{"data":{}}"#), shop: Sample.shop)
    }
    #expect(throws: MessageError.self) {
      try Envelope.decodeEdit(Array(text: "done"), shop: Sample.shop)
    }
  }

  private static let noAnswers: [(String, MessageError)] = [
    (#"{"status":201,"message":"","data":null}"#, .missing(field: "id")),
    (#"{"status":201,"message":"","data":{}}"#, .missing(field: "id")),
    (#"{"data":[]}"#, .missing(field: "id")),
    ("", .malformed(detail: "the text ends too early at byte 0")),
  ]

  @Test(arguments: noAnswers)
  func `refuses an answer without a message`(text: String, error: MessageError) {
    #expect(throws: error) { try Envelope.decodeMessage(Array(text: text), shop: Sample.shop) }
  }

  @Test func `refuses an answer about another shop`() {
    let body = Envelope.message(Sample.message, status: 201, note: "")
    #expect(throws: MessageError.wrongShop(found: Sample.shop.text)) {
      try Envelope.decodeMessage(body, shop: Sample.otherShop)
    }
  }

  private static let errorBodies: [(String, String?)] = [
    (#"{"status":500,"data":null,"message":"boom"}"#, "boom"),
    (#"{"message":"unauthorized"}"#, "unauthorized"),
    (#"{"error":"slow down"}"#, "slow down"),
    (#"{"error":"why","message":""}"#, "why"),
    (#"{"error":"why","message":"what"}"#, "what"),
    (#"{"error":{"message":"deep"}}"#, nil), (#"{"message":""}"#, nil), ("{}", nil), ("[]", nil),
    ("<html>Bad gateway</html>", nil), ("", nil), (#"{"message":"cut"#, nil),
  ]

  @Test(arguments: errorBodies)
  func `finds the message for people`(text: String, note: String?) {
    #expect(Envelope.decodeNote(Array(text: text)) == note)
  }

  @Test func `cuts the message for people at 300 characters`() {
    for count in [299, 300, 301] {
      let body = Envelope.error(status: 500, message: String(repeating: "🚚", count: count))
      #expect(Envelope.decodeNote(body)?.count == min(count, 300))
    }
  }
}

@Suite struct NewMessageTests {
  @Test func `writes the body`() {
    let whole = NewMessage(shop: Sample.shop, text: "a\"b", parent: Sample.parent)
    #expect(
      whole.encode().text
        == #"{"shop_id":"123e4567-e89b-12d3-a456-426614174000","message":"a\"b","#
        + #""parent_id":"6ba7b810-9dad-41d1-80b4-00c04fd430c8"}"#)
    #expect(
      NewMessage(shop: Sample.shop, text: "x").encode().text
        == #"{"shop_id":"123e4567-e89b-12d3-a456-426614174000","message":"x"}"#)
  }

  private static let badBodies: [(String, MessageError)] = [
    ("{}", .missing(field: "shop_id")), (#"{"shop_id":"s"}"#, .missing(field: "message")),
    (#"{"shop_id":"","message":"x"}"#, .missing(field: "shop_id")),
    (#"{"shop_id":"s","message":""}"#, .missing(field: "message")),
    (#"{"shop_id":"s","message":null}"#, .missing(field: "message")),
    (#"{"shop_id":"s","message":3}"#, .wrongType(field: "message")),
    (#"{"shop_id":{},"message":"x"}"#, .wrongType(field: "shop_id")),
    (#"{"shop_id":"a b","message":"x"}"#, .badIdentifier(field: "shop_id")),
    (#"{"shop_id":"..","message":"x"}"#, .badIdentifier(field: "shop_id")),
    (#"{"shop_id":"s","message":"x","parent_id":""}"#, .badIdentifier(field: "parent_id")),
    (#"{"shop_id":"s","message":"x","parent_id":1}"#, .wrongType(field: "parent_id")),
    ("null", .malformed(detail: "expected '{' at byte 0")),
    ("{} x", .malformed(detail: "trailing bytes at byte 3")),
  ]

  @Test(arguments: badBodies)
  func `refuses a bad body`(text: String, error: MessageError) {
    #expect(throws: error) { try NewMessage.decode(Array(text: text)) }
  }

  @Test func `limits the scalars of the text, escaped or not`() throws {
    for count in [1, 9_999, 10_000, 10_001] {
      for scalar in ["x", "🚚", #"\u0000"#, #"\ud83d\ude9a"#] {
        let text = String(repeating: scalar, count: count)
        let body = Array(text: #"{"shop_id":"s","message":"\#(text)","parent_id":null}"#)
        if count <= 10_000 {
          #expect(try NewMessage.decode(body).text.unicodeScalars.count == count)
        } else {
          #expect(throws: MessageError.textTooLong(characters: count)) {
            try NewMessage.decode(body)
          }
        }
      }
    }
  }
}

@Suite struct MessageEditTests {
  @Test func `writes the body`() {
    #expect(
      MessageEdit(id: Sample.id, text: "a\"b").encode().text
        == #"{"message_id":"550e8400-e29b-41d4-a716-446655440000","message":"a\"b"}"#)
  }

  @Test func `names the shop if it is given`() throws {
    let edit = MessageEdit(id: Sample.id, text: "a", shop: ShopID("bakery"))
    #expect(
      edit.encode().text
        == #"{"message_id":"\#(Sample.id)","message":"a","shop_id":"bakery"}"#)
    #expect(try MessageEdit.decode(edit.encode()) == edit)
    let null = #"{"message_id":"\#(Sample.id)","message":"a","shop_id":null}"#
    #expect(try MessageEdit.decode(Array(text: null)).shop == nil)
  }

  private static let badBodies: [(String, MessageError)] = [
    ("{}", .missing(field: "message_id")),
    (#"{"message_id":"\#(Sample.id)"}"#, .missing(field: "message")),
    (#"{"message_id":"\#(Sample.id)","message":""}"#, .missing(field: "message")),
    (#"{"message_id":"\#(Sample.id)","message":7}"#, .wrongType(field: "message")),
    (#"{"message_id":"","message":"x"}"#, .missing(field: "message_id")),
    (#"{"message_id":"7","message":"x"}"#, .badIdentifier(field: "message_id")),
    (#"{"message_id":7,"message":"x"}"#, .wrongType(field: "message_id")),
    (
      #"{"message_id":"\#(Sample.id)","message":"x","shop_id":"a/b"}"#,
      .badIdentifier(field: "shop_id")
    ),
    (
      #"{"message_id":"\#(Sample.id)","message":"x","shop_id":7}"#, .wrongType(field: "shop_id")
    ),
    ("null", .malformed(detail: "expected '{' at byte 0")),
  ]

  @Test(arguments: badBodies)
  func `refuses a bad body`(text: String, error: MessageError) {
    #expect(throws: error) { try MessageEdit.decode(Array(text: text)) }
  }

  @Test func `limits the scalars of the text`() throws {
    for count in [1, 9_999, 10_000, 10_001] {
      let edit = MessageEdit(id: Sample.id, text: String(repeating: "🚚", count: count))
      if count <= 10_000 {
        #expect(try MessageEdit.decode(edit.encode()) == edit)
      } else {
        #expect(throws: MessageError.textTooLong(characters: count)) {
          try MessageEdit.decode(edit.encode())
        }
      }
    }
  }
}
