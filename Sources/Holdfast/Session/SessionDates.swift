public import Foundation
public import HoldfastSessionData
import HoldfastSocket

extension SessionEntry {
  /// The time at which the server stored the message, if it is known. It never determines the
  /// order.
  public var date: Date? { timestamp.map { Date($0) } }
}

extension StoredPrompt {
  /// The time at which the user entered the prompt. It never determines the order.
  public var date: Date { Date(createdAt) }
}
