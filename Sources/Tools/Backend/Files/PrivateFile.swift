import Foundation
import HoldfastCore
import HoldfastOwnerFiles

/// A small file in the backend's data directory that only its owner can read (0600).
struct PrivateFile {
  let directory: String
  let name: String

  init(directory: String, name: String) {
    (self.directory, self.name) = (directory, name)
  }

  /// Splits a path, of which the directory may be missing.
  init(path: String) {
    let end = path.lastIndex(of: "/")
    directory = end.map { String(path[..<$0]) } ?? "."
    name = end.map { String(path[path.index(after: $0)...]) } ?? path
  }

  var path: String { "\(directory)/\(name)" }

  /// The maximum size of a file that is read. Secrets and lists of names need far less.
  private static let maxBytes = 1 << 20

  /// Returns the content; `nil` if there is no file.
  ///
  /// - Throws: `.openToOthers` if users other than the owner can read or change a secret.
  func read(isSecret: Bool = false) throws(BackendError) -> [UInt8]? {
    try attempt(isSecret) { file throws(OwnerFileError) in try file.read() }
  }

  /// Returns the content of a file that must exist.
  ///
  /// - Throws: `.file` if there is no file, and the errors of `read`.
  func demand(isSecret: Bool = false) throws(BackendError) -> [UInt8] {
    if let content = try read(isSecret: isSecret) { return content }
    throw .file(path: path, detail: "No such file or directory")
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
      return try body(OwnerFile(path, maxBytes: Self.maxBytes, isSecret: isSecret))
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
