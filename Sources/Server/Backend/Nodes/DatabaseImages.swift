import HoldfastCore
import HoldfastFeaturePorts
import HoldfastMessageData
import HoldfastPostgreSQLStores
import HoldfastServerSockets

/// The contents of images in the database, so that each node has them.
struct DatabaseImages: ImageContents {
  let log: PostgreSQLMessageLog

  func write(_ content: [UInt8], of id: MessageID) async throws(StoreFailure) {
    try await log.setContent(content, of: id)
  }

  func open(_ image: StoredImage, _ part: Range<Int>) async throws(StoreFailure) -> FileBody? {
    guard let found = try await log.content(of: image.id, part) else { return nil }
    guard found.length == image.size, found.part.count == part.count else {
      throw .corrupt(detail: "the content of the image \(image.id) is not what was stored")
    }
    return FileBody(found.part, at: part.isEmpty ? 0..<image.size : part)
  }

  func remove(_ ids: [MessageID]) async -> (removed: [MessageID], failure: StoreFailure?) {
    do throws(StoreFailure) {
      try await log.removeContents(ids)
      return (ids, nil)
    } catch {
      return ([], error)
    }
  }

  func check() async throws(StoreFailure) { try await log.check() }

  var leftovers: [String] { [] }

  func remove(
    _ names: [String], unlessKnownTo log: any MessageLog, at now: Timestamp
  ) async throws(StoreFailure) -> [String] {
    try await self.log.removeLeftoverContents(olderThan: ImageFiles.orphanAge)
    return []
  }
}
