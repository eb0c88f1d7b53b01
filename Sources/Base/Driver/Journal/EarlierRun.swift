import Foundation
import HoldfastCore

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#elseif canImport(Darwin)
  import Darwin
#endif

/// The files NAME and NAME.1 of an earlier run, which a new run renames.
struct EarlierRun {
  let path: String

  /// The maximum number of earlier runs that are kept. The limit is Holdfast's own. A new run fails
  /// once it is reached.
  static let bound = 999

  /// Renames the files to NAME.old1 and NAME.old1.1, or uses the next number that is free for both.
  ///
  /// - Throws: An error if either file is not a journal. No file is then renamed.
  func moveAside() throws(JournalError) {
    var parts: [String] = []
    for part in ["", ".1"] {
      if try holdsJournal(path + part) { parts.append(part) }
    }
    guard !parts.isEmpty else { return }
    guard let destination = (1...Self.bound).map({ "\(path).old\($0)" }).first(where: isFree) else {
      throw JournalError(path: path, .file("\(Self.bound) earlier journals are kept next to it"))
    }
    for part in parts {
      guard unsafe rename(path + part, destination + part) == 0 else {
        throw .cannot("rename", path + part)
      }
    }
  }

  private func isFree(_ destination: String) -> Bool {
    ["", ".1"].allSatisfy { part in
      var status = stat()
      return unsafe lstat(destination + part, &status) != 0
    }
  }

  /// Returns whether a journal exists. Returns false if the file is missing or empty.
  ///
  /// - Throws: An error for any other file.
  private func holdsJournal(_ path: String) throws(JournalError) -> Bool {
    var status = stat()
    guard unsafe lstat(path, &status) == 0 else {
      if errno == ENOENT { return false }
      throw .cannot("look at", path)
    }
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw JournalError(path: path, .file("it is not a regular file"))
    }
    guard status.st_size > 0 else { return false }
    var lines = try LineReader(path: path)
    guard let first = try? lines.next(), first.isWhole,
      (try? JSONDecoder().decode(JournalFormat.self, from: Data(first.bytes))) != nil
    else { throw JournalError(path: path, .taken) }
    return true
  }
}
