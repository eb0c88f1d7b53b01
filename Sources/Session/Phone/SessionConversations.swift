import HoldfastCore
import HoldfastSessionData

/// The conversations of a session, with the known part of each, and the choice of those to follow.
struct SessionConversations: Sendable, Hashable {
  private var known: [String: KnownConversation] = [:]
  /// The conversation of prompts that specify none; empty until the store was read.
  private(set) var selected = ""
  /// The conversation that the user most recently specified. The server may have it from another
  /// client.
  private var named: String?

  /// Returns the known part of a conversation; `nil` if the conversation is unknown.
  subscript(_ id: String) -> KnownConversation? { known[id] }

  /// Restores the conversations of an earlier run.
  mutating func restore(_ all: [KnownConversation]) {
    for one in all { known[one.id] = one }
  }

  /// Replaces the state of a conversation.
  mutating func replace(_ one: KnownConversation) { known[one.id] = one }

  /// Selects the conversation of prompts that specify none. Returns it, to be stored as the most
  /// recently used one.
  mutating func select(_ id: String) -> KnownConversation {
    selected = id
    return known[id] ?? KnownConversation(id: id)
  }

  /// Records that the user specified a conversation.
  mutating func name(_ id: String) { named = id }

  /// Returns whether the user specified a conversation for which the server has not accepted any
  /// prompt.
  func isNamedOnly(_ id: String) -> Bool { id == named && known[id]?.openedBy == nil }

  /// Returns whether a prompt may be the first prompt of its conversation.
  func isOpened(by prompt: StoredPrompt) -> Bool {
    let opener = known[prompt.conversation]?.openedBy
    return opener == nil || opener == prompt.id
  }

  /// Returns the conversation if the server has it only since this prompt; `nil` if the server
  /// already had it.
  func opened(by prompt: StoredPrompt) -> KnownConversation? {
    guard var one = known[prompt.conversation], one.openedBy == nil else { return nil }
    one.openedBy = prompt.id
    return one
  }

  /// Returns the selected conversation and the conversations of prompts, if the server has or may
  /// have them.
  ///
  /// A server without keys must be asked whether it has a prompt.
  ///
  /// - Parameter isWanted: Whether the result may contain a conversation. After each step most are
  ///   not wanted, and these are not compared with each other.
  func followed(
    with queue: SendQueue<StoredPrompt>, asking isAsked: Bool, where isWanted: (String) -> Bool
  ) -> [String] {
    var all = isWanted(selected) ? [selected] : []
    for prompt in queue.items
    where prompt.waiting != nil && isWanted(prompt.conversation)
      && !all.contains(prompt.conversation)
    {
      all.append(prompt.conversation)
    }
    let asked = isAsked ? queue.unsure : []
    return all.filter { one in
      known[one]?.openedBy != nil || one == named
        || queue.items.contains { $0.conversation == one && asked.contains($0.id) }
    }
  }

  /// Returns the position from which a conversation is requested.
  func cursor(of id: String, _ version: SessionVersion) -> SessionCursor {
    let one = known[id] ?? KnownConversation(id: id)
    return version < .newest
      ? .sequence(one.sequence) : .offset(one.offset, signature: one.signature)
  }

  /// Returns the first position that a new message of a conversation can have.
  func nextPosition(of id: String, _ version: SessionVersion) -> UInt64 {
    guard let one = known[id] else { return 0 }
    return version < .newest ? one.sequence + 1 : one.offset
  }
}

/// The effect that a window of a conversation has on the cursor.
enum HistoryReach: Sendable, Hashable {
  /// The window directly follows the stored messages.
  case whole
  /// Messages before the window are missing and will be requested again.
  case hole
  /// Missing messages are not available. The cursor continues at the next available message.
  case gap(SessionGap)

  /// Whether the conversation starts over.
  var isReset: Bool { self == .gap(.replaced) || self == .gap(.clientAhead) }
}

extension KnownConversation {
  /// Returns whether a message lies before the cursor.
  func isBehind(_ entry: SessionEntry, of window: SessionHistory) -> Bool {
    guard let position = entry.position else { return false }
    return switch window.extent {
    case .sequence: position <= sequence
    case .offset: position < offset
    }
  }

  /// Returns whether messages between the cursor and a message are missing.
  func leavesHole(before position: UInt64, of window: SessionHistory) -> Bool {
    switch window.extent {
    case .sequence: position > sequence + 1
    case .offset: position > offset
    }
  }

  /// Moves the cursor to the end of a window.
  ///
  /// - Parameter asksForHole: A function that is called for a hole and returns whether the missing
  ///   messages are requested. If the server leaves them out again, they do not exist.
  mutating func advance(behind window: SessionHistory, asksForHole: () -> Bool) -> HistoryReach {
    switch window.extent {
    case .sequence(let first, let last, _): advance(window, first, last, asksForHole)
    case .offset(let next, let signature, let isReplaced):
      advance(window, next, signature, isReplaced, asksForHole)
    }
  }

  private mutating func advance(
    _ window: SessionHistory, _ first: UInt64?, _ last: UInt64?, _ asksForHole: () -> Bool
  ) -> HistoryReach {
    if let gap = window.gap {
      sequence = max(gap.oldest, 1) - 1
      return .gap(gap.reason == .pruned ? .pruned : .clientAhead)
    }
    guard let first = first ?? window.entries.first?.position,
      let last = last ?? window.entries.last?.position
    else { return .whole }
    guard first > sequence + 1 else {
      sequence = max(sequence, last)
      return .whole
    }
    guard !asksForHole() else { return .hole }
    sequence = last
    return .gap(.hole)
  }

  private mutating func advance(
    _ window: SessionHistory, _ next: UInt64, _ signature: String, _ isReplaced: Bool,
    _ asksForHole: () -> Bool
  ) -> HistoryReach {
    if isReplaced || next < offset {
      let isEmpty = offset == 0
      (offset, self.signature) = (0, nil)
      return isEmpty ? .whole : .gap(isReplaced ? .replaced : .clientAhead)
    }
    var reach = HistoryReach.whole
    if let first = window.entries.first?.position, first > offset {
      guard !asksForHole() else { return .hole }
      reach = .gap(.hole)
    }
    (offset, self.signature) = (next, signature)
    return reach
  }
}
