import HoldfastCore
import HoldfastSessionData

extension SessionNotice: CustomStringConvertible {
  /// A description of the notice, in lower case and without a full stop.
  public var description: String {
    switch self {
    case .stale(let key): "prompt \(key) was not accepted for 60s"
    case .malformed(let detail): "a message from the server could not be read: \(detail)"
    case .refused(let error): "the server refused a message: \(error.message)"
    case .oversized(let bytes): "a message over the limit was dropped (\(bytes) bytes as sent)"
    case .draining(let wait): "the server stops soon; it asks to return after \(wait.text)"
    case .clockSkew(let skew):
      skew > .zero
        ? "the server's clock is \(skew.whole.text) ahead of this device's"
        : "the server's clock is \((.zero - skew).whole.text) behind this device's"
    case .payload(let size): "the server is asked for messages of at most \(size) KiB"
    case .store(let failure): "a change could not be stored yet: \(failure)"
    case .storeRecovered: "changes can be stored again"
    case .unanswered(let count):
      count == 1 ? "1 prompt has no answer yet" : "\(count) prompts have no answer yet"
    }
  }
}

extension Duration {
  /// The duration, rounded down to whole seconds.
  fileprivate var whole: Duration { .seconds(nanoseconds / 1_000_000_000) }
}
