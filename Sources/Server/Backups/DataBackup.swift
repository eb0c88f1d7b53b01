import Glibc
import HoldfastCore
import HoldfastOperators
import HoldfastOwnerFiles
import HoldfastPorts
import HoldfastSQLiteStores
import HoldfastServerData

/// The backup of a data directory in one file, also while a backend uses the directory.
///
/// All stores are copied as of one moment. The other files are copied so that each image that a store
/// knows is there: images before and after that moment, unfinished uploads and secrets after it.
public struct DataBackup: Sendable {
  /// The result of a backup.
  public struct Report: Sendable, Hashable {
    /// The size of the file in bytes.
    public var bytes: Int
    /// The number of files of the data directory in it, with the stores.
    public var files: Int
    /// The SHA-256 of the file, in hexadecimal.
    public var sum: String
    /// The stores in it.
    public var stores: [String]
    /// The time for which writers of the stores may have waited; `nil` without stores.
    public var wait: Duration?
    /// The number of images that a store knows and that have no file.
    public var missingImages: Int
    /// The entries of the data directory that are no part of a backup.
    public var leftOut: [String]
  }

  private let directory: String
  private let target: String
  private let replaces: Bool
  private let program: String
  private let report: @Sendable (BackupStep) -> Void

  /// Makes a backup.
  ///
  /// - Parameters:
  ///   - directory: The data directory.
  ///   - target: The path of the file to write.
  ///   - replaces: Whether an existing file is replaced.
  ///   - program: The version of this program.
  ///   - report: Receives the progress.
  /// - Returns: What was written; `nil` if the task was cancelled.
  /// - Throws: The error, after which there is no file.
  public static func run(
    of directory: String, to target: String, replaces: Bool = false, program: String,
    report: @escaping @Sendable (BackupStep) -> Void = { _ in }
  ) async throws(BackupError) -> Report? {
    let backup = DataBackup(
      directory: directory, target: target, replaces: replaces, program: program, report: report)
    return try await BackupError.onQueue { () throws(BackupError) -> Report? in
      try backup.run()
    }
  }

  private func run() throws(BackupError) -> Report? {
    try demandDirectory()
    try demandTarget()
    let draft = try ClaimedDirectory(
      "\(target).draft", for: "another backup with the draft", isDraft: true)
    defer {
      clear(draft.path)
      unsafe rmdir(draft.path)
    }
    // An earlier process may have been killed.
    clear(draft.path)
    guard let made = try write(in: draft.path), !Task.isCancelled else { return nil }
    try publish("\(draft.path)/\(Self.archive)")
    return made
  }

  private static let archive = "archive"

  /// Removes the files of a backup that is not complete.
  private func clear(_ draft: String) {
    unsafe unlink("\(draft)/\(Self.archive)")
    for file in StoreSnapshots.supported.keys {
      for ending in ["", "-wal", "-shm", "-journal"] { unsafe unlink("\(draft)/\(file)\(ending)") }
    }
  }

  // MARK: - Paths

  /// Throws an error if the directory is not that of a backend that can be backed up.
  private func demandDirectory() throws(BackupError) {
    let known = ["secret", "node"] + StoreSnapshots.supported.keys
    guard known.contains(where: { ClaimedDirectory.kind(of: "\(directory)/\($0)") != nil }) else {
      throw .place(
        cause: "\(directory) is no data directory of a backend",
        remedy: "name the directory of `serve` with --data")
    }
    switch try note() {
    case nil, .moved?: return
    case let note?: throw .store(.denied(detail: note.refusal(of: directory)))
    }
  }

  private func note() throws(BackupError) -> MoveNote? {
    try BackupError.catching { () throws(StoreFailure) in try SQLiteStores.note(in: directory) }
  }

  private func demandTarget() throws(BackupError) {
    guard let place = Self.real(OwnerFile.directory(of: target)) else {
      throw .refused("open the directory of", target, code: errno)
    }
    guard let data = Self.real(directory) else { throw .refused("open", directory, code: errno) }
    guard place != data, !place.hasPrefix(data == "/" ? data : "\(data)/") else {
      throw .place(
        cause: "\(target) is in the data directory, with which it would be lost",
        remedy: "write it to another directory, or better to another disk")
    }
    guard let kind = ClaimedDirectory.kind(of: target) else { return }
    guard kind == S_IFREG else {
      throw .place(cause: "\(target) is not a regular file", remedy: "name another file with --to")
    }
    guard replaces else { throw exists }
  }

  private var exists: BackupError {
    .place(cause: "\(target) exists", remedy: "name another file, or add --replace")
  }

  private static func real(_ path: String) -> String? {
    guard let found = unsafe realpath(path, nil) else { return nil }
    defer { unsafe free(found) }
    return unsafe String(cString: found)
  }

  /// Gives the archive its name, durably.
  private func publish(_ draft: String) throws(BackupError) {
    if replaces {
      guard unsafe rename(draft, target) == 0 else {
        throw .refused("replace", target, code: errno)
      }
    } else if unsafe link(draft, target) != 0 {
      guard errno != EEXIST else { throw exists }
      // Some file systems have no links.
      guard ClaimedDirectory.kind(of: target) == nil else { throw exists }
      guard unsafe rename(draft, target) == 0 else { throw .refused("create", target, code: errno) }
    }
    do throws(OwnerFileError) {
      try OwnerFile.syncDirectory(OwnerFile.directory(of: target))
    } catch {
      throw .store(StoreFailure(error, at: target))
    }
  }

  // MARK: - Content

  private func write(in draft: String) throws(BackupError) -> Report? {
    let now = BootClock().wall
    let isMoved = try note() != nil
    let snapshots = try BackupError.catching { () throws(StoreFailure) -> StoreSnapshots? in
      isMoved ? nil : try StoreSnapshots(in: directory)
    }
    let versions = try BackupError.catching {
      () throws(StoreFailure) -> [(file: String, version: Int)] in
      try snapshots?.versions ?? []
    }
    let archive = try BackupArchive(at: "\(draft)/\(Self.archive)")
    let head = BackupHead(
      program: program, madeAt: now,
      stores: versions.map { BackupHead.Store(file: $0.file, version: $0.version) })
    try archive.add(head.encode(), as: BackupNames.head, at: now)
    // An image of the moment that was deleted before it could be copied would be missing.
    guard try copyFiles(of: BackupNames.images, to: archive) else { return nil }
    var wait: Duration?
    if let snapshots, !head.stores.isEmpty {
      wait = try BackupError.catching { () throws(StoreFailure) in try snapshots.take() }
      guard try copy(head.stores, of: snapshots, to: draft) else { return nil }
    }
    for directory in BackupNames.directories {
      guard try copyFiles(of: directory, to: archive) else { return nil }
    }
    let leftOut = try copyOthers(to: archive, isMoved: isMoved)
    guard let missing = try add(head.stores, from: draft, to: archive) else { return nil }
    let files = archive.sums.count - 1
    guard let made = try archive.finish(at: now) else { return nil }
    return Report(
      bytes: made.bytes, files: files, sum: Hex.text(of: made.sum),
      stores: head.stores.map(\.file), wait: wait, missingImages: missing, leftOut: leftOut)
  }

  /// Copies those files of a directory that are not in the archive. Returns false if the task was
  /// cancelled.
  private func copyFiles(
    of folder: String, to archive: BackupArchive
  ) throws(BackupError) -> Bool {
    let path = "\(directory)/\(folder)"
    guard ClaimedDirectory.kind(of: path) == S_IFDIR else { return true }
    for name in try ClaimedDirectory.names(in: path) {
      let member = "\(folder)/\(name)"
      guard BackupNames.isMember(member), !BackupNames.isTransient(name),
        !archive.sums.contains(member)
      else { continue }
      _ = try archive.add(file: "\(path)/\(name)", as: member)
      guard !Task.isCancelled else { return false }
      if archive.sums.count.isMultiple(of: 100) { report(.files(archive.sums.count)) }
    }
    return true
  }

  /// Copies the files that are in none of the directories. Returns the names of what is left out.
  private func copyOthers(
    to archive: BackupArchive, isMoved: Bool
  ) throws(BackupError) -> [String] {
    let stores = Set(StoreSnapshots.supported.keys)
    var leftOut: [String] = []
    for name in try ClaimedDirectory.names(in: directory) {
      guard !Task.isCancelled else { break }
      let path = "\(directory)/\(name)"
      let kind = ClaimedDirectory.kind(of: path)
      guard !BackupNames.directories.contains(name), name != ClaimedDirectory.foundByCheck else {
        continue
      }
      switch (kind, BackupNames.role(of: name, stores: stores)) {
      case (nil, _), (S_IFSOCK?, _): continue
      case (S_IFREG?, .copied): _ = try archive.add(file: path, as: name)
      case (S_IFREG?, .ignored):
        if isMoved, name == BackupNames.note { _ = try archive.add(file: path, as: name) }
      case (S_IFREG?, .store):
        if isMoved { leftOut.append(name) }
      case _: leftOut.append(name)
      }
    }
    return leftOut
  }

  // MARK: - Stores

  /// Copies the stores to the draft, and ends the moment. Returns false if the task was cancelled.
  private func copy(
    _ stores: [BackupHead.Store], of snapshots: StoreSnapshots, to draft: String
  ) throws(BackupError) -> Bool {
    defer { snapshots.release() }
    for store in stores {
      let path = "\(draft)/\(store.file)"
      let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
      guard descriptor >= 0 else { throw .refused("create", path, code: errno) }
      close(descriptor)
      let isComplete = try BackupError.catching { () throws(StoreFailure) in
        try snapshots.copy(store.file, to: path) { pages, total in
          report(.store(file: store.file, pages: pages, total: total))
          return !Task.isCancelled
        }
      }
      guard isComplete else { return false }
    }
    return true
  }

  /// Checks the copies of the stores, and moves them into the archive. Returns the number of images
  /// without a file; `nil` if the task was cancelled.
  private func add(
    _ stores: [BackupHead.Store], from draft: String, to archive: BackupArchive
  ) throws(BackupError) -> Int? {
    var missing = 0
    for store in stores {
      report(.check(file: store.file))
      let (version, images) = try BackupError.catching {
        () throws(StoreFailure) -> (Int, [UUID128]) in
        try StoreSnapshots.check(store.file, in: draft)
        return (
          try StoreSnapshots.version(of: store.file, in: draft),
          try StoreSnapshots.images(of: store.file, in: draft)
        )
      }
      guard version == store.version else {
        throw .store(.other(detail: "The backend was upgraded during the backup. Run it again."))
      }
      missing += images.count(where: {
        !archive.sums.contains("\(BackupNames.images)/\($0)")
      })
      let path = "\(draft)/\(store.file)"
      guard try archive.add(file: path, as: store.file) else { return nil }
      unsafe unlink(path)
    }
    return missing
  }
}
