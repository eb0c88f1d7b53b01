public import HoldfastCore
import HoldfastKeyedHashing
import HoldfastPostgreSQLStores
import HoldfastSQLiteStores
import HoldfastServerData

/// The move of a backend's stores from SQLite files to PostgreSQL, or back.
///
/// Rows are copied in batches, each of which is one transaction. A move that was interrupted
/// continues with the first row that the destination lacks. At the end both places are read again and
/// compared by counts and hashes; only then the destination can be served, and the source cannot any
/// more. The source's rows stay.
///
/// Unfinished uploads, removed members and secrets are files of the data directory, and are not moved.
public struct StoreMove: Sendable {
  /// The progress of a move.
  public struct Progress: Sendable, Hashable {
    /// The part of a move.
    public enum Part: Sendable, Hashable {
      /// Rows are copied.
      case copying
      /// The rows of both places are compared.
      case comparing
    }

    /// The current part of the move.
    public var part: Part
    /// The name of the table.
    public var table: String
    /// The number of rows done, and of all rows of the table.
    public var rows, total: Int
  }

  /// A table that is the same in both places.
  public struct Table: Sendable, Hashable {
    public var name: String
    /// The number of rows.
    public var rows: Int
    /// A hash of all rows (HMAC with SHA-256, chained over the rows), in hexadecimal.
    public var hash: String
  }

  /// The number of rows that are read at a time.
  private static let batch = 500
  /// The same for a table whose rows may have megabytes.
  private static let largeBatch = 4
  /// The size of the rows of a transaction, unless one row is larger.
  private static let batchBytes = 1 << 20

  private static let tables =
    MovedTable.logTables + MovedTable.relayTables + MovedTable.sessionTables
    + MovedTable.syncTables

  private let source: any MovableStores
  private let destination: any MovableStores
  private let report: @Sendable (Progress) -> Void

  /// Moves the stores, or continues a move that was interrupted.
  ///
  /// - Parameters:
  ///   - directory: The data directory with SQLite files. It also identifies the node that uses the
  ///     database.
  ///   - database: The URL of the database.
  ///   - isReturn: Whether the stores are moved from the database to the directory.
  ///   - report: Receives the progress, after each batch.
  /// - Returns: The tables, which were compared; `nil` if the task was cancelled between two batches.
  /// - Throws: If a place cannot be used, is used by a server, contains other data, or differs after
  ///   the copy.
  public static func run(
    directory: String, database: String, isReturn: Bool = false,
    report: @escaping @Sendable (Progress) -> Void = { _ in }
  ) async throws(StoreFailure) -> [Table]? {
    let files = try await SQLiteStores(in: directory, isNew: isReturn)
    let server: PostgreSQLStores
    do throws(StoreFailure) {
      server = try await PostgreSQLStores(database, in: directory, name: "migrate")
    } catch {
      await files.close()
      throw error
    }
    let move =
      isReturn
      ? StoreMove(from: server, to: files, report) : StoreMove(from: files, to: server, report)
    let result: Result<[Table]?, StoreFailure>
    do throws(StoreFailure) {
      result = .success(try await move.run())
    } catch {
      result = .failure(error)
    }
    await files.close()
    await server.close()
    return try result.get()
  }

  init(
    from source: any MovableStores, to destination: any MovableStores,
    _ report: @escaping @Sendable (Progress) -> Void
  ) {
    (self.source, self.destination, self.report) = (source, destination, report)
  }

  func run() async throws(StoreFailure) -> [Table]? {
    try await prepare()
    guard try await copy(), let tables = try await compare() else { return nil }
    // If this is interrupted, the next run compares again.
    try await source.setNote(.moved(to: destination.place))
    try await destination.setNote(nil)
    return tables
  }

  /// Checks both places, and marks an empty destination as incomplete.
  private func prepare() async throws(StoreFailure) {
    let (left, right) = (try await source.note(), try await destination.note())
    let isBegun = right == .incoming(from: source.place)
    switch left {
    case nil: break
    case .moved(to: destination.place)?:
      guard isBegun else {
        throw .denied(
          detail: "The stores of \(source.place) were moved to \(destination.place) before, and "
            + "are used there. Nothing was changed.")
      }
    case let note?: throw .denied(detail: note.refusal(of: source.place))
    }
    if isBegun { return }
    if case .incoming(let other)? = right {
      throw .denied(
        detail: "\(destination.place) contains an incomplete copy of \(other). Complete that, "
          + "or use an empty destination. Nothing was changed.")
    }
    for table in Self.tables where !table.isSingle {
      guard try await destination.count(table) == 0 else {
        throw .denied(
          detail: "\(destination.place) already contains \(table.name). Use an empty schema "
            + "or database, or move the .sqlite files and the folder images of the directory away. "
            + "Nothing was changed.")
      }
    }
    try await destination.setNote(.incoming(from: source.place))
  }

  /// Returns false if the task was cancelled.
  private func copy() async throws(StoreFailure) -> Bool {
    for table in Self.tables {
      let total = try await source.count(table)
      var done = table.isSingle ? 0 : try await destination.count(table)
      guard done <= total else { throw differing(table, "\(total) rows", "\(done)") }
      try await source.open(table, after: done)
      report(Progress(part: .copying, table: table.name, rows: done, total: total))
      while !Task.isCancelled {
        let rows = try await source.next(Self.batch(of: table))
        if rows.isEmpty { break }
        for part in parts(of: rows) {
          try await add(Array(part), to: table)
          done += part.count
          report(Progress(part: .copying, table: table.name, rows: done, total: total))
        }
      }
      if Task.isCancelled { return false }
    }
    return true
  }

  private static func batch(of table: MovedTable) -> Int { table.isLarge ? largeBatch : batch }

  private func add(_ rows: [[MovedValue]], to table: MovedTable) async throws(StoreFailure) {
    do throws(StoreFailure) {
      try await destination.add(rows, to: table)
    } catch {
      guard case .other(let detail) = error else { throw error }
      throw .other(
        detail: "\(detail) If \(source.place) was used since the move began, \(Self.emptying)")
    }
  }

  private static let emptying =
    "empty the destination (drop the schema, or remove the .sqlite files, the folder images and the "
    + "file `moved`), and run the command again."

  /// Returns rows in parts of about `batchBytes`.
  private func parts(of rows: [[MovedValue]]) -> [ArraySlice<[MovedValue]>] {
    var parts: [ArraySlice<[MovedValue]>] = []
    var (start, size) = (0, 0)
    for (index, row) in rows.enumerated() {
      var bytes: [UInt8] = []
      for value in row { value.append(to: &bytes) }
      if size > 0, size + bytes.count > Self.batchBytes {
        parts.append(rows[start..<index])
        (start, size) = (index, 0)
      }
      size += bytes.count
    }
    return parts + [rows[start...]]
  }

  /// Returns the tables, which are the same in both places; `nil` if the task was cancelled.
  private func compare() async throws(StoreFailure) -> [Table]? {
    var tables: [Table] = []
    for table in Self.tables {
      let total = try await source.count(table)
      async let left = hash(table, in: source) { done in
        report(Progress(part: .comparing, table: table.name, rows: done, total: total))
      }
      async let right = hash(table, in: destination) { _ in }
      let (wanted, found) = (try await left.get(), try await right.get())
      if Task.isCancelled { return nil }
      guard wanted == found else {
        throw differing(
          table, "\(wanted.rows) rows with hash \(wanted.hash)",
          "\(found.rows) with hash \(found.hash)")
      }
      tables.append(wanted)
    }
    return tables
  }

  private func hash(
    _ table: MovedTable, in stores: any MovableStores, _ report: (Int) -> Void
  ) async -> Result<Table, StoreFailure> {
    var hash = [UInt8](repeating: 0, count: 32)
    var count = 0
    do throws(StoreFailure) {
      try await stores.open(table, after: 0)
      while !Task.isCancelled {
        let rows = try await stores.next(Self.batch(of: table))
        if rows.isEmpty { break }
        for row in rows {
          var bytes: [UInt8] = []
          for value in row { value.append(to: &bytes) }
          hash = KeyedHash.sha256(key: hash, over: bytes)
        }
        count += rows.count
        report(count)
      }
    } catch {
      return .failure(error)
    }
    return .success(Table(name: table.name, rows: count, hash: Hex.text(of: hash)))
  }

  private func differing(_ table: MovedTable, _ wanted: String, _ found: String) -> StoreFailure {
    .corrupt(
      detail: "The copy of \(table.name) differs: \(source.place) has \(wanted), and "
        + "\(destination.place) \(found). The source was not changed; " + Self.emptying)
  }
}
