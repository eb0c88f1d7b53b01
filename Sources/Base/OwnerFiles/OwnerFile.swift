#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#elseif canImport(Darwin)
  import Darwin
#endif

/// A small file that only its owner can access (0600). Readers always see its complete content.
///
/// The file may contain a secret. New content is written to a draft in the same directory, synced,
/// and moved into place in one step. The directory is then synced. A draft has a random name of 128
/// bits, so that no other process can predict the name or use the same one.
public struct OwnerFile: Sendable, Hashable {
  /// The path of the file.
  public let path: String
  /// The maximum size of the file in bytes.
  public let maxBytes: Int
  /// Whether the file is refused if users other than its owner can read or change it, because its
  /// content may then be known to others.
  public let isSecret: Bool
  /// Whether the file can be read before the first unlock of the device. Its content is then not
  /// protected, and must not be private.
  public let isReadableWhileLocked: Bool

  /// Creates a value for a path. The file does not have to exist.
  public init(
    _ path: String, maxBytes: Int, isSecret: Bool, isReadableWhileLocked: Bool = false
  ) {
    (self.path, self.maxBytes, self.isSecret) = (path, maxBytes, isSecret)
    self.isReadableWhileLocked = isReadableWhileLocked
  }

  /// Returns the content; `nil` if the file does not exist.
  public func read() throws(OwnerFileError) -> [UInt8]? {
    // Without O_NONBLOCK, a pipe at the file's path would block the caller.
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else {
      if errno == ENOENT { return nil }
      throw .refused("open")
    }
    defer { close(descriptor) }
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0 else { throw .refused("look at") }
    guard status.st_mode & S_IFMT == S_IFREG else { throw .noFile }
    guard !isSecret || status.st_mode & 0o077 == 0 else { throw .openToOthers }
    var content: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: min(maxBytes + 1, 65_536))
    while true {
      let count = unsafe SystemCall.read(descriptor, &chunk, chunk.count)
      guard count >= 0 else { throw .refused("read") }
      guard count > 0 else { return content }
      content += chunk[..<count]
      guard content.count <= maxBytes else { throw .tooLarge(limit: maxBytes) }
    }
  }

  /// Replaces the content. Creates the file and its directory (0700) if they do not exist.
  ///
  /// If everything but syncing the directory succeeds, the new content is in place but may not
  /// survive a power failure.
  public func replace(with content: [UInt8]) throws(OwnerFileError) {
    try replace(with: content, sync: fsync)
  }

  /// Replaces the content. Tests pass other functions than `fsync` and the system's.
  func replace(
    with content: [UInt8], sync: (Int32) -> Int32,
    unprotect: (String) -> Void = FileProtection.removeProtection
  ) throws(OwnerFileError) {
    let draft = try write(content, sync, unprotect)
    guard unsafe rename(draft, path) == 0 else { throw discard(draft, "replace") }
    try Self.syncDirectory(directory, sync)
  }

  /// Creates the file with `content` if it does not exist. Returns the content of the file.
  ///
  /// If several processes call this at the same time, one of them creates the file and all return
  /// its content.
  public func readOrCreate(_ content: [UInt8]) throws(OwnerFileError) -> [UInt8] {
    if let found = try read() { return found }
    let draft = try write(content, fsync, FileProtection.removeProtection)
    let cause = unsafe link(draft, path) == 0 ? 0 : errno
    unsafe unlink(draft)
    if cause == 0 {
      try Self.syncDirectory(directory)
      return content
    }
    guard cause == EEXIST, let found = try read() else {
      throw .refused(action: "create", code: cause)
    }
    return found
  }

  /// Removes the file if it exists.
  public func remove() throws(OwnerFileError) {
    guard unsafe unlink(path) == 0 else {
      if errno == ENOENT { return }
      throw .refused("remove")
    }
    try Self.syncDirectory(directory)
  }

  /// Creates all missing parts of a directory's path. Only the owner can access them (0700).
  ///
  /// On Apple's mobile systems, a directory that did not exist is excluded from backups, and its
  /// files can be used in the background after the first unlock of the device. The attributes of an
  /// existing directory, and of its parents, are not changed.
  public static func makeDirectory(_ directory: String) throws(OwnerFileError) {
    try makeDirectory(directory, prepare: FileProtection.prepare)
  }

  /// Creates a directory. Tests pass a function that observes which directory is prepared.
  static func makeDirectory(
    _ directory: String, prepare: (String) -> Void
  ) throws(OwnerFileError) {
    var prefix = directory.hasPrefix("/") ? "" : "."
    let parts = directory.split(separator: "/")
    for (index, part) in parts.enumerated() {
      prefix += "/\(part)"
      if unsafe mkdir(prefix, 0o700) == 0 {
        // A parent may be shared with others: the system's directory for the data of an app.
        if index == parts.count - 1 { prepare(prefix) }
        continue
      }
      guard errno != EEXIST else { continue }
      let cause = errno
      // A parent directory may exist although it does not permit writing. Only the result for the
      // last part is relevant.
      guard unsafe access(prefix, F_OK) != 0 else { continue }
      throw .noDirectory(prefix, code: cause)
    }
  }

  /// Syncs a directory, so that added and removed files stay so after a power failure.
  package static func syncDirectory(
    _ directory: String, _ sync: (Int32) -> Int32 = fsync
  ) throws(OwnerFileError) {
    let descriptor = unsafe open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw .refused("sync the directory of") }
    defer { close(descriptor) }
    // Some file systems cannot sync a directory. There is no alternative on them.
    guard sync(descriptor) == 0 || errno == EINVAL else { throw .refused("sync the directory of") }
  }

  /// Returns whether users other than the owner can add files to a directory.
  ///
  /// These users can create missing files. If the sticky bit is not set, they can also replace any
  /// file.
  public static func isOpenToOthers(_ directory: String) -> Bool {
    var found = stat()
    return unsafe stat(directory, &found) == 0 && found.st_mode & 0o022 != 0
  }

  private var directory: String { Self.directory(of: path) }

  /// Returns the path without its last part, or `.` if it is a name alone.
  package static func directory(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  /// Writes and syncs a draft. Returns the path of the draft.
  private func write(
    _ content: [UInt8], _ sync: (Int32) -> Int32, _ unprotect: (String) -> Void
  ) throws(OwnerFileError) -> String {
    try Self.makeDirectory(directory)
    let name = String(UInt128.random(in: 0 ... .max), radix: 36)
    let draft = "\(path).\(name)"
    let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
    let descriptor = unsafe open(draft, flags, 0o600)
    guard descriptor >= 0 else { throw .refused("create") }
    defer { close(descriptor) }
    if isReadableWhileLocked { unprotect(draft) }
    guard SystemCall.writeAll(content, to: descriptor), sync(descriptor) == 0 else {
      throw discard(draft, "write")
    }
    return draft
  }

  private func discard(_ draft: String, _ action: String) -> OwnerFileError {
    let error = OwnerFileError.refused(action)
    unsafe unlink(draft)
    return error
  }
}

/// The reason why a file cannot be used. It never contains the file's content.
public enum OwnerFileError: Error, Sendable, Hashable, CustomStringConvertible {
  /// Users other than the owner can read or change the file.
  case openToOthers
  /// The path refers to a directory, a pipe or a device.
  case noFile
  /// The file is larger than this number of bytes.
  case tooLarge(limit: Int)
  /// The directory at this path does not exist and cannot be created; the number is the `errno`.
  case noDirectory(String, code: Int32)
  /// The system refused an action on the file; the code is the `errno`.
  case refused(action: String, code: Int32)

  static func refused(_ action: String) -> Self { .refused(action: action, code: errno) }

  /// A human-readable description of the cause, which is appended to the path.
  public var description: String {
    switch self {
    case .openToOthers: "users other than its owner can read or change this secret"
    case .noFile: "is not a regular file"
    case .tooLarge(let limit): "larger than \(limit) bytes"
    case .noDirectory(let path, let code): "cannot create \(path): \(SystemCall.reason(of: code))"
    case .refused(let action, let code): "cannot \(action) it: \(SystemCall.reason(of: code))"
    }
  }
}
