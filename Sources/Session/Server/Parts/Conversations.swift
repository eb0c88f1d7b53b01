import HoldfastCore
import HoldfastSessionData

/// The messages and the open prompts of one conversation.
struct ConversationState: Sendable {
  private(set) var signature = ""
  /// The messages, without gaps. Their `position` is their sequence number.
  private(set) var entries: [SessionEntry] = []
  /// Whether the signature is stored.
  private(set) var isStored = false
  /// The messages that became durable before an earlier one. It is empty unless the store failed.
  private var late: [UInt64: SessionEntry] = [:]
  /// The next sequence number. It may be ahead of the store.
  private(set) var next: UInt64 = 1
  /// The prompts that have not ended, in order.
  fileprivate(set) var line: [SessionPromptID] = []
  /// The time at which the conversation was last used.
  fileprivate(set) var usedAt = Timestamp(nanoseconds: 0)
  /// The sockets that subscribe to the conversation.
  fileprivate(set) var readers: Set<ConnectionID> = []
  /// Whether the conversation is queued until a handler is free.
  fileprivate(set) var isQueued = false

  init() {}

  /// Creates a conversation from its stored form. Messages before the newest gap are dropped.
  init(_ stored: StoredConversation, usedAt now: Timestamp) {
    (signature, isStored) = (stored.signature, true)
    // A message whose first write failed may be stored after later messages.
    for entry in stored.entries.sorted(by: { ($0.position ?? 0) < ($1.position ?? 0) }) {
      if entry.position != end { entries = [] }
      entries.append(entry)
    }
    next = end
    usedAt = entries.last?.timestamp ?? now
  }

  /// The sequence number of the oldest message, or the next number if there is no message.
  var first: UInt64 { entries.first?.position ?? end }

  /// The sequence number after the newest message that can be sent.
  var end: UInt64 { entries.last?.position.map { $0 + 1 } ?? 1 }

  /// The size of the messages, in bytes.
  var size: Int { entries.reduce(0) { $0 + $1.size } }

  /// Whether the conversation has no message, no prompt and no reader.
  fileprivate var isEmpty: Bool { entries.isEmpty && line.isEmpty && readers.isEmpty }

  /// Whether the conversation may be shortened or removed.
  fileprivate var isIdle: Bool { line.isEmpty && readers.isEmpty && !isQueued }

  /// Assigns the next sequence numbers to messages.
  fileprivate mutating func reserve(_ new: inout [SessionEntry]) {
    for index in new.indices {
      new[index].position = next
      next += 1
    }
    if let first = new.first, first.position == 1 { signature = first.signature }
  }

  /// Adds durable messages. Returns the size of the messages that can now be sent.
  fileprivate mutating func append(_ new: [SessionEntry]) -> Int {
    isStored = true
    for entry in new { late[entry.position ?? 0] = entry }
    var bytes = 0
    while let entry = late.removeValue(forKey: end) {
      entries.append(entry)
      bytes += entry.size
    }
    return bytes
  }

  /// Removes the oldest messages. Returns their size and the first remaining sequence number.
  fileprivate mutating func prune(_ count: Int) -> (bytes: Int, below: UInt64)? {
    let removed = entries.prefix(count)
    guard let last = removed.last?.position else { return nil }
    let bytes = removed.reduce(0) { $0 + $1.size }
    entries.removeFirst(removed.count)
    return (bytes, last + 1)
  }

  /// Returns as many messages as fit, starting at a sequence number.
  ///
  /// The result contains at least one message. That message is shortened if necessary.
  func slice(
    from start: UInt64, budget: Int, atMost count: Int
  ) -> (entries: [SessionEntry], size: Int) {
    var slice: [SessionEntry] = []
    var size = SessionText.envelope
    let skipped = Int(clamping: max(start, first) - first)
    for entry in entries.dropFirst(skipped).prefix(count) {
      var entry = entry
      var length = SessionText.length(entry.text) + SessionText.envelope
      guard slice.isEmpty || size + length <= budget else { break }
      if size + length > budget {
        entry.text = SessionText.cut(entry.text, toFit: budget - SessionText.envelope)
        length = SessionText.length(entry.text) + SessionText.envelope
      }
      slice.append(entry)
      size += length
    }
    return (slice, size)
  }

  /// Returns messages in the form that the client's version requires.
  func window(
    _ id: String, _ slice: [SessionEntry], next: UInt64, byOffset: Bool, isReplaced: Bool = false,
    isComplete: Bool, gap: SessionHistory.Gap? = nil
  ) -> SessionHistory {
    guard byOffset else {
      // An empty window ends at the position from which the client continues.
      let last = slice.last?.position ?? (gap?.reason == .pruned ? next - 1 : nil)
      return SessionHistory(
        conversation: id, entries: slice,
        extent: .sequence(first: slice.first?.position, last: last, next: next),
        isComplete: isComplete, gap: gap)
    }
    let moved = slice.map { entry in
      var entry = entry
      entry.position = (entry.position ?? 1) - 1
      return entry
    }
    return SessionHistory(
      conversation: id, entries: moved,
      extent: .offset(next: next - 1, signature: signature, isReplaced: isReplaced),
      isComplete: isComplete, gap: gap)
  }
}

/// The conversations of a session server, and the queue of conversations that wait for a handler.
struct Conversations: Sendable {
  private var table: [String: ConversationState] = [:]
  /// The size of all messages, in bytes.
  private(set) var bytes = 0
  /// The conversations whose next prompt waits for a free handler, in order.
  private(set) var queue: [String] = []

  subscript(_ id: String) -> ConversationState? { table[id] }

  /// The ids of the conversations, sorted.
  var ids: [String] { table.keys.sorted() }

  /// Returns the open prompts of a conversation, in order.
  func line(of id: String) -> [SessionPromptID] { table[id]?.line ?? [] }

  /// Restores a stored conversation.
  mutating func restore(_ id: String, _ stored: StoredConversation, at wall: Timestamp) {
    let state = ConversationState(stored, usedAt: wall)
    bytes += state.size
    if !state.entries.isEmpty { table[id] = state }
  }

  // MARK: Prompts

  /// Adds a prompt to the end of its conversation's queue.
  mutating func enter(_ prompt: SessionPromptID, in id: String, at wall: Timestamp) {
    table[id, default: ConversationState()].line.append(prompt)
    table[id]?.usedAt = wall
  }

  /// Removes a prompt from the queue of its conversation.
  mutating func leave(_ prompt: SessionPromptID, in id: String) {
    table[id]?.line.removeAll { $0 == prompt }
  }

  /// Queues a conversation until a handler is free.
  mutating func enqueue(_ id: String) {
    guard table[id]?.isQueued == false else { return }
    table[id]?.isQueued = true
    queue.append(id)
  }

  /// Removes and returns the conversation that has waited longest for a handler.
  mutating func dequeue() -> String? {
    guard !queue.isEmpty else { return nil }
    let id = queue.removeFirst()
    table[id]?.isQueued = false
    return id
  }

  // MARK: Readers

  /// Adds a subscribed socket to a conversation.
  mutating func addReader(_ reader: ConnectionID, of id: String) {
    table[id, default: ConversationState()].readers.insert(reader)
  }

  /// Removes a socket, and also the conversation if it is then empty.
  mutating func removeReader(_ reader: ConnectionID, of id: String) {
    table[id]?.readers.remove(reader)
    removeIfEmpty(id)
  }

  /// Removes a conversation, whatever it has.
  mutating func remove(_ id: String) {
    bytes -= table.removeValue(forKey: id)?.size ?? 0
    queue.removeAll { $0 == id }
  }

  /// Removes a conversation that has no message, no prompt and no reader.
  mutating func removeIfEmpty(_ id: String) {
    if table[id]?.isEmpty == true { table[id] = nil }
  }

  // MARK: Messages

  /// Assigns the conversation's next sequence numbers to messages.
  mutating func reserve(_ entries: inout [SessionEntry], in id: String) {
    table[id]?.reserve(&entries)
  }

  /// Adds durable messages. Returns the sockets that subscribe to the conversation.
  mutating func append(
    _ entries: [SessionEntry], to id: String, at wall: Timestamp
  ) -> [ConnectionID] {
    // The state is removed from the table so that it can be changed in place.
    guard var state = table.removeValue(forKey: id) else { return [] }
    bytes += state.append(entries)
    state.usedAt = wall
    table[id] = state
    return state.readers.sorted()
  }

  /// Removes the oldest data beyond the bounds, and returns the changes to store.
  mutating func shorten(_ id: String, to policy: SessionServerPolicy) -> [SessionChange] {
    var changes: [SessionChange] = []
    let excess = (table[id]?.entries.count ?? 0) - policy.entriesPerConversation
    if excess > 0 { prune(id, excess, &changes) }
    while bytes > policy.maxHistoryBytes || table.count > policy.maxConversations {
      let oldest = table.filter { $0.value.isIdle }
        .min { ($0.value.usedAt, $0.key) < ($1.value.usedAt, $1.key) }
      guard let (id, state) = oldest else { break }
      if table.count <= policy.maxConversations, state.entries.count > 1 {
        prune(id, (state.entries.count + 3) / 4, &changes)
      } else {
        bytes -= state.size
        table[id] = nil
        changes.append(.endConversation(id))
      }
    }
    return changes
  }

  private mutating func prune(_ id: String, _ count: Int, _ changes: inout [SessionChange]) {
    guard let pruned = table[id]?.prune(count) else { return }
    bytes -= pruned.bytes
    changes.append(.prune(id, below: pruned.below))
  }
}

extension Conversations {
  /// Records each invariant that does not hold.
  func check(_ check: inout InvariantCheck, _ policy: SessionServerPolicy) {
    guard check.isThorough else { return }
    check.require(
      table.values.allSatisfy { state in
        state.entries.count <= policy.entriesPerConversation
          && state.line.count <= policy.promptsPerConversation
      }, "conversations: the content of each conversation is bounded")
    check.require(
      table.values.allSatisfy { state in
        zip(state.entries, state.entries.dropFirst()).allSatisfy {
          ($0.position ?? 0) + 1 == $1.position
        } && state.end <= state.next
      }, "conversations: their messages have no hole")
    check.require(
      table.values.allSatisfy { !$0.isEmpty },
      "conversations: each has a message, a prompt or a reader")
    check.require(
      bytes == table.values.reduce(0) { $0 + $1.size },
      "conversations: the bytes are those of their messages")
    check.require(
      queue.count == Set(queue).count && table.values.count { $0.isQueued } == queue.count
        && queue.allSatisfy { table[$0]?.isQueued ?? false },
      "conversations: each waits for a handler once")
  }
}

extension SessionEntry {
  /// The signature of a conversation that starts with this message: the length of its text, and its
  /// id.
  fileprivate var signature: String { "\(text.utf8.count):\(id)" }

  /// The size of the message that counts against the bounds, in bytes.
  fileprivate var size: Int { text.utf8.count + id.utf8.count }
}
