import HoldfastCore
import HoldfastIdentity
import HoldfastMessageData
import HoldfastServerParts

// The way of a post, an edit or a deletion into the log.
extension ShopServer {
  mutating func post(
    _ draft: Draft, _ id: RequestID, _ credential: Credential, wall: Timestamp
  ) {
    switch admit(credential, to: draft.shop, wall: wall) {
    case .refused(let refused):
      answer(id, refused)
    case .admitted(let author):
      guard isWithinLimits(id, of: author.user) else { return }
      let message = ShopMessage(
        id: draft.id ?? .random(using: &generator), shop: draft.shop, user: author.user,
        username: author.name, content: draft.content, createdAt: wall)
      let change = LogRequest.post(LogEntry(message: message, key: known(draft.key)))
      enqueue(ShopRoom.Change(request: id, change: change, name: author.name), of: draft.shop)
    }
  }

  /// Asks the store for the shop of a message that is to be edited or deleted.
  mutating func find(
    _ change: Lookup.Change, _ id: RequestID, _ credential: Credential, wall: Timestamp
  ) {
    if let goingAway { return answer(id, goingAway) }
    switch identify(credential, wall: wall) {
    case .refused(let refused):
      answer(id, refused)
    case .admitted(let claims):
      guard isWithinLimits(id, of: claims.user) else { return }
      let lookup = Lookup(change: change, claims: claims, wall: wall)
      emit(.shop(ask(.shop(id, lookup)), change.id))
    }
  }

  mutating func found(_ shop: ShopID?, _ lookup: Lookup, for id: RequestID) {
    guard let shop, lookup.change.shop ?? shop == shop else { return answer(id, .unknownMessage) }
    guard isMember(lookup.claims, of: shop) else { return refuse(id, .notAMember, .forbidden) }
    let change = request(lookup, of: shop)
    enqueue(ShopRoom.Change(request: id, change: change, name: lookup.claims.name), of: shop)
  }

  private func request(_ lookup: Lookup, of shop: ShopID) -> LogRequest {
    let claims = lookup.claims
    let actor = LogActor(user: claims.user, isAdmin: claims.admin.contains(shop))
    switch lookup.change {
    case .edit(let revision):
      return .edit(
        LogEdit(
          id: revision.id, shop: shop, text: revision.text, at: lookup.wall, by: actor,
          key: known(revision.key), window: policy.editWindow))
    case .delete(let id, _):
      return .delete(LogDeletion(id: id, shop: shop, by: actor))
    }
  }

  /// Returns a key, if this dialect knows keys.
  private func known(_ key: UUID128?) -> UUID128? {
    switch policy.dialect {
    case .positions: key
    case .plain: nil
    }
  }

  /// The user in whose name the messages of an erased user are deleted. It has no rate, since the
  /// erasure has a pace of its own, and no token names it.
  package static let operatorUser = "\u{0}operator"

  /// Returns whether a user may send another change, and answers the request otherwise.
  private mutating func isWithinLimits(_ id: RequestID, of user: String) -> Bool {
    guard hasRoomForRequest else {
      refuse(id, busy, .ceiling(.requests))
      return false
    }
    guard user != Self.operatorUser, let wait = rate.spend(user, at: now) else { return true }
    refuse(id, .error(429, "too many messages", retryAfter: wait), .rate)
    return false
  }

  /// Adds a change to the end of its shop's queue.
  private mutating func enqueue(_ change: ShopRoom.Change, of shop: ShopID) {
    guard rooms[shop, default: ShopRoom()].changes.count < policy.maxPostsPerShop else {
      return refuse(change.request, busy, .store)
    }
    enter(shop) { $0.changes.append(change) }
    advance(shop)
  }

  /// Performs the next steps of a room that are possible: reads the head, opens sockets, stores
  /// changes.
  mutating func advance(_ shop: ShopID) {
    guard let room = rooms[shop] else { return }
    guard let head = room.head else {
      if !room.isAsking {
        rooms[shop]?.beginHead()
        emit(.head(ask(.head(shop)), shop))
      }
      return
    }
    rooms[shop]?.arrivals = []
    if !room.backlogs.isEmpty { sendBacklogs(of: shop) }
    for arrival in room.arrivals {
      if isCurrent(arrival, in: rooms[shop] ?? room, at: head) {
        letIn(arrival, to: shop, head: head)
      } else {
        rooms[shop]?.arrivals.append(arrival)
      }
    }
    if rooms[shop]?.arrivals.isEmpty == false { checkArrivals(of: shop) }
    if rooms[shop]?.isAsking == false { storeChanges(of: shop, behind: head) }
  }

  /// Sends waiting changes to the store in one commit of bounded size.
  ///
  /// The remaining changes follow once the results of this commit have arrived.
  private mutating func storeChanges(of shop: ShopID, behind head: ShopPosition) {
    guard var room = rooms[shop], !room.changes.isEmpty else { return }
    var appends: [Append] = []
    var (taken, total) = (0, 0)
    for waiting in room.changes {
      let (change, stamp) = waiting.change.stamped(room.stamp)
      let offset = head.offset + UInt64(appends.count) + 1
      let position = ShopPosition(epoch: head.epoch, offset: offset)
      let bytes = frame(of: change, by: waiting.name, at: position).payload.count
      if let refused = tooLong(change, bytes) {
        answer(waiting.request, refused)
        taken += 1
        continue
      }
      total += bytes
      guard appends.isEmpty || total <= policy.maxCommitBytes else { break }
      taken += 1
      room.lastStamp = stamp ?? room.lastStamp
      appends.append(Append(token: ask(.append(shop, waiting.request)), change: change))
    }
    room.changes.removeFirst(taken)
    room.pendingAnswers = appends.count
    rooms[shop] = room
    if !appends.isEmpty { emit(.append(appends)) }
  }

  /// Returns the longest frame that a change can lead to.
  private func frame(
    of change: LogRequest, by name: String, at position: ShopPosition
  ) -> Frame {
    switch change {
    case .post(let entry):
      var message = entry.message
      message.position = position
      return .message(spoken(message))
    case .edit(let edit):
      // Only the store knows the message, but none has longer time stamps than these.
      let time = Timestamp(nanoseconds: 1_000)
      return .edited(
        ShopMessage(
          id: edit.id, shop: edit.shop, user: edit.by.user, username: name, text: edit.text,
          createdAt: time, updatedAt: time, isEdited: true, parent: edit.id, position: position,
          changed: position))
    case .delete(let deletion):
      return .deleted(
        ShopDeletion(
          id: deletion.id, shop: deletion.shop, position: position, changed: position))
    }
  }

  private func tooLong(_ change: LogRequest, _ bytes: Int) -> Answer? {
    let bound = policy.limits.maxFrameBytes
    switch change {
    case .post, .edit:
      guard bytes > bound else { return nil }
      return .error(413, "the frame would have \(bytes) bytes, more than \(bound)")
    case .delete: return nil
    }
  }
}

// The results of changes.
extension ShopServer {
  mutating func appended(_ outcome: LogOutcome, to shop: ShopID, _ id: RequestID) {
    guard let event = outcome.newest else {
      answer(id, answer(to: id, outcome))
      rooms[shop]?.pendingAnswers -= 1
      return advance(shop)
    }
    guard let position = outcome.position, let head = rooms[shop]?.head else {
      metrics.storeFailures += 1
      return failed(.append(shop, id))
    }
    count(outcome)
    answer(id, answer(to: id, outcome))
    rooms[shop]?.pendingAnswers -= 1
    if outcome.isNew, policy.sharesLog { emit(.tell(shop, position)) }
    // The newest event of a message that another node has stored may hide the one that comes next.
    let isForeign = policy.sharesLog && !outcome.isNew && position.offset > head.offset
    let isAhead =
      isForeign || position.epoch != head.epoch || position.offset > head.offset + 1
    if isAhead, policy.sharesLog {
      storedAhead(position, of: shop)
    } else if isAhead {
      // Another process wrote to the log, so all subscribers must catch up.
      rooms[shop]?.head = position
      for id in rooms[shop]?.subscribers ?? [] {
        close(id, .discontinuity)
      }
    } else if position.offset == head.offset + 1 {
      rooms[shop]?.head = position
      broadcast(event, to: shop)
    }
    advance(shop)
  }

  private mutating func count(_ outcome: LogOutcome) {
    guard outcome.isNew else {
      if outcome.newest?.isPost == true { metrics.repeated += 1 }
      return
    }
    writes.succeed()
    switch outcome {
    case .posted: metrics.accepted += 1
    case .edited:
      metrics.edited += 1
      writes.planErasures(at: now.advanced(by: policy.forgetDelay))
    case .deleted:
      metrics.deleted += 1
      writes.planErasures(at: now.advanced(by: policy.forgetDelay))
    case .refused: break
    }
  }

  /// Returns the response to a change that the store has carried out or refused.
  private func answer(to id: RequestID, _ outcome: LogOutcome) -> Answer {
    switch outcome {
    case .posted(let message, true):
      Answer(201, .message(written(message), note: "Message created successfully"))
    case .posted(let message, false):
      // If the key was already used for a different message, the client would mistake that message
      // for its own.
      requests[id]?.draft?.asks(for: message) ?? true
        ? Answer(200, .message(written(message), note: "Message already created"))
        : .refused(.keyUsedForAnother, on: .send)
    case .edited(let message, let isNew):
      confirmed(isNew ? "Message updated successfully" : "Message already updated") {
        .message(message, note: $0)
      }
    case .deleted(let deletion, let isNew):
      confirmed(isNew ? "Message deleted successfully" : "Message already deleted") {
        .deletion(deletion, note: $0)
      }
    case .refused(let refusal):
      .refused(refusal, on: requests[id]?.route ?? .unknown)
    }
  }

  /// Returns the response to an edit or a deletion. The original system has no envelope there.
  private func confirmed(_ note: String, _ body: (String) -> ShopBody) -> Answer {
    switch policy.dialect {
    case .positions: Answer(200, body(note))
    case .plain: Answer(200, .note(note))
    }
  }

  mutating func broadcast(_ event: ShopEvent, to shop: ShopID) {
    rooms[shop]?.remember(event, atMost: policy.backlogLimit)
    guard let room = rooms[shop] else { return }
    switch event {
    case .posted(let message): broadcast(.message(spoken(message)), to: room.subscribers)
    case .edited(let message): broadcast(.edited(message), to: room.eventSubscribers)
    case .deleted(let deletion): broadcast(.deleted(deletion), to: room.eventSubscribers)
    }
  }

  mutating func broadcast(_ frame: Frame, to listeners: [ConnectionID]) {
    guard !listeners.isEmpty else { return }
    metrics.broadcasts += 1
    metrics.frames += UInt64(listeners.count)
    emit(.send(frame, to: listeners))
  }
}

extension LogOutcome {
  /// Whether the outcome changed the log.
  fileprivate var isNew: Bool {
    switch self {
    case .posted(_, let isNew), .edited(_, let isNew), .deleted(_, let isNew): isNew
    case .refused: false
    }
  }

  /// The newest event of the message, or `nil` if the change was refused.
  fileprivate var newest: ShopEvent? {
    switch self {
    case .posted(let message, _): .posted(message)
    case .edited(let message, _): .edited(message)
    case .deleted(let deletion, _): .deleted(deletion)
    case .refused: nil
    }
  }

  /// The newest position of the message. An edit to the same text leaves it as it was.
  fileprivate var position: ShopPosition? {
    switch self {
    case .posted(let message, _): message.position
    case .edited(let message, _): message.version
    case .deleted(let deletion, _): deletion.changed
    case .refused: nil
    }
  }
}

extension LogRequest {
  /// Returns the change with its time replaced by `stamp`, and the new time; `nil` for a deletion.
  fileprivate func stamped(_ stamp: (Timestamp) -> Timestamp) -> (LogRequest, Timestamp?) {
    switch self {
    case .post(var entry):
      entry.message.createdAt = stamp(entry.message.createdAt)
      return (.post(entry), entry.message.createdAt)
    case .edit(var edit):
      edit.at = stamp(edit.at)
      return (.edit(edit), edit.at)
    case .delete: return (self, nil)
    }
  }
}

extension Answer {
  static let unknownMessage = Answer.error(404, MissingMessage.unknown.rawValue)

  /// Returns the response to a change that the log refused.
  fileprivate static func refused(_ refusal: LogRefusal, on route: ShopCallRoute) -> Answer {
    switch refusal {
    case .unknown: .unknownMessage
    case .deleted: .error(route == .send ? 410 : 404, MissingMessage.deleted.rawValue)
    case .notTheAuthor where route == .delete:
      .error(403, "only the author and admins of the shop can delete a message")
    case .notTheAuthor: .error(403, "only the author can edit a message")
    case .tooLate: .error(403, "the message can no longer be edited")
    case .keyUsedForAnother where route == .edit:
      .error(409, "the idempotency key was used for another edit; use a new key for each edit")
    case .keyUsedForAnother:
      .error(
        409, "the idempotency key was used for another message; use a new key for each message")
    }
  }
}
