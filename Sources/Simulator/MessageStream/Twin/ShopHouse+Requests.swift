import LinkCore
import LinkServerCore
import LinkWire

// Requests, from their arrival to their answer.
extension ShopHouse {
  /// Why a client is not let in.
  struct Fault: Error { var answer: Answer }

  /// The user that a token names, if the server serves them.
  private mutating func identify(
    _ credential: Credential, _ wall: Timestamp
  ) -> Result<Claims, Fault> {
    var reason = "no token"
    switch credential {
    case .missing: break
    case .invalid(let detail): reason = "invalid token: " + detail
    case .valid(let claims):
      let begins = claims.notBefore.map { $0.nanoseconds - numbers.leeway.nanoseconds }
      if claims.expiresAt.nanoseconds <= wall.nanoseconds {
        reason = "the token has expired"
      } else if let begins, begins > wall.nanoseconds {
        reason = "the token is not valid yet"
      } else {
        return .success(claims)
      }
    }
    count("strangers")
    return .failure(Fault(answer: .error(401, reason)))
  }

  /// Whether a token opens a shop.
  mutating func judge(
    _ credential: Credential, for shop: ShopID, _ wall: Timestamp
  ) -> Result<Claims, Fault> {
    if let farewell { return .failure(Fault(answer: farewell)) }
    let result = identify(credential, wall)
    guard case .success(let claims) = result else { return result }
    let isOut = removed.contains { $0.shop == shop && $0.user == claims.user }
    if isOut || !claims.shops.contains(shop) {
      return .failure(Fault(answer: .error(403, "not a member of this shop")))
    }
    return result
  }

  static func name(of route: ShopCallRoute) -> String {
    switch route {
    case .send: "send"
    case .all: "all"
    case .page: "page"
    case .stream: "stream"
    case .unknown: "unknown"
    case .streamHealth: "stream_health"
    }
  }

  mutating func ask(
    _ id: RequestID, _ call: Call, _ credential: Credential, _ wall: Timestamp
  ) {
    switch call {
    case .send(let draft):
      begin(id, "send", draft)
      post(draft, id, credential, wall)
    case .all(let shop):
      begin(id, "all")
      read(.history(id), .page(number: 1, limit: 1_000), shop, id, credential, wall)
    case .page(let shop, let query):
      begin(id, "page")
      askPage(query, shop, id, credential, wall)
    case .streamHealth:
      begin(id, "stream_health")
      let open = sockets.filter(\.isOpen)
      answer(
        id,
        Answer(
          200,
          .streamHealth(
            ShopStreamHealth(
              isServing: mode == .serves, connections: open.count,
              shops: Set(open.map(\.shop)).count, uptime: startedAt.duration(to: now)))))
    case .refused(let refusal):
      begin(id, Self.name(of: refusal.route))
      answer(id, answer(to: refusal, credential, wall))
    }
  }

  private mutating func begin(_ id: RequestID, _ route: String, _ draft: Draft? = nil) {
    requests.append(Request(id: id, route: route, at: now, draft: draft))
  }

  private mutating func answer(
    to refusal: ShopRefusal, _ credential: Credential, _ wall: Timestamp
  ) -> Answer {
    let must = Answer.error(refusal.status, refusal.message, allow: refusal.allow)
    switch refusal.route {
    case .unknown, .streamHealth: return must
    case .send, .all, .page, .stream: if refusal.status == 405 { return must }
    }
    if let farewell { return farewell }
    if case .failure(let fault) = identify(credential, wall) { return fault.answer }
    return must
  }

  mutating func answer(_ id: RequestID, _ answer: Answer) {
    guard let place = requests.firstIndex(where: { $0.id == id }) else { return }
    let request = requests.remove(at: place)
    answers.append(
      PartsPage.Answer(
        route: request.route, status: answer.status, time: request.at.duration(to: now)))
    say(.answer(id, answer))
  }

  private var busy: Answer { .error(503, "too busy", retryAfter: numbers.busyRetry) }

  private var isFull: Bool {
    requests.count > numbers.requests || waits.count >= numbers.requests
  }

  // Pages.

  private mutating func askPage(
    _ query: PageQuery, _ shop: ShopID, _ id: RequestID, _ credential: Credential,
    _ wall: Timestamp
  ) {
    guard numbers.isPlain else { return read(.page(id, query), query, shop, id, credential, wall) }
    switch query {
    case .page: read(.page(id, query), query, shop, id, credential, wall)
    case .since(let time, let number, let limit):
      read(
        .newest(id, since: time, query), .page(number: number, limit: limit), shop, id, credential,
        wall)
    case .after(_, let limit), .before(_, let limit):
      let first = PageQuery.page(number: 1, limit: limit)
      read(.page(id, first), first, shop, id, credential, wall)
    }
  }

  private mutating func read(
    _ question: Question, _ query: PageQuery, _ shop: ShopID, _ id: RequestID,
    _ credential: Credential, _ wall: Timestamp
  ) {
    if case .failure(let fault) = judge(credential, for: shop, wall) {
      return answer(id, fault.answer)
    }
    if isFull { return answer(id, busy) }
    say(.page(self.question(question), shop, query))
  }

  mutating func question(_ question: Question) -> StoreToken {
    asked += 1
    waits.append((asked, question))
    return StoreToken(asked)
  }

  // Posts.

  private mutating func post(
    _ draft: Draft, _ id: RequestID, _ credential: Credential, _ wall: Timestamp
  ) {
    let claims: Claims
    switch judge(credential, for: draft.shop, wall) {
    case .failure(let fault): return answer(id, fault.answer)
    case .success(let found): claims = found
    }
    if isFull { return answer(id, busy) }
    if let time = wait(of: claims.user) {
      return answer(id, .error(429, "too many messages", retryAfter: time))
    }
    let room = rooms.first { $0.shop == draft.shop }
    if let room, room.posts.count >= numbers.postsOfShop { return answer(id, busy) }
    let message = Message(
      id: .random(using: &chance), shop: draft.shop, user: claims.user, username: claims.name,
      text: draft.text, createdAt: wall, parent: draft.parent)
    let post = Post(request: id, message: message, key: numbers.isPlain ? nil : draft.key)
    enter(draft.shop)
    for place in rooms.indices where rooms[place].shop == draft.shop {
      rooms[place].posts.append(post)
    }
    goOn(draft.shop)
  }
}
