import LinkCore
import LinkWire

extension ShopServer {
  mutating func take(_ id: RequestID, _ call: Call, _ credential: Credential, wall: Timestamp) {
    requests[id] = Pending(route: call.route, since: now)
    switch call {
    case .streamHealth:
      answer(id, Answer(200, .streamHealth(streamHealth)))
    case .refused(let refusal):
      answer(id, refuse(refusal, credential, wall: wall))
    case .send(let draft):
      requests[id]?.draft = draft
      post(draft, id, credential, wall: wall)
    case .all(let shop):
      // The route has no parameters; a plain client cannot use more than it may keep in memory.
      let query = PageQuery.page(number: 1, limit: 1_000)
      read(query, as: .all(id), of: shop, id, credential, wall: wall)
    case .page(let shop, let query):
      let (asked, question) = phrase(query, for: id)
      read(asked, as: question, of: shop, id, credential, wall: wall)
    }
  }

  /// What to ask the store so that the page can be answered in this dialect.
  private func phrase(_ query: PageQuery, for id: RequestID) -> (PageQuery, Question) {
    switch (policy.dialect, query) {
    case (.plain, .since(let time, let page, let limit)):
      (.page(number: page, limit: limit), .newestSince(id, time, query))
    case (.plain, .after(_, let limit)), (.plain, .before(_, let limit)):
      // A plain server does not know these parameters and answers the first page.
      (.page(number: 1, limit: limit), .page(id, .page(number: 1, limit: limit)))
    case (.plain, .page), (.positions, .page), (.positions, .since), (.positions, .after),
      (.positions, .before):
      (query, .page(id, query))
    }
  }

  private mutating func read(
    _ query: PageQuery, as question: Question, of shop: ShopID, _ id: RequestID,
    _ credential: Credential, wall: Timestamp
  ) {
    switch admit(credential, to: shop, wall: wall) {
    case .refused(let refused):
      answer(id, refused)
    case .admitted:
      guard hasRoomForRequest else { return answer(id, busy) }
      effects.append(.page(ask(question), shop, query))
    }
  }

  private mutating func post(
    _ draft: Draft, _ id: RequestID, _ credential: Credential, wall: Timestamp
  ) {
    switch admit(credential, to: draft.shop, wall: wall) {
    case .refused(let refused):
      answer(id, refused)
    case .admitted(let claims):
      guard hasRoomForRequest else { return answer(id, busy) }
      if let wait = rate.spend(claims.user, at: now) {
        let refused = Answer.error(429, "too many messages", retryAfter: wait)
        return answer(id, refused)
      }
      enqueue(draft, of: claims, id, wall: wall)
    }
  }

  /// Judges a token for a shop: draining first, then who asks, then what for.
  mutating func admit(_ credential: Credential, to shop: ShopID, wall: Timestamp) -> Admission {
    if let goingAway { return .refused(goingAway) }
    let admission = identify(credential, wall: wall)
    guard case .admitted(let claims) = admission else { return admission }
    let membership = Membership(shop: shop, user: claims.user)
    guard claims.shops.contains(shop), !removed.contains(membership) else {
      return .refused(.notAMember)
    }
    return admission
  }

  private mutating func identify(_ credential: Credential, wall: Timestamp) -> Admission {
    let reason: String
    switch credential {
    case .valid(let claims) where wall >= claims.expiresAt: reason = "the token has expired"
    case .valid(let claims) where !claims.hasBegun(by: wall, within: policy.clockLeeway):
      reason = "the token is not valid yet"
    case .valid(let claims): return .admitted(claims)
    case .missing: reason = "no token"
    case .invalid(let detail): reason = "invalid token: \(detail)"
    }
    metrics.authFailures += 1
    return .refused(.error(401, reason))
  }

  private mutating func refuse(
    _ refusal: ShopRefusal, _ credential: Credential, wall: Timestamp
  ) -> Answer {
    // Which methods a route takes is no secret; all else is for those who may ask.
    if refusal.route.isGuarded, refusal.status != 405 {
      if let goingAway { return goingAway }
      if case .refused(let answer) = identify(credential, wall: wall) { return answer }
    }
    return .error(refusal.status, refusal.message, allow: refusal.allow)
  }

  /// Answers a request unless its client is gone.
  mutating func answer(_ id: RequestID, _ answer: Answer) {
    guard let pending = requests.removeValue(forKey: id) else { return }
    metrics.requests.answered(
      pending.route.rawValue, status: answer.status, after: pending.since.duration(to: now))
    effects.append(.answer(id, answer))
  }

  /// Abandoned requests count as long as the store works for them.
  private var hasRoomForRequest: Bool {
    requests.count <= policy.maxRequests && questions.count < policy.maxRequests
  }

  var busy: Answer { .error(503, "too busy", retryAfter: policy.busyRetry) }

  /// What is said to everybody while the server goes away.
  var goingAway: Answer? {
    guard mode != .serving else { return nil }
    return .error(503, "draining", retryAfter: mode.window ?? policy.busyRetry)
  }

  /// Whether it takes work, and whether the last message was stored.
  public var serviceHealth: ServiceHealth {
    ServiceHealth(isServing: mode == .serving, storeFailure: writeFailure, of: Self.storeName)
  }

  private var streamHealth: ShopStreamHealth {
    ShopStreamHealth(
      isServing: mode == .serving, connections: openConnections, shops: activeShops,
      uptime: startedAt.duration(to: now))
  }

  /// Adds its metrics to the backend's.
  public func report(to page: inout MetricsPage) {
    metrics.report(
      connections: openConnections, shops: activeShops, uptime: startedAt.duration(to: now),
      to: &page)
  }
}

/// Whether a token opens a shop.
enum Admission {
  case admitted(Claims)
  case refused(Answer)
}

extension Answer {
  static let notAMember = Answer.error(403, "not a member of this shop")
}
