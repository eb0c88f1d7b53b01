import HoldfastCore
import HoldfastIdentity
import HoldfastLinkChecks
import HoldfastMessageChecks
import HoldfastMessageData
import HoldfastMessageServer
import HoldfastMessageStream
import HoldfastWorldKernel

// Behavior that only some servers show: restored logs, several devices of a user, and false
// statements.
extension StreamWorld {
  // The log.

  /// Starts the log over with only its newest messages.
  mutating func beginAnew(keeping count: Int, _ index: Int) {
    stop(server, for: index)
    backend.log.beginAnew(keeping: count)
    note(.beganAnew(head: backend.log.head, retained: backend.log.messages))
    noteImages()
  }

  /// Starts the log over without its newest messages, and fills it with others up to its former
  /// length.
  ///
  /// The offset at its head then occurs in both epochs.
  mutating func beginAlike(without count: Int, _ index: Int) {
    let size = backend.log.messages.count
    beginAnew(keeping: size - min(count, size), index)
    for _ in 0..<min(count, size) {
      backend.othersCount += 1
      let user = "other-\(backend.othersCount % 5)"
      let newest = backend.log.messages.last?.createdAt.advanced(by: .milliseconds(1))
      let stamp = max(serverWall, newest ?? serverWall)
      let message = ShopMessage(
        id: .random(using: &kernel.hosts[server.slot].generator), shop: shop, user: user,
        username: user, text: "other \(backend.othersCount)", createdAt: stamp)
      kernel.counts[.accepted] += 1
      note(.accepted(backend.log.append(message), isNew: true))
    }
  }

  /// Removes the log's newest events, and continues under the same epoch.
  mutating func putBack(by count: Int, _ index: Int) {
    stop(server, for: index)
    backend.longest = backend.log.head.offset
    backend.log.putBack(by: count)
    note(.beganAnew(head: backend.log.head, retained: backend.log.messages))
    noteImages()
  }

  /// Removes all messages but the newest ones.
  mutating func removeOld(keeping count: Int) {
    backend.log.remove(keeping: count, at: serverWall)
    kernel.checkers.views[0].phoneState.own.oldest = backend.log.oldest
  }

  /// Whether a page can close a gap, because the server has not removed the gap's messages.
  var hasOpenGap: Bool {
    let stored = disk
    return stored.gaps.contains { gap in
      !backend.log.hasRemoved(gap, after: gap.after.flatMap { stored.messages[$0.id]?.position })
    }
  }

  /// Whether the next message would fill the log up to the phone's last known position before the
  /// phone can detect that the log was restored.
  ///
  /// No client can distinguish a refilled log from the original one.
  var fillsLogUp: Bool {
    guard let cursor = disk.cursor.position, cursor.epoch == backend.log.epoch else { return false }
    let head = backend.log.head.offset
    let next = head + UInt64(backend.posting) + 1
    // The phone also knows the positions of messages that have not been stored yet.
    let isUnstored = kernel.checkers.views[0].phoneState.own.memoryUse.unstored > 0
    return cursor.offset > head && cursor.offset <= next || isUnstored && next <= backend.longest
  }

  /// Whether the phone's cursor is beyond the end of the log.
  var isAheadOfLog: Bool {
    guard let cursor = disk.cursor.position else { return false }
    return cursor.epoch == backend.log.epoch && cursor.offset > backend.log.head.offset
  }

  /// Returns the log's failure while the server's disk is failing; `nil` while the disk works.
  func failure(of question: LogQuestion) -> StoreFailure? {
    switch (kernel.hosts[server.slot].conditions.disk, question) {
    case (.locked, _): .locked(detail: "the log is locked")
    case (.full, .append): .full(detail: "no space left")
    case (.full, .page), (.full, .head), (.full, .heads), (.full, .shop), (.full, .forget),
      (.works, _),
      (.slow, _):
      nil
    }
  }

  // Sockets.

  /// Returns the latest planned event of a kind that is in progress.
  private func event(_ eventKind: StreamEventKind) -> PlannedEvent<StreamEventKind>? {
    kernel.active.last { kernel.plan.events[$0].event.eventKind == .own(eventKind) }
      .map { kernel.plan.events[$0].event }
  }

  /// Accepts a socket. The reported head may be false, and the backlog may be withheld.
  mutating func letIn(
    _ id: ConnectionID, head: ShopPosition?, after: ShopPosition?, events: Bool
  ) {
    var stated = head
    if let lie = event(.falseHead), let head {
      let offset = Int(clamping: head.offset) + lie.number
      stated = ShopPosition(epoch: head.epoch, offset: UInt64(max(0, offset)))
    }
    if after != nil, isUnderWay(.shortBacklog) { backend.unsentBacklog[id.number] = 1 }
    if let index = line(id.number), kernel.lines[index].run == kernel.hosts[phoneID.slot].run {
      note(.stated(kernel.lines[index].attempt, head: stated))
    }
    accept(id.number, .opened(head: stated, after: after, events: events))
  }

  /// Returns whether to withhold a frame of a backlog. Such a frame is addressed to only one
  /// socket.
  mutating func withholds(_ listeners: [ConnectionID]) -> Bool {
    guard let id = listeners.first, listeners.count == 1,
      let unsent = backend.unsentBacklog[id.number]
    else {
      return false
    }
    backend.unsentBacklog[id.number] = unsent - 1
    return unsent <= 0
  }

  // Other devices of the same user.

  /// Opens `count` sockets of the user's other devices.
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

  /// Schedules the reaction of another device's socket to pings and close frames.
  mutating func sendToRival(_ effect: ShopServer.Effect) {
    switch effect {
    case .ping(let id) where backend.rivals[id.number] != nil:
      kernel.later(.rival(id, isClosing: false), on: server, after: kernel.roundTrip())
    case .close(let id, _) where backend.rivals[id.number] != nil:
      kernel.later(.rival(id, isClosing: true), on: server, after: kernel.roundTrip())
    case .drop(let id), .refuse(let id, _): backend.rivals[id.number] = nil
    case .append, .shop, .page, .head, .heads, .tail, .tell, .forget, .answer, .accept, .send,
      .ping, .close, .finished:
      return
    }
  }

  mutating func rivalAnswers(_ id: ConnectionID, isClosing: Bool) {
    guard backend.rivals[id.number] != nil else { return }
    if isClosing {
      backend.rivals[id.number] = nil
      feed(.gone(id, code: 1001))
    } else {
      feed(.received(id))
    }
  }
}
