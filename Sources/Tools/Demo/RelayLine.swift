/// One line that the phone's relay printed, as far as the story needs it.
enum RelayLine: Sendable, Hashable {
  /// Its state, in its word.
  case status(String)
  case pair(Pair)
  /// Anything else, such as a question that it answered.
  case other

  /// What a person reads to an assistant.
  struct Pair: Sendable, Hashable {
    var word: String
    var code: String
  }

  /// Reads a line; `nil` for one that is no event.
  init?(_ line: String) {
    guard let members = try? PhoneLine.members(of: line), let event = members["event"] else {
      return nil
    }
    switch event {
    case "status": self = .status(members["status"] ?? "")
    case "pair": self = .pair(Pair(word: members["word"] ?? "", code: members["code"] ?? ""))
    case _: self = .other
    }
  }
}
