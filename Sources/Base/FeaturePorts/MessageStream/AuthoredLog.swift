public import HoldfastCore
public import HoldfastMessageData
public import HoldfastPorts

/// A message log that finds the messages of one author.
public protocol AuthoredLog: MessageLog {
  /// Searches a part of the log for messages of an author that were not deleted.
  ///
  /// A part has about 20,000 messages, so that other calls do not wait for long. Messages that are
  /// added during a search may be missed.
  ///
  /// - Parameter place: The end of the part before; `nil` for the first part.
  func messages(
    by user: String, after place: LogPlace?
  ) async throws(StoreFailure) -> AuthoredMessages

  /// Deletes the unclaimed images of a user.
  func deleteUnclaimedImages(of user: String) async throws(StoreFailure)
}

/// A place between two messages of a log, for searches that are done in parts.
public struct LogPlace: Sendable, Hashable {
  /// The number of the message's shop in the store.
  public var shop: Int64
  /// The offset of the message before the place.
  public var offset: Int64

  /// Creates a place.
  public init(shop: Int64, offset: Int64) {
    (self.shop, self.offset) = (shop, offset)
  }
}

/// The messages of an author in a part of a log.
public struct AuthoredMessages: Sendable, Hashable {
  /// A message and its room.
  public struct Message: Sendable, Hashable {
    /// The message.
    public var id: MessageID
    /// The room of the message.
    public var shop: ShopID

    /// Creates a value.
    public init(id: MessageID, shop: ShopID) {
      (self.id, self.shop) = (id, shop)
    }
  }

  /// The messages that were found, in no order.
  public var messages: [Message]
  /// The end of the part; `nil` if it is the last one.
  public var end: LogPlace?

  /// Creates a value.
  public init(messages: [Message], end: LogPlace?) {
    (self.messages, self.end) = (messages, end)
  }
}

extension MemoryStore: AuthoredLog where Value == StoredLogs {
  public func messages(
    by user: String, after place: LogPlace?
  ) throws(StoreFailure) -> AuthoredMessages {
    let found = try use { $0.messages(by: user) }
    return AuthoredMessages(
      messages: found.map { AuthoredMessages.Message(id: $0.id, shop: $0.shop) }, end: nil)
  }

  public func deleteUnclaimedImages(of user: String) throws(StoreFailure) {
    try use { $0.deleteUnclaimedImages(of: user) }
  }
}
