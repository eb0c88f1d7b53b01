import HoldfastCore
import HoldfastMessageStream

extension Phrase {
  /// Creates the text of a notice; `nil` if the user need not know of it, or the connection says it.
  init?(_ notice: StreamNotice) {
    switch notice {
    case .fetchFailed: self.init("messages.notice.fetch")
    case .store(let failure): self.init(failure)
    case .newEpoch: self.init("messages.notice.newEpoch")
    case .forbidden: self.init("messages.notice.forbidden")
    case .rejected(let count, first: _): self.init("messages.notice.rejected", count)
    case .malformed, .unknownType: self.init("messages.notice.rejected", 1)
    case .oversized, .sendFailed, .storeRecovered, .draining, .signIn, .security: return nil
    }
  }
}
