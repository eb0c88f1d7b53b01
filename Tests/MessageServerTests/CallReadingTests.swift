import HoldfastCore
import HoldfastMessageData
import HoldfastMessageServer
import HoldfastServerFixtures
import Testing

struct CallReadingTests {
  private static let base = "/api/v1/auth/shops"

  private static func read(
    _ method: String, _ path: String, query: [(name: String, value: String)] = [],
    key: String? = nil, events: Bool = false, body: String = ""
  ) -> Call {
    Call.read(
      method: method, path: path, query: query, key: key, events: events,
      body: [UInt8](body.utf8), limits: MessageLimits())
  }

  @Test func `reads every route`() {
    let base = Self.base
    #expect(Self.read("GET", "\(base)/bakery/messages") == .all(Stage.shop))
    #expect(
      Self.read("GET", "\(base)/bakery/messages/paginated")
        == .page(Stage.shop, .page(number: 1, limit: 20)))
    #expect(Self.read("GET", "/api/v1/health/websocket") == .streamHealth)
    #expect(
      Self.read("POST", "\(base)/messages", body: #"{"shop_id":"bakery","message":"hi"}"#)
        == .send(Stage.draft("hi")))
    let id = UUID128(high: 1, low: 2)
    let edit = #"{"message_id":"\#(id)","message":"hi"}"#
    #expect(
      Self.read("PUT", "\(base)/messages", body: edit) == .edit(Revision(id: id, text: "hi")))
    #expect(Self.read("DELETE", "\(base)/messages/\(id)") == .delete(id))
  }

  @Test func `reads the shop of an edit and of a deletion`() {
    let id = UUID128(high: 1, low: 2)
    let body = #"{"message_id":"\#(id)","message":"hi","shop_id":"bakery"}"#
    #expect(
      Self.read("PUT", "\(Self.base)/messages", body: body)
        == .edit(Revision(id: id, text: "hi", shop: Stage.shop)))
    let path = "\(Self.base)/messages/\(id)"
    let shop = (name: "shop_id", value: "bakery")
    #expect(Self.read("DELETE", path, query: [shop]) == .delete(id, shop: Stage.shop))
    #expect(Self.read("DELETE", path, query: [(name: "shop", value: "bakery")]) == .delete(id))
    #expect(
      Self.read("DELETE", path, query: [(name: "shop_id", value: "a/b")])
        == .refused(ShopRefusal(route: .delete, status: 400, message: "shop_id: not an id")))
  }

  @Test func `reads the key of an edit`() {
    let id = UUID128(high: 1, low: 2)
    let body = #"{"message_id":"\#(id)","message":"hi"}"#
    #expect(
      Self.read("PUT", "\(Self.base)/messages", key: id.description, body: body)
        == .edit(Revision(id: id, text: "hi", key: id)))
    #expect(
      Self.read("PUT", "\(Self.base)/messages", key: "soon", body: body)
        == .refused(
          ShopRefusal(route: .edit, status: 400, message: "Idempotency-Key: not a UUID")))
  }

  @Test func `a query means more to a client that asks for events`() {
    let path = "\(Self.base)/bakery/messages/paginated"
    let position = Stage.position(7)
    for (query, events, expected) in [
      ([("after", "e:7")], false, PageQuery.after(position, limit: 20)),
      ([("after", "e:7")], true, .changes(after: position, limit: 20)),
      ([("page", "1"), ("known", "e:7")], true, .newest(knowing: position, limit: 20)),
      ([("before", "e:7")], true, .before(position, limit: 20)),
    ] {
      let named = query.map { (name: $0.0, value: $0.1) }
      #expect(
        Self.read("GET", path, query: named, events: events)
          == .page(Stage.shop, expected, events: events))
    }
  }

  @Test func `reads the idempotency key`() {
    let key = UUID128(high: 1, low: 2)
    let body = #"{"shop_id":"bakery","message":"hi"}"#
    #expect(
      Self.read("POST", "\(Self.base)/messages", key: key.description, body: body)
        == .send(Stage.draft("hi", key: key)))
    #expect(
      Self.read("POST", "\(Self.base)/messages", key: "soon", body: body)
        == .refused(
          ShopRefusal(route: .send, status: 400, message: "Idempotency-Key: not a UUID")))
  }

  @Test func `never counts a token in the query as a parameter`() {
    let query = [(name: "token", value: "a"), (name: "limit", value: "5"), ("token", "b")]
    #expect(
      Self.read("GET", "\(Self.base)/bakery/messages/paginated", query: query)
        == .page(Stage.shop, .page(number: 1, limit: 5)))
  }

  @Test(arguments: [
    ("GET", "/nowhere", ShopCallRoute.unknown, 404, String?.none),
    ("GET", "\(base)/ba kery/messages", .unknown, 404, nil),
    ("GET", "\(base)/messages", .send, 405, "POST, PUT"),
    ("DELETE", "\(base)/messages", .send, 405, "POST, PUT"),
    ("GET", "\(base)/messages/\(UUID128(high: 1, low: 2))", .delete, 405, "DELETE"),
    ("DELETE", "\(base)/messages/x", .unknown, 404, nil),
    ("POST", "\(base)/bakery/messages", .all, 405, "GET, HEAD"),
    ("HEAD", "\(base)/messages", .send, 405, "POST, PUT"),
    ("PUT", "\(base)/bakery/messages/paginated", .page, 405, "GET, HEAD"),
    ("HEAD", "\(base)/bakery/messages/stream", .stream, 426, nil),
    ("POST", "\(base)/bakery/messages/stream", .stream, 405, "GET, HEAD"),
    ("GET", "\(base)/bakery/messages/stream", .stream, 426, nil),
    ("DELETE", "/api/v1/health/websocket", .streamHealth, 405, "GET, HEAD"),
  ])
  func `refuses unknown routes, and methods that a route does not allow`(
    method: String, path: String, route: ShopCallRoute, status: Int, allow: String?
  ) throws {
    let refusal = try #require(self.refusal(of: Self.read(method, path)))
    #expect(refusal.route == route)
    #expect(refusal.status == status)
    #expect(refusal.allow == allow)
  }

  @Test(arguments: [
    ("", 400), ("{", 400), (#"{"message":"hi"}"#, 400), (#"{"shop_id":"bakery"}"#, 400),
    (#"{"shop_id":"ba kery","message":"hi"}"#, 400), (#"{"shop_id":7,"message":"hi"}"#, 400),
    (#"{"shop_id":"bakery","message":""}"#, 400),
    (#"{"shop_id":"bakery","message":"hi","parent_id":"x"}"#, 400),
    (#"{"shop_id":"bakery","message":"\#(String(repeating: "a", count: 10_001))"}"#, 413),
  ])
  func `refuses a body that is not a message`(body: String, status: Int) throws {
    let call = Self.read("POST", "\(Self.base)/messages", body: body)
    #expect(try #require(self.refusal(of: call)).status == status)
  }

  @Test(arguments: [
    ("", 400), (#"{"message":"hi"}"#, 400), (#"{"message_id":"x","message":"hi"}"#, 400),
    (#"{"message_id":"00000000-0000-0001-0000-000000000002"}"#, 400),
    (#"{"message_id":"00000000-0000-0001-0000-000000000002","message":""}"#, 400),
  ])
  func `refuses a body that is not an edit`(body: String, status: Int) throws {
    let call = Self.read("PUT", "\(Self.base)/messages", body: body)
    let refusal = try #require(self.refusal(of: call))
    #expect(refusal.status == status)
    #expect(refusal.route == .edit)
  }

  @Test(arguments: [
    [("limit", "0")], [("limit", "101")], [("page", "0")], [("since", "yesterday")],
    [("after", "x")], [("before", "e:")], [("after", "e:1"), ("before", "e:2")],
    [("before_id", "x")], [("known", "e:1")], [("after", "e:1"), ("known", "e:1")],
  ])
  func `refuses invalid query parameters`(query: [(String, String)]) throws {
    let named = query.map { (name: $0.0, value: $0.1) }
    let call = Self.read("GET", "\(Self.base)/bakery/messages/paginated", query: named)
    #expect(try #require(self.refusal(of: call)).status == 400)
  }

  @Test(arguments: ["beforeid", "Limit", "offset", ""])
  func `lists the known parameters when it refuses an unknown one`(name: String) {
    let query = [(name: "limit", value: "5"), (name: name, value: "7")]
    #expect(
      Self.read("GET", "\(Self.base)/bakery/messages/paginated", query: query)
        == .refused(
          ShopRefusal(
            route: .page, status: 400,
            message:
              "unknown parameter \(name); this route knows page, limit, since, after, before, "
              + "before_id, after_id, known")))
    #expect(
      Self.read("GET", "\(Self.base)/bakery/messages", query: [("token", "t"), query[1]])
        == .refused(
          ShopRefusal(
            route: .all, status: 400,
            message: "unknown parameter \(name); this route knows none")))
  }

  private func refusal(of call: Call) -> ShopRefusal? {
    guard case .refused(let refusal) = call else { return nil }
    return refusal
  }
}
