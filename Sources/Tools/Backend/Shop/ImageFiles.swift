import Foundation
import Glibc
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastOwnerFiles
import HoldfastWire

/// The contents of images, in a directory that only its owner can read.
///
/// The name of a file is the id of its image. A file is complete and durable before the log knows its
/// image, and it is removed after the log has deleted its image.
struct ImageFiles: Sendable {
  private let directory: String

  /// Creates a value for the images in a data directory. Nothing is opened yet.
  init(in data: String) { directory = "\(data)/images" }

  private func path(_ id: MessageID) -> String { "\(directory)/\(id)" }

  /// Stores the content of an image durably.
  func write(_ content: [UInt8], of id: MessageID) throws(StoreFailure) {
    let file = OwnerFile(path(id), maxBytes: ShopImage.mostBytes, isSecret: false)
    do throws(OwnerFileError) {
      try file.replace(with: content)
    } catch {
      throw StoreFailure(error, at: file.path)
    }
  }

  /// Returns a part of the content of an image; `nil` if there is no such file.
  func read(_ id: MessageID, _ range: Range<Int>) throws(StoreFailure) -> [UInt8]? {
    let descriptor = unsafe open(path(id), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard descriptor >= 0 else {
      guard errno != ENOENT else { return nil }
      throw refused("open")
    }
    let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    do {
      try file.seek(toOffset: UInt64(range.lowerBound))
      let content = Array(try file.read(upToCount: range.count) ?? Data())
      if content.count == range.count { return content }
    } catch {
      throw StoreFailure.other(detail: "\(directory): an image cannot be read")
    }
    throw StoreFailure.corrupt(detail: "\(directory): an image is shorter than it was")
  }

  /// Removes the content of an image, if there is any.
  func remove(_ id: MessageID) throws(StoreFailure) {
    guard unsafe unlink(path(id)) != 0, errno != ENOENT else { return }
    throw refused("remove")
  }

  /// Removes the contents of all images that a log has deleted.
  func removeDeleted(of log: any MessageLog) async throws(StoreFailure) {
    let deleted = try await log.deletedImages()
    guard !deleted.isEmpty else { return }
    for id in deleted { try remove(id) }
    do throws(OwnerFileError) {
      if unsafe access(directory, F_OK) == 0 { try OwnerFile.syncDirectory(directory) }
    } catch {
      throw StoreFailure(error, at: directory)
    }
    try await log.forgetImages(deleted)
  }

  /// Checks that images can be written.
  func check() throws(StoreFailure) { try WriteProbe.run(in: directory) }

  /// The names of all files, which may be those of no image.
  var names: [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: directory))?.sorted() ?? []
  }

  /// Removes those files that belong to no image of a log. An earlier process may have been killed
  /// between a file and its image.
  func remove(
    _ names: [String], unlessKnownTo log: any MessageLog
  ) async throws(StoreFailure) {
    for name in names {
      if let id = MessageID(name), try await log.image(id) != nil { continue }
      try? FileManager.default.removeItem(atPath: "\(directory)/\(name)")
    }
  }

  private func refused(_ action: String) -> StoreFailure {
    StoreFailure(OwnerFileError.refused(action: action, code: errno), at: directory)
  }
}
