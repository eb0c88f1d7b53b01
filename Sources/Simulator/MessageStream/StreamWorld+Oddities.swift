import LinkCore
import LinkServerCore
import LinkWire
import MessageStream

// What only some servers do: edits, logs that are put back, a user with more devices, lies.
extension StreamWorld {
  // The log.

  /// The log begins anew with its newest messages.
  mutating func beginAnew(keeping count: Int, _ index: Int) {
    stop(server, for: index)
    backend.log.beginAnew(keeping: count)
    note(.beganAnew(epoch: backend.log.epoch, kept: backend.log.messages))
  }

  /// The log begins anew without its newest messages, and others fill it up to where it stood: an
  /// offset at its head is one of both epochs.
  mutating func beginAlike(without count: Int, _ index: Int) {
    let size = backend.log.messages.count
    beginAnew(keeping: size - min(count, size), index)
    for _ in 0..<min(count, size) {
      backend.said += 1
      let user = "other-\(backend.said % 5)"
      let newest = backend.log.messages.last?.createdAt.advanced(by: .milliseconds(1))
      let stamp = max(serverWall, newest ?? serverWall)
      let message = Message(
        id: .random(using: &kernel.hosts[server.place].chance), shop: shop, user: user,
        username: user, text: "other \(backend.said)", createdAt: stamp)
      let (kept, isNew) = backend.log.append(message, key: nil)
      kernel.counts[.accepted] += 1
      note(.accepted(kept, isNew: isNew))
    }
  }

  /// The log loses its newest messages, and goes on under the same epoch.
  mutating func putBack(by count: Int, _ index: Int) {
    stop(server, for: index)
    backend.longest = backend.log.head.offset
    backend.log.putBack(by: count)
    note(.beganAnew(epoch: backend.log.epoch, kept: backend.log.messages))
  }

  /// Whether the next message reaches what the phone knows of the log that went back, which it
  /// cannot know yet: no client can tell a log that was filled up again from the old one.
  var fillsLogUp: Bool {
    guard let cursor = disk.cursor.position, cursor.epoch == backend.log.epoch else { return false }
    let head = backend.log.head.offset
    let next = head + UInt64(backend.posting) + 1
    // What its store does not take yet it knows, too.
    let isUnstored = kernel.bench.views[0].standing.own.backlog.unstored > 0
    return cursor.offset > head && cursor.offset <= next || isUnstored && next <= backend.longest
  }

  /// Whether the phone knows more of the log than there is.
  var isAheadOfLog: Bool {
    guard let cursor = disk.cursor.position else { return false }
    return cursor.epoch == backend.log.epoch && cursor.offset > backend.log.head.offset
  }

  /// Others change their newest messages, and everybody on a socket hears of it.
  mutating func edit(_ count: Int) {
    guard isServerRunning else { return }
    let listeners = kernel.lines.filter { $0.serverHolds }.map { ConnectionID($0.number) }
    for message in backend.log.messages.suffix(max(0, count)) where message.user != "me" {
      guard var edited = backend.log.edit(message, at: serverWall) else { continue }
      if kernel.plan.server == .plain { edited.position = nil }
      send(.message(edited), to: listeners)
    }
  }

  /// What the log answers while the server's disk fails; `nil` while it works.
  func failure(of question: LogQuestion) -> StoreFailure? {
    switch (kernel.hosts[server.place].conditions.disk, question) {
    case (.locked, _): .locked(detail: "the log is locked")
    case (.full, .append): .full(detail: "no space left")
    case (.full, .page), (.full, .head), (.works, _), (.slow, _): nil
    }
  }

  // Sockets.

  /// The act of a verb that is under way and began last.
  private func act(_ verb: StreamVerb) -> Act<StreamVerb>? {
    kernel.active.last { kernel.plan.acts[$0].act.verb == .own(verb) }
      .map { kernel.plan.acts[$0].act }
  }

  /// A socket is open; what is said of the head may be false, and what is owed may not come.
  mutating func letIn(_ id: ConnectionID, head: Position?, after: Position?) {
    var stated = head
    if let lie = act(.falseHead), let head {
      let offset = Int(clamping: head.offset) + lie.number
      stated = Position(epoch: head.epoch, offset: UInt64(max(0, offset)))
    }
    if after != nil, isUnderWay(.shortArrears) { backend.owed[id.number] = 1 }
    if let index = line(id.number), kernel.lines[index].run == kernel.hosts[phoneID.place].run {
      note(.stated(kernel.lines[index].attempt, head: stated))
    }
    accept(id.number, .opened(head: stated, after: after))
  }

  /// Whether a frame for one socket alone is not sent, although it is owed.
  mutating func keepsBack(_ listeners: [ConnectionID]) -> Bool {
    guard let id = listeners.first, listeners.count == 1, let owed = backend.owed[id.number] else {
      return false
    }
    backend.owed[id.number] = owed - 1
    return owed <= 0
  }

  // Other devices of the same user.

  /// So many sockets of the user's other devices open.
  mutating func openRivals(_ count: Int, _ index: Int) {
    guard isServerRunning else { return }
    let claims = Claims(
      user: "me", name: "Me", shops: [shop], expiresAt: serverWall.advanced(by: .seconds(86_400)))
    for _ in 0..<max(0, count) {
      backend.lastRival += 1
      backend.rivals[backend.lastRival] = index
      feed(.upgrade(ConnectionID(backend.lastRival), shop, .valid(claims), wall: serverWall))
    }
  }

  mutating func closeRivals(of index: Int) {
    for number in backend.rivals.keys.sorted() where backend.rivals[number] == index {
      backend.rivals[number] = nil
      if isServerRunning { feed(.gone(ConnectionID(number), code: 1000)) }
    }
  }

  /// What the server does to a socket of another device: it answers pings and close frames.
  mutating func tellRival(_ effect: ShopServer.Effect) {
    switch effect {
    case .ping(let id) where backend.rivals[id.number] != nil:
      kernel.later(.rival(id, isGone: false), on: server, after: kernel.roundTrip())
    case .close(let id, _) where backend.rivals[id.number] != nil:
      kernel.later(.rival(id, isGone: true), on: server, after: kernel.roundTrip())
    case .drop(let id), .refuse(let id, _): backend.rivals[id.number] = nil
    case .append, .page, .head, .answer, .accept, .send, .ping, .close, .finished: return
    }
  }

  mutating func rivalAnswers(_ id: ConnectionID, isGone: Bool) {
    guard backend.rivals[id.number] != nil else { return }
    if isGone {
      backend.rivals[id.number] = nil
      feed(.gone(id, code: 1001))
    } else {
      feed(.heard(id))
    }
  }
}
