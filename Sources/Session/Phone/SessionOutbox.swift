import HoldfastCore
import HoldfastSessionData

/// The prompts of a session that have no response or have failed.
///
///     draft ─add─▶ unstored ─stored─▶ queued ─next─▶ sending ─end─▶ ending ─ended─▶ gone, failed
///                                       ▲               │
///                                       └── release, retryLater, abandon
struct SessionOutbox: Sendable, Hashable {
  private struct StaleTime: Sendable, Hashable {
    var key: UUID128
    var at: Instant
  }

  /// The prompts, oldest first.
  private(set) var queue = SendQueue<StoredPrompt>(limit: SessionSettings.outboxLimit)
  /// The number of the most recent prompt.
  private(set) var lastNumber: UInt64 = 0
  /// The prompts whose end is being stored. No other action is taken on them.
  private var ending: Set<UUID128> = []
  /// The prompt to send to a server without keys once its mark is stored.
  private(set) var marked: UUID128?
  /// The instants at which prompts that are not accepted become stale, in order.
  private var staleTimes: [StaleTime] = []
  /// The random source of a conversation's ID and of the jitter of retries.
  private var generator: RandomSource

  init(_ generator: RandomSource) { self.generator = generator }

  /// Returns the prompt with the given key.
  subscript(_ key: UUID128) -> StoredPrompt? { queue[key] }

  /// The prompts, oldest first.
  var items: [StoredPrompt] { queue.items }

  /// The number of prompts that have not ended.
  var unanswered: Int { queue.items.count { $0.waiting != nil } }

  /// Whether the server has accepted all unanswered prompts.
  var isAllAccepted: Bool { !queue.items.contains { $0.waiting != nil && !$0.isAccepted } }

  /// The instant at which an attempt times out or the next attempt is due.
  var deadline: Instant? { queue.deadline }

  /// The instant at which the next prompt becomes stale.
  var staleDeadline: Instant? { staleTimes.first?.at }

  /// Returns a random ID.
  mutating func freshID() -> UUID128 { .random(using: &generator) }

  // MARK: Adding and removing

  /// Restores the prompts of an earlier run. Returns the prompts that have not ended.
  mutating func restore(
    _ prompts: [StoredPrompt], lastNumber: UInt64, at now: Instant
  ) -> [StoredPrompt] {
    self.lastNumber = lastNumber
    queue.restore(prompts)
    for prompt in prompts { watch(prompt, at: now) }
    return prompts.filter { $0.waiting != nil }
  }

  /// Returns a prompt with the next number. The prompt is not added to the outbox.
  func draft(
    _ text: String, in conversation: String, key: UUID128, createdAt: Timestamp
  ) -> StoredPrompt {
    StoredPrompt(
      id: key, conversation: conversation, text: text, number: lastNumber + 1,
      createdAt: createdAt)
  }

  /// Adds a draft. Returns false if the outbox is full.
  mutating func add(_ draft: StoredPrompt) -> Bool {
    guard queue.add(draft) else { return false }
    lastNumber = draft.number
    return true
  }

  /// Records that a prompt is stored. Returns the prompt if it now waits to be sent.
  mutating func stored(_ key: UUID128, at now: Instant) -> StoredPrompt? {
    guard let prompt = queue.stored(key) else { return nil }
    watch(prompt, at: now)
    return prompt
  }

  /// Replaces a prompt with a newer state.
  mutating func replace(_ prompt: StoredPrompt) { queue.replace(prompt) }

  /// Removes a prompt.
  mutating func remove(_ key: UUID128) { queue.remove(key) }

  /// The oldest failed prompt if there are more than the limit; `nil` otherwise.
  var excessFailure: StoredPrompt? {
    let failed = queue.items.filter { $0.waiting == nil }
    return failed.count > SessionSettings.failedLimit ? failed.first : nil
  }

  // MARK: Tries

  /// Returns whether a prompt is being sent on the connection.
  func isSending(_ key: UUID128) -> Bool { queue.sending(key) != nil }

  /// Returns the prompt to send now, and marks it as being sent.
  mutating func next(
    on connection: ServerConnection, at now: Instant, timeout: Duration
  ) -> StoredPrompt? {
    let held = held(by: connection)
    return queue.take(at: now, timeout: timeout) { !held.contains($0.id) }
  }

  /// Returns the prompts that must not be sent on a connection yet.
  ///
  /// They include the prompts whose end is not stored. For a server without keys, they also include
  /// prompts that it may have, until the history was read. While the next ack from such a server
  /// may belong to another message, they include all prompts that it has not accepted.
  private func held(by connection: ServerConnection) -> Set<UUID128> {
    guard !connection.isIdempotent else { return ending }
    let unsure = queue.items.filter { prompt in
      guard !prompt.isAccepted else { return false }
      return !connection.mayAsk
        || queue.unsure.contains(prompt.id)
          && !connection.subscriptions.isCurrent(prompt.conversation)
    }
    return ending.union(unsure.map(\.id))
  }

  /// Changes the time-out of a prompt.
  mutating func extend(_ key: UUID128, until: Instant) { queue.extend(key, until: until) }

  /// Ends an attempt without a response. The prompt is resent when its turn comes.
  mutating func release(_ key: UUID128) { queue.release(key) }

  /// Ends all attempts because the connection was lost.
  mutating func abandon() {
    marked = nil
    queue.abandon()
  }

  /// Ends an attempt that the server refused temporarily. Returns the prompt if it will be retried.
  mutating func retryLater(_ prompt: StoredPrompt, at now: Instant) -> StoredPrompt? {
    queue.retryLater(
      prompt.id, isUnsure: prompt.isAccepted, retryAfter: nil, at: now,
      schedule: SessionSettings.retries, generator: &generator)?.waiting
  }

  /// Ends the pauses whose time has passed.
  mutating func wake(at now: Instant) { queue.wake(at: now) }

  /// Returns a prompt that has timed out.
  func expired(at now: Instant) -> UUID128? { queue.expired(at: now) }

  /// Marks a prompt with the lowest position that it can have in the history. The mark is stored
  /// before the prompt is sent.
  mutating func mark(_ prompt: StoredPrompt) {
    queue.replace(prompt)
    marked = prompt.id
  }

  /// Returns the marked prompt and clears the mark, if the mark was stored.
  mutating func takeMarked(of stored: [StoredPrompt]) -> UUID128? {
    guard let key = marked, stored.contains(where: { $0.id == key && $0.floor != nil }) else {
      return nil
    }
    marked = nil
    return key
  }

  // MARK: Ends

  /// Returns whether the end of a prompt is being stored.
  func isEnding(_ key: UUID128) -> Bool { ending.contains(key) }

  /// Records that the end of a prompt is being stored. Returns false if that was already recorded.
  mutating func end(_ key: UUID128) -> Bool { ending.insert(key).inserted }

  /// Records that the store has accepted or rejected the end of a prompt.
  mutating func ended(_ key: UUID128) { ending.remove(key) }

  /// Marks a prompt as failed.
  mutating func fail(_ key: UUID128, _ reason: String) { _ = queue.fail(key, reason) }

  // MARK: Stale prompts

  private mutating func watch(_ prompt: StoredPrompt, at now: Instant) {
    guard prompt.waiting != nil, !prompt.isAccepted else { return }
    staleTimes.append(
      StaleTime(key: prompt.id, at: now.advanced(by: SessionSettings.staleAfter)))
  }

  /// Removes the stale time of a prompt that the server has accepted or that has ended.
  mutating func unwatch(_ key: UUID128) { staleTimes.removeAll { $0.key == key } }

  /// Returns the prompts that have become stale. Each is returned once.
  mutating func takeStale(at now: Instant) -> [UUID128] {
    var stale: [UUID128] = []
    while let first = staleTimes.first, first.at <= now {
      staleTimes.removeFirst()
      if queue[first.key]?.waiting != nil { stale.append(first.key) }
    }
    return stale
  }
}

extension SessionOutbox: SelfChecking {
  func check(_ check: inout InvariantCheck) {
    queue.check(&check)
    guard check.isThorough else { return }
    check.require(
      queue.items.allSatisfy { $0.number <= lastNumber },
      "session outbox: every prompt was numbered")
    check.require(
      queue.hasUntried
        || queue.items.allSatisfy { !queue.isStored($0.id) || queue.sending($0.id) != nil },
      "session outbox: a stored prompt that is not under way is found")
  }
}

extension StoredPrompt {
  /// The prompt if it still waits for a response; `nil` otherwise.
  var waiting: StoredPrompt? { if case .queued = state { self } else { nil } }
}
