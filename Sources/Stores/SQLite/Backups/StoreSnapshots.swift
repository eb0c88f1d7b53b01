package import HoldfastCore
import HoldfastPorts

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#elseif canImport(Darwin)
  import Darwin
#endif

/// The stores of a data directory as of one moment, for copies while a server uses them.
///
/// All writers are excluded for an instant, in which a read transaction begins in each store. Only
/// one thread at a time may use a value.
package final class StoreSnapshots {
  private struct Store {
    let kind: StoreKind
    let file: StoreFile
    /// The connection that excludes other writers. It is closed after the other one, which cannot
    /// remove the write-ahead log of a store that nobody else uses.
    let writer: Database
    var reader: Database?
  }

  private var stores: [Store] = []

  /// The names of the files of all stores, with the versions of their tables that this program
  /// supports.
  package static var supported: [String: Int] {
    var versions: [String: Int] = [:]
    for kind in SQLiteStores.kinds { versions["\(kind.name).sqlite"] = kind.schema.version }
    return versions
  }

  /// Opens those stores that exist in a directory. Their content, tables and settings do not change.
  ///
  /// - Throws: `.fromTheFuture`, `.corrupt` or `.denied` if one of them cannot be used.
  package init(in directory: String) throws(StoreFailure) {
    for kind in SQLiteStores.kinds {
      let file = StoreFile(directory: directory, name: kind.name)
      guard unsafe access(file.path, F_OK) == 0 else { continue }
      _ = try file.claim(for: .read)
      stores.append(
        Store(
          kind: kind, file: file,
          writer: try Database(
            path: file.path, access: .write, busyTimeout: .zero, schema: kind.schema, isGuest: true)
        ))
    }
  }

  deinit { release() }

  /// The names of the files, with the versions of their tables.
  package var versions: [(file: String, version: Int)] {
    get throws(StoreFailure) {
      var versions: [(file: String, version: Int)] = []
      for store in stores {
        versions.append(("\(store.kind.name).sqlite", try store.writer.version))
      }
      return versions
    }
  }

  // MARK: - The moment

  /// Begins a read transaction in each store, all at one moment.
  ///
  /// A writer that comes meanwhile waits until the call returns, at most for about `hold`. If one of
  /// the stores is busy for longer, the others are released before the next attempt.
  ///
  /// - Parameter patience: The maximum time for all attempts together.
  /// - Returns: The time during which a writer may have waited.
  /// - Throws: `.locked` if there was no such moment.
  package func take(
    hold: Duration = .milliseconds(500), patience: Duration = .seconds(60)
  ) throws(StoreFailure) -> Duration {
    for index in stores.indices where stores[index].reader == nil {
      stores[index].reader = try Database(
        path: stores[index].file.path, access: .read, busyTimeout: .seconds(2),
        schema: stores[index].kind.schema)
    }
    let clock = BootClock()
    let end = clock.now.advanced(by: patience)
    let pauses = Schedule.doubling(from: .milliseconds(10), to: .milliseconds(500))
    var failures = 0
    while true {
      if let wait = try attempt(hold, until: end) { return wait }
      guard clock.now < end, !Task.isCancelled else { break }
      failures += 1
      _ = poll(nil, 0, Int32(pauses.wait(after: failures) / .milliseconds(1)))
    }
    throw .locked(
      detail: "The stores were never free at the same time for \(patience.components.seconds) s, "
        + "as during an erasure. Run it again later.")
  }

  /// Returns the time for which writers were excluded; `nil` if one of the stores was busy.
  private func attempt(_ hold: Duration, until end: Instant) throws(StoreFailure) -> Duration? {
    let clock = BootClock()
    var begun: Instant?
    var locked = 0
    defer {
      for store in stores.prefix(locked) { try? store.writer.execute("ROLLBACK") }
    }
    for store in stores {
      while !(try Self.lock(store.writer)) {
        // The first lock makes nobody wait while it is not held.
        guard clock.now < (begun.map { $0.advanced(by: hold) } ?? end), !Task.isCancelled else {
          return nil
        }
        _ = poll(nil, 0, 1)
      }
      locked += 1
      begun = begun ?? clock.now
    }
    for store in stores {
      guard let reader = store.reader else { throw .closed }
      try reader.execute("BEGIN")
      // A transaction sees the content at its first read.
      _ = try reader.version
    }
    return begun.map { $0.duration(to: clock.now) } ?? .zero
  }

  /// Excludes other writers. Returns false if there is one now.
  private static func lock(_ database: Database) throws(StoreFailure) -> Bool {
    do throws(StoreFailure) {
      try database.execute("BEGIN IMMEDIATE")
      return true
    } catch {
      guard case .locked = error else { throw error }
      return false
    }
  }

  // MARK: - Copies

  /// Copies a store into an empty file, as of the moment, and checks the copy.
  ///
  /// - Parameter step: A function that is called with the numbers of copied and of all pages. If it
  ///   returns false, the copy ends.
  /// - Returns: Whether the copy is complete.
  /// - Throws: `.corrupt` if the copy is damaged, as the store is then.
  package func copy(
    _ file: String, to path: String, _ step: (_ pages: Int, _ total: Int) -> Bool
  ) throws(StoreFailure) -> Bool {
    guard let store = stores.first(where: { "\($0.kind.name).sqlite" == file }),
      let reader = store.reader
    else { throw .closed }
    return try reader.copy(to: path, step)
  }

  /// Ends the read transactions. While they are open, write-ahead logs grow.
  package func release() {
    for index in stores.indices { stores[index].reader = nil }
  }

  /// Checks the structure of a copy.
  ///
  /// - Throws: `.corrupt` if it is damaged.
  package static func check(_ file: String, in directory: String) throws(StoreFailure) {
    try open(file, in: directory).checkIntegrity()
  }

  /// Returns the version of the tables of a copy.
  package static func version(of file: String, in directory: String) throws(StoreFailure) -> Int {
    try open(file, in: directory).version
  }

  /// Returns the IDs of the images that a copy knows and that are not deleted.
  package static func images(
    of file: String, in directory: String
  ) throws(StoreFailure) -> [UUID128] {
    let database = try open(file, in: directory)
    let tables = try database.query("SELECT 1 FROM sqlite_schema WHERE name = 'images'") {
      row throws(StoreFailure) in try row.integer(0)
    }
    guard !tables.isEmpty else { return [] }
    return try database.query("SELECT id FROM images WHERE user IS NOT NULL") {
      row throws(StoreFailure) in try row.uuid(0)
    }
  }

  /// Opens a copy, which nobody else uses.
  private static func open(
    _ file: String, in directory: String
  ) throws(StoreFailure) -> Database {
    guard let kind = SQLiteStores.kinds.first(where: { "\($0.name).sqlite" == file }) else {
      throw .closed
    }
    return try Database(
      path: StoreFile(directory: directory, name: kind.name).path, access: .write,
      busyTimeout: .seconds(2), schema: kind.schema, isGuest: true)
  }
}
