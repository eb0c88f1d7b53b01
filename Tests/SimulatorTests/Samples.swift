import HoldfastCore
import HoldfastMessageData
import HoldfastMessageStream
import HoldfastWorlds

@testable import HoldfastLinkChecks
@testable import HoldfastMessageChecks
@testable import HoldfastWorldKernel

extension Facts {
  static let shop: ShopID = {
    guard let id = ShopID("shop") else { preconditionFailure("a plain word is a shop id") }
    return id
  }()

  /// The state of a user who is viewing a shop over an open connection.
  static var connected: Facts {
    let settings = StreamSettings(shop: shop, policy: .messageStream, user: "me")
    var state = StreamState(
      settings: settings, server: .positions,
      memoryUse: MemoryUse(shown: 0, unsent: 0, unstored: 0, ahead: 0))
    state.isWhole = true
    var facts = Facts(
      policy: .messageStream, status: LinkStatus(phase: .connected, mode: .live),
      deadline: .second(1_000_000), currentAttempt: AttemptID(1), own: state)
    facts.isAwake = true
    facts.isWanted = true
    return facts
  }
}

extension ShopMessage {
  static let start = Timestamp(nanoseconds: 1_800_000_000_000_000_000)

  /// Returns a message whose text is `m` followed by its number.
  ///
  /// Consecutive messages are one second apart. The number of a message is its offset.
  static func number(_ number: Int, text: String? = nil) -> ShopMessage {
    ShopMessage(
      id: UUID128(high: 7, low: UInt64(number)), shop: Facts.shop, user: "you", username: nil,
      text: text ?? "m\(number)", createdAt: start.advanced(by: .seconds(number)),
      position: ShopPosition(epoch: "e", offset: UInt64(number)))
  }
}

extension OutboxEntry {
  static func number(_ number: Int, state: State = .queued(tries: 0)) -> OutboxEntry {
    OutboxEntry(
      id: UUID128(high: 9, low: UInt64(number)), shop: Facts.shop, text: "own \(number)",
      createdAt: ShopMessage.start, state: state)
  }
}
