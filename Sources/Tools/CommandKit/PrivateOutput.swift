import Glibc
import HoldfastOwnerFiles

/// A file that a command writes for its owner alone (0600), such as a page or a trace.
///
/// A file of the same path is replaced. Anything but a regular file, such as a device, is refused.
package struct PrivateOutput: Sendable {
  /// The path of the file.
  package let path: String
  private let option: String

  /// Creates an output.
  ///
  /// - Parameter option: The option that names the file, such as `--html`, for messages.
  package init(_ path: String, option: String) {
    (self.path, self.option) = (path, option)
  }

  /// Throws an error if the file cannot be written.
  ///
  /// Call this before work whose result would otherwise be lost.
  ///
  /// - Parameter others: The files that the command reads or writes, too, and that the file would
  ///   replace if it were one of them.
  package func check(isNoneOf others: [String] = []) throws(CommandFailure) {
    guard path != "-" else {
      throw CommandFailure(
        .usage, "\(option) cannot be standard output, where results are printed",
        remedy: "name a file")
    }
    try mustBeRegular()
    let own = FileIdentity(of: path)
    for other in others where other != "-" {
      guard other == path || (own != nil && own == FileIdentity(of: other)) else { continue }
      throw CommandFailure(
        .usage, "\(option) would replace \(other), which the command also uses",
        remedy: "name another file")
    }
  }

  /// Replaces the content.
  package func write(_ bytes: [UInt8]) throws(CommandFailure) {
    // The file may have changed since it was checked.
    try mustBeRegular()
    do throws(OwnerFileError) {
      try OwnerFile(path, maxBytes: .max, isSecret: true).replace(with: bytes)
    } catch {
      throw CommandFailure(.failed, "\(path): \(error)")
    }
  }

  private func mustBeRegular() throws(CommandFailure) {
    try TextFile.mustBeWritable(path)
    var found = stat()
    // A link would be replaced, too, and not the file that it names.
    guard unsafe lstat(path, &found) != 0 || found.st_mode & S_IFMT == S_IFREG else {
      throw CommandFailure(
        .usage, "\(path) is not a regular file", remedy: "name another file with \(option)")
    }
  }
}

/// The identity of a file, which is the same for all paths of the file.
package struct FileIdentity: Hashable {
  private var device: dev_t
  private var number: ino_t
  /// The name in the directory with that number; `nil` if the number is that of the file itself.
  private var name: String?

  /// Returns the identity of a file that may not exist yet; `nil` without its directory.
  package init?(of path: String) {
    var found = stat()
    if unsafe stat(path, &found) != 0 {
      let slash = path.lastIndex(of: "/")
      guard unsafe stat(slash.map { String(path[...$0]) } ?? ".", &found) == 0 else { return nil }
      name = slash.map { String(path[path.index(after: $0)...]) } ?? path
    }
    (device, number) = (found.st_dev, found.st_ino)
  }
}
