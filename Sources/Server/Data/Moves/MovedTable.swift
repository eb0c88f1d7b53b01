package import HoldfastCore

/// A table of the backend whose rows can be moved from one database to another.
///
/// The columns and their order are the same for all databases. From their names, each database makes
/// the statements that read and write the rows.
package struct MovedTable: Sendable, Hashable {
  /// A column with its name in most databases.
  package enum Column: Sendable, Hashable {
    case integer(String)
    /// An integer that is 0 or 1.
    case flag(String)
    case real(String)
    case text(String)
    /// A text in place of which the databases store a number.
    case numbered(String)
    case bytes(String)
    case uuid(String)

    package var name: String {
      switch self {
      case .integer(let name), .flag(let name), .real(let name), .text(let name),
        .numbered(let name), .bytes(let name), .uuid(let name):
        name
      }
    }

    package var isNumbered: Bool { if case .numbered = self { true } else { false } }
  }

  /// The name of the table, for people.
  package let name: String
  package let columns: [Column]
  /// Whether the table always has exactly one row, which replaces that of the other database.
  package let isSingle: Bool
  /// Whether a row may have megabytes.
  package let isLarge: Bool

  package init(
    _ name: String, _ columns: [Column], isSingle: Bool = false, isLarge: Bool = false
  ) {
    (self.name, self.columns, self.isSingle, self.isLarge) = (name, columns, isSingle, isLarge)
  }

  /// The indices of the columns in place of which the databases store a number.
  package var numbered: [Int] { columns.indices.filter { columns[$0].isNumbered } }
}

/// A value of a row. Flags are the integers 0 and 1.
package enum MovedValue: Sendable, Hashable {
  case null
  case integer(Int64)
  case real(Double)
  case text(String)
  case bytes([UInt8])
  case uuid(UUID128)
}

extension MovedValue {
  /// Adds an encoding from which the value can be told, for a hash of rows.
  package func append(to bytes: inout [UInt8]) {
    switch self {
    case .null: bytes.append(0)
    case .integer(let value): bytes.append(1, UInt64(bitPattern: value))
    // SQLite does not distinguish -0.0 from 0.0.
    case .real(let value): bytes.append(2, value == 0 ? 0 : value.bitPattern)
    case .text(let text):
      bytes.append(3, UInt64(text.utf8.count))
      bytes.append(contentsOf: text.utf8)
    case .bytes(let content):
      bytes.append(4, UInt64(content.count))
      bytes.append(contentsOf: content)
    case .uuid(let id):
      bytes.append(5, id.high)
      bytes.append(5, id.low)
    }
  }
}

extension [UInt8] {
  fileprivate mutating func append(_ kind: UInt8, _ number: UInt64) {
    append(kind)
    var shift: UInt64 = 64
    while shift > 0 {
      shift -= 8
      append(UInt8(truncatingIfNeeded: number >> shift))
    }
  }
}

/// A mark on a place whose stores are being moved, or were moved away. No server may use the place.
package enum MoveNote: Sendable, Hashable {
  /// A move from this place is incomplete.
  case incoming(from: String)
  /// The content was moved to this place, and is used there.
  case moved(to: String)
  /// The backup at this path is being restored here.
  case restoring(from: String)

  package init?(_ text: String) {
    let parts = text.split(separator: " ", maxSplits: 1)
    guard parts.count == 2 else { return nil }
    switch parts[0] {
    case "from": self = .incoming(from: String(parts[1]))
    case "to": self = .moved(to: String(parts[1]))
    case "restore": self = .restoring(from: String(parts[1]))
    case _: return nil
    }
  }

  package var text: String {
    switch self {
    case .incoming(let place): "from \(place)"
    case .moved(let place): "to \(place)"
    case .restoring(let path): "restore \(path)"
    }
  }
}

extension MoveNote {
  /// Returns why a server may not use a database.
  ///
  /// - Parameters:
  ///   - name: The database, as the subject of a sentence.
  package func refusal(of name: String) -> String {
    switch self {
    case .incoming(let place):
      "There is an incomplete copy of \(place) in \(name). Run `holdfast migrate` again to complete it."
    case .moved(let place):
      "The content of \(name) was moved to \(place), where newer data may be. Serve it from there, or "
        + "move it back with `holdfast migrate`."
    case .restoring(let path):
      "The backup \(path) was not restored completely to \(name). Run `holdfast restore` again to "
        + "begin anew."
    }
  }
}

/// The backend's stores in one place, while they are moved. No server can use them meanwhile.
package protocol MovableStores: Sendable {
  /// The directory, or the URL of the database.
  var place: String { get }

  /// Returns the mark on the place; `nil` if servers may use it.
  func note() async throws(StoreFailure) -> MoveNote?

  /// Sets or removes the mark on the place.
  func setNote(_ note: MoveNote?) async throws(StoreFailure)

  /// Returns the number of rows of a table.
  func count(_ table: MovedTable) async throws(StoreFailure) -> Int

  /// Begins to read a table in its order, which is the same in all databases.
  ///
  /// - Parameter skipped: The number of rows that are not returned.
  func open(_ table: MovedTable, after skipped: Int) async throws(StoreFailure)

  /// Returns the next rows of the table that was opened; none at its end.
  func next(_ limit: Int) async throws(StoreFailure) -> [[MovedValue]]

  /// Adds rows in one transaction.
  func add(_ rows: [[MovedValue]], to table: MovedTable) async throws(StoreFailure)

  func close() async
}
