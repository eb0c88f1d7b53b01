import LinkCore
import LinkStorage
import LinkWire

/// What a server without keys said when a turn of a conversation was over: which turn, it does not
/// say.
struct TurnEnd: Sendable, Hashable {
  /// The id of the message, which ends one turn only; `nil` from a server that gives none.
  var id: String?
  var number: UInt64?
  var result: SessionResponse.Result
  /// Whether the server repeats it after `connected`: it belongs to an earlier connection.
  var isReplay = false
  /// Whether an end with the same words and without an id came before.
  var mayRepeat = false
  /// Whether it proves nothing yet.
  var isDoubtful = false

  /// How it ends a prompt, and why.
  var outcome: (SessionEnding.Outcome, reason: String?) {
    switch result {
    case .success: (.answered, nil)
    // The original says so in a sentence.
    case .failure(let error): (error.contains("interrupted") ? .interrupted : .failed, error)
    }
  }

  /// What was answered.
  var text: String? { if case .success(let text) = result { text } else { nil } }
}

/// An end of a turn, and whose turn that was.
struct AttributedEnd: Sendable, Hashable {
  var end: TurnEnd
  /// The prompt of this client that it ends; `nil` if that is none.
  var key: UUID128?
  /// Whether the prompt ended in one of two ways, of which it is not known which.
  var isUnsure = false

  init(_ end: TurnEnd, of key: UUID128? = nil) { (self.end, self.key) = (end, key) }
}

/// Ends of turns by their ids, and those whose turn is not known.
struct TurnEnds: Sendable, Hashable {
  /// The last ids, by which an end is known that comes again soon; the store knows all.
  private var ids: [String] = []
  /// The results of the present connection that had no id.
  private var nameless: [SessionResponse.Result] = []
  private(set) var waiting: [TurnEnd] = []

  /// As many of each are remembered.
  private static let limit = 64

  /// Whether an end came under this id.
  func contains(_ id: String?) -> Bool { id.map(ids.contains) ?? false }

  /// Notes an end; returns `nil` if it came before under its id.
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

  /// The connection is gone, and no end of it comes again.
  mutating func lose() { nameless = [] }

  /// Gives a prompt the last of the ends that wait, if with it and `others` turns all are over.
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
