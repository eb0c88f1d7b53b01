/// The requests of a machine to its store whose results have not arrived yet.
///
/// Each has a token of its own, so that a late or repeated result belongs to no request.
package struct StoreQuestions<Question: Sendable>: Sendable {
  private var open: [StoreToken: Question] = [:]
  private var last: UInt64 = 0

  package init() {}

  package var count: Int { open.count }
  package var isEmpty: Bool { open.isEmpty }

  /// The open questions, in no order.
  package var all: some Collection<Question> { open.values }

  /// The token that was assigned last; the token 0 if none was.
  package var newest: StoreToken { StoreToken(last) }

  /// Assigns a token to a question.
  package mutating func ask(_ question: Question) -> StoreToken {
    let token = number()
    open[token] = question
    return token
  }

  /// Assigns a token to work that is not a question.
  package mutating func number() -> StoreToken {
    last += 1
    return StoreToken(last)
  }

  /// Removes and returns the question of a result; `nil` if it is not open.
  package mutating func take(_ token: StoreToken) -> Question? { open.removeValue(forKey: token) }

  /// Drops the questions that a condition does not select.
  package mutating func keep(where isKept: (Question) -> Bool) {
    open = open.filter { isKept($0.value) }
  }

  /// Drops all questions, and returns them in the order of their tokens.
  @discardableResult
  package mutating func removeAll() -> [Question] {
    defer { open = [:] }
    return open.sorted { $0.key < $1.key }.map(\.value)
  }
}
