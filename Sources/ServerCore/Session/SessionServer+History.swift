import LinkCore
import LinkStorage
import LinkWire

// Conversations: what is kept of them, and who follows them.
extension SessionServer {
  // MARK: Subscriptions

  mutating func subscribe(_ id: ConnectionID, _ subscription: SessionSubscription) {
    guard mayFollow(id, subscription) else { return }
    put(.window(subscription), on: id)
    pump(id)
  }

  mutating func subscribe(_ id: ConnectionID, _ all: [SessionSubscription]) {
    let mine = all.filter { mayFollow(id, $0) }
    guard !mine.isEmpty else { return }
    put(.batch(mine), on: id)
    pump(id)
  }

  /// Whether a client may subscribe as it says; it is told if it may not.
  private mutating func mayFollow(_ id: ConnectionID, _ subscription: SessionSubscription) -> Bool {
    guard let socket = sockets[id], let peer = socket.peer else { return false }
    let conversation = subscription.conversation
    let speaksOffsets = peer.version >= .newest
    switch subscription.cursor {
    case .offset where !speaksOffsets:
      fail(
        id, "unsupported_subscribe_field", "This version subscribes with last_seq.",
        conversation: conversation)
      return false
    case .sequence(1...) where speaksOffsets:
      fail(
        id, "invalid_subscribe", "This version subscribes with from_offset.",
        conversation: conversation)
      return false
    case .offset, .sequence: break
    }
    guard
      socket.subscriptions.count < policy.maxSubscriptions
        || socket.subscriptions[conversation] != nil
    else {
      fail(
        id, "too_many_subscriptions", "Unsubscribe from another conversation first.",
        conversation: conversation)
      return false
    }
    // Until its window is sent, it is sent nothing else.
    sockets[id]?.subscriptions[conversation] = .init(next: 0, isLive: false)
    talks[conversation, default: SessionTalk()].readers.insert(id)
    return true
  }

  mutating func unsubscribe(_ id: ConnectionID, _ conversation: String) {
    sockets[id]?.subscriptions[conversation] = nil
    talks[conversation]?.readers.remove(id)
    forgetIfEmpty(conversation)
  }

  /// Forgets a conversation that has no message, no prompt and no reader.
  mutating func forgetIfEmpty(_ conversation: String) {
    guard let talk = talks[conversation], talk.entries.isEmpty, talk.line.isEmpty,
      talk.readers.isEmpty
    else { return }
    talks[conversation] = nil
  }

  // MARK: Windows

  mutating func window(
    _ subscription: SessionSubscription, to peer: SessionSocket.Peer, on id: ConnectionID
  ) -> (SessionServerMessage, Int)? {
    guard let (history, size) = history(subscription, to: peer, on: id, budget: peer.maxBytes)
    else { return nil }
    return (.history(history), size)
  }

  /// As many windows as fit into one message; the other ones wait in front.
  mutating func batch(
    _ all: [SessionSubscription], to peer: SessionSocket.Peer, on id: ConnectionID
  ) -> (SessionServerMessage, Int)? {
    var histories: [SessionHistory] = []
    var total = 0
    var rest = all[...]
    while let next = rest.first, total == 0 || total + 2 * SessionText.envelope < peer.maxBytes {
      rest.removeFirst()
      guard
        let (history, size) = history(next, to: peer, on: id, budget: peer.maxBytes - total)
      else { continue }
      histories.append(history)
      total += size
    }
    if !rest.isEmpty { sockets[id]?.lane.putBack(.batch(Array(rest))) }
    return histories.isEmpty ? nil : (.historyBatch(histories), total)
  }

  /// A window from a client's cursor on; from its end on the client gets new messages as they come,
  /// if it reaches the end of the conversation.
  private mutating func history(
    _ subscription: SessionSubscription, to peer: SessionSocket.Peer, on id: ConnectionID,
    budget: Int
  ) -> (SessionHistory, Int)? {
    let conversation = subscription.conversation
    guard sockets[id]?.subscriptions[conversation] != nil else { return nil }
    let talk = talks[conversation] ?? SessionTalk()
    let speaksOffsets = peer.version >= .newest
    var start: UInt64
    var isReplaced = false
    switch subscription.cursor {
    case .sequence(let last): start = last + 1
    case .offset(let offset, let seen):
      isReplaced = seen.map { !$0.isEmpty && $0 != talk.signature } ?? false
      start = isReplaced ? 1 : offset + 1
    }
    var gap: SessionHistory.Gap?
    if start < talk.first, !isReplaced {
      gap = SessionHistory.Gap(requested: start - 1, oldest: talk.first, reason: .pruned)
    } else if start > talk.end {
      gap = SessionHistory.Gap(requested: start - 1, oldest: talk.first, reason: .clientAhead)
    }
    start = max(start, talk.first)
    let isEmpty = gap != nil && !speaksOffsets
    let (entries, size) =
      isEmpty ? ([], SessionText.envelope) : slice(talk, from: start, budget: budget)
    let pruned = isEmpty && gap?.reason == .pruned
    let next =
      isEmpty ? (pruned ? talk.first : talk.end) : min(start, talk.end) + UInt64(entries.count)
    let isComplete = next >= talk.end && !pruned
    sockets[id]?.subscriptions[conversation] = .init(next: next, isLive: isComplete)
    return (
      history(
        talk, conversation, entries, next: next, speaksOffsets: speaksOffsets,
        isReplaced: isReplaced, isComplete: isComplete, gap: gap), size
    )
  }

  /// Puts messages of a conversation into the form of a client's version.
  private func history(
    _ talk: SessionTalk, _ conversation: String, _ entries: [SessionEntry], next: UInt64,
    speaksOffsets: Bool, isReplaced: Bool = false, isComplete: Bool, gap: SessionHistory.Gap? = nil
  ) -> SessionHistory {
    guard speaksOffsets else {
      // The end of an empty window is the place from where the client goes on.
      let last = entries.last?.place ?? (gap?.reason == .pruned ? next - 1 : nil)
      return SessionHistory(
        conversation: conversation, entries: entries,
        place: .sequence(first: entries.first?.place, last: last, next: next),
        isComplete: isComplete, gap: gap)
    }
    let moved = entries.map { entry in
      var entry = entry
      entry.place = (entry.place ?? 1) - 1
      return entry
    }
    return SessionHistory(
      conversation: conversation, entries: moved,
      place: .offset(next: next - 1, signature: talk.signature, isReplaced: isReplaced),
      isComplete: isComplete, gap: gap)
  }

  /// The messages from a place on that fit, at least one of them, cut if it must be.
  private func slice(
    _ talk: SessionTalk, from start: UInt64, budget: Int, atMost count: Int? = nil
  ) -> ([SessionEntry], Int) {
    var entries: [SessionEntry] = []
    var size = SessionText.envelope
    let first = Int(clamping: max(start, talk.first) - talk.first)
    for entry in talk.entries.dropFirst(first).prefix(count ?? policy.windowEntries) {
      var entry = entry
      var length = SessionText.length(entry.text) + SessionText.envelope
      guard entries.isEmpty || size + length <= budget else { break }
      if size + length > budget {
        entry.text = SessionText.cut(entry.text, toFit: budget - SessionText.envelope)
        length = SessionText.length(entry.text) + SessionText.envelope
      }
      entries.append(entry)
      size += length
    }
    return (entries, size)
  }

  /// The next message of a conversation for a client that follows it.
  mutating func news(
    _ conversation: String, to peer: SessionSocket.Peer, on id: ConnectionID
  ) -> (SessionServerMessage, Int)? {
    guard let subscription = sockets[id]?.subscriptions[conversation], subscription.isLive,
      let talk = talks[conversation]
    else { return nil }
    let (entries, size) = slice(talk, from: subscription.next, budget: peer.maxBytes, atMost: 1)
    guard let place = entries.last?.place else { return nil }
    sockets[id]?.subscriptions[conversation]?.next = place + 1
    if place + 1 < talk.end { sockets[id]?.lane.putBack(.news(conversation)) }
    return (
      .history(
        history(
          talk, conversation, entries, next: place + 1, speaksOffsets: peer.version >= .newest,
          isComplete: true)), size
    )
  }

  // MARK: Messages

  /// Gives the messages of a prompt that ends their places.
  mutating func reserveEntries(of id: SessionPromptID) {
    guard let turn = turns[id], case .finishing(let answer) = turn.stage else { return }
    let conversation = turn.prompt.conversation
    let key = turn.prompt.idempotencyKey.flatMap { UUID128($0) }?.description
    var entries = [
      SessionEntry(
        id: key ?? freshID(), role: .user, text: turn.prompt.text, conversation: conversation,
        timestamp: turn.at)
    ]
    if case .success(let text) = answer.result {
      entries.append(
        SessionEntry(
          id: answer.message, role: .assistant, text: text, conversation: conversation,
          timestamp: answer.at))
    }
    for index in entries.indices {
      entries[index].place = talks[conversation]?.next ?? 1
      talks[conversation]?.next += 1
    }
    if let first = entries.first, first.place == 1 {
      talks[conversation]?.signature = first.signature
    }
    turns[id]?.entries = entries
  }

  /// The changes that make the answer to a prompt durable.
  func changes(finishing id: SessionPromptID) -> [SessionChange] {
    guard let turn = turns[id], case .finishing(let answer) = turn.stage else { return [] }
    var changes = [SessionChange.answered(id, answer)]
    if let client = clients[turn.client]?.kept { changes.append(.client(client)) }
    let conversation = turn.prompt.conversation
    if let talk = talks[conversation], !talk.isKept {
      changes.append(.conversation(conversation, signature: talk.signature))
    }
    return changes + turn.entries.map { .entry($0) }
  }

  /// Takes the messages of a prompt into its conversation, and has them sent to all who follow it.
  mutating func appendEntries(of id: SessionPromptID) {
    guard let turn = turns[id] else { return }
    let conversation = turn.prompt.conversation
    guard var talk = talks.removeValue(forKey: conversation) else { return }
    talk.isKept = true
    for entry in turn.entries { talk.late[entry.place ?? 0] = entry }
    while let entry = talk.late.removeValue(forKey: talk.end) {
      talk.entries.append(entry)
      historyBytes += entry.size
    }
    talk.usedAt = wall
    talks[conversation] = talk
    turns[id]?.entries = []
    for reader in talk.readers.sorted()
    where sockets[reader]?.subscriptions[conversation]?.isLive == true {
      put(.news(conversation), on: reader)
      pump(reader)
    }
    shorten(conversation)
  }

  /// Removes the oldest messages beyond the bounds.
  mutating func shorten(_ conversation: String) {
    let excess = (talks[conversation]?.entries.count ?? 0) - policy.entriesPerConversation
    if excess > 0 { prune(conversation, excess) }
    while historyBytes > policy.maxHistoryBytes || talks.count > policy.maxConversations {
      let idle = talks.filter {
        $0.value.line.isEmpty && $0.value.readers.isEmpty && !$0.value.isQueued
      }
      let oldest = idle.min { ($0.value.usedAt, $0.key) < ($1.value.usedAt, $1.key) }
      guard let (id, talk) = oldest else { return }
      if talks.count <= policy.maxConversations, talk.entries.count > 1 {
        prune(id, (talk.entries.count + 3) / 4)
      } else {
        historyBytes -= talk.entries.reduce(0) { $0 + $1.size }
        talks[id] = nil
        delay(.endConversation(id))
      }
    }
  }

  private mutating func prune(_ conversation: String, _ count: Int) {
    guard let removed = talks[conversation]?.entries.prefix(count), let last = removed.last?.place
    else { return }
    historyBytes -= removed.reduce(0) { $0 + $1.size }
    talks[conversation]?.entries.removeFirst(removed.count)
    delay(.prune(conversation, below: last + 1))
  }
}

extension SessionEntry {
  /// Names a conversation by its first message: the length of its text and its id.
  var signature: String { "\(text.utf8.count):\(id)" }

  /// Bytes that it takes of the bounds.
  var size: Int { text.utf8.count + id.utf8.count }
}
