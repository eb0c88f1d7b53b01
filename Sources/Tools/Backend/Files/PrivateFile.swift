import OwnerFiles

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// A small file for its owner's eyes (0600), always seen whole: written beside, then put in place.
struct PrivateFile {
  let directory: String
  let name: String

  var path: String { "\(directory)/\(name)" }

  /// Larger files are refused; a secret and a list of names need far less.
  private static let maxBytes = 1 << 20

  /// What it holds; `nil` when there is none.
  ///
  /// A secret that anybody but its owner can read or change is refused: it may be known.
  func read(isSecret: Bool = false) throws(BackendError) -> [UInt8]? {
    do {
      return try OwnerFile.read(path, maxBytes: Self.maxBytes, isSecret: isSecret)
    } catch {
      if error == .openToOthers { throw .openToOthers(path: path) }
      throw .file(path: path, detail: error.description)
    }
  }

  /// Puts `content` in the place of what was there.
  func replace(with content: [UInt8]) throws(BackendError) {
    let draft = try write(content)
    guard unsafe rename(draft, path) == 0 else { throw failure("replace") }
  }

  /// Makes the secret unless it is there; answers what it holds then.
  ///
  /// Two processes that create it at once both get the content of the one that came first.
  func readOrCreate(_ content: [UInt8]) throws(BackendError) -> [UInt8] {
    if let found = try read(isSecret: true) { return found }
    let draft = try write(content)
    let linked = unsafe link(draft, path)
    let cause = errno
    unsafe unlink(draft)
    if linked == 0 { return content }
    guard cause == EEXIST, let found = try read(isSecret: true) else {
      errno = cause
      throw failure("create")
    }
    return found
  }

  /// Writes a draft beside the file and has the disk confirm it.
  private func write(_ content: [UInt8]) throws(BackendError) -> String {
    try makeDirectory()
    let draft = "\(path).\(getpid()).\(UInt64.random(in: 0 ... .max))"
    let descriptor = unsafe open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw failure("create") }
    defer { close(descriptor) }
    let isWritten = unsafe content.withUnsafeBytes { bytes in
      var offset = 0
      while offset < bytes.count {
        let count = unsafe Self.writeSome(
          descriptor, UnsafeRawBufferPointer(rebasing: bytes[offset...]))
        guard count > 0 else { return false }
        offset += count
      }
      return fsync(descriptor) == 0
    }
    guard isWritten else {
      let cause = errno
      unsafe unlink(draft)
      errno = cause
      throw failure("write")
    }
    return draft
  }

  /// Makes what is missing of the directory, for its owner only (0700).
  private func makeDirectory() throws(BackendError) {
    var prefix = directory.hasPrefix("/") ? "" : "."
    for part in directory.split(separator: "/") {
      prefix += "/\(part)"
      guard unsafe mkdir(prefix, 0o700) != 0, errno != EEXIST else { continue }
      let cause = errno
      guard unsafe access(prefix, F_OK) != 0 else { continue }
      errno = cause
      throw failure("create the directory of")
    }
  }

  private func failure(_ action: String) -> BackendError {
    .file(path: path, detail: "cannot \(action) it: \(Self.reason(of: errno))")
  }

  /// Writes as far as it goes; nobody could be told of a failure.
  static func writeToStandardError(_ bytes: [UInt8]) {
    unsafe bytes.withUnsafeBytes { _ = unsafe writeSome(STDERR_FILENO, $0) }
  }

  /// The operating system's words for an error number.
  static func reason(of code: Int32) -> String {
    unsafe String(cString: strerror(code))
  }

  private static func writeSome(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
    while true {
      #if canImport(Glibc)
        let count = unsafe Glibc.write(descriptor, bytes.baseAddress, bytes.count)
      #else
        let count = unsafe Darwin.write(descriptor, bytes.baseAddress, bytes.count)
      #endif
      if count >= 0 || errno != EINTR { return count }
    }
  }
}
