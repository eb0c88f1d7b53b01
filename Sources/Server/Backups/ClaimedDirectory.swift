import Foundation
import Glibc
import HoldfastCore
import HoldfastOperators
import HoldfastOwnerFiles

/// A directory that only one process at a time fills. The kernel releases the claim when the process
/// ends.
final class ClaimedDirectory: Sendable {
  /// The directory that the repair of a file system creates. It may be in an empty one.
  static let foundByCheck = "lost+found"

  let path: String
  /// Whether the directory did not exist before.
  let isNew: Bool
  private let descriptor: Int32

  /// Claims a directory, which is created (0700) if it does not exist.
  ///
  /// - Parameters:
  ///   - user: What has claimed the directory if somebody else has, for messages.
  ///   - isDraft: Whether the directory must be of this user alone, and no link to one.
  init(_ path: String, for user: String, isDraft: Bool = false) throws(BackupError) {
    self.path = path
    var found = stat()
    isNew = unsafe lstat(path, &found) != 0 && errno == ENOENT
    do throws(OwnerFileError) {
      try OwnerFile.makeDirectory(path)
    } catch {
      throw .store(StoreFailure(error, at: path))
    }
    let flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | (isDraft ? O_NOFOLLOW : 0)
    descriptor = unsafe open(path, flags)
    guard descriptor >= 0 else { throw .refused("open", path, code: errno) }
    // Somebody else may have created it where many users can.
    let isOwn = unsafe fstat(descriptor, &found) == 0 && found.st_uid == geteuid()
    guard isOwn || !isDraft else {
      throw .place(cause: "\(path) belongs to another user", remedy: "write to another directory")
    }
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      throw .place(cause: "\(user) \(path) is running", remedy: "wait for its end")
    }
    guard !OwnerFile.isOpenToOthers(path) else {
      throw .place(
        cause: "users other than its owner can put files into \(path)",
        remedy: "run chmod 700 \(path), or use another directory")
    }
  }

  deinit {
    guard descriptor >= 0 else { return }
    flock(descriptor, LOCK_UN)
    close(descriptor)
  }

  /// The names in the directory.
  var names: [String] {
    get throws(BackupError) { try Self.names(in: path) }
  }

  /// Returns the names in a directory, in order.
  static func names(in path: String) throws(BackupError) -> [String] {
    do {
      return try FileManager.default.contentsOfDirectory(atPath: path).sorted()
    } catch {
      throw .store(.denied(detail: "\(path) cannot be read: \(error.localizedDescription)."))
    }
  }

  /// Returns the kind of a file by stat(2); `nil` if there is none.
  static func kind(of path: String) -> mode_t? {
    var found = stat()
    return unsafe lstat(path, &found) == 0 ? found.st_mode & S_IFMT : nil
  }

  /// Removes all files that a backup can contain, and its directories. What cannot be removed stays.
  ///
  /// - Parameter last: The name of a file that is removed after all others.
  func clear(last: String? = nil) {
    for directory in BackupNames.directories {
      let inner = "\(path)/\(directory)"
      guard Self.kind(of: inner) == S_IFDIR else { continue }
      for name in (try? Self.names(in: inner)) ?? [] { unsafe unlink("\(inner)/\(name)") }
      unsafe rmdir(inner)
    }
    for name in (try? names) ?? [] where name != last {
      if Self.kind(of: "\(path)/\(name)") == S_IFREG { unsafe unlink("\(path)/\(name)") }
    }
    if let last { unsafe unlink("\(path)/\(last)") }
  }

  /// Writes all files, and the directories, to the disk.
  func sync() throws(BackupError) {
    for path in try contents { try Self.sync(path) }
    guard fsync(descriptor) == 0 else { throw .refused("sync", path, code: errno) }
  }

  private static func sync(_ path: String) throws(BackupError) {
    let descriptor = unsafe open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
    guard descriptor >= 0 else { throw .refused("sync", path, code: errno) }
    defer { _ = close(descriptor) }
    guard fsync(descriptor) == 0 else { throw .refused("sync", path, code: errno) }
  }

  /// The paths of all files and directories inside.
  private var contents: [String] {
    get throws(BackupError) {
      var paths = try names.filter { $0 != Self.foundByCheck }.map { "\(path)/\($0)" }
      for directory in BackupNames.directories
      where Self.kind(of: "\(path)/\(directory)") == S_IFDIR {
        paths += try Self.names(in: "\(path)/\(directory)").map { "\(path)/\(directory)/\($0)" }
      }
      return paths
    }
  }

  /// Gives all files to the owner of the directory, if this process may do that and is not the owner.
  func giveToOwner() throws(BackupError) {
    var found = stat()
    guard unsafe fstat(descriptor, &found) == 0 else {
      throw .refused("look at", path, code: errno)
    }
    guard geteuid() == 0, found.st_uid != 0 || found.st_gid != 0 else { return }
    for path in try contents where unsafe lchown(path, found.st_uid, found.st_gid) != 0 {
      throw .refused("change the owner of", path, code: errno)
    }
  }
}
