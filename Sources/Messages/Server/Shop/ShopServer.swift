public import HoldfastCore
public import HoldfastIdentity
public import HoldfastMessageData
public import HoldfastServerParts

/// The rules of the shop server: rooms, the order of events, limits, liveness and the drain.
///
/// A request waits only for the store. A socket passes through these stages:
///
///     upgrade ──► waiting ──► open ──► closing ──► forgotten
///        └► refused   └► refused   └► dropped ──────►┘
///
/// Posts, edits and deletions are broadcast in the order of their offsets, after the store has made
/// them durable. An upgrade is accepted and subscribed in one step, so its socket misses no event
/// after the head that the response states.
public struct ShopServer: ServerRules {
  let policy: ShopServerPolicy
  private let startedAt: Instant
  var generator: RandomSource
  var frame: ServerFrame<Effect>
  var sockets: ShopSockets
  var rooms: [ShopID: ShopRoom] = [:]
  private(set) var removed: Set<Membership> = []
  private(set) var requests: [RequestID: Pending] = [:]
  var questions = StoreQuestions<Question>()
  var rate: TokenBuckets
  var writes = ShopWrites()
  var metrics = ShopMetrics()
  var checks: HeadChecks
  var lease = ShopLease()

  /// A request that has not been answered yet.
  struct Pending: Sendable {
    var route: ShopCallRoute
    /// The post to store, or `nil` for other requests.
    var draft: Draft?
  }

  /// A request to the store.
  enum Question: Sendable {
    /// A read of a shop's head, before any other request for the shop.
    case head(ShopID)
    /// A read of the heads of shops, for a comparison with the rooms.
    case heads([ShopID])
    /// A read of what lies behind the head of a room.
    case tail(ShopID)
    /// The write of a post, an edit or a deletion.
    case append(ShopID, RequestID)
    /// A search for the shop of a message that is to be edited or deleted.
    case shop(RequestID, Lookup)
    /// A read of the complete history.
    case all(RequestID)
    /// A read of one page.
    case page(RequestID, PageQuery, events: Bool)
    /// A read of the backlog of an upgrade.
    case backlog(ConnectionID, ShopID)
    /// The removal of the traces of edited and deleted messages.
    case forget(MessageTrace)
    /// A `since` request to a plain server. It reads a page of the complete history.
    case newestSince(RequestID, Timestamp, PageQuery)
  }

  /// An edit or a deletion whose shop is not known yet.
  struct Lookup: Sendable {
    var change: Change
    var claims: Claims
    /// The time of its arrival.
    var wall: Timestamp

    enum Change: Sendable {
      case edit(Revision)
      case delete(MessageID, ShopID?)

      var id: MessageID {
        switch self {
        case .edit(let revision): revision.id
        case .delete(let id, _): id
        }
      }

      /// The shop in which the client expects the message; `nil` for any shop.
      var shop: ShopID? {
        switch self {
        case .edit(let revision): revision.shop
        case .delete(_, let shop): shop
        }
      }
    }
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
    checks = HeadChecks(interval: policy.headCheck, alone: policy.headCheckAlone, at: now)
  }

  /// Handles one input and returns the resulting effects, in order.
  public mutating func handle(_ input: Input, at now: Instant) -> [Effect] {
    frame.begin(at: now)
    switch input {
    case .request(let id, let call, let credential, let wall):
      take(id, call, credential, wall: wall)
    case .abandoned(let id):
      requests[id] = nil
    case .upgrade(let id, let shop, let after, let events, let credential, let wall):
      upgrade(id, to: shop, after: after, events: events, credential, wall: wall)
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
    case .nodes(let news):
      heard(news)
    case .drain(let window):
      drain(within: window)
    }
    checkHeads()
    finishIfEmpty()
    return frame.takeEffects()
  }

  /// Handles the pings, silent sockets, expiries, drain steps and removals of texts that are due.
  public mutating func tick(at now: Instant) -> [Effect] {
    frame.begin(at: now)
    while let id = sockets.takeAlarm(dueAt: now) { wake(id) }
    forgetTraces()
    checkHeads()
    leaveIfCutOff()
    advanceDrain()
    finishIfEmpty()
    return frame.takeEffects()
  }

  /// The next instant at which `tick` must be called. It may be too early, but is never too late.
  public var deadline: Instant? {
    [writes.deadline, sockets.deadline, frame.mode.deadline, checkDeadline, lease.deadline]
      .compactMap(\.self).min()
  }

  var now: Instant { frame.now }

  mutating func emit(_ effect: Effect) {
    frame.emit(effect)
  }

  mutating func ask(_ question: Question) -> StoreToken { questions.ask(question) }
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
    /// `Holdfast-After`, and `events` whether `Holdfast-Events` asks for edits and deletions.
    case upgrade(
      ConnectionID, ShopID, after: ShopPosition? = nil, events: Bool = false, Credential,
      wall: Timestamp)
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
    /// Something was learned about the other nodes that write the log, or about the database.
    case nodes(NodeNews)
    /// The server must drain. Clients are asked to spread their reconnects over `within`.
    case drain(within: Duration)
  }

  /// The result of one store request.
  public enum StoreAnswer: Sendable, Hashable, Codable {
    /// The result of a post, an edit or a deletion. If it changed the log, it is durable.
    case appended(LogOutcome)
    /// The shop of a message, or `nil` if the message is unknown.
    case shop(ShopID?)
    /// A page. `total` counts the messages on all pages of the query.
    case page(Page, total: UInt64)
    /// The newest position (offset 0 if the shop is empty) and the time of its message.
    case head(ShopPosition, newest: Timestamp? = nil)
    /// The newest positions of several shops, in the order of the question.
    case heads([ShopPosition])
    /// No file contains the traces any more.
    case forgotten
    /// The request failed and had no effect.
    case failed(StoreFailure)
  }
}

extension ShopServer {
  /// An effect of the server. Effects are carried out in order.
  public enum Effect: Sendable, Hashable, Codable {
    /// Make changes of one shop durable together, in this order.
    ///
    /// A result follows for the token of each change, in the same order. At most one such effect is
    /// outstanding for each shop.
    case append([Append])
    /// Find the shop of a message.
    case shop(StoreToken, MessageID)
    /// Read a page of a shop, and count the messages on all pages of the query.
    case page(StoreToken, ShopID, PageQuery)
    /// Read the head of a shop.
    case head(StoreToken, ShopID)
    /// Read the heads of several shops.
    case heads(StoreToken, [ShopID])
    /// Read the events behind the head of a room. The answer is a page; nothing is counted.
    case tail(StoreToken, ShopID, PageQuery)
    /// Report a new event to the other nodes. The report may be lost.
    case tell(ShopID, ShopPosition)
    /// Remove the traces of edited and deleted messages from the files. After the texts, check that
    /// the store can be written.
    case forget(StoreToken, MessageTrace)

    /// Answer a request. This happens once for each request, and never after it was abandoned.
    case answer(RequestID, Answer)
    /// Complete an upgrade.
    ///
    /// `head` is sent in `Holdfast-Head`, except in the plain dialect. `after` is sent in
    /// `Holdfast-After` if all events between the two positions follow immediately. `events` is
    /// confirmed in `Holdfast-Events`.
    case accept(
      ConnectionID, head: ShopPosition?, after: ShopPosition? = nil, events: Bool = false)
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

  /// A change for the store, which assigns its position.
  public struct Append: Sendable, Hashable, Codable {
    /// The token of the store's result.
    public var token: StoreToken
    /// The post, the edit or the deletion.
    public var change: LogRequest
  }
}

extension Closure {
  /// The close frame for a user who is no longer a member of the shop.
  public static let removed = Closure(4403, "removed from the shop")
  /// The close frame after a gap in the log. Clients can close the gap only by a catch-up.
  public static let discontinuity = Closure(1011, "log discontinuity")
}

extension ShopServer {
  mutating func take(_ id: RequestID, _ call: Call, _ credential: Credential, wall: Timestamp) {
    requests[id] = Pending(route: call.route)
    switch call {
    case .streamHealth:
      answer(id, Answer(200, .streamHealth(streamHealth)))
    case .refused(let refusal):
      answer(id, refuse(refusal, credential, wall: wall))
    case .send(let draft):
      requests[id]?.draft = draft
      post(draft, id, credential, wall: wall)
    case .edit(let revision):
      find(.edit(revision), id, credential, wall: wall)
    case .delete(let message, let shop):
      find(.delete(message, shop), id, credential, wall: wall)
    case .all(let shop):
      // The route has no parameters. The limit is the number of messages that a plain client holds
      // in memory.
      let query = PageQuery.page(number: 1, limit: 1_000)
      read(query, as: .all(id), of: shop, id, credential, wall: wall)
    case .page(let shop, let query, let events):
      let (asked, question) = phrase(query, events: events && offersEvents, for: id)
      read(asked, as: question, of: shop, id, credential, wall: wall)
    }
  }

  /// Returns the store request from which this dialect answers a page request.
  private func phrase(
    _ query: PageQuery, events: Bool, for id: RequestID
  ) -> (PageQuery, Question) {
    switch policy.dialect {
    case .positions: return (query, .page(id, query, events: events))
    case .plain: break
    }
    switch query {
    case .page: return (query, .page(id, query, events: false))
    case .since(let time, let page, let limit):
      return (.page(number: page, limit: limit), .newestSince(id, time, query))
    case .after(_, let limit), .before(_, let limit), .beforeID(_, let limit),
      .afterID(_, let limit), .changes(_, let limit), .newest(_, let limit):
      // A plain server ignores these parameters and returns the first page.
      let first = PageQuery.page(number: 1, limit: limit)
      return (first, .page(id, first, events: false))
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
      guard hasRoomForRequest else { return refuse(id, busy, .ceiling(.requests)) }
      emit(.page(ask(question), shop, query))
    }
  }

  /// Checks in this order whether the server is draining, the token is valid, and its user is a
  /// member.
  mutating func admit(_ credential: Credential, to shop: ShopID, wall: Timestamp) -> Admission {
    if let goingAway { return .refused(goingAway) }
    let admission = identify(credential, wall: wall)
    guard case .admitted(let claims) = admission, !isMember(claims, of: shop) else {
      return admission
    }
    metrics.refusals.add(.forbidden)
    return .refused(.notAMember)
  }

  private mutating func remove(_ membership: Membership) {
    removed.insert(membership)
    cut([membership])
  }

  private mutating func replaceRemovals(with memberships: [Membership]) {
    removed = Set(memberships)
    cut(removed)
  }

  func isMember(_ claims: Claims, of shop: ShopID) -> Bool {
    claims.shops.contains(shop) && !removed.contains(Membership(shop: shop, user: claims.user))
  }

  mutating func identify(_ credential: Credential, wall: Timestamp) -> Admission {
    switch credential.checked(at: wall, leeway: policy.clockLeeway) {
    case .success(let claims): return .admitted(claims)
    case .failure(let fault):
      metrics.authFailures += 1
      return .refused(.refusal(fault))
    }
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
    guard requests.removeValue(forKey: id) != nil else { return }
    if answer.status == 503 { countDeparture() }
    emit(.answer(id, answer))
  }

  /// Answers a request that is refused for a reason that metrics count.
  mutating func refuse(_ id: RequestID, _ answer: Answer, _ reason: RefusalReason) {
    metrics.refusals.add(reason)
    self.answer(id, answer)
  }

  /// Counts a refusal during a drain or without a lease.
  mutating func countDeparture() {
    if !frame.isServing {
      metrics.refusals.add(.draining)
    } else if !lease.isHeld {
      metrics.refusals.add(.noLease)
    }
  }

  /// Whether another request may start. Abandoned requests count as long as the store processes
  /// them.
  var hasRoomForRequest: Bool {
    requests.count <= policy.maxRequests && questions.count < policy.maxRequests
  }

  var busy: Answer { .error(503, "too busy", retryAfter: policy.busyRetry) }

  /// The response to every request during a drain or without a lease, or `nil` otherwise.
  var goingAway: Answer? {
    guard !frame.isServing else { return lease.isHeld ? nil : cutOff }
    return .error(503, "draining", retryAfter: frame.mode.window ?? policy.busyRetry)
  }

  /// The health of the service: whether it accepts work, and whether the last message was stored.
  public var serviceHealth: ServiceHealth {
    if frame.isServing, !lease.isHeld {
      return .failing(reason: "this node has no lease from its database")
    }
    return ServiceHealth(
      isServing: frame.isServing, storeFailure: writes.failure, of: Self.storeName)
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
    page.use(of: .streams, sockets.count, of: policy.maxConnections)
    page.use(of: .userSockets, sockets.mostOfUser, of: policy.socketsPerUser)
    page.use(of: .requests, requests.count, of: policy.maxRequests)
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
    case .after, .before, .beforeID, .afterID, .changes, .newest:
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
    questions.removeAll()
    writes.stopErasures()
  }

  /// Ends the drain once no connections, requests or store requests are left.
  mutating func finishIfEmpty() {
    guard sockets.isEmpty, requests.isEmpty, questions.isEmpty else { return }
    frame.finish(with: .finished)
    // The traces are also removed when the store is closed.
    if frame.isFinished { writes.stopErasures() }
  }
}
