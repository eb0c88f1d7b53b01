import Foundation
import Glibc
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastMessageData
import HoldfastOwnerFiles
import HoldfastServerSockets

/// The contents of images in a directory that only its owner can read.
///
/// The name of a file is the id of its image. A file is complete and durable before the log knows its
/// image, and it is removed after the log has deleted its image.
struct ImageFiles: ImageContents {
  private let directory: String

  /// The minimum age of a file that is removed because no image is known for it. Another process may
  /// still store the image of a younger file, which takes far less time.
  static let orphanAge = Duration.seconds(3_600)

  /// Creates a value for the images in a data directory. Nothing is opened yet.
  init(in data: String) { directory = "\(data)/images" }

  private func path(_ name: String) -> String { "\(directory)/\(name)" }

  /// Stores the content of an image durably.
  func write(_ content: [UInt8], of id: MessageID) throws(StoreFailure) {
    let file = OwnerFile(path("\(id)"), maxBytes: ShopImage.mostBytes, isSecret: false)
    do throws(OwnerFileError) {
      try file.replace(with: content)
    } catch {
      throw StoreFailure(error, at: file.path)
    }
  }

  /// Opens a part of the content of an image; returns `nil` if there is no such file. The part is
  /// read once, so that a disk error is found before the response begins and sending does not wait
  /// for the disk. An empty part stands for the length alone.
  ///
  /// - Throws: `.corrupt` if the file has another length than the image.
  func open(_ image: StoredImage, _ part: Range<Int>) throws(StoreFailure) -> FileBody? {
    let path = path("\(image.id)")
    let descriptor = unsafe Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard descriptor >= 0 else {
      guard errno != ENOENT else { return nil }
      throw refused("open", path)
    }
    let body = FileBody(owning: descriptor, part.isEmpty ? 0..<image.size : part)
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0 else { throw refused("look at", path) }
    guard status.st_mode & S_IFMT == S_IFREG, status.st_size == image.size else {
      throw .corrupt(detail: "\(path): the file is not the image that was stored")
    }
    guard part.isEmpty || body.load() else { throw refused("read", path) }
    return body
  }

  /// Removes the content of an image, if there is any.
  func remove(_ id: MessageID) throws(StoreFailure) {
    let path = path("\(id)")
    guard unsafe unlink(path) != 0, errno != ENOENT else { return }
    throw refused("remove", path)
  }

  func remove(_ ids: [MessageID]) -> (removed: [MessageID], failure: StoreFailure?) {
    var removed: [MessageID] = []
    var failure: StoreFailure?
    for id in ids {
      do throws(StoreFailure) {
        try remove(id)
        removed.append(id)
      } catch {
        failure = failure ?? error
      }
    }
    do throws(OwnerFileError) {
      if unsafe access(directory, F_OK) == 0 { try OwnerFile.syncDirectory(directory) }
    } catch {
      return ([], StoreFailure(error, at: directory))
    }
    return (removed, failure)
  }

  /// Checks that images can be written.
  func check() throws(StoreFailure) { try WriteProbe.run(in: directory) }

  var leftovers: [String] { names }

  /// The names of all files, which may be those of no image.
  var names: [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: directory))?.sorted() ?? []
  }

  /// Removes those files that belong to no image of a log, unless they are too young. An earlier
  /// process may have been killed between a file and its image. Returns the files of no image that
  /// remain.
  func remove(
    _ names: [String], unlessKnownTo log: any MessageLog, at now: Timestamp
  ) async throws(StoreFailure) -> [String] {
    var rest: [String] = []
    for name in names {
      if let id = MessageID(name), try await log.image(id) != nil { continue }
      // On the queue of uploads, no upload replaces the file between the two steps.
      let isOld = age(of: name, at: now).map { $0 >= Self.orphanAge }
      if isOld == true { try? FileManager.default.removeItem(atPath: path(name)) }
      if unsafe access(path(name), F_OK) == 0 { rest.append(name) }
    }
    return rest
  }

  /// Returns the time since a file was last changed; `nil` if there is no such file.
  private func age(of name: String, at now: Timestamp) -> Duration? {
    var status = stat()
    guard unsafe lstat(path(name), &status) == 0 else { return nil }
    return Timestamp(status.st_mtim).duration(to: now)
  }

  private func refused(_ action: String, _ path: String) -> StoreFailure {
    StoreFailure(OwnerFileError.refused(action: action, code: errno), at: path)
  }
}
