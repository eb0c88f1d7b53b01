import HoldfastCore

/// A table `names(id, text)`, which stores each text of a store once and assigns a number to it.
///
/// Recently used texts and numbers are cached. The key of a text is the text itself, or a shorter
/// value that identifies the text.
struct NameTable<Key: Hashable> {
  /// The maximum number of cached texts. When it is reached, the cache is emptied.
  private static var mostTexts: Int { 20_000 }

  private let database: Database
  private var numbers: [Key: Int64] = [:]
  private var texts: [Int64: String] = [:]

  /// Creates a name table on a database.
  init(_ database: Database) { self.database = database }

  /// Empties the cache, because a failed transaction may have left texts in it that are not stored.
  mutating func forget() { (numbers, texts) = ([:], [:]) }

  /// Returns the number of a text. Stores the text if it is new.
  mutating func number(of text: String, key: Key) throws(StoreFailure) -> Int64 {
    if let known = numbers[key] { return known }
    var number = try find(text)
    if number == nil {
      try database.run("INSERT INTO names(text) VALUES (?)", [.text(text)])
      number = try find(text)
    }
    guard let number else { throw .corrupt(detail: "A name that was stored is missing.") }
    if numbers.count > Self.mostTexts { numbers = [:] }
    numbers[key] = number
    return number
  }

  /// Returns the number of a text; `nil` if the text is not stored.
  func find(_ text: String) throws(StoreFailure) -> Int64? {
    try database.query(
      "SELECT id FROM names WHERE text = ?", [.text(text)]
    ) { row throws(StoreFailure) in try row.integer(0) }.first
  }

  /// Returns the text that has a number.
  mutating func text(of number: Int64) throws(StoreFailure) -> String {
    if let known = texts[number] { return known }
    let found = try database.query(
      "SELECT text FROM names WHERE id = ?", [.integer(number)]
    ) { row throws(StoreFailure) in try row.text(0) }
    guard let text = found.first else { throw .corrupt(detail: "The name \(number) is missing.") }
    if texts.count > Self.mostTexts { texts = [:] }
    texts[number] = text
    return text
  }
}

extension NameTable<String> {
  /// Returns the number of a text. Stores the text if it is new.
  mutating func number(of text: String) throws(StoreFailure) -> Int64 {
    try number(of: text, key: text)
  }
}

extension Database {
  /// Runs a query for numbers and texts. Returns the texts of each number, in the order of the rows.
  func names(_ sql: String, _ values: [SQLValue] = []) throws(StoreFailure) -> [Int64: [String]] {
    let rows = try query(sql, values) { row throws(StoreFailure) in
      (try row.integer(0), try row.text(1))
    }
    return Dictionary(grouping: rows, by: \.0).mapValues { $0.map(\.1) }
  }
}
