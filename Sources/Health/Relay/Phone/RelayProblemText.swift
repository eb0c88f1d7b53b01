import HoldfastCore

extension RelayStatus: CustomStringConvertible {
  /// The state, the attempt and the reason, such as
  /// `reconnecting, attempt 1 of 2: the connection was reset`.
  public var description: String {
    var text = state.rawValue
    if attempt > 0 {
      text += ", attempt \(attempt)" + (maxAttempts.map { " of \($0)" } ?? "")
    }
    return text + (reason.map { ": \($0)" } ?? "")
  }
}

extension RelayProblem: CustomStringConvertible {
  /// A description of the problem, in lower case and without a full stop.
  public var description: String {
    switch self {
    case .connection(let failure): failure.description
    case .inBackground: "a relay cannot be started while the app is in the background"
    case .malformed(let detail): "a message from the server could not be read: \(detail)"
    case .unknownType(let type): "the server sent a message of the unknown type \(type)"
    case .oversized(let bytes): "a message over the limit was dropped (\(bytes) bytes as sent)"
    case .unreadable(let detail): "the health data could not be read: \(detail)"
    case .busy: "a question was refused: too many questions wait"
    }
  }
}
