public import HoldfastCore
public import HoldfastWire

/// The rules of the shop server: rooms, message order, limits, liveness and the drain.
///
/// A request waits only for the store. A socket passes through these stages:
///
///     upgrade ──► waiting ──► open ──► closing ──► forgotten
///        └► refused   └► refused   └► dropped ──────►┘
///
/// Messages are broadcast in the order of their offsets, after the store has made them durable. An
/// upgrade is accepted and subscribed in one step, so its socket misses no message after the head
/// that the response states.
public struct ShopServer: ServerRules {
  let policy: ShopServerPolicy
  private let startedAt: Instant
  private var generator: RandomSource
  var frame: ServerFrame<Effect>
  var sockets: ShopSockets
  var rooms: [ShopID: ShopRoom] = [:]
  var removed: Set<Membership> = []
  private var requests: [RequestID: Pending] = [:]
  var questions: [StoreToken: Question] = [:]
  private var lastToken: UInt64 = 0
  var alarms = AlarmQueue<ConnectionID>()
  private var rate: TokenBuckets
  /// The reason why the last message was not stored, or `nil` if it was stored.
  private var writeFailure: StoreFailure?
  var metrics = ShopMetrics()

  /// A request that has not been answered yet.
  struct Pending: Sendable {
    var route: ShopCallRoute
    var since: Instant
    /// The post to store, or `nil` for other requests.
    var draft: Draft?
  }

  /// A request to the store.
  enum Question: Sendable {
    /// A read of a shop's head, before any other request for the shop.
    case head(ShopID)
    /// The write of a post.
    case append(ShopID, RequestID)
    /// A read of the complete history.
    case all(RequestID)
    /// A read of one page.
    case page(RequestID, PageQuery)
    /// A read of the backlog of an upgrade.
    case backlog(ConnectionID, ShopID, after: ShopPosition)
    /// A `since` request to a plain server. It reads a page of the complete history.
    case newestSince(RequestID, Timestamp, PageQuery)
  }

  /// Creates a server that starts at `now`.
  ///
  /// - Parameter seed: The seed of message ids. Each run must use a different one.
  public init(policy: ShopServerPolicy = ShopServerPolicy(), seed: UInt64, at now: Instant) {
    let policy = policy.workable
    self.policy = policy
    startedAt = now
    frame = ServerFrame(at: now)
    sockets = ShopSockets(policy.timing)
    generator = RandomSource(seed: seed)
    rate = TokenBuckets(
      interval: policy.postInterval, burst: policy.postBurst, bound: policy.maxWatchedUsers)
  }

  /// Handles one input and returns the resulting effects, in order.
  public mutating func handle(_ input: Input, at now: Instant) -> [Effect] {
    frame.begin(at: now)
    switch input {
    case .request(let id, let call, let credential, let wall):
      take(id, call, credential, wall: wall)
    case .abandoned(let id):
      requests[id] = nil
    case .upgrade(let id, let shop, let after, let credential, let wall):
      upgrade(id, to: shop, after: after, credential, wall: wall)
    case .received(let id):
      received(id)
    case .overflowed(let id):
      overflowed(id)
    case .gone(let id, let code):
      gone(id, code: code)
    case .stored(let token, let answer):
      stored(token, answer)
    case .removed(let membership):
      remove(membership)
    case .removals(let memberships):
      replaceRemovals(with: memberships)
    case .drain(let window):
      drain(within: window)
    }
    finishIfEmpty()
    return frame.takeEffects()
  }

  /// Handles the pings, silent sockets, expiries and drain steps that are due.
  public mutating func tick(at now: Instant) -> [Effect] {
    frame.begin(at: now)
    while let id = alarms.take(dueAt: now) {
      wake(id)
    }
    advanceDrain()
    finishIfEmpty()
    return frame.takeEffects()
  }

  /// The next instant at which `tick` must be called. It may be too early, but is never too late.
  public var deadline: Instant? {
    [alarms.first, frame.mode.deadline].compactMap(\.self).min()
  }

  var now: Instant { frame.now }

  mutating func emit(_ effect: Effect) {
    frame.emit(effect)
  }

  mutating func ask(_ question: Question) -> StoreToken {
    lastToken += 1
    let token = StoreToken(lastToken)
    questions[token] = question
    return token
  }
}

extension ShopServer {
  /// An input of the server.
  ///
  /// `wall` is the wall-clock time at which the input arrived. It becomes the timestamp of
  /// messages, and is used to check whether tokens have expired.
  public enum Input: Sendable, Hashable, Codable {
    /// A complete REST request arrived.
    case request(RequestID, Call, Credential, wall: Timestamp)
    /// The client disconnected before it received the response.
    case abandoned(RequestID)
    /// A well-formed upgrade request to a shop's stream arrived. `after` is the position in
    /// `Holdfast-After`.
    case upgrade(
      ConnectionID, ShopID, after: ShopPosition? = nil, Credential, wall: Timestamp)
    /// At least one byte arrived from an open socket.
    case received(ConnectionID)
    /// The send queue of a socket exceeded its bound.
    case overflowed(ConnectionID)
    /// A connection ended with a close code (RFC 6455 section 7.1.5), or was lost (1006).
    ///
    /// This input is sent once for each connection, no matter which side closed it.
    case gone(ConnectionID, code: UInt16)
    /// The store completed a request.
    case stored(StoreToken, StoreAnswer)
    /// A user was removed from a shop.
    case removed(Membership)
    /// The complete list of removals arrived. It replaces the previous list.
    case removals([Membership])
    /// The server must drain. Clients are asked to spread their reconnects over `within`.
    case drain(within: Duration)
  }

  /// The result of one store request.
  public enum StoreAnswer: Sendable, Hashable, Codable {
    /// The message is durable. `isNew` is false if the idempotency key was already used.
    case appended(ShopMessage, isNew: Bool)
    /// A page. `total` counts the messages on all pages of the query.
    case page(Page, total: UInt64)
    /// The newest position (offset 0 if the shop is empty) and the time of its message.
    case head(ShopPosition, newest: Timestamp? = nil)
    /// The request failed and had no effect.
    case failed(StoreFailure)
  }
}

extension ShopServer {
  /// An effect of the server. Effects are carried out in order.
  public enum Effect: Sendable, Hashable, Codable {
    /// Make messages of one shop durable together, in this order.
    ///
    /// A result follows for the token of each message, in the same order. At most one such effect
    /// is outstanding for each shop.
    case append([Append])
    /// Read a page of a shop, and count the messages on all pages of the query.
    case page(StoreToken, ShopID, PageQuery)
    /// Read the head of a shop.
    case head(StoreToken, ShopID)

    /// Answer a request. This happens once for each request, and never after it was abandoned.
    case answer(RequestID, Answer)
    /// Complete an upgrade.
    ///
    /// `head` is sent in `Holdfast-Head`, except in the plain dialect. `after` is sent in
    /// `Holdfast-After` if all messages between the two positions follow immediately.
    case accept(ConnectionID, head: ShopPosition?, after: ShopPosition? = nil)
    /// Answer an upgrade with a plain HTTP response.
    case refuse(ConnectionID, Answer)

    /// Send one frame to many sockets. The frame is encoded only once.
    case send(Frame, to: [ConnectionID])
    /// Send a ping frame (RFC 6455 section 5.5.2).
    case ping(ConnectionID)
    /// Send a close frame after all queued data.
    case close(ConnectionID, Closure)
    /// Drop the connection without a close frame. The server has already removed it.
    case drop(ConnectionID)
    /// Report the end of the drain: no work is open, or the time limit has passed.
    case finished
  }

  /// A message for the store, which assigns its position.
  public struct Append: Sendable, Hashable, Codable {
    /// The token of the store's result.
    public var token: StoreToken
    /// The message to store, without its position.
    public var message: ShopMessage
    /// The idempotency key, with which the store detects a repeated post.
    public var key: UUID128?
  }
}

extension Closure {
  /// The close frame for a socket whose token has expired.
  public static let expired = Closure(4401, "token expired")
  /// The close frame for a user who is no longer a member of the shop.
  public static let removed = Closure(4403, "removed from the shop")
  /// The close frame after a gap in the log. Clients can close the gap only by a catch-up.
  public static let discontinuity = Closure(1011, "log discontinuity")
}

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
      // The route has no parameters. The limit is the number of messages that a plain client holds
      // in memory.
      let query = PageQuery.page(number: 1, limit: 1_000)
      read(query, as: .all(id), of: shop, id, credential, wall: wall)
    case .page(let shop, let query):
      let (asked, question) = phrase(query, for: id)
      read(asked, as: question, of: shop, id, credential, wall: wall)
    }
  }

  /// Returns the store request from which this dialect answers a page request.
  private func phrase(_ query: PageQuery, for id: RequestID) -> (PageQuery, Question) {
    switch (policy.dialect, query) {
    case (.plain, .since(let time, let page, let limit)):
      (.page(number: page, limit: limit), .newestSince(id, time, query))
    case (.plain, .after(_, let limit)), (.plain, .before(_, let limit)):
      // A plain server ignores these parameters and returns the first page.
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
      emit(.page(ask(question), shop, query))
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

  /// Checks in this order whether the server is draining, the token is valid, and its user is a
  /// member.
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
    // The methods of a route are public. All other responses require a valid token.
    if refusal.route.isGuarded, refusal.status != 405 {
      if let goingAway { return goingAway }
      if case .refused(let answer) = identify(credential, wall: wall) { return answer }
    }
    return .error(refusal.status, refusal.message, allow: refusal.allow)
  }

  /// Answers a request unless its client has disconnected.
  mutating func answer(_ id: RequestID, _ answer: Answer) {
    guard let pending = requests.removeValue(forKey: id) else { return }
    metrics.requests.answered(
      pending.route.rawValue, status: answer.status, after: pending.since.duration(to: now))
    emit(.answer(id, answer))
  }

  /// Whether another request may start. Abandoned requests count as long as the store processes
  /// them.
  private var hasRoomForRequest: Bool {
    requests.count <= policy.maxRequests && questions.count < policy.maxRequests
  }

  var busy: Answer { .error(503, "too busy", retryAfter: policy.busyRetry) }

  /// The response to every request during a drain, or `nil` otherwise.
  var goingAway: Answer? {
    guard !frame.isServing else { return nil }
    return .error(503, "draining", retryAfter: frame.mode.window ?? policy.busyRetry)
  }

  /// The health of the service: whether it accepts work, and whether the last message was stored.
  public var serviceHealth: ServiceHealth {
    ServiceHealth(isServing: frame.isServing, storeFailure: writeFailure, of: Self.storeName)
  }

  private var streamHealth: ShopStreamHealth {
    ShopStreamHealth(
      isServing: frame.isServing, connections: openConnections, shops: activeShops,
      uptime: startedAt.duration(to: now))
  }

  /// Adds the server's metrics to the backend's page.
  public func report(to page: inout MetricsPage) {
    metrics.report(
      connections: openConnections, shops: activeShops, uptime: startedAt.duration(to: now),
      to: &page)
  }
}

/// The result of checking a token for a shop.
enum Admission {
  case admitted(Claims)
  case refused(Answer)
}

extension Answer {
  static let notAMember = Answer.error(403, "not a member of this shop")
}

extension ShopServer {
  /// Adds a post to the end of its shop's queue.
  mutating func enqueue(_ draft: Draft, of author: Claims, _ id: RequestID, wall: Timestamp) {
    guard rooms[draft.shop, default: ShopRoom()].posts.count < policy.maxPostsPerShop else {
      return answer(id, busy)
    }
    let message = ShopMessage(
      id: .random(using: &generator), shop: draft.shop, user: author.user, username: author.name,
      text: draft.text, createdAt: wall, parent: draft.parent)
    let key: UUID128? =
      switch policy.dialect {
      case .positions: draft.key
      case .plain: nil
      }
    enter(draft.shop) { $0.posts.append(ShopRoom.Post(request: id, message: message, key: key)) }
    advance(draft.shop)
  }

  /// Performs the next steps of a room that are possible: reads the head, opens sockets, stores
  /// posts.
  mutating func advance(_ shop: ShopID) {
    guard let room = rooms[shop] else { return }
    guard let head = room.head else {
      if !room.isAsking {
        rooms[shop]?.pendingAnswers = 1
        emit(.head(ask(.head(shop)), shop))
      }
      return
    }
    rooms[shop]?.arrivals = []
    for arrival in room.arrivals { letIn(arrival, to: shop, head: head) }
    if !room.isAsking { storePosts(of: shop, behind: head) }
  }

  /// Sends waiting posts to the store in one commit of bounded size.
  ///
  /// The remaining posts follow once the results of this commit have arrived.
  private mutating func storePosts(of shop: ShopID, behind head: ShopPosition) {
    guard var room = rooms[shop], !room.posts.isEmpty else { return }
    var appends: [Append] = []
    var (taken, total) = (0, 0)
    for post in room.posts {
      var message = post.message
      message.createdAt = room.stamp(message.createdAt)
      let offset = head.offset + UInt64(appends.count) + 1
      let bytes = frameBytes(of: message, at: ShopPosition(epoch: head.epoch, offset: offset))
      guard bytes <= policy.limits.maxFrameBytes else {
        let bound = policy.limits.maxFrameBytes
        answer(post.request, .error(413, "the frame would have \(bytes) bytes, more than \(bound)"))
        taken += 1
        continue
      }
      total += bytes
      guard appends.isEmpty || total <= policy.maxCommitBytes else { break }
      taken += 1
      room.lastStamp = message.createdAt
      let token = ask(.append(shop, post.request))
      appends.append(Append(token: token, message: message, key: post.key))
    }
    room.posts.removeFirst(taken)
    room.pendingAnswers = appends.count
    rooms[shop] = room
    if !appends.isEmpty { emit(.append(appends)) }
  }

  private func frameBytes(of message: ShopMessage, at position: ShopPosition) -> Int {
    var framed = message
    framed.position = position
    return Frame.message(spoken(framed)).payload.count
  }

  mutating func stored(_ token: StoreToken, _ said: StoreAnswer) {
    // An unknown token belongs to a late or duplicate result, for which no request waits.
    guard let question = questions.removeValue(forKey: token) else { return }
    switch (question, said) {
    case (.head(let shop), .head(let head, let newest)):
      rooms[shop]?.learn(head, newest: newest)
      advance(shop)
    case (.append(let shop, let id), .appended(let message, let isNew)):
      appended(message, isNew: isNew, to: shop, id)
    case (.all(let id), .page(let page, _)):
      let messages = page.messages.reversed().map(written)
      answer(id, Answer(200, .messages(messages)))
    case (.page(let id, let query), .page(let page, let total)):
      answer(id, Answer(200, body(page, query, total: total)))
    case (.newestSince(let id, let time, let query), .page(let page, _)):
      let newer = page.newer(than: time)
      answer(id, Answer(200, body(newer, query, total: newer.seen(by: query))))
    case (.backlog(let id, let shop, let after), .page(let page, _)):
      sendBacklog(page, after: after, to: id, in: shop)
    case (.append, .failed(let failure)):
      writeFailure = failure
      metrics.storeFailures += 1
      failed(question)
    case (.head, .appended), (.head, .page), (.head, .failed), (.append, .page), (.append, .head),
      (.all, .appended), (.all, .head), (.all, .failed), (.page, .appended),
      (.page, .head), (.page, .failed), (.newestSince, .appended), (.newestSince, .head),
      (.newestSince, .failed), (.backlog, .appended), (.backlog, .head), (.backlog, .failed):
      // A result of the wrong kind shows that the store is faulty, so it counts as a failure.
      metrics.storeFailures += 1
      failed(question)
    }
  }

  private mutating func failed(_ question: Question) {
    let refused = Answer.error(503, "the store failed", retryAfter: policy.busyRetry)
    switch question {
    case .head(let shop):
      guard let room = rooms.removeValue(forKey: shop) else { return }
      for arrival in room.arrivals {
        forget(arrival.id)
        refuse(arrival.id, refused)
      }
      for post in room.posts { answer(post.request, refused) }
    case .append(let shop, let id):
      answer(id, refused)
      rooms[shop]?.pendingAnswers -= 1
      advance(shop)
    case .all(let id), .page(let id, _), .newestSince(let id, _, _):
      answer(id, refused)
    case .backlog(let id, let shop, let after):
      // The client can still fetch the missed messages over REST.
      sendBacklog(Page(messages: [], hasNext: true), after: after, to: id, in: shop)
    }
  }

  private mutating func appended(
    _ message: ShopMessage, isNew: Bool, to shop: ShopID, _ id: RequestID
  ) {
    guard let position = message.position, let head = rooms[shop]?.head else {
      metrics.storeFailures += 1
      return failed(.append(shop, id))
    }
    if isNew {
      metrics.accepted += 1
      writeFailure = nil
    } else {
      metrics.repeated += 1
    }
    answer(id, answer(to: id, message, isNew: isNew))
    rooms[shop]?.pendingAnswers -= 1
    if position.epoch != head.epoch || position.offset > head.offset + 1 {
      // Another process wrote to the log, so all subscribers must catch up.
      rooms[shop]?.head = position
      for id in rooms[shop]?.subscribers ?? [] {
        close(id, .discontinuity)
      }
    } else if position.offset == head.offset + 1 {
      rooms[shop]?.head = position
      broadcast(message, to: shop)
    }
    advance(shop)
  }

  /// Returns the response to a stored post.
  ///
  /// If the key was already used for a different message, the post is refused. Otherwise, the
  /// client would mistake that message for its own.
  private func answer(to id: RequestID, _ message: ShopMessage, isNew: Bool) -> Answer {
    guard !isNew else {
      return Answer(201, .message(written(message), note: "Message created successfully"))
    }
    guard requests[id]?.draft?.asks(for: message) ?? true else {
      return .error(
        409, "the idempotency key was used for another message; use a new key for each message")
    }
    return Answer(200, .message(written(message), note: "Message already created"))
  }

  private mutating func broadcast(_ message: ShopMessage, to shop: ShopID) {
    rooms[shop]?.remember(message, atMost: policy.backlogLimit)
    guard let listeners = rooms[shop]?.subscribers, !listeners.isEmpty else { return }
    metrics.broadcasts += 1
    metrics.frames += UInt64(listeners.count)
    emit(.send(.message(spoken(message)), to: listeners))
  }

  /// Returns a message in the form in which the stream sends it in this dialect.
  func spoken(_ message: ShopMessage) -> ShopMessage {
    var message = message
    switch policy.dialect {
    case .positions: break
    case .plain: message.position = nil
    }
    return message
  }

  /// Returns a message in the form in which REST responses contain it in this dialect.
  private func written(_ message: ShopMessage) -> ShopMessage {
    var message = spoken(message)
    switch policy.dialect {
    case .positions: break
    case .plain: message.username = nil
    }
    return message
  }

  private func body(_ page: Page, _ query: PageQuery, total: UInt64) -> ShopBody {
    var page = page
    page.messages = page.messages.map(written)
    switch policy.dialect {
    case .positions: break
    case .plain: page.head = nil
    }
    return .page(page, query, total: total)
  }

  var openConnections: Int {
    rooms.values.reduce(0) { $0 + $1.subscribers.count }
  }

  var activeShops: Int {
    rooms.values.count { !$0.subscribers.isEmpty }
  }

  /// Changes a room. A missing room is created; if the bound is reached, idle rooms are removed
  /// first.
  mutating func enter<Result>(_ shop: ShopID, _ change: (inout ShopRoom) -> Result) -> Result {
    if rooms[shop] == nil, rooms.count >= policy.maxIdleRooms {
      rooms = rooms.filter { !$0.value.isIdle }
    }
    return change(&rooms[shop, default: ShopRoom()])
  }
}

extension Page {
  /// Returns the number of messages on the pages up to this one, plus one if more follow.
  func seen(by query: PageQuery) -> UInt64 {
    let seen = UInt64(messages.count) + (hasNext ? 1 : 0)
    switch query {
    case .page(let number, let limit), .since(_, let number, let limit):
      return UInt64(max(number, 1) - 1) * UInt64(max(limit, 0)) + seen
    case .after, .before:
      return seen
    }
  }

  /// Returns the messages of this page, newest first, that are newer than `time`.
  func newer(than time: Timestamp) -> Page {
    var page = self
    page.messages = messages.filter { $0.createdAt > time }
    page.hasNext = hasNext && page.messages.count == messages.count
    return page
  }
}

extension ShopServer {
  /// Returns the input that starts a drain.
  public static func drain(within window: Duration) -> Input { .drain(within: window) }

  /// Whether the drain has ended.
  public var isFinished: Bool { frame.isFinished }

  /// Refuses new work from now on. Requests that wait for the store may still complete.
  mutating func drain(within window: Duration) {
    guard frame.drain(within: window, grace: policy.drainGrace, limit: policy.drainLimit) else {
      return
    }
    for id in sockets.connections(where: \.isWaiting) {
      forget(id)
      refuse(id, .error(503, "draining", retryAfter: window))
    }
    let open = sockets.connections(where: \.isOpen)
    if !open.isEmpty { emit(.send(.draining(within: window), to: open)) }
  }

  mutating func advanceDrain() {
    if let window = frame.leave() {
      for id in sockets.connections(where: \.isOpen) { close(id, .draining(within: window)) }
    }
    guard frame.givesUp else { return }
    let late = Answer.error(503, "the server stopped", retryAfter: policy.busyRetry)
    for id in requests.keys.sorted() { answer(id, late) }
    for id in sockets.connections { drop(id) }
    questions = [:]
  }

  /// Ends the drain once no connections, requests or store requests are left.
  mutating func finishIfEmpty() {
    guard sockets.isEmpty, requests.isEmpty, questions.isEmpty else { return }
    frame.finish(with: .finished)
  }
}

// The invariants between the tables of the server.
extension ShopServer {
  /// Records each invariant that does not hold.
  public func check(_ check: inout InvariantCheck) {
    frame.check(&check)
    check.require(
      sockets.count <= policy.maxConnections && requests.count <= policy.maxRequests,
      "shop: connections and requests are bounded")
    check.require(
      !frame.isFinished || (sockets.isEmpty && requests.isEmpty && questions.isEmpty),
      "shop: a drain ends when nothing is left to wait for")
    alarms.check(&check)
    sockets.check(&check)
    rate.check(&check)
    guard check.isThorough else { return }
    checkConnections(&check)
    checkRooms(&check)
    checkRequests(&check)
  }

  private func checkConnections(_ check: inout InvariantCheck) {
    check.require(
      sockets.allSatisfy { id, _ in sockets.wake(id).map { alarms.rings(id, by: $0) } ?? true },
      "shop: each accepted socket has an alarm")
    check.require(
      sockets.allSatisfy { id, socket in
        guard socket.isLive else { return true }
        guard let room = rooms[socket.membership.shop] else { return false }
        return socket.isOpen
          ? room.subscribers.contains(id)
          : room.backlogWaiters.contains(id) || room.arrivals.contains { $0.id == id }
      }, "shop: a socket is in the room of its shop")
    switch frame.mode {
    case .serving, .finished: break
    case .draining:
      check.require(
        sockets.allSatisfy { !$1.isWaiting }, "shop: nothing new is let in during a drain")
    case .leaving:
      check.require(
        sockets.allSatisfy { !$1.isLive }, "shop: a server that leaves has closed its sockets")
    }
  }

  private func checkRooms(_ check: inout InvariantCheck) {
    let count = rooms.values.reduce(0) {
      $0 + $1.subscribers.count + $1.backlogWaiters.count + $1.arrivals.count
    }
    check.require(
      count == sockets.connections(where: \.isLive).count,
      "shop: a socket is in one place of one room")
    check.require(
      rooms.values.allSatisfy { room in
        zip(room.subscribers, room.subscribers.dropFirst()).allSatisfy { $0 < $1 }
      }, "shop: the sockets of a room are in order")
    check.require(
      rooms.values.allSatisfy { room in
        room.posts.count <= policy.maxPostsPerShop
          && room.recent.count <= (room.backlogWaiters.isEmpty ? 0 : policy.backlogLimit)
      }, "shop: what a room keeps is bounded")
    guard !frame.isFinished else { return }
    let pending = questions.values.reduce(into: [ShopID: Int]()) { pending, question in
      switch question {
      case .head(let shop), .append(let shop, _): pending[shop, default: 0] += 1
      case .all, .page, .backlog, .newestSince: break
      }
    }
    check.require(
      rooms.allSatisfy { $0.value.pendingAnswers == pending[$0.key, default: 0] },
      "shop: a room waits for an answer for each of its questions")
  }

  private func checkRequests(_ check: inout InvariantCheck) {
    var waiting = Set(rooms.values.flatMap { $0.posts.map(\.request) })
    for question in questions.values {
      switch question {
      case .append(_, let id), .all(let id), .page(let id, _), .newestSince(let id, _, _):
        waiting.insert(id)
      case .head, .backlog: break
      }
    }
    check.require(
      waiting.isSuperset(of: requests.keys), "shop: a request waits for the store or its turn")
    check.require(
      questions.keys.allSatisfy { $0.number <= lastToken },
      "shop: each question to the store was numbered")
  }
}
