import HoldfastCore
import Testing

@testable import HoldfastMessageData

@Suite struct PageQueryTests {
  private static let position = ShopPosition(epoch: "e1", offset: 7)

  private func query(_ parameters: KeyValuePairs<String, String>) throws(QueryError) -> PageQuery {
    try PageQuery(parameters: parameters.map { (name: $0.key, value: $0.value) })
  }

  private func eventQuery(
    _ parameters: KeyValuePairs<String, String>
  ) throws(QueryError) -> PageQuery {
    try PageQuery(parameters: parameters.map { (name: $0.key, value: $0.value) }, events: true)
  }

  static let queries: [(PageQuery, String)] = [
    (.page(number: 3, limit: 50), "page=3&limit=50"),
    (.since(Sample.time, page: 1, limit: 100), "since=2026-01-03T15:30:00Z&page=1&limit=100"),
    (.after(position, limit: 100), "after=e1:7&limit=100"),
    (.before(position, limit: 1), "before=e1:7&limit=1"),
    (.changes(after: position, limit: 9), "after=e1:7&limit=9"),
    (.newest(knowing: position, limit: 50), "page=1&limit=50&known=e1:7"),
    (.beforeID(Sample.id, limit: 20), "before_id=550e8400-e29b-41d4-a716-446655440000&limit=20"),
    (.afterID(Sample.id, limit: 1), "after_id=550e8400-e29b-41d4-a716-446655440000&limit=1"),
  ]

  @Test(arguments: queries)
  func `writes parameters and reads them back`(query: PageQuery, text: String) throws {
    #expect(query.parameters.map { "\($0.name)=\($0.value)" }.joined(separator: "&") == text)
    #expect(try PageQuery(parameters: query.parameters, events: query.needsEvents) == query)
    #expect(query.parameters.allSatisfy { PageQuery.parameterNames.contains($0.name) })
  }

  @Test func `the same position asks for messages, or for changes if events are requested`() throws
  {
    #expect(try query(["after": "e1:7"]) == .after(Self.position, limit: 20))
    #expect(try eventQuery(["after": "e1:7"]) == .changes(after: Self.position, limit: 20))
    #expect(try eventQuery(["known": "e1:7"]) == .newest(knowing: Self.position, limit: 20))
    #expect(try eventQuery(["page": "2"]) == .page(number: 2, limit: 20))
    #expect(try eventQuery(["before": "e1:7"]) == .before(Self.position, limit: 20))
  }

  @Test func `a known position goes with the first page and with events only`() {
    #expect(throws: QueryError("known needs the field Holdfast-Events: 1")) {
      try query(["known": "e1:7"])
    }
    #expect(throws: QueryError("known is not a position of the form epoch:offset")) {
      try eventQuery(["known": "7"])
    }
    let others: [KeyValuePairs<String, String>] = [
      ["known": "e1:7", "page": "2"], ["known": "e1:7", "after": "e1:7"],
      ["known": "e1:7", "since": "2026-01-03T15:30:00Z"], ["known": "e1:7", "before": "e1:7"],
      ["known": "e1:7", "after_id": "\(Sample.id)"],
    ]
    for parameters in others {
      #expect(throws: QueryError("known goes with page 1 only")) { try eventQuery(parameters) }
    }
  }

  @Test func `a message id is one direction, and page numbers do not count with it`() throws {
    #expect(
      try query(["before_id": "\(Sample.id)", "page": "3"]) == .beforeID(Sample.id, limit: 20))
    #expect(throws: QueryError("after_id is not a message id")) { try query(["after_id": "7"]) }
    #expect(throws: QueryError("before_id is given twice")) {
      try query(["before_id": "\(Sample.id)", "before_id": "\(Sample.id)"])
    }
    let error = QueryError(
      "only one of since, after, before, before_id and after_id may be given")
    for (name, value) in [
      ("after_id", "\(Sample.id)"), ("before", "e1:7"), ("since", "2026-01-03T15:30:00Z"),
    ] {
      #expect(throws: error) { try query(["before_id": "\(Sample.id)", name: value]) }
    }
  }

  @Test func `defaults to page 1 and limit 20`() throws {
    #expect(try query([:]) == .page(number: 1, limit: 20))
    #expect(try query(["token": "x", "Page": "9"]) == .page(number: 1, limit: 20))
    #expect(try query(["page": "2"]) == .page(number: 2, limit: 20))
    #expect(try query(["before": "e1:7"]) == .before(Self.position, limit: 20))
    #expect(
      try query(["since": "2026-01-03T16:30:00+01:00"]) == .since(Sample.time, page: 1, limit: 20))
  }

  @Test func `limits page and limit`() throws {
    for limit in [1, 2, 99, 100] {
      #expect(try query(["limit": "\(limit)"]) == .page(number: 1, limit: limit))
    }
    for page in [1, 999_999_999, 1_000_000_000] {
      #expect(try query(["page": "\(page)"]) == .page(number: page, limit: 20))
    }
    for text in ["0", "101", "-1", "+1", "", " 1", "1.0", "1e1", "x", "99999999999999999999"] {
      #expect(throws: QueryError("limit is not a number from 1 to 100")) {
        try query(["limit": text])
      }
    }
    for text in ["0", "1000000001", "-1", "+1", "", "x", "99999999999999999999"] {
      #expect(throws: QueryError("page is not a number from 1 to 1000000000")) {
        try query(["page": text])
      }
    }
  }

  @Test func `names the invalid parameter`() {
    #expect(throws: QueryError("since is not an RFC 3339 time")) { try query(["since": "today"]) }
    #expect(throws: QueryError("after is not a position of the form epoch:offset")) {
      try query(["after": "7"])
    }
    #expect(throws: QueryError("before is not a position of the form epoch:offset")) {
      try query(["before": ""])
    }
    #expect(throws: QueryError("page is given twice")) { try query(["page": "1", "page": "2"]) }
    #expect(throws: QueryError("page does not go with after")) {
      try query(["after": "e1:7", "page": "1"])
    }
    #expect(throws: QueryError("page does not go with before")) {
      try query(["before": "e1:7", "page": "1"])
    }
  }

  @Test func `refuses two directions`() {
    let time = "2026-01-03T15:30:00Z"
    let error = QueryError("only one of since, after and before may be given")
    #expect(throws: error) { try query(["since": time, "after": "e1:7"]) }
    #expect(throws: error) { try query(["since": time, "before": "e1:7"]) }
    #expect(throws: error) { try query(["after": "e1:7", "before": "e1:7"]) }
    #expect(throws: error) { try query(["since": time, "after": "e1:7", "before": "e1:7"]) }
  }
}

@Suite struct PositionTests {
  @Test(arguments: ["e:0", "e:1", "a-Z_9:9223372036854775807"])
  func `reads what it writes`(text: String) throws {
    #expect(try #require(ShopPosition(text)).description == text)
  }

  @Test(arguments: [
    "", ":", "e", "e:", ":1", "e:01", "e:00", "e:+1", "e:-1", "e: 1", "e:1 ", "e:1:1", "e.f:1",
    "é:1", "e:9223372036854775808", "e:18446744073709551615", "e:18446744073709551616", "e:x",
    "e:١",
  ])
  func `refuses anything else`(text: String) {
    #expect(ShopPosition(text) == nil)
  }

  @Test func `limits the epoch to 64 characters`() {
    for count in [1, 63, 64, 65] {
      let epoch = String(repeating: "e", count: count)
      let expected = count <= 64 ? ShopPosition(epoch: epoch, offset: 3) : nil
      #expect(ShopPosition("\(epoch):3") == expected)
    }
  }
}

@Suite struct ShopIDTests {
  @Test func `limits the length and refuses characters that a path would change`() {
    for count in [0, 1, 127, 128, 129] {
      let text = String(repeating: "s", count: count)
      #expect(ShopID(text)?.text == ((1...128).contains(count) ? text : nil))
    }
    for text in [".", "..", "a/b", "a b", "a%2Fb", "é", "a\u{0}"] { #expect(ShopID(text) == nil) }
    for text in ["...", ".a", "a.b_C-9"] { #expect(ShopID(text)?.text == text) }
  }

  @Test func `is ordered by its text`() throws {
    let first = try #require(ShopID("a"))
    let second = try #require(ShopID("b"))
    #expect([first < second, second < first, first < first] == [true, false, false])
  }
}

@Suite struct ShopRouteTests {
  private static let base = "/api/v1/auth/shops"

  static let routes: [(ShopRoute, String)] = [
    (.send, base + "/messages"),
    (.message(Sample.id), base + "/messages/550e8400-e29b-41d4-a716-446655440000"),
    (.all(Sample.shop), base + "/\(Sample.shop)/messages"),
    (.paginated(Sample.shop), base + "/\(Sample.shop)/messages/paginated"),
    (.stream(Sample.shop), base + "/\(Sample.shop)/messages/stream"),
    (.streamHealth, "/api/v1/health/websocket"),
  ]

  @Test(arguments: routes)
  func `writes paths and reads them back`(route: ShopRoute, path: String) {
    #expect(route.path == path)
    #expect(ShopRoute(path: path) == route)
  }

  @Test func `accepts a shop that is named like a path segment`() throws {
    let shop = try #require(ShopID("messages"))
    #expect(ShopRoute(path: Self.base + "/messages/messages") == .all(shop))
    #expect(ShopRoute(path: Self.base + "/messages/messages/stream") == .stream(shop))
  }

  @Test func `accepts a message id in either letter case`() {
    let path =
      Self.base + "/messages/\(Sample.id)".uppercased().replacing("MESSAGES", with: "messages")
    #expect(ShopRoute(path: path) == .message(Sample.id))
  }

  @Test(arguments: [
    base + "/messages/550e8400-e29b-41d4-a716-44665544000", base + "/messages/7",
    base + "/messages/550e8400-e29b-41d4-a716-446655440000/",
    base + "/s/550e8400-e29b-41d4-a716-446655440000",
    "", "/", "healthz", "/healthz/", "//healthz", "/Healthz", "/healthz?x", "/metrics/x",
    "/api/v1/health", base, base + "/", base + "/messages/", base + "/s", base + "/s/",
    base + "//messages", base + "/s/messages/", base + "/s/messages/Stream",
    base + "/s/messages/stream/", base + "/s/messages/stream/x", base + "/s/messages/x",
    base + "/s t/messages", base + "/s%2F/messages", base + "/../messages",
    base + "/./messages/stream", base + "/s/t/messages", base + "/é/messages",
    base + "/s\u{0}/messages", "/api/v1/auth/shop/s/messages", "/api/v2/auth/shops/s/messages",
    "/api/v1/shops/s/messages", "x" + base + "/s/messages",
  ])
  func `refuses other paths`(path: String) {
    #expect(ShopRoute(path: path) == nil)
  }
}
