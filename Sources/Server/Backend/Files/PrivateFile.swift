import Foundation
import HoldfastCore
import HoldfastOwnerFiles

/// A small file that only its owner can read (0600), in the backend's data directory or elsewhere.
struct PrivateFile {
  let path: String
  /// The maximum size of a file that is read.
  private let maxBytes: Int

  init(directory: String, name: String) { self.init(path: "\(directory)/\(name)") }

  /// Names a file of secrets or names, for which a mebibyte is plenty.
  init(path: String) { self.init(path, maxBytes: 1 << 20) }

  /// Names a file with one secret of an operator, such as a key or a token.
  init(secret path: String) { self.init(path, maxBytes: 4_096) }

  private init(_ path: String, maxBytes: Int) { (self.path, self.maxBytes) = (path, maxBytes) }

  /// The path without the name, or `.` if it is a name alone.
  var directory: String { OwnerFile.directory(of: path) }

  /// The part of the path after the directory.
  var name: String {
    path.lastIndex(of: "/").map { String(path[path.index(after: $0)...]) } ?? path
  }

  /// Returns the content; `nil` if there is no file.
  ///
  /// - Throws: `.openToOthers` if users other than the owner can read or change a secret.
  func read(isSecret: Bool = false) throws(BackendError) -> [UInt8]? {
    try attempt(isSecret) { file throws(OwnerFileError) in try file.read() }
  }

  /// Returns the content of a file that must exist.
  ///
  /// - Throws: As `read`, and `.file` if there is no file.
  func readExisting(isSecret: Bool = false) throws(BackendError) -> [UInt8] {
    guard let content = try read(isSecret: isSecret) else {
      throw .file(path: path, detail: "No such file or directory")
    }
    return content
  }

  func replace(with content: [UInt8]) throws(BackendError) {
    try attempt { file throws(OwnerFileError) in try file.replace(with: content) }
  }

  /// Removes drafts that an earlier process left when it was killed while it replaced the file. No
  /// other process may replace the file meanwhile.
  func removeDrafts() {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
    for other in names where other.hasPrefix(name + ".") {
      // A random number of 128 bits with the base 36, and not a copy that somebody has named.
      let suffix = other.dropFirst(name.count + 1)
      let isRandom = suffix.utf8.allSatisfy {
        (0x30...0x39).contains($0) || (0x61...0x7A).contains($0)
      }
      guard isRandom, (20...25).contains(suffix.count) else { continue }
      try? FileManager.default.removeItem(atPath: "\(directory)/\(other)")
    }
  }

  /// Returns the secret, after creating it if it does not exist.
  ///
  /// If two processes call this at the same time, both get the secret that was created first.
  func readOrCreate(_ content: [UInt8]) throws(BackendError) -> [UInt8] {
    try attempt(true) { file throws(OwnerFileError) in try file.readOrCreate(content) }
  }

  private func attempt<Value>(
    _ isSecret: Bool = false, _ body: (OwnerFile) throws(OwnerFileError) -> Value
  ) throws(BackendError) -> Value {
    do throws(OwnerFileError) {
      return try body(OwnerFile(path, maxBytes: maxBytes, isSecret: isSecret))
    } catch {
      if error == .openToOthers { throw .openToOthers(path: path) }
      throw .file(path: path, detail: error.description)
    }
  }
}

extension UUID128 {
  /// Returns a random ID from the kernel's generator.
  static func random() -> UUID128 {
    var source = SystemRandomNumberGenerator()
    return random(using: &source)
  }
}

extension [UInt8] {
  /// Returns random bytes from the kernel's generator (getrandom), which are suitable for secrets.
  static func random(_ count: Int) -> [UInt8] {
    var source = SystemRandomNumberGenerator()
    return (0..<count).map { _ in UInt8.random(in: 0 ... .max, using: &source) }
  }
}
