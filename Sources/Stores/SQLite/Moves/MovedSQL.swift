import HoldfastCore
import HoldfastServerData

/// The statements that read and write the rows of a moved table.
///
/// Numbers of texts are private to a file. So rows are read with the texts, and in the order of the
/// texts. Large tables are read along an index within the rows of an ordered inner query, because
/// sorting everything would need as much space again. `LIMIT -1` keeps SQLite from dropping the
/// inner order.
struct MovedSQL: Sendable {
  let table: MovedTable
  /// The query for all rows, without `LIMIT`.
  let select: String
  /// The statements that run first, with the columns whose texts they store, each once.
  let names: [(sql: String, column: Int)]
  /// The statements that add a row, with the columns as their parameters.
  let inserts: [String]

  init(
    _ table: MovedTable, select: String, names: [(sql: String, column: Int)] = [], insert: String,
    also more: [String] = []
  ) {
    (self.table, self.select, self.names) = (table, select, names)
    inserts = [insert] + more
  }
}

/// Tables that can be moved.
protocol MovableTables: Tables {
  static var moved: [MovedSQL] { get }
  /// Statements that create tables which an earlier version of the file lacks.
  static var preparation: String { get }
}

extension MovableTables {
  static var preparation: String { "" }
}

extension Row {
  /// Returns the values of a row of a moved table.
  func moved(_ table: MovedTable) throws(StoreFailure) -> [MovedValue] {
    var values: [MovedValue] = []
    values.reserveCapacity(table.kinds.count)
    for (index, kind) in table.kinds.enumerated() {
      values.append(try moved(Int32(index), kind))
    }
    return values
  }

  private func moved(
    _ column: Int32, _ kind: MovedTable.Kind
  ) throws(StoreFailure) -> MovedValue {
    switch kind {
    case .integer, .flag: try optionalInteger(column).map { .integer($0) } ?? .null
    case .real: try optionalReal(column).map { .real($0) } ?? .null
    case .text: try optionalText(column).map { .text($0) } ?? .null
    case .bytes: try optionalBlob(column).map { .bytes($0) } ?? .null
    case .uuid: try optionalUUID(column).map { .uuid($0) } ?? .null
    }
  }
}

extension SQLValue {
  init(_ value: MovedValue) {
    switch value {
    case .null: self = .null
    case .integer(let number): self = .integer(number)
    case .real(let number): self = .real(number)
    case .text(let text): self = .text(text)
    case .bytes(let bytes): self = .blob(bytes)
    case .uuid(let id): self = .uuid(id)
    }
  }
}
