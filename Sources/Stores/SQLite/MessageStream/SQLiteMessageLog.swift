package import HoldfastCore
import HoldfastFeaturePorts
package import HoldfastMessageData

/// The backend's message log in one SQLite file, `messages.sqlite`.
///
/// An append survives a power failure once the call has returned: the write-ahead log is synced at
/// each commit, and waiting appends share a commit. The epoch is a random value that is drawn when
/// the file is created. A file that is restored from a backup keeps its epoch unless it is opened
/// with `newEpoch`. Positions that were assigned after the backup are then unknown. They become
/// wrong once the log has grown past them.
///
/// Deleted bytes are overwritten. The earlier texts of edited and deleted messages remain in the
/// write-ahead log until `removeTraces`, or until the log is opened again.
package typealias SQLiteMessageLog = SQLiteFile<LogTables>

extension SQLiteFile: MessageLog where T == LogTables {
  /// Opens the log, optionally with a new epoch.
  ///
  /// - Parameter newEpoch: Whether to begin a new epoch for the same messages, as after the
  ///   restoration of a backup.
  package static func open(
    in directory: String, named name: String = T.kind.name, newEpoch: Bool
  ) async throws(StoreFailure) -> SQLiteFile {
    let log = try await open(in: directory, named: name)
    if newEpoch { try await log.beginEpoch() }
    return log
  }

  private func beginEpoch() throws(StoreFailure) {
    try write { tables throws(StoreFailure) in try tables.beginEpoch() }
  }

  package func append(_ requests: [LogRequest]) async -> [Result<LogOutcome, StoreFailure>] {
    await withCheckedContinuation { caller in
      guard let tables else {
        return caller.resume(returning: requests.map { _ in .failure(.closed) })
      }
      // Other appends arrive while the disk is busy. All of them share the next commit.
      if tables.wait(requests, caller) == 1 { Task { self.tables?.finish() } }
    }
  }

  package func page(_ query: PageQuery, of shop: ShopID) throws(StoreFailure) -> Page {
    try read { tables throws(StoreFailure) in try tables.page(query, of: shop) }
  }

  package func count(_ query: PageQuery, of shop: ShopID) throws(StoreFailure) -> UInt64 {
    try read { tables throws(StoreFailure) in try tables.count(query, of: shop) }
  }

  package func head(of shop: ShopID) throws(StoreFailure) -> ShopPosition {
    try read { tables throws(StoreFailure) in try tables.head(of: shop) }
  }

  package func shop(of id: MessageID) throws(StoreFailure) -> ShopID? {
    try read { tables throws(StoreFailure) in try tables.shop(of: id) }
  }

  package func addImage(_ image: StoredImage, atMost most: Int) throws(StoreFailure) -> Bool {
    try write { tables throws(StoreFailure) in try tables.addImage(image, atMost: most) }
  }

  package func oldestUnclaimedImage(of user: String) throws(StoreFailure) -> Timestamp? {
    try read { tables throws(StoreFailure) in try tables.oldestUnclaimedImage(of: user) }
  }

  package func image(_ id: MessageID) throws(StoreFailure) -> StoredImage? {
    try read { tables throws(StoreFailure) in try tables.image(id) }
  }

  package func deleteImage(_ id: MessageID) throws(StoreFailure) {
    try write { tables throws(StoreFailure) in try tables.deleteImage(id) }
  }

  package func deleteUnclaimedImages(before time: Timestamp) throws(StoreFailure) {
    try write { tables throws(StoreFailure) in try tables.deleteUnclaimedImages(before: time) }
  }

  package func deletedImages() throws(StoreFailure) -> [MessageID] {
    try read { tables throws(StoreFailure) in try tables.deletedImages() }
  }

  package func forgetImages(_ ids: [MessageID]) throws(StoreFailure) {
    try write { tables throws(StoreFailure) in try tables.forgetImages(ids) }
  }

  package func removeTraces() throws(StoreFailure) {
    // A read first checks that the store is open.
    let database = try read { $0.database }
    guard try database.truncateLog() else {
      throw .locked(detail: "The write-ahead log is in use by another program; try again.")
    }
  }
}
