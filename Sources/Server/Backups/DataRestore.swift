import Glibc
import HoldfastCore
public import HoldfastOperators
import HoldfastOwnerFiles
import HoldfastSQLiteStores
import HoldfastServerData

/// The restoration of a backup to an empty data directory, after which its stores are in a new epoch.
///
/// Until everything is there and checked, a note in the directory keeps backends from using it.
public struct DataRestore: Sendable {
  /// The contents of a backup.
  public struct Report: Sendable, Hashable {
    /// The header of the backup.
    public var head: BackupHead
    /// The number of files of the data directory in it, with the stores.
    public var files: Int
    /// The number of their bytes.
    public var bytes: Int
    /// The number of images that a store knows and that have no file; 0 if the backup was only read.
    public var missingImages = 0
  }

  private let path: String
  private let report: @Sendable (BackupStep) -> Void

  /// Reads a backup and compares its content with its checksums. Nothing is written.
  ///
  /// - Returns: What it contains; `nil` if the task was cancelled.
  public static func check(
    _ path: String, report: @escaping @Sendable (BackupStep) -> Void = { _ in }
  ) async throws(BackupError) -> Report? {
    try await BackupError.onQueue { () throws(BackupError) -> Report? in
      let reader = try BackupReader(path, report: report)
      guard let head = try reader.unpack(to: nil) else { return nil }
      return Report(head: head, files: reader.sums.count - 1, bytes: reader.bytes)
    }
  }

  /// Restores a backup to a directory, which must be empty or missing.
  ///
  /// - Parameter report: Receives the progress.
  /// - Returns: What was restored; `nil` if the task was cancelled.
  /// - Throws: The error, after which the directory is as it was before.
  public static func run(
    _ path: String, to directory: String,
    report: @escaping @Sendable (BackupStep) -> Void = { _ in }
  ) async throws(BackupError) -> Report? {
    let restore = DataRestore(path: path, report: report)
    return try await BackupError.onQueue { () async throws(BackupError) -> Report? in
      try await restore.run(to: directory)
    }
  }

  private func run(to directory: String) async throws(BackupError) -> Report? {
    // A file that is no backup changes nothing.
    let reader = try BackupReader(path, report: report)
    let place = try ClaimedDirectory(directory, for: "another restore to")
    do throws(BackupError) { try prepare(place) } catch {
      if place.isNew { unsafe rmdir(place.path) }
      throw error
    }
    do throws(BackupError) {
      if let made = try await fill(place, from: reader) { return made }
    } catch {
      undo(place)
      throw error
    }
    undo(place)
    return nil
  }

  /// Removes what was restored.
  private func undo(_ place: ClaimedDirectory) {
    place.clear(last: BackupNames.note)
    if place.isNew { unsafe rmdir(place.path) }
  }

  /// Makes the directory ready, and marks it as incomplete.
  private func prepare(_ place: ClaimedDirectory) throws(BackupError) {
    // An earlier process may have been killed. No backend has used what it left.
    if case .restoring? = try? SQLiteStores.note(in: place.path) {
      place.clear(last: BackupNames.note)
    }
    let names = try place.names.filter { $0 != ClaimedDirectory.foundByCheck }
    guard names.isEmpty else {
      throw .place(
        cause: "\(place.path) is not empty",
        remedy: "move its content away, or name another directory with --data")
    }
    try BackupError.catching { () throws(StoreFailure) in
      try SQLiteStores.setNote(.restoring(from: path), in: place.path)
    }
  }

  private func fill(
    _ place: ClaimedDirectory, from reader: BackupReader
  ) async throws(BackupError) -> Report? {
    guard let head = try reader.unpack(to: place.path) else { return nil }
    let missing = try check(head, in: place.path)
    do throws(StoreFailure) {
      try await SQLiteStores.beginEpochs(in: place.path)
    } catch {
      throw .store(error)
    }
    guard !Task.isCancelled else { return nil }
    try place.giveToOwner()
    try place.sync()
    let note = MoveNote(reader.note ?? [])
    try BackupError.catching { () throws(StoreFailure) in
      // From here on, a backend can use the directory.
      try SQLiteStores.setNote(note, in: place.path)
    }
    if note != nil { try place.giveToOwner() }
    return Report(
      head: head, files: reader.sums.count - 1, bytes: reader.bytes, missingImages: missing)
  }

  /// Checks the stores. Returns the number of images without a file.
  private func check(
    _ head: BackupHead, in directory: String
  ) throws(BackupError) -> Int {
    var missing = 0
    for store in head.stores {
      report(.check(file: store.file))
      let images = try BackupError.catching { () throws(StoreFailure) -> [UUID128] in
        try StoreSnapshots.check(store.file, in: directory)
        return try StoreSnapshots.images(of: store.file, in: directory)
      }
      missing += images.count(where: {
        ClaimedDirectory.kind(of: "\(directory)/\(BackupNames.images)/\($0)") == nil
      })
    }
    return missing
  }
}

extension MoveNote {
  /// Reads the content of the file with the note; `nil` if there is none.
  fileprivate init?(_ content: [UInt8]) {
    self.init(String(decoding: content.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self))
  }
}
