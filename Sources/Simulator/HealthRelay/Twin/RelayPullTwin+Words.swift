import LinkCore
import LinkHealth
import LinkJSON
import LinkWire

/// The words of a pull, and what it makes of an answer of the backend.
enum RelayPullWords {
  /// Returns an error as the answer to a question of a kind.
  static func failure(
    _ kind: HealthQuestion.Kind, _ id: RelayRequestID, _ reason: String
  ) -> PhoneMessage {
    let object = HealthWordsScribe.failure(reason)
    return kind == .summary ? .summary(id, object) : .healthData(id, object)
  }

  /// Returns the answer to a question that cannot be read.
  static func refusal(of error: RelayWireError) -> PhoneMessage {
    let words: String
    switch error.fault {
    case .missing(let field): words = field + " is missing"
    case .wrongType(let field): words = field + " is of another type"
    case .badDate(let field): words = field + " is no ISO 8601 date"
    case .outOfBounds(let field): words = field + " is out of bounds"
    case .unknownWord(let field, let known):
      words = field + " must be one of " + known.joined(separator: ", ")
    case .malformed(let detail): words = detail
    case .tooLong: words = error.description
    }
    if let id = error.id, let kind = error.kind { return failure(kind, id, words) }
    return .failure(error.id, reason: words)
  }

  /// Returns the status, 0 without an answer, and how long the backend wants to be left alone.
  static func answer(_ failure: LinkFailure) -> (status: Int, wish: Duration) {
    if case .http(let status, let wish, _) = failure { return (status, wish ?? .zero) }
    return (0, .zero)
  }

  /// Tells whether it means "not now": 408, 429, 5xx but for 501, or no answer over a sound way.
  static func isPassing(_ failure: LinkFailure) -> Bool {
    switch failure {
    case .http(let status, _, _):
      status == 408 || status == 429 || status >= 500 && status < 600 && status != 501
    case .unreachable, .dns, .refused, .timeout, .reset, .ended, .proxy: true
    case .tls, .closed, .protocolError, .captivePortal, .local: false
    }
  }
}
