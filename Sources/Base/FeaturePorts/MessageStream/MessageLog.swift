public import HoldfastCore
public import HoldfastMessageData
public import HoldfastPorts

/// A store of the backend's messages. Each shop has a log of events: posts, edits and deletions.
///
/// Each event has the next offset. An event is durable when `append` returns. The offsets of a shop
/// are 1, 2, 3… without gaps, in the order in which the events are appended. The epoch changes only if
/// durable events were lost.
///
/// The log keeps each message in its last version, whose position is that of the newest event. Of a
/// deleted message, it keeps the ID, the positions and the idempotency key.
public protocol MessageLog: SuspendableStore {
  /// Processes requests in the given order and in one commit, and returns the result of each.
  ///
  /// A message is not added if the same user has already used its idempotency key in the same shop.
  /// Its result is then the stored message. A refused request takes no offset, and the others are
  /// processed.
  func append(_ requests: [LogRequest]) async -> [Result<LogOutcome, StoreFailure>]

  /// Returns a page of a shop's messages.
  ///
  /// The pages of `changes` are ordered by the newest events, those of `since` by creation and ID,
  /// and all others by the position of the post. Only `changes` and `newest` contain deletions. A
  /// message whose parent was deleted has no parent. Messages contain the position of their newest
  /// edit.
  func page(_ query: PageQuery, of shop: ShopID) async throws(StoreFailure) -> Page

  /// Returns the total number of messages in the range of a page query, and for `changes` also of
  /// deletions.
  func count(_ query: PageQuery, of shop: ShopID) async throws(StoreFailure) -> UInt64

  /// Returns the position of a shop's newest event. Its offset is 0 if there is none.
  func head(of shop: ShopID) async throws(StoreFailure) -> ShopPosition

  /// Returns the positions of the newest events of several shops, in the same order.
  func heads(of shops: [ShopID]) async throws(StoreFailure) -> [ShopPosition]

  /// Returns the shop of a message, deleted or not. Returns `nil` if there is no such message.
  func shop(of id: MessageID) async throws(StoreFailure) -> ShopID?

  /// Adds an unclaimed image. Its content must already be durable.
  ///
  /// A later post or edit by the same user in the same shop whose text refers to the image claims it
  /// for its message, in the same commit. The image is deleted in the commit that deletes the
  /// message, or edits it so that its text does not refer to the image any more. If the image is
  /// known, nothing changes.
  ///
  /// - Returns: False if the user already has `most` unclaimed images. Nothing was added then.
  func addImage(_ image: StoredImage, atMost most: Int) async throws(StoreFailure) -> Bool

  /// Returns the time of the oldest unclaimed image of a user, or `nil` if there is none.
  func oldestUnclaimedImage(of user: String) async throws(StoreFailure) -> Timestamp?

  /// Returns an image, or `nil` if it is unknown or deleted.
  func image(_ id: MessageID) async throws(StoreFailure) -> StoredImage?

  /// Deletes an image. An unknown image is ignored.
  func deleteImage(_ id: MessageID) async throws(StoreFailure)

  /// Deletes the unclaimed images that were uploaded before a time.
  func deleteUnclaimedImages(before time: Timestamp) async throws(StoreFailure)

  /// Returns the deleted images that were not forgotten. Their content has to be removed.
  func deletedImages() async throws(StoreFailure) -> [MessageID]

  /// Forgets deleted images whose content was removed.
  func forgetImages(_ ids: [MessageID]) async throws(StoreFailure)

  /// Removes the texts of deleted messages, and the earlier texts of edited ones, from all files of
  /// the store.
  ///
  /// Until then, a file may contain what earlier commits wrote. The call reads and writes the pages
  /// that changed since the last call, so it should not follow each single deletion.
  ///
  /// - Throws: `.locked` if another program is reading the log. The call can be repeated.
  func removeTraces() async throws(StoreFailure)
}

extension MessageLog {
  /// Returns the positions of the newest events of several shops, one after the other.
  public func heads(of shops: [ShopID]) async throws(StoreFailure) -> [ShopPosition] {
    var heads: [ShopPosition] = []
    for shop in shops { heads.append(try await head(of: shop)) }
    return heads
  }

  /// Appends one message and returns it with its position. The idempotency key is optional.
  ///
  /// - Throws: `.other` if the key is that of a deleted message or of an edit.
  public func append(
    _ message: ShopMessage, idempotencyKey key: UUID128?
  ) async throws(StoreFailure) -> Appended {
    guard let result = await append([.post(LogEntry(message: message, key: key))]).first else {
      throw .unanswered
    }
    return try result.appended.get()
  }

  /// Processes one request.
  public func append(_ request: LogRequest) async throws(StoreFailure) -> LogOutcome {
    guard let result = await append([request]).first else { throw .unanswered }
    return try result.get()
  }
}

extension StoreFailure {
  /// The failure of a request for which a log returned no result.
  public static let unanswered = StoreFailure.other(detail: "The log returned no result.")
}

/// A message log in memory.
public typealias MemoryMessageLog = MemoryStore<StoredLogs>

extension MemoryStore: MessageLog where Value == StoredLogs {
  /// Creates an empty log. Its positions have the given epoch.
  public init(epoch: String = "memory") { self.init(StoredLogs(epoch: epoch)) }

  public nonisolated func append(
    _ requests: [LogRequest]
  ) async -> [Result<LogOutcome, StoreFailure>] {
    do throws(StoreFailure) {
      return try use { logs in requests.map { logs.append($0) } }
    } catch {
      return requests.map { _ in .failure(error) }
    }
  }

  public func page(_ query: PageQuery, of shop: ShopID) throws(StoreFailure) -> Page {
    try use { $0[shop].page(query) }
  }

  public func count(_ query: PageQuery, of shop: ShopID) throws(StoreFailure) -> UInt64 {
    try use { $0[shop].count(query) }
  }

  public func head(of shop: ShopID) throws(StoreFailure) -> ShopPosition {
    try use { $0[shop].head }
  }

  public func shop(of id: MessageID) throws(StoreFailure) -> ShopID? {
    try use { $0.shop(of: id) }
  }

  public func addImage(_ image: StoredImage, atMost most: Int) throws(StoreFailure) -> Bool {
    try use { $0.addImage(image, atMost: most) }
  }

  public func oldestUnclaimedImage(of user: String) throws(StoreFailure) -> Timestamp? {
    try use { $0.oldestUnclaimedImage(of: user) }
  }

  public func image(_ id: MessageID) throws(StoreFailure) -> StoredImage? {
    try use { $0.image(id) }
  }

  public func deleteImage(_ id: MessageID) throws(StoreFailure) { try use { $0.deleteImage(id) } }

  public func deleteUnclaimedImages(before time: Timestamp) throws(StoreFailure) {
    try use { $0.deleteUnclaimedImages(before: time) }
  }

  public func deletedImages() throws(StoreFailure) -> [MessageID] { try use { $0.deletedImages } }

  public func forgetImages(_ ids: [MessageID]) throws(StoreFailure) {
    try use { $0.forgetImages(ids) }
  }

  public func removeTraces() throws(StoreFailure) { try use { _ in } }
}
