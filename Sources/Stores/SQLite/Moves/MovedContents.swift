import Foundation
import HoldfastCore
import HoldfastOwnerFiles
import HoldfastServerData

/// The contents of images in a data directory, while they are moved. The name of a file is the ID of
/// its image.
struct MovedContents {
  /// The maximum size of a file, far above that of an image.
  private static let mostBytes = 64 << 20

  let directory: String

  /// The IDs, in order. Files with other names are of no image.
  var ids: [UUID128] {
    get throws(StoreFailure) {
      guard FileManager.default.fileExists(atPath: directory) else { return [] }
      do {
        return try FileManager.default.contentsOfDirectory(atPath: directory)
          .compactMap { UUID128($0) }.sorted()
      } catch {
        throw .other(detail: "\(directory) cannot be read: \(error.localizedDescription)")
      }
    }
  }

  private func file(_ id: UUID128) -> OwnerFile {
    OwnerFile("\(directory)/\(id)", maxBytes: Self.mostBytes, isSecret: false)
  }

  func rows(_ ids: ArraySlice<UUID128>) throws(StoreFailure) -> [[MovedValue]] {
    var rows: [[MovedValue]] = []
    for id in ids {
      let file = file(id)
      do throws(OwnerFileError) {
        guard let content = try file.read() else { continue }
        rows.append([.uuid(id), .bytes(content)])
      } catch {
        throw StoreFailure(error, at: file.path)
      }
    }
    return rows
  }

  func add(_ rows: [[MovedValue]]) throws(StoreFailure) {
    for row in rows {
      guard case .uuid(let id) = row.first, case .bytes(let content) = row.last else { continue }
      let file = file(id)
      do throws(OwnerFileError) {
        try OwnerFile.makeDirectory(directory)
        try file.replace(with: content)
      } catch {
        throw StoreFailure(error, at: file.path)
      }
    }
  }
}
