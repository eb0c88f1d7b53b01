import HoldfastCore

extension StreamNotice: CustomStringConvertible {
  /// A description of the notice, in lower case and without a full stop.
  public var description: String {
    switch self {
    case .malformed(let error): "a message could not be read: \(error)"
    case .rejected(let count, let first):
      (count == 1 ? "an entry of a page was left out" : "\(count) entries of a page were left out")
        + (first.map { ": \($0)" + (count == 1 ? "" : " (the first one)") } ?? "")
    case .unknownType(let type): "the server sent a message of the unknown type \(type)"
    case .oversized(let bytes): "a message over the limit was dropped (\(bytes) bytes as sent)"
    case .fetchFailed(let failure): "messages could not be fetched: \(failure)"
    case .sendFailed(let failure): "a message could not be sent yet: \(failure)"
    case .store(let failure): "a change could not be stored yet: \(failure)"
    case .storeRecovered: "changes can be stored again"
    case .draining(let window): "the server closes all connections within \(window.text)"
    case .newEpoch(let position): "the server's log started over; it ends at \(position)"
    case .signIn: "the user must sign in"
    case .forbidden: "the user is not a member of the shop"
    case .security(let failure): "the connection is not secure: \(failure)"
    }
  }
}
