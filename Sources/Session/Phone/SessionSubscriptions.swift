import HoldfastCore

/// One connection's subscriptions to conversations, and the part of each conversation that has
/// arrived.
struct SessionSubscriptions: Sendable, Hashable {
  /// The subscriptions without a response, with their time-outs.
  private var pending: [String: Instant] = [:]
  /// The conversations to which the connection has subscribed.
  private var subscribed: Set<String> = []
  /// The conversations to be subscribed to again, from the end of the stored messages.
  private var again: Set<String> = []
  /// The conversations whose end has been reached at least once.
  private var reached: Set<String> = []
  /// The conversations for which missing messages were requested once.
  private var holes: Set<String> = []
  /// The selected conversation and the newest prompt when no conversation needed a subscription.
  private var settled: Settled?

  private struct Settled: Sendable, Hashable {
    var selected: String
    var newest: UInt64
  }

  /// Whether no subscription was made.
  var isEmpty: Bool { subscribed.isEmpty && pending.isEmpty }

  /// Whether a subscription has no response yet.
  var isWaiting: Bool { !pending.isEmpty }

  /// The instant at which the first pending subscription times out.
  var deadline: Instant? { pending.values.min() }

  /// Returns whether to subscribe to a conversation, for the first time or again.
  func needs(_ conversation: String) -> Bool {
    !subscribed.contains(conversation) || !again.isEmpty && again.contains(conversation)
  }

  /// Records that neither the selected conversation nor that of any prompt needs a subscription.
  mutating func settle(selected: String, newest: UInt64) {
    settled = Settled(selected: selected, newest: newest)
  }

  /// Returns whether the recorded state still holds, because no prompt was added and nothing is to
  /// be requested again.
  func isSettled(selected: String, newest: UInt64) -> Bool {
    again.isEmpty && settled?.newest == newest && settled?.selected == selected
  }

  /// Returns whether a subscription to a conversation has no response yet.
  func isPending(_ conversation: String) -> Bool { pending[conversation] != nil }

  /// Returns whether messages of a conversation are being requested or will be requested.
  func isFetching(_ conversation: String) -> Bool {
    isPending(conversation) || again.contains(conversation)
  }

  /// Returns whether the end of a conversation has been reached at least once.
  func hasReached(_ conversation: String) -> Bool { reached.contains(conversation) }

  /// Returns whether all messages that the server had of a conversation have arrived.
  func isCurrent(_ conversation: String) -> Bool {
    hasReached(conversation) && !isFetching(conversation)
  }

  /// Returns whether missing messages of a conversation were requested once.
  func hasHole(_ conversation: String) -> Bool { holes.contains(conversation) }

  /// Returns whether every conversation is subscribed to and no request is left to make.
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

  /// Records that the server refused a subscription. Returns false if none was pending.
  mutating func refused(_ conversation: String) -> Bool {
    guard pending.removeValue(forKey: conversation) != nil else { return false }
    reached.insert(conversation)
    return true
  }

  /// Schedules another subscription to a conversation.
  mutating func repeatLater(_ conversation: String) { again.insert(conversation) }

  /// Records that the end of a conversation was reached. If no messages before it are missing,
  /// messages that are missing later can be requested again.
  mutating func reach(_ conversation: String, isWhole: Bool) {
    reached.insert(conversation)
    if isWhole { holes.remove(conversation) }
  }

  /// Records that messages of a conversation are missing. Returns whether this is the first time,
  /// so that they are requested.
  mutating func noteHole(_ conversation: String) -> Bool { holes.insert(conversation).inserted }

  /// Ends the subscriptions that timed out. Returns their conversations in order.
  mutating func expire(at now: Instant, isIdempotent: Bool) -> [String] {
    let late = pending.filter { $0.value <= now }.keys.sorted()
    for conversation in late {
      pending[conversation] = nil
      // The server does not respond to this subscription, so it no longer delays prompts.
      reached.insert(conversation)
      // An early window may have been the response of a server without keys, so the next similar
      // window is accepted.
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
