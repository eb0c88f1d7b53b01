import HoldfastCore
import HoldfastSessionData

/// A message from a server without keys that ends an unspecified turn of a conversation.
struct TurnEnd: Sendable, Hashable {
  /// The ID of the message, which ends only one turn; `nil` for a server without IDs.
  var id: String?
  var number: UInt64?
  var result: SessionResponse.Result
  /// Whether the server repeats the message after `connected`, so that it belongs to an earlier
  /// connection.
  var isReplay = false
  /// Whether the same text was received before in a message without an ID.
  var mayRepeat = false
  /// Whether the end is not conclusive yet.
  var isDoubtful = false

  /// The outcome that the end gives to a prompt, with the reason.
  var outcome: (SessionEnding.Outcome, reason: String?) {
    switch result {
    case .success: (.answered, nil)
    // The original server reports an interruption within a sentence.
    case .failure(let error): (error.contains("interrupted") ? .interrupted : .failed, error)
    }
  }

  /// The answer; `nil` for a failure.
  var text: String? { if case .success(let text) = result { text } else { nil } }
}

/// An end of a turn, with the prompt to which it is attributed.
struct AttributedEnd: Sendable, Hashable {
  var end: TurnEnd
  /// The prompt of this client that the turn's end completes; `nil` if there is none.
  var key: UUID128?
  /// Whether the prompt ended in one of two ways and it is unknown in which one.
  var isUnsure = false

  init(_ end: TurnEnd, of key: UUID128? = nil) { (self.end, self.key) = (end, key) }
}

/// The IDs of the most recent ends of turns, and the ends that are not attributed yet.
struct TurnEnds: Sendable, Hashable {
  /// The most recent IDs, which are used to recognize an end that is repeated soon. The store has
  /// all IDs.
  private var ids: [String] = []
  /// The results without an ID that arrived on the current connection.
  private var nameless: [SessionResponse.Result] = []
  private(set) var waiting: [TurnEnd] = []

  /// The maximum number of stored items of each kind.
  private static let limit = 64

  /// Returns whether an end with this ID was received.
  func contains(_ id: String?) -> Bool { id.map(ids.contains) ?? false }

  /// Records an end. Returns `nil` if its ID was already received.
  mutating func note(_ end: TurnEnd) -> TurnEnd? {
    var noted = end
    if let id = end.id {
      guard !contains(id) else { return nil }
      ids = Array((ids + [id]).suffix(Self.limit))
    } else {
      noted.mayRepeat = nameless.contains(end.result)
      nameless = Array((nameless + [end.result]).suffix(Self.limit))
    }
    return noted
  }

  mutating func wait(_ end: TurnEnd) {
    waiting = Array((waiting + [end]).suffix(Self.limit))
  }

  mutating func takeWaiting() -> [TurnEnd] {
    defer { waiting = [] }
    return waiting
  }

  /// Records that the connection was lost, so that none of its ends can be repeated.
  mutating func lose() { nameless = [] }

  /// Attributes the last waiting end to a prompt, if all of the prompt's turns and `others` further
  /// turns are over.
  mutating func takeAll(of key: UUID128, and others: Int) -> [AttributedEnd] {
    let sure = waiting.indices.filter { !waiting[$0].isDoubtful }
    guard sure.count > others, let last = sure.last else { return [] }
    var all = waiting.map { AttributedEnd($0) }
    all[last].key = key
    all[last].isUnsure = Set(sure.map { waiting[$0].text == nil }).count > 1
    waiting = []
    return all
  }
}
