import HoldfastCore
import HoldfastMessageData
import HoldfastServerParts

// The results of store requests.
extension ShopServer {
  mutating func stored(_ token: StoreToken, _ said: StoreAnswer) {
    // An unknown token belongs to a late or duplicate result, for which no request waits.
    guard let question = questions.take(token) else { return }
    guard !take(said, for: question, token) else { return }
    if case (.append, .failed(let failure)) = (question, said) {
      let due = now.advanced(by: policy.forgetRetry)
      writes.fail(failure, after: questions.newest, checkAt: due)
    }
    // A result of the wrong kind shows that the store is faulty, so it counts as a failure.
    metrics.storeFailures += 1
    failed(question)
  }

  /// Handles a result. Returns false if it is a failure or of the wrong kind.
  private mutating func take(
    _ said: StoreAnswer, for question: Question, _ token: StoreToken
  ) -> Bool {
    switch question {
    case .head(let shop):
      guard case .head(let head, let newest) = said else { return false }
      rooms[shop]?.learn(head, newest: newest)
      advance(shop)
      if rooms[shop]?.hasNews == true, rooms[shop]?.hasListeners == true { readTail(of: shop) }
    case .heads(let shops):
      guard case .heads(let heads) = said, heads.count == shops.count else { return false }
      headsRead(heads, of: shops)
    case .append(let shop, let id):
      guard case .appended(let outcome) = said else { return false }
      appended(outcome, to: shop, id)
    case .shop(let id, let lookup):
      guard case .shop(let shop) = said else { return false }
      found(shop, lookup, for: id)
    case .forget(let trace):
      guard case .forgotten = said else { return false }
      writes.erased(trace, token)
    case .all, .page, .newestSince, .backlog, .tail:
      guard case .page(let page, let total) = said else { return false }
      take(page, total: total, for: question)
    }
    return true
  }

  private mutating func take(_ page: Page, total: UInt64, for question: Question) {
    switch question {
    case .all(let id):
      answer(id, Answer(200, .messages(page.messages.reversed().map { written($0) })))
    case .page(let id, let query, let events):
      answer(id, answer(page, query, total: total, events: events))
    case .newestSince(let id, let time, let query):
      let newer = page.newer(than: time)
      answer(id, answer(newer, query, total: newer.seen(by: query), events: false))
    case .backlog(let id, let shop): backlogRead(page, for: id, in: shop)
    case .tail(let shop): tailRead(page, of: shop)
    case .head, .heads, .append, .shop, .forget: break
    }
  }

  mutating func failed(_ question: Question) {
    let refused = Answer.error(503, "the store failed", retryAfter: policy.busyRetry)
    switch question {
    case .head(let shop):
      guard let room = rooms.removeValue(forKey: shop) else { return }
      for arrival in room.arrivals {
        forget(arrival.id)
        refuse(arrival.id, refused)
      }
      for change in room.changes { answer(change.request, refused) }
    case .append(let shop, let id):
      answer(id, refused)
      rooms[shop]?.pendingAnswers -= 1
      advance(shop)
    case .shop(let id, _), .all(let id), .page(let id, _, _), .newestSince(let id, _, _):
      answer(id, refused)
    case .backlog(let id, let shop):
      // The client can still fetch the missed messages over REST.
      backlogRead(Page(messages: [], hasNext: true), for: id, in: shop)
    case .tail(let shop): tailFailed(of: shop)
    case .heads: checks.end()
    case .forget(let trace):
      let first = min(policy.forgetDelay, policy.forgetRetry)
      writes.failedToErase(trace, at: now, first: first, most: policy.forgetRetryLimit)
    }
  }

  /// Removes the traces of edited and deleted messages from the files as far as that is due.
  mutating func forgetTraces() {
    for trace in writes.beginErasures(at: now) {
      emit(.forget(ask(.forget(trace)), trace))
    }
  }
}

// The forms of messages in this dialect.
extension ShopServer {
  /// Returns a message in the form in which the stream sends it to every socket.
  func spoken(_ message: ShopMessage) -> ShopMessage {
    var message = message.withoutVersion
    switch policy.dialect {
    case .positions: break
    case .plain: message.position = nil
    }
    return message
  }

  /// Returns a message in the form in which REST responses contain it.
  func written(_ message: ShopMessage, events: Bool = false) -> ShopMessage {
    switch policy.dialect {
    case .positions: return events ? message : message.withoutVersion
    case .plain:
      var message = spoken(message)
      message.username = nil
      return message
    }
  }

  /// Returns the response to a page request.
  private func answer(
    _ page: Page, _ query: PageQuery, total: UInt64, events: Bool
  ) -> Answer {
    if query.isByID, !page.recovered { return .unknownMessage }
    var page = page
    page.messages = page.messages.map { written($0, events: events) }
    switch policy.dialect {
    case .positions: break
    case .plain: (page.head, page.oldest) = (nil, nil)
    }
    return Answer(200, .page(page, query, total: total), events: events)
  }
}

extension PageQuery {
  /// Whether the query names a message.
  fileprivate var isByID: Bool {
    switch self {
    case .beforeID, .afterID: true
    case .page, .since, .after, .before, .changes, .newest: false
    }
  }
}
