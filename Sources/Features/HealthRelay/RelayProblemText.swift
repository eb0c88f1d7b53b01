import HoldfastCore

extension RelayProblem: CustomStringConvertible {
  /// What happened, as the beginning of a sentence.
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
