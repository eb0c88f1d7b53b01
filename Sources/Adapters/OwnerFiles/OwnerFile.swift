#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// A small file that may hold a secret.
public enum OwnerFile {
  /// What it holds; `nil` when there is none.
  ///
  /// - Parameters:
  ///   - maxBytes: Larger ones are refused.
  ///   - isSecret: Whether one that anybody but its owner can read or change is refused: it may be
  ///     known.
  public static func read(
    _ path: String, maxBytes: Int, isSecret: Bool
  ) throws(OwnerFileError) -> [UInt8]? {
    // Not blocking, or a pipe in the file's place would hold up the start.
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else {
      if errno == ENOENT { return nil }
      throw OwnerFileError(failed: "open")
    }
    defer { close(descriptor) }
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0 else { throw OwnerFileError(failed: "look at") }
    guard status.st_mode & S_IFMT == S_IFREG else { throw .noFile }
    guard !isSecret || status.st_mode & 0o077 == 0 else { throw .openToOthers }
    var content: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: min(maxBytes + 1, 65_536))
    while true {
      let count = readSome(descriptor, &chunk)
      guard count >= 0 else { throw OwnerFileError(failed: "read") }
      guard count > 0 else { return content }
      content += chunk[..<count]
      guard content.count <= maxBytes else { throw .tooLarge(limit: maxBytes) }
    }
  }

  private static func readSome(_ descriptor: Int32, _ bytes: inout [UInt8]) -> Int {
    while true {
      #if canImport(Glibc)
        let count = unsafe Glibc.read(descriptor, &bytes, bytes.count)
      #else
        let count = unsafe Darwin.read(descriptor, &bytes, bytes.count)
      #endif
      if count >= 0 || errno != EINTR { return count }
    }
  }
}

/// Why such a file does not give what it holds; never a part of that.
public enum OwnerFileError: Error, Sendable, Hashable, CustomStringConvertible {
  /// Others than its owner can read or change it.
  case openToOthers
  /// A directory, a pipe or a device.
  case noFile
  /// Larger than this many bytes.
  case tooLarge(limit: Int)
  /// The system refused what was to be done to it, for this reason.
  case refused(action: String, reason: String)

  init(failed action: String) {
    self = .refused(action: action, reason: unsafe String(cString: strerror(errno)))
  }

  /// The cause in words for people, to stand behind the path.
  public var description: String {
    switch self {
    case .openToOthers: "others than its owner can read or change this secret"
    case .noFile: "is no file"
    case .tooLarge(let limit): "larger than \(limit) bytes"
    case .refused(let action, let reason): "cannot \(action) it: \(reason)"
    }
  }
}
