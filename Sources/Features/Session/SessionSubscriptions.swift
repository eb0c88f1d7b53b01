import LinkCore

/// The subscriptions of one connection to conversations, and the part of each that has arrived.
struct SessionSubscriptions: Sendable, Hashable {
  /// The subscriptions without a response, with their time-outs.
  private var pending: [String: Instant] = [:]
  /// The conversations to which the connection has subscribed.
  private var subscribed: Set<String> = []
  /// The conversations to subscribe to again, from the end of the stored messages.
  private var again: Set<String> = []
  /// The conversations whose end was once reached.
  private var reached: Set<String> = []
  /// The conversations for which the messages of a hole were once requested.
  private var holes: Set<String> = []

  /// Whether there was no subscription.
  var isEmpty: Bool { subscribed.isEmpty && pending.isEmpty }

  /// Whether a subscription has no response yet.
  var isWaiting: Bool { !pending.isEmpty }

  /// When the first pending subscription times out.
  var deadline: Instant? { pending.values.min() }

  /// Returns whether to subscribe to a conversation, for the first time or again.
  func needs(_ conversation: String) -> Bool {
    !subscribed.contains(conversation) || again.contains(conversation)
  }

  /// Returns whether a subscription to a conversation has no response yet.
  func isPending(_ conversation: String) -> Bool { pending[conversation] != nil }

  /// Returns whether messages of a conversation are being requested or will be.
  func isFetching(_ conversation: String) -> Bool {
    isPending(conversation) || again.contains(conversation)
  }

  /// Returns whether the end of a conversation was once reached.
  func hasReached(_ conversation: String) -> Bool { reached.contains(conversation) }

  /// Returns whether all messages that the server had of a conversation have arrived.
  func isCurrent(_ conversation: String) -> Bool {
    hasReached(conversation) && !isFetching(conversation)
  }

  /// Returns whether the messages of a hole were once requested.
  func hasHole(_ conversation: String) -> Bool { holes.contains(conversation) }

  /// Returns whether there is a subscription to every conversation and nothing left to request.
  func isComplete(for conversations: [String]) -> Bool {
    pending.isEmpty && again.isEmpty && conversations.allSatisfy(subscribed.contains)
  }

  /// Records that a subscription is sent, with its time-out.
  mutating func subscribe(_ conversation: String, until: Instant) {
    subscribed.insert(conversation)
    again.remove(conversation)
    pending[conversation] = until
  }

  /// Records that a window of a conversation has arrived.
  mutating func answered(_ conversation: String) { pending[conversation] = nil }

  /// Records that the server refused a subscription; returns false if none was pending.
  mutating func refused(_ conversation: String) -> Bool {
    guard pending.removeValue(forKey: conversation) != nil else { return false }
    reached.insert(conversation)
    return true
  }

  /// Schedules another subscription to a conversation.
  mutating func repeatLater(_ conversation: String) { again.insert(conversation) }

  /// Records that the end of a conversation was reached. If nothing is missing before it, a later
  /// hole is requested again.
  mutating func reach(_ conversation: String, isWhole: Bool) {
    reached.insert(conversation)
    if isWhole { holes.remove(conversation) }
  }

  /// Records a hole; returns whether it is the first one, whose messages are requested.
  mutating func noteHole(_ conversation: String) -> Bool { holes.insert(conversation).inserted }

  /// Ends the subscriptions that timed out; returns their conversations in order.
  mutating func expire(at now: Instant, isIdempotent: Bool) -> [String] {
    let late = pending.filter { $0.value <= now }.keys.sorted()
    for conversation in late {
      pending[conversation] = nil
      // The server does not answer this subscription, so it no longer delays prompts.
      reached.insert(conversation)
      // An early window may have been the response of a server without keys, so the next one like
      // it is accepted.
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
