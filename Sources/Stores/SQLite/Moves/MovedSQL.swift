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

  /// Creates the statements of a table whose columns have their names in the file.
  ///
  /// - Parameters:
  ///   - stored: The name of the table in the file.
  ///   - texts: The table of the texts in place of which numbers are stored.
  ///   - join: The join of the table `t` with the texts, if SQLite needs to be led along an index.
  ///   - order: The columns by which the rows are ordered.
  init(
    _ table: MovedTable, in stored: String, _ texts: NumberedTexts = .shops,
    join: String? = nil, by order: String...
  ) {
    let numbered = table.columns.filter(\.isNumbered).map(\.name)
    func read(_ name: String) -> String {
      numbered.contains(name) ? "of_\(name).\(texts.text)" : "t.\(name)"
    }
    let names = table.columns.map(\.name)
    let joins = numbered.map {
      " JOIN \(texts.table) of_\($0) ON of_\($0).\(texts.number) = t.\($0)"
    }
    let values = table.columns.enumerated().map { index, column in
      column.isNumbered ? texts.number(ofParameter: index + 1) : "?\(index + 1)"
    }
    self.init(
      table,
      select: """
        SELECT \(names.map(read).joined(separator: ", "))
        FROM \(join ?? "\(stored) t" + joins.joined())
        ORDER BY \(order.map(read).joined(separator: ", "))
        """,
      names: table.numbered.map { (texts.naming, $0) },
      insert: """
        INSERT INTO \(stored)(\(names.joined(separator: ", ")))
        VALUES (\(values.joined(separator: ", ")))
        """)
  }
}

/// A table of texts whose numbers stand in other tables.
struct NumberedTexts: Sendable {
  let table: String
  let number: String
  let text: String

  static let shops = NumberedTexts(table: "shops", number: "number", text: "shop")
  static let names = NumberedTexts(table: "names", number: "id", text: "text")

  /// The statement that stores a text, unless it is stored.
  var naming: String { "INSERT OR IGNORE INTO \(table)(\(text)) VALUES (?)" }

  /// Returns the expression for the number of a text.
  func number(ofParameter parameter: Int) -> String {
    "(SELECT \(number) FROM \(table) WHERE \(text) = ?\(parameter))"
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
    values.reserveCapacity(table.columns.count)
    for (index, column) in table.columns.enumerated() {
      values.append(try moved(Int32(index), column))
    }
    return values
  }

  private func moved(
    _ index: Int32, _ column: MovedTable.Column
  ) throws(StoreFailure) -> MovedValue {
    switch column {
    case .integer, .flag: try optionalInteger(index).map { .integer($0) } ?? .null
    case .real: try optionalReal(index).map { .real($0) } ?? .null
    case .text, .numbered: try optionalText(index).map { .text($0) } ?? .null
    case .bytes: try optionalBlob(index).map { .bytes($0) } ?? .null
    case .uuid: try optionalUUID(index).map { .uuid($0) } ?? .null
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
