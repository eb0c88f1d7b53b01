import Glibc
import HoldfastCore
import HoldfastExportFiles
import HoldfastKeyedHashing
import HoldfastOperators
import HoldfastOwnerFiles

/// An archive that is being written, with a checksum of each member. Only one thread at a time may
/// use it.
final class BackupArchive {
  private static let piece = 1 << 20

  private let path: String
  private let tar: TarWriter
  private let descriptor: Int32
  private(set) var sums = BackupSums()

  /// Creates a new file (0600) for an archive.
  init(at path: String) throws(BackupError) {
    self.path = path
    descriptor = unsafe open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw .refused("create", path, code: errno) }
    do throws(TarFailure) {
      tar = try TarWriter(to: descriptor)
    } catch {
      close(descriptor)
      throw .unwritten(error, path)
    }
  }

  deinit { close(descriptor) }

  /// Adds a member with a content.
  func add(_ content: [UInt8], as member: String, at time: Timestamp) throws(BackupError) {
    do throws(TarFailure) {
      try tar.begin(member, size: content.count, changedAt: Int(time.nanoseconds / 1_000_000_000))
      try tar.add(content[...])
      try tar.end()
    } catch {
      throw .unwritten(error, path)
    }
    if member != BackupNames.sums { sums.add(ContentHash.of(content), of: member) }
  }

  /// Adds a member with the content that a file has now. Returns false if there is no such file, or
  /// if the task was cancelled.
  func add(file: String, as member: String) throws(BackupError) -> Bool {
    let source = unsafe open(file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard source >= 0 else {
      guard errno != ENOENT else { return false }
      throw .refused("read", file, code: errno)
    }
    defer { close(source) }
    var status = stat()
    guard unsafe fstat(source, &status) == 0 else { throw .refused("read", file, code: errno) }
    guard status.st_mode & S_IFMT == S_IFREG else { return false }
    do throws(BackupFault) { try sums.check(member) } catch {
      throw .archive(path: path, error)
    }
    let size = Int(status.st_size)
    do throws(TarFailure) {
      try tar.begin(member, size: size, changedAt: Int(status.st_mtim.tv_sec))
    } catch {
      throw .unwritten(error, path)
    }
    return try copy(source, size, file, as: member)
  }

  /// Copies a file as large as it was when it was opened. It may have grown since.
  private func copy(
    _ source: Int32, _ size: Int, _ file: String, as member: String
  ) throws(BackupError) -> Bool {
    var hash = ContentHash()
    var buffer = [UInt8](repeating: 0, count: min(Self.piece, max(size, 1)))
    var left = size
    while left > 0 {
      guard !Task.isCancelled else { return false }
      let count = unsafe SystemCall.read(source, &buffer, min(buffer.count, left))
      guard count >= 0 else { throw .refused("read", file, code: errno) }
      guard count > 0 else { throw .unwritten(.size, file) }
      hash.add(buffer[..<count])
      do throws(TarFailure) { try tar.add(buffer[..<count]) } catch {
        throw .unwritten(error, path)
      }
      left -= count
    }
    do throws(TarFailure) { try tar.end() } catch { throw .unwritten(error, path) }
    sums.add(hash.finish(), of: member)
    return true
  }

  /// Adds the checksums, ends the archive, and writes it to the disk.
  ///
  /// - Returns: The size of the file and its checksum; `nil` if the task was cancelled.
  func finish(at time: Timestamp) throws(BackupError) -> (bytes: Int, sum: [UInt8])? {
    try add(sums.content, as: BackupNames.sums, at: time)
    do throws(TarFailure) { try tar.finish() } catch { throw .unwritten(error, path) }
    guard fsync(descriptor) == 0 else { throw .refused("sync", path, code: errno) }
    guard lseek(descriptor, 0, SEEK_SET) == 0 else { throw .refused("read", path, code: errno) }
    var hash = ContentHash()
    var buffer = [UInt8](repeating: 0, count: Self.piece)
    var bytes = 0
    while !Task.isCancelled {
      let count = unsafe SystemCall.read(descriptor, &buffer, buffer.count)
      guard count >= 0 else { throw .refused("read", path, code: errno) }
      guard count > 0 else { return (bytes, hash.finish()) }
      hash.add(buffer[..<count])
      bytes += count
    }
    return nil
  }
}
