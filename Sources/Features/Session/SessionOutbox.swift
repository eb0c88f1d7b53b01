import LinkCore
import LinkStorage
import LinkWire

/// The prompts of a session: those without an answer, and those that failed.
///
///     draft ─add─▶ unstored ─stored─▶ queued ─next─▶ under way ─end─▶ ending ─ended─▶ gone, failed
///                                       ▲                │
///                                       └── release, retryLater, abandon
struct SessionOutbox: Sendable, Hashable {
  private struct StaleTime: Sendable, Hashable {
    var key: UUID128
    var at: Instant
  }

  /// The prompts, oldest first.
  private(set) var queue = SendQueue<StoredPrompt>(limit: SessionSettings.outboxLimit)
  /// The number of the last prompt.
  private var lastNumber: UInt64 = 0
  /// Prompts whose end is on its way to the store: nothing is done for them meanwhile.
  private var ending: Set<UUID128> = []
  /// The prompt that goes to a server without keys once the store knows that it does.
  private(set) var marked: UUID128?
  /// When prompts that are not accepted become stale, in order.
  private var staleTimes: [StaleTime] = []
  /// The source of keys, and of the jitter of retries.
  private var chance: Chance

  init(_ chance: Chance) { self.chance = chance }

  /// The prompt with a key.
  subscript(_ key: UUID128) -> StoredPrompt? { queue[key] }

  /// The prompts, oldest first.
  var items: [StoredPrompt] { queue.items }

  /// How many prompts have no end yet.
  var unanswered: Int { queue.items.count { $0.waiting != nil } }

  /// Whether the server is known to have all prompts that wait for an answer.
  var isAllAccepted: Bool { !queue.items.contains { $0.waiting != nil && !$0.isAccepted } }

  /// When a try times out or the next one is due.
  var deadline: Instant? { queue.deadline }

  /// When the next prompt becomes stale.
  var staleDeadline: Instant? { staleTimes.first?.at }

  /// Returns a random id.
  mutating func freshID() -> UUID128 { .random(using: &chance) }

  // MARK: Adding and removing

  /// Takes what an earlier run left; returns the prompts without an end.
  mutating func restore(
    _ prompts: [StoredPrompt], lastNumber: UInt64, at now: Instant
  ) -> [StoredPrompt] {
    self.lastNumber = lastNumber
    queue.restore(prompts)
    for prompt in prompts { watch(prompt, at: now) }
    return prompts.filter { $0.waiting != nil }
  }

  /// Returns a prompt with a new key and the next number, which is not in the outbox.
  mutating func draft(
    _ text: String, in conversation: String, createdAt: Timestamp
  ) -> StoredPrompt {
    StoredPrompt(
      id: freshID(), conversation: conversation, text: text, number: lastNumber + 1,
      createdAt: createdAt)
  }

  /// Adds a draft; returns false if the outbox is full.
  mutating func add(_ draft: StoredPrompt) -> Bool {
    guard queue.add(draft) else { return false }
    lastNumber = draft.number
    return true
  }

  /// Notes that the store has a prompt; returns it if it waits to be sent since then.
  mutating func stored(_ key: UUID128, at now: Instant) -> StoredPrompt? {
    guard let prompt = queue.stored(key) else { return nil }
    watch(prompt, at: now)
    return prompt
  }

  /// Replaces a prompt by a newer state of it.
  mutating func replace(_ prompt: StoredPrompt) { queue.replace(prompt) }

  /// Removes a prompt.
  mutating func remove(_ key: UUID128) { queue.remove(key) }

  /// The oldest failed prompt if there are more than are kept.
  var excessFailure: StoredPrompt? {
    let failed = queue.items.filter { $0.waiting == nil }
    return failed.count > SessionSettings.failedLimit ? failed.first : nil
  }

  // MARK: Tries

  /// Whether a prompt is under way on the connection.
  func isSending(_ key: UUID128) -> Bool { queue.sending(key) != nil }

  /// Returns the prompt to send now, which is under way from now on.
  mutating func next(
    on connection: ServerConnection, at now: Instant, timeout: Duration
  ) -> StoredPrompt? {
    let held = held(by: connection)
    return queue.take(at: now, timeout: timeout) { !held.contains($0.id) }
  }

  /// The prompts that may not be sent on a connection yet: those whose end is not stored, and those
  /// that a server without keys may have, which is asked for the history first. While its next ack
  /// may belong to something else, nothing more that earns one is sent.
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

  /// Gives the answer to a prompt another time limit.
  mutating func extend(_ key: UUID128, until: Instant) { queue.extend(key, until: until) }

  /// Ends a try without an answer; the prompt is sent again in its turn.
  mutating func release(_ key: UUID128) { queue.release(key) }

  /// Ends all tries, because the connection is gone.
  mutating func abandon() {
    marked = nil
    queue.abandon()
  }

  /// Ends a try that the server refused for now; returns the prompt if it is tried again.
  mutating func retryLater(_ prompt: StoredPrompt, at now: Instant) -> StoredPrompt? {
    queue.retryLater(
      prompt.id, isUnsure: prompt.isAccepted, wish: nil, at: now,
      schedule: SessionSettings.retries, chance: &chance)?.waiting
  }

  /// Lets the pauses end that are over.
  mutating func wake(at now: Instant) { queue.wake(at: now) }

  /// Returns a prompt whose time limit has come.
  func expired(at now: Instant) -> UUID128? { queue.expired(at: now) }

  /// Stores a prompt with the place from which on it can be in the history, before it is sent.
  mutating func mark(_ prompt: StoredPrompt) {
    queue.replace(prompt)
    marked = prompt.id
  }

  /// Takes the prompt that waited for the store, if it is among those that are stored now.
  mutating func takeMarked(of stored: [StoredPrompt]) -> UUID128? {
    guard let key = marked, stored.contains(where: { $0.id == key && $0.floor != nil }) else {
      return nil
    }
    marked = nil
    return key
  }

  // MARK: Ends

  /// Whether the end of a prompt is on its way to the store.
  func isEnding(_ key: UUID128) -> Bool { ending.contains(key) }

  /// Notes that the end of a prompt is on its way to the store; returns false if one is already.
  mutating func end(_ key: UUID128) -> Bool { ending.insert(key).inserted }

  /// Notes that the store has taken or left the end of a prompt.
  mutating func ended(_ key: UUID128) { ending.remove(key) }

  /// Keeps a prompt as failed.
  mutating func fail(_ key: UUID128, _ reason: String) { _ = queue.fail(key, reason) }

  // MARK: Stale prompts

  private mutating func watch(_ prompt: StoredPrompt, at now: Instant) {
    guard prompt.waiting != nil, !prompt.isAccepted else { return }
    staleTimes.append(
      StaleTime(key: prompt.id, at: now.advanced(by: SessionSettings.staleAfter)))
  }

  /// Notes that the server has a prompt, or that it has ended: it can become stale no more.
  mutating func unwatch(_ key: UUID128) { staleTimes.removeAll { $0.key == key } }

  /// Returns the prompts that became stale, once each.
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
  }
}

extension StoredPrompt {
  /// The prompt if it still waits for an answer.
  var waiting: StoredPrompt? { if case .queued = state { self } else { nil } }
}
