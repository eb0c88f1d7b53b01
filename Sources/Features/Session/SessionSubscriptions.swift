import LinkCore

/// The conversations that one connection subscribed to, and how much of them has arrived.
struct SessionSubscriptions: Sendable, Hashable {
  /// Subscriptions without an answer, and when they count as unanswered.
  private var pending: [String: Instant] = [:]
  /// Conversations that were subscribed to.
  private var subscribed: Set<String> = []
  /// Conversations to subscribe to again, behind what is stored.
  private var again: Set<String> = []
  /// Conversations whose end was reached once.
  private var reached: Set<String> = []
  /// Conversations whose hole was asked for once.
  private var holes: Set<String> = []

  /// Whether nothing was subscribed to.
  var isEmpty: Bool { subscribed.isEmpty && pending.isEmpty }

  /// Whether a subscription has no answer yet.
  var isWaiting: Bool { !pending.isEmpty }

  /// When the first subscription counts as unanswered.
  var deadline: Instant? { pending.values.min() }

  /// Whether a conversation is to be subscribed to, for the first time or again.
  func needs(_ conversation: String) -> Bool {
    !subscribed.contains(conversation) || again.contains(conversation)
  }

  /// Whether a subscription to a conversation has no answer yet.
  func isPending(_ conversation: String) -> Bool { pending[conversation] != nil }

  /// Whether messages of a conversation are under way, or will be asked for.
  func isFetching(_ conversation: String) -> Bool {
    isPending(conversation) || again.contains(conversation)
  }

  /// Whether the end of a conversation was reached once.
  func hasReached(_ conversation: String) -> Bool { reached.contains(conversation) }

  /// Whether everything that the server had of a conversation is here.
  func isCurrent(_ conversation: String) -> Bool {
    hasReached(conversation) && !isFetching(conversation)
  }

  /// Whether a hole of a conversation was asked for once.
  func hasHole(_ conversation: String) -> Bool { holes.contains(conversation) }

  /// Whether all conversations were subscribed to, and nothing is left to ask for.
  func isComplete(for conversations: [String]) -> Bool {
    pending.isEmpty && again.isEmpty && conversations.allSatisfy(subscribed.contains)
  }

  /// Notes that a subscription is sent, which counts as unanswered from an instant on.
  mutating func subscribe(_ conversation: String, until: Instant) {
    subscribed.insert(conversation)
    again.remove(conversation)
    pending[conversation] = until
  }

  /// Notes that a window of a conversation has arrived.
  mutating func answered(_ conversation: String) { pending[conversation] = nil }

  /// Notes that the server has nothing of a conversation; returns false if it was not asked for.
  mutating func refused(_ conversation: String) -> Bool {
    guard pending.removeValue(forKey: conversation) != nil else { return false }
    reached.insert(conversation)
    return true
  }

  /// Has a conversation subscribed to again.
  mutating func repeatLater(_ conversation: String) { again.insert(conversation) }

  /// Notes that the end of a conversation is reached; if nothing is missing before it, a hole that
  /// is found later is asked for anew.
  mutating func reach(_ conversation: String, isWhole: Bool) {
    reached.insert(conversation)
    if isWhole { holes.remove(conversation) }
  }

  /// Notes a hole; returns whether it is the first one, which is asked for.
  mutating func noteHole(_ conversation: String) -> Bool { holes.insert(conversation).inserted }

  /// Ends the subscriptions that have no answer in time; returns their conversations in order.
  mutating func expire(at now: Instant, isIdempotent: Bool) -> [String] {
    let late = pending.filter { $0.value <= now }.keys.sorted()
    for conversation in late {
      pending[conversation] = nil
      // Nothing delays prompts for longer: the server does not answer this.
      reached.insert(conversation)
      // What came ahead may have been the answer of a server without keys: the next one like it is
      // taken.
      if !isIdempotent, again.contains(conversation) { holes.insert(conversation) }
    }
    return late
  }
}

extension SessionSubscriptions: SelfChecking {
  func check(_ check: inout InvariantCheck) {
    guard check.isThorough else { return }
    check.require(
      subscribed.isSuperset(of: pending.keys),
      "session subscriptions: what is awaited was subscribed to")
  }
}
