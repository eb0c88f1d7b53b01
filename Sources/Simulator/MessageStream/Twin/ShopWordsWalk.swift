import LinkCore
import LinkServerCore
import LinkWire

/// Requests as they come to a server of streams, and answers as they leave it.
struct ShopWordsWalk: TwinWalk {
  var chance: Chance
  var stray: String?
  private var shop = ShopWalk.shops[0]

  init(_ chance: Chance) { self.chance = chance }

  /// Tries so many of each; returns the first difference.
  mutating func walk(_ times: Int) -> String? {
    for _ in 0..<times where stray == nil {
      shop = one(ShopWalk.shops)
      tryRequest()
      tryRequest()
      tryAnswer()
      tryFrame()
      tryNames()
    }
    return stray
  }

  // Requests.

  private static let names = ["page", "limit", "since", "after", "before", "token", "odd", "Page"]
  private static let values = [
    "1", "0", "100", "101", "e:1", "e:0", "2026-01-31T08:30:00Z", "yesterday", "",
  ]

  private mutating func tryRequest() {
    let method = one(["GET", "GET", "HEAD", "POST", "POST", "PUT", "get", ""])
    let route: ShopRoute? = one([
      .send, .send, .send, .all(shop), .paginated(shop), .paginated(shop), .stream(shop),
      .streamHealth, nil,
    ])
    let path = route.map { StreamScribe.path($0) } ?? one(["/", "/api/v1", "/api/v1/auth/shops/a"])
    var query: [(name: String, value: String)] = []
    for _ in 0..<(happens(2) ? 0 : number(1...2)) {
      query.append((one(Self.names), one(Self.values)))
    }
    let key = one([nil, nil, "00000000-0000-0001-0000-000000000002", "odd", ""])
    let limits = MessageLimits(maxFrameBytes: 10_240, maxCharacters: 9)
    let body = Array(body().utf8)
    let found = Call.read(
      method: method, path: path, query: query, key: key, body: body, limits: limits)
    let reading = ShopCallReading(
      method: method, query: query, key: key, body: body, limits: limits)
    compareCall(found, reading, route, at: path)
    compareRoute(found.route, of: found, route)
  }

  mutating func compareCall(
    _ found: Call, _ reading: ShopCallReading, _ route: ShopRoute?, at path: String
  ) {
    compare(
      "\(reading.method) \(path) \(reading.query) \(Self.text(reading.body))", found,
      reading.call(route))
  }

  mutating func compareRoute(_ found: ShopCallRoute, of call: Call, _ route: ShopRoute?) {
    compare("the route of \(call)", found, Self.route(route))
  }

  private static func route(_ route: ShopRoute?) -> ShopCallRoute {
    switch route {
    case nil: .unknown
    case .send: .send
    case .all: .all
    case .paginated: .page
    case .stream: .stream
    case .streamHealth: .streamHealth
    }
  }

  private mutating func body() -> String {
    let parent = "00000000-0000-0001-0000-000000000003"
    return one([
      #"{"shop_id":"a","message":"hello"}"#, #"{"shop_id":"a","message":"123456789"}"#,
      #"{"shop_id":"a","message":"1234567890"}"#, #"{"shop_id":"a","message":""}"#,
      #"{"shop_id":"a","message":"x","parent_id":"\#(parent)"}"#,
      #"{"shop_id":"a","message":"x","parent_id":"p"}"#, #"{"shop_id":"a","message":7}"#,
      #"{"shop_id":"a/b","message":"x"}"#, #"{"message":"x"}"#, "[]", "", "{", #"{"shop_id":1}"#,
    ])
  }

  // Answers.

  private mutating func message() -> Message {
    Message(
      id: UUID128(high: 1, low: chance.next()), shop: shop, user: "u", username: one(["U", nil]),
      text: one(["a", "\"é\"", ""]), createdAt: Timestamp(nanoseconds: 1_500_000_000),
      position: one([nil, Position(epoch: "e", offset: 7)]))
  }

  private mutating func tryAnswer() {
    let again: Duration? = one([nil, .zero, .milliseconds(1_001), .seconds(2)])
    let status = one([200, 201, 400, 401, 405, 426, 503])
    let (body, tree) = body(status)
    let answer = Answer(status, body, retryAfter: again, allow: one([nil, "GET"]))
    compareAnswer(answer.headers, answer.bytes, of: answer, tree)
    let error = Answer.error(status, "no", retryAfter: again, allow: answer.allow)
    compare(
      "a refusal", error,
      Answer(status, .error("no"), retryAfter: again, allow: answer.allow))
  }

  /// Compares the header fields and the body of an answer.
  mutating func compareAnswer(
    _ fields: [(String, String)], _ body: [UInt8], of answer: Answer, _ tree: SessionTree
  ) {
    compare("the body of \(answer)", Self.text(body), tree.json)
    var lines = PartsWalk.json
    if answer.status == 426 { lines += ["Upgrade: websocket", "Sec-WebSocket-Version: 13"] }
    lines += PartsWalk.fields(answer.status, answer.retryAfter, answer.allow)
    compare("the fields of \(answer)", PartsWalk.lines(fields), lines)
  }

  private mutating func body(_ status: Int) -> (ShopBody, SessionTree) {
    let message = message()
    switch number(0...4) {
    case 0: return (.error("no"), StreamScribe.envelope(status, "no", .null))
    case 1:
      return (
        .message(message, note: "sent"),
        StreamScribe.envelope(status, "sent", StreamScribe.tree(message))
      )
    case 2:
      let all = (0..<number(0...2)).map { _ in self.message() }
      let list = SessionTree.list(all.map { StreamScribe.tree($0) })
      return (.messages(all), StreamScribe.envelope(200, "", list))
    case 3:
      let page = Page(messages: [message], hasNext: happens(2), head: message.position)
      let query = PageQuery.page(number: number(1...2), limit: 2)
      let total = UInt64(number(0...5))
      return (.page(page, query, total: total), StreamScribe.tree(page, query, total: total))
    case _:
      let rest: Duration = one([.zero, .milliseconds(999)])
      let health = ShopStreamHealth(
        isServing: happens(2), connections: number(0...9), shops: number(0...9),
        uptime: .seconds(number(0...9)) + rest)
      return (.streamHealth(health), tree(health))
    }
  }

  private func tree(_ health: ShopStreamHealth) -> SessionTree {
    let seconds = (health.uptime.nanoseconds - health.uptime.nanoseconds % 1_000_000_000)
    return .object([
      SessionBranch(name: "status", value: .text(health.isServing ? "ok" : "draining")),
      SessionBranch(name: "active_connections", value: .number("\(health.connections)")),
      SessionBranch(name: "active_shops", value: .number("\(health.shops)")),
      SessionBranch(name: "uptime_seconds", value: .number("\(seconds / 1_000_000_000)")),
    ])
  }

  // Frames and names.

  private mutating func tryFrame() {
    let message = message()
    let time = number(0...3) * 500
    compareFrame(Frame.message(message).payload, of: message)
    compareNotice(Frame.draining(within: .milliseconds(time)).payload, of: time)
  }

  mutating func compareFrame(_ payload: [UInt8], of message: Message) {
    compare("a frame", Self.text(payload), StreamScribe.tree(message).json)
  }

  mutating func compareNotice(_ payload: [UInt8], of milliseconds: Int) {
    compare(
      "a notice", Self.text(payload), StreamScribe.draining(milliseconds: milliseconds).json)
  }

  private mutating func tryNames() {
    for route in ShopCallRoute.allCases {
      compareName(route.rawValue, isGuarded: route.isGuarded, of: route)
    }
    let shops = (one(ShopWalk.shops), one(ShopWalk.shops))
    let users = (one(ShopWalk.users), one(ShopWalk.users))
    let one = Membership(shop: shops.0, user: users.0)
    let other = Membership(shop: shops.1, user: users.1)
    let isLess = shops.0 == shops.1 ? users.0 < users.1 : shops.0.text < shops.1.text
    compare("whether \(one) comes before \(other)", one < other, isLess)
  }
}

extension ShopWordsWalk {
  mutating func compareName(_ name: String, isGuarded: Bool, of route: ShopCallRoute) {
    compare("the name of \(route)", name, ShopHouse.name(of: route))
    let isOpen = route == .unknown || route == .streamHealth
    compare("whether \(route) needs a token", isGuarded, !isOpen)
  }
}

/// How a server of streams reads a request, told a second time.
struct ShopCallReading {
  let method: String
  let query: [(name: String, value: String)]
  let key: String?
  let body: [UInt8]
  let limits: MessageLimits

  func call(_ route: ShopRoute?) -> Call {
    switch route {
    case nil: no(.unknown, 404, "no such route")
    case .send: method == "POST" ? send : wrongMethod(.send, "POST")
    case .all(let shop):
      if !isRead {
        wrongMethod(.all, "GET, HEAD")
      } else {
        unknown(.all, [], "none") ?? .all(shop)
      }
    case .paginated(let shop): isRead ? page(shop) : wrongMethod(.page, "GET, HEAD")
    case .stream:
      isRead
        ? no(.stream, 426, "this route wants a WebSocket") : wrongMethod(.stream, "GET, HEAD")
    case .streamHealth: isRead ? .streamHealth : wrongMethod(.streamHealth, "GET, HEAD")
    }
  }

  private var isRead: Bool { method == "GET" || method == "HEAD" }

  private func no(_ route: ShopCallRoute, _ status: Int, _ message: String) -> Call {
    .refused(ShopRefusal(route: route, status: status, message: message))
  }

  private func wrongMethod(_ route: ShopCallRoute, _ names: String) -> Call {
    .refused(
      ShopRefusal(
        route: route, status: 405, message: "this route takes " + names, allow: names))
  }

  /// The refusal of the first parameter that the route does not know.
  private func unknown(_ route: ShopCallRoute, _ known: [String], _ names: String) -> Call? {
    for (name, _) in query where name != "token" && !known.contains(name) {
      return no(route, 400, "unknown parameter \(name); this route knows \(names)")
    }
    return nil
  }

  private func page(_ shop: ShopID) -> Call {
    let names = "page, limit, since, after, before"
    let known = ["page", "limit", "since", "after", "before"]
    if let refused = unknown(.page, known, names) { return refused }
    let rest = query.filter { known.contains($0.name) }
    do throws(QueryError) {
      return .page(shop, try PageQuery(parameters: rest))
    } catch {
      return no(.page, 400, error.detail)
    }
  }

  private var send: Call {
    do throws(MessageError) {
      let new = try NewMessage.decode(body, limits: limits)
      var draft = Draft(shop: new.shop, text: new.text, parent: new.parent)
      if let key {
        guard let id = UUID128(key) else { return no(.send, 400, "Idempotency-Key: not a UUID") }
        draft.key = id
      }
      return .send(draft)
    } catch {
      return refusal(of: error)
    }
  }

  private func refusal(of error: MessageError) -> Call {
    switch error {
    case .malformed(let detail): no(.send, 400, "malformed: " + detail)
    case .missing(let field): no(.send, 400, field + ": missing")
    case .wrongType(let field): no(.send, 400, field + ": wrong type")
    case .badIdentifier(let field): no(.send, 400, field + ": not an id")
    case .badDate(let field): no(.send, 400, field + ": not a time")
    case .wrongShop: no(.send, 400, "shop_id: another shop")
    case .frameTooLong(let bytes): no(.send, 413, "too long: \(bytes) bytes")
    case .textTooLong(let count): no(.send, 413, "message: too long, \(count) characters")
    }
  }
}
