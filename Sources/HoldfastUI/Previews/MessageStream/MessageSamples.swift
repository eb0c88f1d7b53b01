import Holdfast
import HoldfastCore
import HoldfastMessageData

extension MessageRow {
  /// Creates a message with a number, which is also its minute of the day.
  static func sample(
    _ number: Int, _ text: String, by name: String? = "Ada", isEdited: Bool = false
  ) -> MessageRow {
    MessageRow(
      ShopMessage(
        id: UUID128(high: 1, low: UInt64(number)), shop: .sample, user: name ?? "u-17",
        username: name, text: text, createdAt: .sample(minute: number), isEdited: isEdited))
  }
}

extension WaitingRow {
  /// Creates a message that waits, or has failed for a reason.
  static func sample(_ number: Int, _ text: String, failed reason: String? = nil) -> WaitingRow {
    WaitingRow(
      OutboxEntry(
        id: UUID128(high: 2, low: UInt64(number)), shop: .sample, text: text,
        createdAt: .sample(minute: number),
        state: reason.map { .failed(reason: $0) } ?? .queued(tries: 0)))
  }
}

extension ShopID {
  /// The shop of previews.
  static let sample = ShopID(UUID128(high: 3, low: 4))
}
