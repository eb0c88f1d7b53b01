import HoldfastCore
import HoldfastServerCore
import HoldfastWire
import Testing

struct CallReadingTests {
  private static let base = "/api/v1/auth/shops"

  private static func read(
    _ method: String, _ path: String, query: [(name: String, value: String)] = [],
    key: String? = nil, body: String = ""
  ) -> Call {
    Call.read(
      method: method, path: path, query: query, key: key, body: [UInt8](body.utf8),
      limits: MessageLimits())
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
    ("GET", "\(base)/messages", .send, 405, "POST"),
    ("POST", "\(base)/bakery/messages", .all, 405, "GET, HEAD"),
    ("HEAD", "\(base)/messages", .send, 405, "POST"),
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
    [("limit", "0")], [("limit", "101")], [("page", "0")], [("since", "yesterday")],
    [("after", "x")], [("before", "e:")], [("after", "e:1"), ("before", "e:2")],
  ])
  func `refuses invalid query parameters`(query: [(String, String)]) throws {
    let named = query.map { (name: $0.0, value: $0.1) }
    let call = Self.read("GET", "\(Self.base)/bakery/messages/paginated", query: named)
    #expect(try #require(self.refusal(of: call)).status == 400)
  }

  @Test(arguments: ["before_id", "after_id", "Limit", "offset", ""])
  func `lists the known parameters when it refuses an unknown one`(name: String) {
    let query = [(name: "limit", value: "5"), (name: name, value: "7")]
    #expect(
      Self.read("GET", "\(Self.base)/bakery/messages/paginated", query: query)
        == .refused(
          ShopRefusal(
            route: .page, status: 400,
            message: "unknown parameter \(name); this route knows page, limit, since, after, before"
          )))
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
