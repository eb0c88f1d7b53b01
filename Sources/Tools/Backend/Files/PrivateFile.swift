import OwnerFiles

/// A small file of the backend's data directory, readable by its owner only (0600).
struct PrivateFile {
  let directory: String
  let name: String

  var path: String { "\(directory)/\(name)" }

  /// The largest file that is read; a secret and a list of names need far less.
  private static let maxBytes = 1 << 20

  /// Returns the content; `nil` if there is no file.
  ///
  /// - Throws: `.openToOthers` for a secret that users other than its owner can read or change.
  func read(isSecret: Bool = false) throws(BackendError) -> [UInt8]? {
    try attempt(isSecret) { file throws(OwnerFileError) in try file.read() }
  }

  /// Replaces the content.
  func replace(with content: [UInt8]) throws(BackendError) {
    try attempt { file throws(OwnerFileError) in try file.replace(with: content) }
  }

  /// Creates the secret unless it exists, and returns it. Two processes both get the first one.
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

extension [UInt8] {
  /// Returns random bytes of the kernel's generator (getrandom), fit for secrets.
  static func random(_ count: Int) -> [UInt8] {
    var source = SystemRandomNumberGenerator()
    return (0..<count).map { _ in UInt8.random(in: 0 ... .max, using: &source) }
  }
}
