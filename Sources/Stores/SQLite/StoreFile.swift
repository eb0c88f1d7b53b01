import HoldfastCore
import HoldfastOwnerFiles

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#elseif canImport(Darwin)
  import Darwin
#endif

/// The kind of access to a store. It determines who else may use the store at the same time.
public enum StoreAccess: Sendable, Hashable {
  /// Write access. A second writer fails with `.locked`. Missing files are created.
  case write
  /// Read access, also while another process writes. It creates and changes nothing.
  case read
}

/// A database file in its directory. Only its owner can read it.
struct StoreFile {
  let directory: String
  let name: String

  /// Creates a value without opening the file.
  ///
  /// - Parameter directory: The path of the directory. An empty string means the working directory.
  init(directory: String, name: String) {
    self.directory = directory.isEmpty ? "." : directory
    self.name = name
  }

  var path: String { "\(directory)/\(name).sqlite" }
  var lockPath: String { "\(directory)/\(name).lock" }

  /// Prepares the file for access. Returns the lock that excludes other writers; `nil` for a
  /// reader.
  func claim(for access: StoreAccess) throws(StoreFailure) -> FileLock? {
    switch access {
    case .read:
      try expect()
      try demandContent()
      return nil
    case .write:
      do throws(OwnerFileError) {
        try OwnerFile.makeDirectory(directory)
      } catch {
        throw StoreFailure(error, at: path)
      }
      let lock = try FileLock(path: lockPath)
      if try makePrivate() { lock.noteMade(false) } else { try demandContent() }
      return lock
    }
  }

  /// Creates an empty file (0600), or restricts the access to an existing file. Returns whether it
  /// created the file.
  ///
  /// An existing file is never opened here, because closing it would release the POSIX locks that
  /// SQLite holds on it in this process. SQLite gives `-wal` and `-shm` the mode of the database.
  private func makePrivate() throws(StoreFailure) -> Bool {
    let created = unsafe open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
    if created >= 0 {
      close(created)
      return true
    }
    guard errno == EEXIST else { throw StoreFailure("create", path, code: errno) }
    try demandFile()
    for file in [path, path + "-wal", path + "-shm"] {
      guard unsafe chmod(file, 0o600) != 0, errno != ENOENT else { continue }
      throw StoreFailure("restrict", file, code: errno)
    }
    return false
  }

  /// Throws an error if the file is empty although it was not empty before.
  ///
  /// The file was not empty if the lock file records that tables were created, or if a write-ahead
  /// log has content. SQLite would start with an empty database and delete the log.
  private func demandContent() throws(StoreFailure) {
    func size(_ path: String) -> Int {
      var found = stat()
      return unsafe stat(path, &found) == 0 ? Int(found.st_size) : 0
    }
    // SQLite treats a file of one byte as an empty file.
    guard size(path) <= 1, size(lockPath) > 0 || size(path + "-wal") > 0 else { return }
    throw .corrupt(
      detail: "\(path) is damaged: it is empty, although data were stored in it. It was left as it "
        + "is. Restore it from a backup, or move it and \(path)-wal away to begin anew.")
  }

  /// Throws an error if there is no file to read.
  private func expect() throws(StoreFailure) {
    guard unsafe access(path, R_OK) != 0 else { return try demandFile() }
    if errno == ENOENT {
      throw .denied(detail: "There is no store at \(path); check the directory.")
    }
    throw StoreFailure("read", path, code: errno)
  }

  /// Throws an error if the path refers to anything but a regular file. Opening a pipe could wait
  /// forever.
  private func demandFile() throws(StoreFailure) {
    var found = stat()
    guard unsafe stat(path, &found) == 0 else {
      throw StoreFailure("read", path, code: errno)
    }
    guard found.st_mode & S_IFMT != S_IFREG else { return }
    throw .denied(detail: "\(path) is not a regular file; choose another directory.")
  }
}

/// An advisory lock on a file in the directory of the database.
///
/// The lock is released when the last reference to this object is released, and when the process
/// ends.
final class FileLock {
  private let descriptor: Int32

  init(path: String) throws(StoreFailure) {
    descriptor = unsafe open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw StoreFailure("open", path, code: errno) }
    // `isHeld` takes the lock for an instant.
    for _ in 0..<5 {
      guard flock(descriptor, LOCK_EX | LOCK_NB) != 0 else { return }
      guard errno == EWOULDBLOCK else { break }
      _ = poll(nil, 0, 1)
    }
    let code = errno
    guard code == EWOULDBLOCK else { throw StoreFailure("lock", path, code: code) }
    throw .locked(
      detail: "Another process, or this one, has opened \(path). Close it there, or use another "
        + "data directory.")
  }

  /// Returns whether a process holds the lock on a file.
  static func isHeld(_ path: String) -> Bool {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    guard flock(descriptor, LOCK_SH | LOCK_NB) != 0 else {
      flock(descriptor, LOCK_UN)
      return false
    }
    return errno == EWOULDBLOCK
  }

  /// Records for later runs whether the database has tables.
  func noteMade(_ isMade: Bool) {
    var found = stat()
    guard unsafe fstat(descriptor, &found) == 0, (found.st_size > 0) != isMade else { return }
    if isMade {
      // If the disk is full, a later run writes the record.
      _ = SystemCall.writeAll(Array("made\n".utf8), to: descriptor)
    } else {
      _ = ftruncate(descriptor, 0)
    }
  }

  deinit {
    guard descriptor >= 0 else { return }
    // Closing the descriptor alone would leave the lock with a forked child that has not called
    // `exec` yet.
    flock(descriptor, LOCK_UN)
    close(descriptor)
  }
}
