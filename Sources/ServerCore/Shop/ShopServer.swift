public import LinkCore
public import LinkWire

/// The backend of shop messages as a value: rooms, order, limits, liveness and the end.
///
/// A request waits for the store at most; a socket goes this way:
///
///     upgrade ──► waiting ──► open ──► closing ──► forgotten
///        └► refused   └► refused   └► dropped ──────►┘
///
/// A message is broadcast after the store called it durable and in the order of its offsets; an
/// upgrade is accepted and subscribed in one step, so the head it states leaves no hole.
public struct ShopServer: ServerRules {
  let policy: ShopServerPolicy
  private let startedAt: Instant
  private var chance: Chance
  var frame: ServerFrame<Effect>
  var sockets: ShopSockets
  var rooms: [ShopID: ShopRoom] = [:]
  var removed: Set<Membership> = []
  private var requests: [RequestID: Pending] = [:]
  var questions: [StoreToken: Question] = [:]
  private var lastToken: UInt64 = 0
  var alarms = AlarmQueue<ConnectionID>()
  private var rate: TokenBuckets
  /// Why the last message was not stored; `nil` once one was.
  private var writeFailure: StoreFailure?
  var metrics = ShopMetrics()

  /// A request that has no answer yet.
  struct Pending: Sendable {
    var route: ShopCallRoute
    var since: Instant
    /// What a post asks to be stored; `nil` for other requests.
    var draft: Draft?
  }

  /// What the store was asked.
  enum Question: Sendable {
    /// Its head, before anything else of the shop.
    case head(ShopID)
    /// To make a post durable.
    case append(ShopID, RequestID)
    /// For the whole history.
    case all(RequestID)
    /// For one page.
    case page(RequestID, PageQuery)
    /// For what an upgrade wants first.
    case backlog(ConnectionID, ShopID, after: Position)
    /// A plain server's `since`, asked as a page of the whole history.
    case newestSince(RequestID, Timestamp, PageQuery)
  }

  /// A server that begins at `now`; `seed` makes its message ids, so give each run its own.
  public init(policy: ShopServerPolicy = ShopServerPolicy(), seed: UInt64, at now: Instant) {
    let policy = policy.workable
    self.policy = policy
    startedAt = now
    frame = ServerFrame(at: now)
    sockets = ShopSockets(policy.timing)
    chance = Chance(seed: seed)
    rate = TokenBuckets(
      interval: policy.postInterval, burst: policy.postBurst, bound: policy.maxWatchedUsers)
  }

  /// Takes one input; answers what to do, in order.
  public mutating func handle(_ input: Input, at now: Instant) -> [Effect] {
    frame.begin(at: now)
    switch input {
    case .request(let id, let call, let credential, let wall):
      take(id, call, credential, wall: wall)
    case .abandoned(let id):
      requests[id] = nil
    case .upgrade(let id, let shop, let after, let credential, let wall):
      upgrade(id, to: shop, after: after, credential, wall: wall)
    case .heard(let id):
      heard(id)
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

  /// Lets pings, silences, expiries and the drain come due.
  public mutating func tick(at now: Instant) -> [Effect] {
    frame.begin(at: now)
    while let id = alarms.take(dueAt: now) {
      wake(id)
    }
    advanceDrain()
    finishIfEmpty()
    return frame.takeEffects()
  }

  /// The next instant at which something may be due; early at most, never late.
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
  /// Everything that can happen to the server.
  ///
  /// `wall` is the wall clock when the input arrived: it stamps messages and judges tokens.
  public enum Input: Sendable, Hashable, Codable {
    /// A whole REST request arrived.
    case request(RequestID, Call, Credential, wall: Timestamp)
    /// Its client left before the answer.
    case abandoned(RequestID)
    /// A well-formed upgrade to a shop's stream arrived; `after` is what `Holdfast-After` names.
    case upgrade(
      ConnectionID, ShopID, after: Position? = nil, Credential, wall: Timestamp)
    /// Any byte came from an open socket.
    case heard(ConnectionID)
    /// The send queue of a socket passed its bound.
    case overflowed(ConnectionID)
    /// A connection is gone, with the code by which it ended (RFC 6455 section 7.1.5; 1006 when
    /// it broke). Said once for every connection, whoever ended it.
    case gone(ConnectionID, code: UInt16)
    /// The store answered.
    case stored(StoreToken, StoreAnswer)
    /// A user was removed from a shop.
    case removed(Membership)
    /// The whole list of removals from now on.
    case removals([Membership])
    /// Go away politely; clients are told to spread their return over `within`.
    case drain(within: Duration)
  }

  /// What the store said to one question.
  public enum StoreAnswer: Sendable, Hashable, Codable {
    /// Durable; `isNew` is false when the idempotency key was known.
    case appended(Message, isNew: Bool)
    /// `total` counts the messages that the query reaches on all its pages.
    case page(Page, total: UInt64)
    /// The newest position, offset 0 while the shop is empty, and when its message was created.
    case head(Position, newest: Timestamp? = nil)
    /// Nothing of the question was done.
    case failed(StoreFailure)
  }
}

extension ShopServer {
  /// Everything that the server can ask for; carried out in order.
  public enum Effect: Sendable, Hashable, Codable {
    /// Make messages of one shop durable together and in this order; each is answered by its own
    /// token, in this order again. Never said while one of that shop has no answer yet.
    case append([Append])
    /// Read a page of a shop, and count what its query reaches.
    case page(StoreToken, ShopID, PageQuery)
    /// Read the head of a shop.
    case head(StoreToken, ShopID)

    /// Answer a request; said once a request, never after it was abandoned.
    case answer(RequestID, Answer)
    /// Complete an upgrade; `head` goes into `Holdfast-Head` (none in the plain dialect), and
    /// `after` into `Holdfast-After` where all that lies between the two follows at once.
    case accept(ConnectionID, head: Position?, after: Position? = nil)
    /// Answer an upgrade with a plain HTTP response.
    case refuse(ConnectionID, Answer)

    /// Send one frame to many sockets; encode it once.
    case send(Frame, to: [ConnectionID])
    /// Send a ping frame (RFC 6455 section 5.5.2).
    case ping(ConnectionID)
    /// Send a close frame behind what is queued.
    case close(ConnectionID, Closure)
    /// End the connection without a word; the server has already forgotten it.
    case drop(ConnectionID)
    /// The drain is over: nothing is open, or its time is up.
    case finished
  }

  /// A message for the store; its position is the store's to give.
  public struct Append: Sendable, Hashable, Codable {
    /// Names the answer.
    public var token: StoreToken
    /// As it is to be stored, but for its position.
    public var message: Message
    /// What makes a repetition of the same post known.
    public var key: UUID128?
  }
}

extension Closure {
  /// The token's time is over.
  public static let expired = Closure(4401, "token expired")
  /// The user is no longer a member of the shop.
  public static let removed = Closure(4403, "removed from the shop")
  /// The log jumped: what this socket would be sent has a hole that only a catch-up closes.
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
    emit(.answer(id, answer))
  }

  /// Abandoned requests count as long as the store works for them.
  private var hasRoomForRequest: Bool {
    requests.count <= policy.maxRequests && questions.count < policy.maxRequests
  }

  var busy: Answer { .error(503, "too busy", retryAfter: policy.busyRetry) }

  /// What is said to everybody while the server goes away.
  var goingAway: Answer? {
    guard !frame.isServing else { return nil }
    return .error(503, "draining", retryAfter: frame.mode.window ?? policy.busyRetry)
  }

  /// Whether it takes work, and whether the last message was stored.
  public var serviceHealth: ServiceHealth {
    ServiceHealth(isServing: frame.isServing, storeFailure: writeFailure, of: Self.storeName)
  }

  private var streamHealth: ShopStreamHealth {
    ShopStreamHealth(
      isServing: frame.isServing, connections: openConnections, shops: activeShops,
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

extension ShopServer {
  /// Puts a post at the end of its shop's queue.
  mutating func enqueue(_ draft: Draft, of author: Claims, _ id: RequestID, wall: Timestamp) {
    guard rooms[draft.shop, default: ShopRoom()].posts.count < policy.maxPostsPerShop else {
      return answer(id, busy)
    }
    let message = Message(
      id: .random(using: &chance), shop: draft.shop, user: author.user, username: author.name,
      text: draft.text, createdAt: wall, parent: draft.parent)
    let key: UUID128? =
      switch policy.dialect {
      case .positions: draft.key
      case .plain: nil
      }
    enter(draft.shop) { $0.posts.append(ShopRoom.Post(request: id, message: message, key: key)) }
    advance(draft.shop)
  }

  /// Does for a room what can be done now: learn the head, let arrivals in, hand over its posts.
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
    if !room.isAsking { handOver(of: shop, behind: head) }
  }

  /// Gives the store the posts that wait, up to a bound of bytes: they share one commit. The rest
  /// goes when these are answered.
  private mutating func handOver(of shop: ShopID, behind head: Position) {
    guard var room = rooms[shop], !room.posts.isEmpty else { return }
    var appends: [Append] = []
    var (taken, total) = (0, 0)
    for post in room.posts {
      var message = post.message
      message.createdAt = room.stamp(message.createdAt)
      let offset = head.offset + UInt64(appends.count) + 1
      let bytes = frameBytes(of: message, at: Position(epoch: head.epoch, offset: offset))
      guard bytes <= policy.limits.maxFrameBytes else {
        let bound = policy.limits.maxFrameBytes
        answer(post.request, .error(413, "the frame would be \(bytes) bytes of at most \(bound)"))
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

  private func frameBytes(of message: Message, at position: Position) -> Int {
    var framed = message
    framed.position = position
    return Frame.message(spoken(framed)).payload.count
  }

  mutating func stored(_ token: StoreToken, _ said: StoreAnswer) {
    // An unknown token is a late or doubled answer: nothing waits for it.
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
      settle(page, after: after, to: id, in: shop)
    case (.append, .failed(let failure)):
      writeFailure = failure
      metrics.storeFailures += 1
      failed(question)
    case (.head, .appended), (.head, .page), (.head, .failed), (.append, .page), (.append, .head),
      (.all, .appended), (.all, .head), (.all, .failed), (.page, .appended),
      (.page, .head), (.page, .failed), (.newestSince, .appended), (.newestSince, .head),
      (.newestSince, .failed), (.backlog, .appended), (.backlog, .head), (.backlog, .failed):
      // An answer of the wrong kind is a broken store, and treated as one.
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
      // What was missed can still be asked for over REST.
      settle(Page(messages: [], hasNext: true), after: after, to: id, in: shop)
    }
  }

  private mutating func appended(
    _ message: Message, isNew: Bool, to shop: ShopID, _ id: RequestID
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
      // Something else wrote to the log: whoever listens must catch up.
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

  /// The answer to a post that is stored. A key that stored another message before is refused: the
  /// caller would take that message for its own.
  private func answer(to id: RequestID, _ message: Message, isNew: Bool) -> Answer {
    guard !isNew else {
      return Answer(201, .message(written(message), note: "Message created successfully"))
    }
    guard requests[id]?.draft?.asks(for: message) ?? true else {
      return .error(
        409, "the idempotency key was used for another message; use a new key for each message")
    }
    return Answer(200, .message(written(message), note: "Message already created"))
  }

  private mutating func broadcast(_ message: Message, to shop: ShopID) {
    rooms[shop]?.remember(message, atMost: policy.backlogLimit)
    guard let listeners = rooms[shop]?.subscribers, !listeners.isEmpty else { return }
    metrics.broadcasts += 1
    metrics.frames += UInt64(listeners.count)
    emit(.send(.message(spoken(message)), to: listeners))
  }

  /// A message as the stream shows it in this dialect.
  func spoken(_ message: Message) -> Message {
    var message = message
    switch policy.dialect {
    case .positions: break
    case .plain: message.position = nil
    }
    return message
  }

  /// A message as REST answers show it in this dialect.
  private func written(_ message: Message) -> Message {
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

  /// Changes a room, making it when it is new; the idle ones go first when they are too many.
  mutating func enter<Result>(_ shop: ShopID, _ change: (inout ShopRoom) -> Result) -> Result {
    if rooms[shop] == nil, rooms.count >= policy.maxIdleRooms {
      rooms = rooms.filter { !$0.value.isIdle }
    }
    return change(&rooms[shop, default: ShopRoom()])
  }
}

extension Page {
  /// How many messages the pages of a query up to this one hold, and one more if more follow.
  func seen(by query: PageQuery) -> UInt64 {
    let seen = UInt64(messages.count) + (hasNext ? 1 : 0)
    switch query {
    case .page(let number, let limit), .since(_, let number, let limit):
      return UInt64(max(number, 1) - 1) * UInt64(max(limit, 0)) + seen
    case .after, .before:
      return seen
    }
  }

  /// This page of the history, newest first, cut where it is no longer newer than `time`.
  func newer(than time: Timestamp) -> Page {
    var page = self
    page.messages = messages.filter { $0.createdAt > time }
    page.hasNext = hasNext && page.messages.count == messages.count
    return page
  }
}

extension ShopServer {
  /// The input that begins a drain.
  public static func drain(within window: Duration) -> Input { .drain(within: window) }

  /// Whether the drain has ended.
  public var isFinished: Bool { frame.isFinished }

  /// Refuses new work from now on; what waits for the store may still end well.
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

  /// Ends the drain once there are no connections, no requests and no questions to the store.
  mutating func finishIfEmpty() {
    guard sockets.isEmpty, requests.isEmpty, questions.isEmpty else { return }
    frame.finish(with: .finished)
  }
}

// What always holds between the tables of the shops.
extension ShopServer {
  /// Notes each invariant that does not hold now.
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
          : room.creditors.contains(id) || room.arrivals.contains { $0.id == id }
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
    let places = rooms.values.reduce(0) {
      $0 + $1.subscribers.count + $1.creditors.count + $1.arrivals.count
    }
    check.require(
      places == sockets.connections(where: \.isLive).count,
      "shop: a socket is in one place of one room")
    check.require(
      rooms.values.allSatisfy { room in
        zip(room.subscribers, room.subscribers.dropFirst()).allSatisfy { $0 < $1 }
      }, "shop: the sockets of a room are in order")
    check.require(
      rooms.values.allSatisfy { room in
        room.posts.count <= policy.maxPostsPerShop
          && room.recent.count <= (room.creditors.isEmpty ? 0 : policy.backlogLimit)
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
