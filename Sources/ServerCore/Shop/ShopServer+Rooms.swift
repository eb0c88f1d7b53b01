import LinkCore
import LinkWire

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
        rooms[shop]?.owed = 1
        effects.append(.head(ask(.head(shop)), shop))
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
    room.owed = appends.count
    rooms[shop] = room
    if !appends.isEmpty { effects.append(.append(appends)) }
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
    case (.arrears(let id, let shop, let after), .page(let page, _)):
      settle(page, after: after, to: id, in: shop)
    case (.append, .failed(let failure)):
      writeFailure = failure
      metrics.storeFailures += 1
      failed(question)
    case (.head, .appended), (.head, .page), (.head, .failed), (.append, .page), (.append, .head),
      (.all, .appended), (.all, .head), (.all, .failed), (.page, .appended),
      (.page, .head), (.page, .failed), (.newestSince, .appended), (.newestSince, .head),
      (.newestSince, .failed), (.arrears, .appended), (.arrears, .head), (.arrears, .failed):
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
      rooms[shop]?.owed -= 1
      advance(shop)
    case .all(let id), .page(let id, _), .newestSince(let id, _, _):
      answer(id, refused)
    case .arrears(let id, let shop, let after):
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
    rooms[shop]?.owed -= 1
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
    rooms[shop]?.remember(message, atMost: policy.arrearsLimit)
    guard let listeners = rooms[shop]?.subscribers, !listeners.isEmpty else { return }
    metrics.broadcasts += 1
    metrics.frames += UInt64(listeners.count)
    effects.append(.send(.message(spoken(message)), to: listeners))
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
