import Glibc
import HoldfastCore
import HoldfastExportFiles
import HoldfastKeyedHashing
import HoldfastOperators
import HoldfastOwnerFiles
import HoldfastSQLiteStores

/// A backup that is read from its beginning to its end. Only one thread at a time may use it.
final class BackupReader {
  private static let piece = 1 << 20
  /// The maximum size of the file that says where the stores were moved.
  private static let maxNoteBytes = 16_384

  let path: String
  private let descriptor: Int32
  private let tar: TarReader
  private let report: (BackupStep) -> Void
  private let versions = StoreSnapshots.supported
  private(set) var sums = BackupSums()
  /// The number of bytes of all members.
  private(set) var bytes = 0
  /// The content of the file that says where the stores were moved; `nil` if they were not.
  private(set) var note: [UInt8]?

  /// Opens the file at a path.
  init(_ path: String, report: @escaping (BackupStep) -> Void) throws(BackupError) {
    (self.path, self.report) = (path, report)
    descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw .refused("read", path, code: errno) }
    do throws(TarFailure) {
      tar = try TarReader(from: descriptor)
    } catch {
      close(descriptor)
      throw Self.foreign(error, path)
    }
  }

  deinit { close(descriptor) }

  /// Reads all members and compares them with their checksums.
  ///
  /// - Parameter directory: The directory to which they are written, except for the note; `nil` if
  ///   they are only compared.
  /// - Returns: The header of the backup; `nil` if the task was cancelled.
  func unpack(to directory: String?) throws(BackupError) -> BackupHead? {
    let head = try readHead()
    let stores = Set(head.stores.map(\.file))
    while let member = try next() {
      if member.path == BackupNames.sums {
        try end(member)
        for store in stores.sorted() where !sums.contains(store) {
          throw fault(.missing(member: store))
        }
        return head
      }
      try demand(member, among: stores)
      guard try read(member, to: directory) else { return nil }
      if sums.count.isMultiple(of: 100) { report(.files(sums.count)) }
    }
    throw fault(.cut(reason: "its end is missing"))
  }

  // MARK: - Parts

  /// Reads the first member. A program that cannot read the others reads no more than that.
  private func readHead() throws(BackupError) -> BackupHead {
    let first: TarReader.Member?
    do throws(TarFailure) { first = try tar.next() } catch { throw Self.foreign(error, path) }
    guard let first, first.path == BackupNames.head, first.isFile else {
      throw fault(.foreign(reason: "its first member is not \(BackupNames.head)"))
    }
    let content = try content(of: first, atMost: BackupHead.maxBytes)
    sums.add(ContentHash.of(content), of: first.path)
    do throws(BackupFault) {
      return try BackupHead.decode(content, supporting: versions)
    } catch {
      throw fault(error)
    }
  }

  /// Compares the checksums, after which nothing may follow.
  private func end(_ member: TarReader.Member) throws(BackupError) {
    // A list that is twice as long is another one.
    let list = try content(of: member, atMost: 2 * sums.content.count + BackupHead.maxBytes)
    if let extra = try next() { throw fault(.extra(member: extra.path)) }
    do throws(BackupFault) { try sums.compare(with: list) } catch { throw fault(error) }
  }

  /// Throws an error if a member is none of a backup with these stores.
  private func demand(
    _ member: TarReader.Member, among stores: Set<String>
  ) throws(BackupError) {
    guard member.isFile else { throw fault(.unsafe(member: member.path)) }
    do throws(BackupFault) { try sums.check(member.path) } catch { throw fault(error) }
    if member.path == BackupNames.note { return }
    let isInDirectory = member.path.contains("/")
    let role = BackupNames.role(of: member.path, stores: stores)
    let isUsable =
      isInDirectory
      ? !BackupNames.isTransient(member.path) : role == .copied || role == .store
    guard isUsable else { throw fault(.unsafe(member: member.path)) }
  }

  /// Reads a member, and writes it to its place. Returns false if the task was cancelled.
  private func read(
    _ member: TarReader.Member, to directory: String?
  ) throws(BackupError) -> Bool {
    if member.path == BackupNames.note {
      let content = try content(of: member, atMost: Self.maxNoteBytes)
      note = content
      sums.add(ContentHash.of(content), of: member.path)
      return true
    }
    guard let directory else { return try copy(member, to: nil, "") }
    if let slash = member.path.firstIndex(of: "/") {
      let folder = "\(directory)/\(member.path[..<slash])"
      guard unsafe mkdir(folder, 0o700) == 0 || errno == EEXIST else {
        throw .refused("create", folder, code: errno)
      }
    }
    let place = "\(directory)/\(member.path)"
    let file = unsafe open(place, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard file >= 0 else { throw .refused("create", place, code: errno) }
    defer { close(file) }
    return try copy(member, to: file, place)
  }

  private func copy(
    _ member: TarReader.Member, to file: Int32?, _ place: String
  ) throws(BackupError) -> Bool {
    var hash = ContentHash()
    var buffer = [UInt8](repeating: 0, count: Self.piece)
    var size = 0
    while !Task.isCancelled {
      let count: Int
      do throws(TarFailure) { count = try tar.read(into: &buffer) } catch {
        throw .unread(error, path)
      }
      guard count > 0 else {
        guard size == member.size else { throw .unread(.size, path) }
        sums.add(hash.finish(), of: member.path)
        bytes += size
        return true
      }
      size += count
      hash.add(buffer[..<count])
      guard let file else { continue }
      guard SystemCall.writeAll(Array(buffer[..<count]), to: file) else {
        throw .refused("write", place, code: errno)
      }
    }
    return false
  }

  private func next() throws(BackupError) -> TarReader.Member? {
    do throws(TarFailure) { return try tar.next() } catch { throw .unread(error, path) }
  }

  /// Reads a small member.
  private func content(
    of member: TarReader.Member, atMost most: Int
  ) throws(BackupError) -> [UInt8] {
    guard member.isFile, member.size <= most else { throw fault(.unsafe(member: member.path)) }
    var content: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: min(Self.piece, most + 1))
    while true {
      let count: Int
      do throws(TarFailure) { count = try tar.read(into: &buffer) } catch {
        throw .unread(error, path)
      }
      guard count > 0 else { break }
      content += buffer[..<count]
      guard content.count <= most else { throw fault(.unsafe(member: member.path)) }
    }
    guard content.count == member.size else { throw .unread(.size, path) }
    return content
  }

  private func fault(_ fault: BackupFault) -> BackupError { .archive(path: path, fault) }

  private static func foreign(_ failure: TarFailure, _ path: String) -> BackupError {
    guard case .damaged(let reason) = failure else { return .unread(failure, path) }
    return .archive(path: path, .foreign(reason: reason))
  }
}
