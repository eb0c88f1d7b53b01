import HoldfastCore
import HoldfastServerData

/// The statements that read and write the rows of a moved table.
///
/// Numbers of texts are private to a database. So rows are read with the texts, and in the order of
/// their bytes. Large tables are read along an index within the rows of an ordered inner query.
struct MovedSQL: Sendable {
  let table: MovedTable
  /// The query for all rows.
  let select: String
  /// The statements that run first: each stores the texts of a column in its one parameter, an array.
  let names: [(sql: String, column: Int)]
  /// The statement that adds rows. Its parameters are the columns as arrays.
  let insert: String

  init(
    _ table: MovedTable, select: String, names: [(sql: String, column: Int)] = [], insert: String
  ) {
    (self.table, self.select, self.names, self.insert) = (table, select, names, insert)
  }

  /// The tables of all stores.
  static let all = log + relay + sessions + sync

  /// Returns the statements that add rows.
  func commands(adding rows: [[MovedValue]]) -> [Command] {
    var commands: [Command] = []
    for (sql, column) in names {
      // Swift's equality of texts is not that of their bytes.
      var texts: [[UInt8]: String] = [:]
      for row in rows {
        if case .text(let text) = row[column] { texts[Array(text.utf8)] = text }
      }
      commands.append(Command(sql, [.texts(Array(texts.values))]))
    }
    let parameters = table.kinds.enumerated().map { index, kind in
      Parameter(kind, rows.map { $0[index] })
    }
    return commands + [Command(insert, parameters)]
  }
}

extension Parameter {
  /// Creates the array of a column's values.
  fileprivate init(_ kind: MovedTable.Kind, _ values: [MovedValue]) {
    self =
      switch kind {
      case .integer: .integers(values.map(\.number))
      case .flag: .flags(values.map { $0.number.map { $0 != 0 } })
      case .real:
        .reals(values.map { if case .real(let number) = $0 { number } else { nil } })
      case .text:
        .texts(values.map { if case .text(let text) = $0 { text } else { nil } })
      case .bytes:
        .blobs(values.map { if case .bytes(let bytes) = $0 { bytes[...] } else { nil } })
      case .uuid:
        .uuids(values.map { if case .uuid(let id) = $0 { id } else { nil } })
      }
  }
}

extension MovedValue {
  fileprivate var number: Int64? {
    if case .integer(let number) = self { number } else { nil }
  }
}

extension Row {
  /// Returns the values of a row of a moved table.
  func moved(_ table: MovedTable) throws(StoreFailure) -> [MovedValue] {
    var values: [MovedValue] = []
    values.reserveCapacity(table.kinds.count)
    for (column, kind) in table.kinds.enumerated() {
      values.append(columns[column] == nil ? .null : try moved(column, kind))
    }
    return values
  }

  private func moved(
    _ column: Int, _ kind: MovedTable.Kind
  ) throws(StoreFailure) -> MovedValue {
    switch kind {
    case .integer: .integer(try integer(column))
    case .flag: .integer(try flag(column) ? 1 : 0)
    case .real: try optionalReal(column).map { .real($0) } ?? .null
    case .text: .text(try text(column))
    case .bytes: try optionalBlob(column).map { .bytes($0) } ?? .null
    case .uuid: .uuid(try uuid(column))
    }
  }
}
