import LinkCore
import OwnerFiles

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#elseif canImport(Darwin)
  import Darwin
#endif

/// The kind of access to a store, which decides whether others may use it at the same time.
public enum StoreAccess: Sendable, Hashable {
  /// Exclusive writing: a second writer fails with `.locked`. Missing files are created.
  case write
  /// Reading together with a writer; creates and changes nothing.
  case read
}

/// A database file in its directory, readable by its owner only.
struct StoreFile {
  let directory: String
  let name: String

  /// Creates a value without opening the file.
  ///
  /// - Parameter directory: An empty text is the working directory.
  init(directory: String, name: String) {
    self.directory = directory.isEmpty ? "." : directory
    self.name = name
  }

  var path: String { "\(directory)/\(name).sqlite" }
  var lockPath: String { "\(directory)/\(name).lock" }

  /// Prepares the file for `access`; a writer gets the lock that excludes other writers.
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

  /// Creates an empty file (0600), or restricts one that others can read; returns whether it
  /// created one.
  ///
  /// An existing file is never opened here, since closing it would drop the POSIX locks that SQLite
  /// holds on it in this process. SQLite gives `-wal` and `-shm` the mode of the database.
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

  /// Throws for an empty file that was not empty before.
  ///
  /// It was not empty if the lock file records created tables, or if a write-ahead log has content.
  /// SQLite would start with an empty database and delete the log.
  private func demandContent() throws(StoreFailure) {
    func size(_ path: String) -> Int {
      var found = stat()
      return unsafe stat(path, &found) == 0 ? Int(found.st_size) : 0
    }
    // SQLite treats a file of one byte like an empty one.
    guard size(path) <= 1, size(lockPath) > 0 || size(path + "-wal") > 0 else { return }
    throw .corrupt(
      detail: "\(path) is damaged: it is empty, although data were stored in it. It was left as it "
        + "is. Restore it from a backup, or move it and \(path)-wal away to begin anew.")
  }

  /// Throws if there is nothing to read.
  private func expect() throws(StoreFailure) {
    guard unsafe access(path, R_OK) != 0 else { return try demandFile() }
    if errno == ENOENT {
      throw .denied(detail: "There is no store at \(path); check the directory.")
    }
    throw StoreFailure("read", path, code: errno)
  }

  /// Throws if the path names anything but a file, since opening a pipe could wait forever.
  private func demandFile() throws(StoreFailure) {
    var found = stat()
    guard unsafe stat(path, &found) == 0 else {
      throw StoreFailure("read", path, code: errno)
    }
    guard found.st_mode & S_IFMT != S_IFREG else { return }
    throw .denied(detail: "\(path) is not a regular file; choose another directory.")
  }
}

/// An advisory lock on a file in the same directory as the database. It is released with this
/// object, and when the process ends.
final class FileLock {
  private let descriptor: Int32

  init(path: String) throws(StoreFailure) {
    descriptor = unsafe open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw StoreFailure("open", path, code: errno) }
    guard flock(descriptor, LOCK_EX | LOCK_NB) != 0 else { return }
    let code = errno
    guard code == EWOULDBLOCK else { throw StoreFailure("lock", path, code: code) }
    throw .locked(
      detail: "Another process holds \(path). End it, or use another data directory.")
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
    // A close alone would leave the lock with a forked child that has not called `exec` yet.
    flock(descriptor, LOCK_UN)
    close(descriptor)
  }
}
