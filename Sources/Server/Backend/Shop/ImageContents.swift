import HoldfastCore
import HoldfastFeaturePorts
import HoldfastMessageData
import HoldfastServerSockets

/// The contents of the images that a log knows.
///
/// A content is complete and durable before the log knows its image, and it is removed after the log
/// has deleted its image.
protocol ImageContents: Sendable {
  /// Stores the content of an image durably.
  func write(_ content: [UInt8], of id: MessageID) async throws(StoreFailure)

  /// Opens a part of the content of an image; returns `nil` if there is no content. An empty part
  /// stands for the length alone.
  ///
  /// - Throws: `.corrupt` if the content has another length than the image.
  func open(_ image: StoredImage, _ part: Range<Int>) async throws(StoreFailure) -> FileBody?

  /// Removes contents. Returns those that were removed, or did not exist, and the first failure.
  func remove(_ ids: [MessageID]) async -> (removed: [MessageID], failure: StoreFailure?)

  /// Checks that images can be written.
  func check() async throws(StoreFailure)

  /// The names of contents that may be those of no image.
  var leftovers: [String] { get }

  /// Removes contents of no image, unless they are too young. Returns the names that remain.
  func remove(
    _ names: [String], unlessKnownTo log: any MessageLog, at now: Timestamp
  ) async throws(StoreFailure) -> [String]
}

extension ImageContents {
  /// Removes the contents of all images that a log has deleted.
  func removeDeleted(of log: any MessageLog) async throws(StoreFailure) {
    try await remove(try await log.deletedImages(), deletedFrom: log)
  }

  /// Removes the contents of images that a log has deleted. If some cannot be removed, the others
  /// are removed nevertheless.
  func remove(
    _ deleted: [MessageID], deletedFrom log: any MessageLog
  ) async throws(StoreFailure) {
    guard !deleted.isEmpty else { return }
    let (removed, failure) = await remove(deleted)
    try await log.forgetImages(removed)
    if let failure { throw failure }
  }
}
