import LinkWire

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Who else may use a store while it is open.
public enum StoreAccess: Sendable, Hashable {
  /// Alone: a second writer fails with `.locked`. Creates what is missing.
  case write
  /// Beside a writer; creates and changes nothing.
  case read
}

/// A database file in its directory, readable by its owner only.
struct StoreFile {
  let directory: String
  let name: String

  /// - Parameter directory: An empty one is the working directory.
  init(directory: String, name: String) {
    self.directory = directory.isEmpty ? "." : directory
    self.name = name
  }

  var path: String { "\(directory)/\(name).sqlite" }
  var lockPath: String { "\(directory)/\(name).lock" }

  /// Makes ready what `access` needs; a writer gets the lock that keeps other writers out.
  func claim(for access: StoreAccess) throws(StoreFailure) -> FileLock? {
    switch access {
    case .read:
      try expect()
      return nil
    case .write:
      try makeDirectories()
      let lock = try FileLock(path: lockPath)
      try makePrivate()
      return lock
    }
  }

  /// Makes an empty file (0600), or narrows a file that others can read.
  ///
  /// An existing file is never opened here: closing it would drop the POSIX locks that SQLite
  /// holds on it in this process. SQLite gives `-wal` and `-shm` the mode of the database.
  private func makePrivate() throws(StoreFailure) {
    let created = unsafe open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
    if created >= 0 {
      close(created)
      return
    }
    guard errno == EEXIST else { throw Self.failure(of: "create", path, code: errno) }
    try demandFile()
    for file in [path, path + "-wal", path + "-shm"] {
      guard unsafe chmod(file, 0o600) != 0, errno != ENOENT else { continue }
      throw Self.failure(of: "restrict", file, code: errno)
    }
  }

  /// Refuses where there is nothing to read.
  private func expect() throws(StoreFailure) {
    guard unsafe access(path, R_OK) != 0 else { return try demandFile() }
    if errno == ENOENT {
      throw .denied(detail: "There is no store at \(path); check the directory.")
    }
    throw Self.failure(of: "read", path, code: errno)
  }

  /// Refuses what is there and no file: to open a pipe could wait for ever.
  private func demandFile() throws(StoreFailure) {
    var found = stat()
    guard unsafe stat(path, &found) == 0 else {
      throw Self.failure(of: "read", path, code: errno)
    }
    guard found.st_mode & S_IFMT != S_IFREG else { return }
    throw .denied(detail: "\(path) is no regular file; choose another directory.")
  }

  /// Makes what is missing of the directory, for its owner only (0700).
  private func makeDirectories() throws(StoreFailure) {
    var prefix = directory.hasPrefix("/") ? "" : "."
    for part in directory.split(separator: "/") {
      prefix += "/\(part)"
      guard unsafe mkdir(prefix, 0o700) != 0, errno != EEXIST else { continue }
      let cause = errno
      // A directory on the way may forbid writing yet exist; only the last answer counts.
      guard unsafe access(prefix, F_OK) != 0 else { continue }
      throw Self.failure(of: "create", prefix, code: cause)
    }
  }

  /// Says what the operating system refused, and what a person can do about it.
  static func failure(of action: String, _ path: String, code: Int32) -> StoreFailure {
    let reason = unsafe String(cString: strerror(code))
    let detail = "Cannot \(action) \(path): \(reason)."
    return switch code {
    case ENOSPC, EDQUOT, EFBIG: .full(detail: "\(detail) Free some space and try again.")
    case EACCES, EPERM, EROFS, ENOTDIR, EISDIR:
      .denied(detail: "\(detail) Check the owner and the permissions, or choose another directory.")
    case _: .other(detail: detail)
    }
  }
}

/// An advisory lock on a file beside the database; given back when dropped or when the process
/// dies.
final class FileLock {
  private let descriptor: Int32

  init(path: String) throws(StoreFailure) {
    descriptor = unsafe open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw StoreFile.failure(of: "open", path, code: errno) }
    guard flock(descriptor, LOCK_EX | LOCK_NB) != 0 else { return }
    let code = errno
    guard code == EWOULDBLOCK else { throw StoreFile.failure(of: "lock", path, code: code) }
    throw .locked(
      detail: "Another process holds \(path). End it, or use another data directory.")
  }

  deinit {
    guard descriptor >= 0 else { return }
    // Closing alone would leave the lock with a child that was forked and has not yet run `exec`.
    flock(descriptor, LOCK_UN)
    close(descriptor)
  }
}
