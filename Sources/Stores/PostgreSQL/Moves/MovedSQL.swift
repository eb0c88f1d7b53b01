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

  /// Creates the statements of a table.
  ///
  /// - Parameters:
  ///   - stored: The name of the table in the database.
  ///   - texts: The table of the texts in place of which numbers are stored.
  ///   - user: The name of the column `user`, which is a reserved word.
  ///   - order: The columns by which the rows are ordered.
  init(
    _ table: MovedTable, in stored: String, _ texts: NumberedTexts = .shops,
    user: String = "author", by order: String...
  ) {
    func quoted(_ name: String) -> String { name == "user" ? user : "\"\(name)\"" }
    let numbered = table.columns.filter(\.isNumbered).map(\.name)
    func read(_ name: String) -> String {
      numbered.contains(name) ? "of_\(name).\(texts.text)" : "t.\(quoted(name))"
    }
    let names = table.columns.map(\.name)
    let joins = numbered.map {
      " JOIN \(texts.table) of_\($0) ON of_\($0).\(texts.number) = t.\(quoted($0))"
    }
    let values = names.map {
      numbered.contains($0) ? texts.number(of: "u.\(quoted($0))") : "u.\(quoted($0))"
    }
    let columns = names.map(quoted).joined(separator: ", ")
    let parameters = names.indices.map { "$\($0 + 1)" }.joined(separator: ", ")
    self.init(
      table,
      select: """
        SELECT \(names.map(read).joined(separator: ", ")) FROM \(stored) t\(joins.joined())
        ORDER BY \(order.map(read).joined(separator: ", "))
        """,
      names: table.numbered.map { (texts.naming, $0) },
      insert: """
        INSERT INTO \(stored)(\(columns)) SELECT \(values.joined(separator: ", "))
        FROM unnest(\(parameters)) WITH ORDINALITY u(\(columns), row_number) ORDER BY row_number
        """)
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
    let parameters = table.columns.enumerated().map { index, column in
      Parameter(column, rows.map { $0[index] })
    }
    return commands + [Command(insert, parameters)]
  }
}

/// A table of texts whose numbers stand in other tables.
struct NumberedTexts: Sendable {
  let table: String
  let number: String
  let text: String
  /// The statement that stores the texts of an array, unless they are stored.
  let naming: String
  /// The beginning and the end of the expression for the number of a text.
  fileprivate let lookup: (String, String)

  static let shops = NumberedTexts(
    table: "shops", number: "number", text: "shop", naming: "SELECT shop_numbers($1)",
    lookup: ("(SELECT number FROM shops s WHERE s.shop = ", ")"))
  static let names = NumberedTexts(
    table: "sync_names", number: "id", text: "text", naming: "SELECT number_sync_names($1)",
    lookup: ("sync_name(", ")"))

  func number(of text: String) -> String { lookup.0 + text + lookup.1 }
}

extension Parameter {
  /// Creates the array of a column's values.
  fileprivate init(_ column: MovedTable.Column, _ values: [MovedValue]) {
    self =
      switch column {
      case .integer: .integers(values.map(\.number))
      case .flag: .flags(values.map { $0.number.map { $0 != 0 } })
      case .real:
        .reals(values.map { if case .real(let number) = $0 { number } else { nil } })
      case .text, .numbered:
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
    values.reserveCapacity(table.columns.count)
    for (index, column) in table.columns.enumerated() {
      values.append(columns[index] == nil ? .null : try moved(index, column))
    }
    return values
  }

  private func moved(
    _ index: Int, _ column: MovedTable.Column
  ) throws(StoreFailure) -> MovedValue {
    switch column {
    case .integer: .integer(try integer(index))
    case .flag: .integer(try flag(index) ? 1 : 0)
    case .real: try optionalReal(index).map { .real($0) } ?? .null
    case .text, .numbered: .text(try text(index))
    case .bytes: try optionalBlob(index).map { .bytes($0) } ?? .null
    case .uuid: .uuid(try uuid(index))
    }
  }
}
