public import Foundation
import HoldfastCore
public import HoldfastMessageData
import HoldfastSocket

extension ShopMessage {
  /// The time of creation, according to the server's clock.
  public var date: Date { Date(createdAt) }

  /// The time of the last edit; `nil` if there was none.
  public var editDate: Date? { updatedAt.map { Date($0) } }
}

extension ShopID {
  /// Creates the id of a shop from a UUID, in lower case.
  public init(_ uuid: UUID) { self.init(UUID128(uuid)) }
}

extension OutboxEntry {
  /// The time at which the user sent the message.
  public var date: Date { Date(createdAt) }
}
