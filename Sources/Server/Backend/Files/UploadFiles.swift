import Foundation
import Glibc
import HoldfastCore
import HoldfastOwnerFiles
import HoldfastServerParts

/// The files of incomplete uploads, in a directory that only its owner can read.
///
/// A file begins with the line of its record, and the bytes of the upload follow. A file only
/// grows, so it contains a prefix of the upload even after the process is killed or power fails.
/// Bytes are synced before they are reported.
struct UploadFiles: Sendable {
  /// The queue for all work that waits for the disk.
  let queue: FileQueue
  private let directory: String
  /// The maximum size of an upload, in bytes.
  private let maxBytes: Int
  /// The maximum size of the name of a user, in bytes.
  private let maxUserBytes: Int
  /// A function that makes the directory's entries durable.
  private let syncDirectory: @Sendable (Int32) -> Int32

  /// Creates a value for the files in a directory. Nothing is opened yet.
  init(
    at directory: String, maxBytes: Int, maxUserBytes: Int = 200,
    syncDirectory: @escaping @Sendable (Int32) -> Int32 = fsync
  ) {
    (self.directory, self.maxBytes, self.maxUserBytes) = (directory, maxBytes, maxUserBytes)
    self.syncDirectory = syncDirectory
    queue = FileQueue(label: "holdfast.uploads")
  }

  private func path(_ id: UUID128) -> String { "\(directory)/\(id)" }

  /// Returns the uploads of earlier processes, and removes files that are not valid uploads.
  func stored(at wall: Timestamp) -> [StoredUpload] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
    return names.sorted().compactMap { name in
      guard let id = UUID128(name), let stored = stored(id, at: wall) else {
        try? FileManager.default.removeItem(atPath: "\(directory)/\(name)")
        return nil
      }
      return stored
    }
  }

  private func stored(_ id: UUID128, at wall: Timestamp) -> StoredUpload? {
    guard let file = FileHandle(forReadingAtPath: path(id)) else { return nil }
    defer { try? file.close() }
    guard let head = try? file.read(upToCount: UploadRecord.mostBytes),
      let (record, line) = UploadRecord.read(
        Array(head), atMost: maxBytes, maxUserBytes: maxUserBytes)
    else { return nil }
    var status = stat()
    guard unsafe fstat(file.fileDescriptor, &status) == 0 else { return nil }
    let offset = Int(status.st_size) - line
    guard offset >= 0, offset <= record.length ?? maxBytes else {
      return nil
    }
    let age = Timestamp(status.st_mtim).duration(to: wall)
    return StoredUpload(id: id, record: record, offset: offset, age: max(.zero, age))
  }

  /// The space of the file system, or `nil` if it cannot be measured.
  var space: DiskSpace? {
    var disk = statvfs()
    guard unsafe statvfs(WriteProbe.place(of: directory), &disk) == 0 else { return nil }
    let unit = UInt128(disk.f_frsize)
    return DiskSpace(
      free: Int(clamping: unit * UInt128(disk.f_bavail)),
      total: Int(clamping: unit * UInt128(disk.f_blocks)))
  }

  /// Checks that uploads can be written.
  func check() throws(StoreFailure) { try WriteProbe.run(in: directory) }

  /// Writes bytes at an offset and syncs them. Returns the offset after the bytes.
  func write(
    _ bytes: [UInt8], to id: UUID128, _ record: UploadRecord, at offset: Int
  ) throws(StoreFailure) -> Int {
    let isNew = unsafe access(path(id), F_OK) != 0
    if isNew {
      do throws(OwnerFileError) {
        try OwnerFile.makeDirectory(directory)
      } catch {
        throw StoreFailure(error, at: directory)
      }
    }
    let flags = O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC
    let descriptor = unsafe open(path(id), flags, 0o600)
    guard descriptor >= 0 else { throw refused("open") }
    defer { close(descriptor) }
    let line = record.line
    let start = off_t(line.count + offset)
    // Bytes after the offset were left by a failed write and were never reported, so they are
    // removed.
    guard isNew || ftruncate(descriptor, start) == 0 else { throw refused("write") }
    let content = isNew ? line + bytes : bytes
    let position = isNew ? 0 : start
    guard lseek(descriptor, position, SEEK_SET) == position,
      SystemCall.writeAll(content, to: descriptor), fsync(descriptor) == 0
    else {
      let failure = refused("write")
      if isNew { remove(id) }
      throw failure
    }
    if isNew {
      do throws(OwnerFileError) {
        try OwnerFile.syncDirectory(directory, syncDirectory)
      } catch {
        remove(id)
        throw StoreFailure(error, at: directory)
      }
    }
    return offset + bytes.count
  }

  /// Returns the bytes of an upload up to an offset.
  func read(
    _ id: UUID128, _ record: UploadRecord, upTo end: Int
  ) throws(StoreFailure) -> [UInt8] {
    let line = record.line.count
    let file = OwnerFile(path(id), maxBytes: line + maxBytes, isSecret: false)
    do throws(OwnerFileError) {
      let content = try file.read() ?? []
      guard content.count >= line + end else {
        throw OwnerFileError.refused(action: "read", code: EIO)
      }
      return Array(content[line..<(line + end)])
    } catch {
      throw StoreFailure(error, at: file.path)
    }
  }

  func remove(_ id: UUID128) { _ = unsafe unlink(path(id)) }

  private func refused(_ action: String) -> StoreFailure {
    StoreFailure(OwnerFileError.refused(action: action, code: errno), at: directory)
  }
}

extension Timestamp {
  /// Creates the time of a file's attribute.
  init(_ time: timespec) {
    self.init(seconds: Int64(time.tv_sec), nanoseconds: Int64(time.tv_nsec))
  }
}
