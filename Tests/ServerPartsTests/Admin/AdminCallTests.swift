import HoldfastCore
import HoldfastMessageData
import HoldfastMessageServer
import HoldfastOperators
import HoldfastServerFixtures
import HoldfastServerParts
import Testing

/// Tests of the requests of operators.
@Suite struct AdminCallTests {
  private static let key = "0123abcd-0000-4000-8000-000000000001"

  private static func read(
    _ method: String, _ path: [String], _ query: [(name: String, value: String)] = [],
    body: String = ""
  ) -> Result<AdminCall, HTTPRefusal> {
    Result { () throws(HTTPRefusal) in
      try AdminCall.read(
        method: method, path: ["admin"] + path, query: query, body: Array(body.utf8))
    }
  }

  private static func status(_ result: Result<AdminCall, HTTPRefusal>) -> Int {
    switch result {
    case .success: 200
    case .failure(let refusal): refusal.status
    }
  }

  @Test func `each route becomes its call`() throws {
    let shop = try #require(ShopID("bakery"))
    let calls: [(Result<AdminCall, HTTPRefusal>, AdminCall)] = [
      (Self.read("GET", ["connections"]), .connections(AdminFilter(), AdminPage())),
      (
        Self.read(
          "HEAD", ["connections"],
          [
            (name: "user", value: "ann"), (name: "shop", value: shop.text),
            (name: "kind", value: "stream"), (name: "limit", value: "7"),
            (name: "after", value: "9"),
          ]),
        .connections(
          AdminFilter(user: "ann", shop: shop, kind: .stream), AdminPage(limit: 7, after: "9"))
      ),
      (
        Self.read("DELETE", ["connections", "12"]),
        .disconnect(ConnectionID(12), .unauthorized)
      ),
      (
        Self.read("POST", ["users", "a/b", "disconnect"], [(name: "code", value: "4403")]),
        .disconnectUser("a/b", .forbidden)
      ),
      (Self.read("DELETE", ["users", "ann"]), .erase("ann")),
      (Self.read("GET", ["shops", shop.text, "presence"]), .presence(shop, AdminPage())),
      (Self.read("GET", ["jobs"]), .jobs(AdminPage())),
      (
        Self.read("GET", ["jobs", Self.key]), .job(try #require(UUID128(Self.key)))
      ),
      (Self.read("GET", ["phones"]), .phones(AdminPage())),
      (Self.read("POST", ["drain"]), .drain),
    ]
    for (result, call) in calls { #expect(try result.get() == call) }
  }

  @Test func `a post has the author, the text and a key`() throws {
    let shop = try #require(ShopID("bakery"))
    let body = #"{"as":"bot","name":"Bot","text":"Hi","idempotency_key":"\#(Self.key)"}"#
    let call = try Self.read("POST", ["shops", shop.text, "messages"], body: body).get()
    guard case .publish(let post) = call else {
      Issue.record("\(call)")
      return
    }
    #expect((post.author, post.name, post.content) == ("bot", "Bot", MessageContent("Hi")))
    #expect(
      post.call(MessageLimits())
        == .send(Draft(shop: shop, content: MessageContent("Hi"), key: UUID128(Self.key))))
  }

  @Test(arguments: [
    "", "[]", "{}", #"{"as":"","text":"Hi","idempotency_key":"\#(key)"}"#,
    #"{"as":"bot","text":"Hi"}"#, #"{"as":"bot","text":"Hi","idempotency_key":"1"}"#,
    #"{"as":"bot","idempotency_key":"\#(key)"}"#,
    #"{"as":"a\nb","text":"Hi","idempotency_key":"\#(key)"}"#,
    #"{"as":"\u0000operator","text":"Hi","idempotency_key":"\#(key)"}"#,
    #"{"as":7,"text":"Hi","idempotency_key":"\#(key)"}"#,
    #"{"as":"bot","text":"Hi","parent":"x","idempotency_key":"\#(key)"}"#,
  ])
  func `a post without one of them is refused with a remedy`(body: String) throws {
    let shop = try #require(ShopID("bakery"))
    let result = Self.read("POST", ["shops", shop.text, "messages"], body: body)
    guard case .failure(let refusal) = result else {
      Issue.record("\(body)")
      return
    }
    #expect(refusal.status == 400)
    #expect(refusal.message.contains("send {"))
  }

  @Test(arguments: [("0", 400), ("1", 200), ("1000", 200), ("1001", 400), ("-1", 400), ("x", 400)])
  func `a page has 1 to 1,000 elements`(limit: String, status: Int) {
    for path in [["connections"], ["jobs"], ["phones"], ["shops", "bakery", "presence"]] {
      #expect(Self.status(Self.read("GET", path, [(name: "limit", value: limit)])) == status)
    }
  }

  @Test(arguments: [(0, 400), (1, 200), (256, 200), (257, 400)])
  func `a user has 1 to 256 bytes`(length: Int, status: Int) {
    let user = String(repeating: "u", count: length)
    #expect(Self.status(Self.read("DELETE", ["users", user])) == status)
    #expect(Self.status(Self.read("POST", ["users", user, "disconnect"])) == status)
    #expect(Self.status(Self.read("GET", ["connections"], [(name: "user", value: user)])) == status)
  }

  @Test func `other requests are refused`() {
    let refused: [(Result<AdminCall, HTTPRefusal>, Int)] = [
      (Self.read("GET", []), 404), (Self.read("GET", ["connection"]), 404),
      (Self.read("GET", ["users", "ann", "erase"]), 404),
      (Self.read("POST", ["connections"]), 405), (Self.read("GET", ["users", "ann"]), 405),
      (Self.read("GET", ["drain"]), 405), (Self.read("DELETE", ["jobs", Self.key]), 405),
      (Self.read("DELETE", ["connections", "x"]), 400), (Self.read("GET", ["jobs", "x"]), 400),
      (Self.read("GET", ["shops", "no shop", "presence"]), 400),
      (Self.read("GET", ["connections"], [(name: "kind", value: "x")]), 400),
      (Self.read("GET", ["connections"], [(name: "after", value: "x")]), 400),
      (Self.read("GET", ["connections"], [(name: "users", value: "x")]), 400),
      (
        Self.read("GET", ["jobs"], [(name: "limit", value: "1"), (name: "limit", value: "1")]), 400
      ),
      (Self.read("DELETE", ["connections", "1"], [(name: "code", value: "1000")]), 400),
    ]
    for (result, status) in refused { #expect(Self.status(result) == status) }
    #expect(
      throws: HTTPRefusal.self,
      performing: { try AdminCall.read(method: "GET", path: ["x"], query: [], body: []) })
  }

  // MARK: - Lists

  private static func connection(
    _ id: UInt64, _ user: String, shop: String = "bakery", kind: AdminConnection.Kind = .stream
  ) -> AdminConnection {
    var one = AdminConnection(id: ConnectionID(id), kind: kind, age: .seconds(1), sent: 5)
    (one.user, one.shop) = (user, shop)
    return one
  }

  private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

  @Test func `pages of connections follow each other without gaps`() {
    let answers = AdminAnswers(node: "a")
    let all = (1...5).map { Self.connection(UInt64(6 - $0), "u\($0)") }
    var (after, seen): (String?, [String]) = (nil, [])
    repeat {
      let page = Self.text(
        answers.connections(
          all, AdminFilter(), AdminPage(limit: 2, after: after), at: Stage.dawn))
      #expect(page.hasPrefix(#"{"node":"a","connections":["#))
      seen += page.matches(of: #/"id":"(\d)"/#).map { String($0.1) }
      after = page.firstMatch(of: #/"next":"(\d)"/#).map { String($0.1) }
    } while after != nil
    #expect(seen == ["1", "2", "3", "4", "5"])
  }

  @Test func `a filter selects by user, shop and kind`() {
    let one = Self.connection(1, "ann")
    #expect(AdminFilter().selects(one))
    #expect(AdminFilter(user: "ann", shop: ShopID("bakery"), kind: .stream).selects(one))
    #expect(!AdminFilter(user: "an").selects(one))
    #expect(!AdminFilter(shop: ShopID("cellar")).selects(one))
    #expect(!AdminFilter(kind: .phone).selects(one))
  }

  @Test func `presence counts the sockets of each user`() throws {
    let shop = try #require(ShopID("bakery"))
    let all = [
      Self.connection(1, "ben"), Self.connection(2, "ann"), Self.connection(3, "ann"),
      Self.connection(4, "eve", shop: "cellar"), Self.connection(5, "cy", kind: .session),
    ]
    let text = Self.text(
      AdminAnswers(node: nil).presence(
        all, in: shop, AdminPage(limit: 1), at: Stage.dawn))
    #expect(text.contains(#""users":[{"user":"ann","sockets":2,"#))
    #expect(text.contains(#""next":"ann""#))
  }
}
