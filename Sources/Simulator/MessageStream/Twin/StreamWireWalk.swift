import LinkCore
import LinkWire

/// What the ends of a message stream can say to each other, in forms that no end writes too.
struct StreamWireWalk: TwinWalk {
  var chance: Chance
  var stray: String?
  private var shop = StreamWireWalk.shops[0]
  private var limits = MessageLimits()

  init(_ chance: Chance) { self.chance = chance }

  /// Tries so many messages, pages and queries; returns the first difference.
  mutating func walk(_ times: Int) -> String? {
    for _ in 0..<times where stray == nil {
      shop = one(Self.shops)
      limits = MessageLimits()
      if happens(3) { limits = MessageLimits(maxFrameBytes: number(100...400), maxCharacters: 9) }
      tryMessage()
      tryPage()
      tryPost()
      tryQuery()
      tryPath()
    }
    return stray
  }

  /// Reads a text in its own form, cut off, and with changes.
  private mutating func forms(_ tree: SessionTree) -> [[UInt8]] {
    let bytes = Array(tree.json.utf8)
    var all = [bytes, Array(bytes.dropLast(number(1...3)))]
    all += (0..<6).map { _ in
      var other = changed(tree)
      if happens(2) { other = changed(other) }
      return Array((happens(3) ? " \n\t" + other.json + "\r " : other.json).utf8)
    }
    return all
  }

  // What is tried.

  private mutating func tryMessage() {
    let message = message()
    let tree = StreamScribe.tree(message)
    compare("a frame", Self.text(StreamCodec.encode(message)), tree.json)
    let time = one([-1, 0, 1, 1_500, 30_000])
    let notice = StreamScribe.draining(milliseconds: time)
    let written = StreamCodec.encodeDraining(
      within: .milliseconds(time) + .microseconds(time < 0 ? 0 : 999))
    compare("a notice", Self.text(written), notice.json)
    let answer = StreamScribe.envelope(201, "sent", tree)
    compare(
      "an answer", Self.text(Envelope.message(message, status: 201, note: "sent")), answer.json)
    compare(
      "a refusal", Self.text(Envelope.error(status: 404, message: message.text)),
      StreamScribe.envelope(404, message.text, .null).json)
    for bytes in forms(tree) + forms(notice) { tryFrame(bytes) }
    for bytes in forms(answer) + forms(tree) { tryAnswer(bytes) }
  }

  private mutating func tryFrame(_ bytes: [UInt8]) {
    var limits = limits
    let shop = shop
    if happens(4) { limits.maxFrameBytes = bytes.count + number(-1...1) }
    let found = MessageError.plain { () throws(MessageError) in
      try StreamCodec.decode(bytes, shop: shop, limits: limits)
    }
    compareFrame(found, of: bytes, limits)
  }

  mutating func compareFrame(
    _ found: Result<StreamFrame, MessageError>, of bytes: [UInt8], _ limits: MessageLimits
  ) {
    let must = MessageError.plain { [shop] () throws(MessageError) in
      var reading = StreamReading(shop, limits)
      return try reading.frame(bytes)
    }
    compare("\(Self.text(bytes)), read as a frame,", found, must)
  }

  private mutating func tryAnswer(_ bytes: [UInt8]) {
    let (shop, limits) = (shop, limits)
    let found = MessageError.plain { () throws(MessageError) in
      try Envelope.decodeMessage(bytes, shop: shop, limits: limits)
    }
    compareAnswer(found, note: Envelope.decodeNote(bytes), of: bytes)
  }

  mutating func compareAnswer(
    _ found: Result<Message, MessageError>, note: String?, of bytes: [UInt8]
  ) {
    let must = MessageError.plain { [shop, limits] () throws(MessageError) in
      var reading = StreamReading(shop, limits)
      return try reading.answer(bytes)
    }
    compare("\(Self.text(bytes)), read as an answer,", found, must)
    compare("the note of \(Self.text(bytes))", note, StreamReading.note(bytes))
  }

  private mutating func tryPage() {
    let page = Page(
      messages: (0..<number(0...2)).map { _ in message() }, hasNext: happens(2),
      head: maybe(place()), recovered: happens(2))
    let (query, total) = (query(), UInt64(one([0, 1, 19, 20, 21, 100, 101])))
    let tree = StreamScribe.tree(page, query, total: total)
    compare("a page", Self.text(PageCodec.encode(page, query: query, total: total)), tree.json)
    let (shop, limits) = (shop, limits)
    for bytes in forms(tree) {
      let found = MessageError.plain { () throws(MessageError) in
        try PageCodec.decode(bytes, shop: shop, limits: limits)
      }
      comparePage(found, of: bytes)
    }
  }

  mutating func comparePage(_ found: Result<Page, MessageError>, of bytes: [UInt8]) {
    let must = MessageError.plain { [shop, limits] () throws(MessageError) in
      var reading = StreamPageReading(shop, limits)
      return try reading.page(bytes)
    }
    compare("\(Self.text(bytes)), read as a page,", found, must)
  }

  private mutating func tryPost() {
    let new = NewMessage(shop: shop, text: word(), parent: maybe(id()))
    let tree = StreamScribe.tree(new)
    compare("a post", Self.text(new.encode()), tree.json)
    let limits = limits
    for bytes in forms(tree) {
      let found = MessageError.plain { () throws(MessageError) in
        try NewMessage.decode(bytes, limits: limits)
      }
      comparePost(found, of: bytes)
    }
  }

  mutating func comparePost(_ found: Result<NewMessage, MessageError>, of bytes: [UInt8]) {
    let must = MessageError.plain { [shop, limits] () throws(MessageError) in
      try StreamReading(shop, limits).new(bytes)
    }
    compare("\(Self.text(bytes)), read as a post,", found, must)
  }

  private mutating func tryQuery() {
    let query = query()
    let found = query.parameters.map { "\($0.name)=\($0.value)" }
    compare("a query", found, StreamScribe.parameters(query))
    compare("a query, read again,", try? PageQuery(parameters: query.parameters), query)
    var all: [(name: String, value: String)] = happens(2) ? query.parameters : []
    for _ in 0..<number(0...2) {
      all.append((one(PageQuery.parameterNames + ["odd"]), one(Self.values)))
    }
    let must = StreamQueryReading(all.map { ($0.name, $0.value) }).query
    compare("\(all)", try? PageQuery(parameters: all), must)
  }

  private mutating func tryPath() {
    let route: ShopRoute = one([
      .send, .all(shop), .paginated(shop), .stream(shop), .streamHealth,
    ])
    let path = StreamScribe.path(route)
    compare("a path", route.path, path)
    compare("\(path), read,", ShopRoute(path: path), route)
    var steps = path.split(separator: "/", omittingEmptySubsequences: false).map { String($0) }
    let step = number(0...steps.count - 1)
    steps[step] = one(["", "messages", "stream", "paginated", "..", "a b", "api", "health", "x"])
    if happens(3) { steps.append("") }
    let odd = steps.joined(separator: "/")
    // A path is a route if it is written for one.
    let place = steps.count > 5 ? steps[5] : ""
    var routes: [ShopRoute] = [.send, .streamHealth]
    if StreamReading.isShop(place), let shop = ShopID(place) {
      routes += [.all(shop), .paginated(shop), .stream(shop)]
    }
    compare("\(odd), read,", ShopRoute(path: odd), routes.first { StreamScribe.path($0) == odd })
    let name = one(Self.names)
    compare("whether \(name) is a shop", ShopID(name) != nil, StreamReading.isShop(name))
    let words = one(Self.places)
    compare("the position \(words)", Position(words), StreamReading.position(words))
  }
}

// Values.
extension StreamWireWalk {
  private static let shops = ["shop", "a.b-c_D9", "0e8b4e5a-7f1c-4d3a-9c55-2f6a1b0c9d8e"]
    .compactMap { ShopID($0) }
  private static let names = [
    "", "a", ".", "..", "...", "a/b", "ä", String(of: "a", count: 128), String(of: "a", count: 129),
    "Z9_-.", "a b", "/", ":", "@", "[", "`", "{", "0", "^",
  ]
  private static let places = [
    "", ":", "e:", ":1", "e:0", "e:1", "e:01", "e:-1", "e:+1", "e:1:2", "e.f:1", "e_-9Z:12",
    "e:9223372036854775807", "e:9223372036854775808", "e:18446744073709551616", "e f:1", "é:1",
    String(of: "e", count: 64) + ":1", String(of: "e", count: 65) + ":1", "e:1 ", "e:00",
  ]
  private static let values =
    places + ["1", "0", "100", "101", "20", "1000000000", "1000000001", "+1", "-1", "1.0", "01"]
    + times
  private static let times = [
    "2026-01-31T08:30:00Z", "2026-01-31t08:30:00.5z", "2026-01-31", "2026-02-30T00:00:00Z",
    "2026-01-31T08:30:00+01:00", "2026-01-31T08:30:60Z", "yesterday",
  ]

  private mutating func id() -> MessageID { UUID128(high: chance.next(), low: chance.next()) }

  private mutating func place() -> Position {
    Position(epoch: "e\(number(0...9))", offset: one([0, 1, 77, 9_223_372_036_854_775_807]))
  }

  private mutating func word() -> String {
    let long = String(repeating: "é", count: one([0, 1, 8, 9, 10, 256, 257]))
    return happens(30)
      ? String(of: "a", count: one([9_999, 10_000, 10_001]))
      : one(["hello", "\"\\/\u{1}\u{1F}\u{7F}\n\r\t\u{8}\u{C}", "𝄞", "", long, long])
  }

  private mutating func time() -> Timestamp {
    let part = one([0, 1, 500_000_000, 120_000, 999_999_999] as [Int64])
    return Timestamp(nanoseconds: Int64(number(0...4_000_000_000)) * 1_000_000_000 + part)
  }

  private mutating func user() -> String {
    one(["u", word(), String(of: "u", count: one([255, 256, 257]))])
  }

  private mutating func message() -> Message {
    let created = time()
    return Message(
      id: id(), shop: shop, user: user(), username: maybe(word()), text: word(),
      createdAt: created, updatedAt: maybe(happens(2) ? created : time()), isEdited: happens(2),
      parent: maybe(id()), position: maybe(place()))
  }

  private mutating func query() -> PageQuery {
    let (page, limit) = (one([1, 2, 1_000_000_000]), one([1, 20, 99, 100]))
    return one([
      .page(number: page, limit: limit), .since(time(), page: page, limit: limit),
      .after(place(), limit: limit), .before(place(), limit: limit),
    ])
  }

  // Changes.

  private static let members = [
    "id", "shop_id", "user_id", "username", "message", "created_at", "updated_at", "is_edited",
    "parent_id", "position", "type", "within_ms", "data", "messages", "pagination", "has_next",
    "head", "recovered", "next_cursor", "error", "status", "odd",
  ]

  /// The tree with another value in one place.
  private mutating func changed(_ tree: SessionTree) -> SessionTree {
    switch tree {
    case .object(var members) where !happens(9):
      let place = number(0...max(0, members.count - 1))
      if members.isEmpty || happens(5) {
        members.insert(
          SessionBranch(name: one(Self.members), value: value()),
          at: members.isEmpty ? 0 : place)
      } else if happens(7) {
        members.remove(at: place)
      } else if happens(7) {
        members.append(members.remove(at: place))
      } else {
        members[place].value = changed(members[place].value)
      }
      return .object(members)
    case .list(var all) where !all.isEmpty && !happens(4):
      let place = number(0...all.count - 1)
      all[place] = changed(all[place])
      return .list(all)
    case .object, .list, .text, .number, .flag, .null: return value()
    }
  }

  private mutating func value() -> SessionTree {
    switch number(0...9) {
    case 0: .number(one(["0", "1", "-1", "1.5", "1.0", "2e3", "9223372036854775808"]))
    case 1: .text(word())
    case 2: .text(one(Self.times))
    case 3: .text(one(Self.places))
    case 4: .text(one(Self.names + Self.shops.map { $0.text.uppercased() }))
    case 5: .text(one(["draining", "later", id().description, id().description.uppercased()]))
    case 6: .flag(happens(2))
    case 7: .null
    case 8: .list(happens(2) ? [] : [StreamScribe.tree(message())])
    case _: happens(2) ? .object([]) : StreamScribe.tree(message())
    }
  }
}
