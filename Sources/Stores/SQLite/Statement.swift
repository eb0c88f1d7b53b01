import CHoldfastSQLite
import HoldfastCore

/// A value to bind to a parameter of a statement.
enum SQLValue {
  case null
  case integer(Int64)
  case real(Double)
  case text(String)
  case blob([UInt8])
  /// A value of sixteen bytes, with the most significant byte first. SQLite's order of blobs is
  /// therefore the order of UUIDs.
  case uuid(UUID128)

  static func integer(_ value: Int) -> SQLValue { .integer(Int64(value)) }

  static func time(_ value: Timestamp?) -> SQLValue {
    value.map { .integer($0.nanoseconds) } ?? .null
  }

  static func text(_ value: String?) -> SQLValue { value.map { .text($0) } ?? .null }

  static func uuid(_ value: UUID128?) -> SQLValue { value.map { .uuid($0) } ?? .null }
}

/// A prepared statement. It belongs to the connection that prepared it.
@safe final class Statement {
  let pointer: OpaquePointer
  /// The result code of the first bind that failed since the last `reset`.
  private var failed = SQLITE_OK

  /// SQLite's marker for "copy the bytes now" (sqlite.org/c3ref/c_static.html). It is the address
  /// -1, not a function.
  private static var copy: sqlite3_destructor_type {
    unsafe unsafeBitCast(-1, to: sqlite3_destructor_type.self)
  }

  init(_ pointer: OpaquePointer) {
    unsafe self.pointer = unsafe pointer
  }

  deinit {
    unsafe sqlite3_finalize(pointer)
  }

  /// Binds values to the parameters, starting with the first one. Returns SQLite's result code.
  func bind(_ values: [SQLValue]) -> Int32 {
    let copy = unsafe Self.copy
    for (position, value) in values.enumerated() {
      let index = Int32(position + 1)
      let code: Int32
      switch value {
      case .null: code = unsafe sqlite3_bind_null(pointer, index)
      case .integer(let number): code = unsafe sqlite3_bind_int64(pointer, index, number)
      case .real(let number): code = unsafe sqlite3_bind_double(pointer, index, number)
      case .text(let text):
        let count = UInt64(text.utf8.count)
        code = unsafe sqlite3_bind_text64(pointer, index, text, count, copy, UInt8(SQLITE_UTF8))
      case .blob(let bytes):
        code = unsafe sqlite3_bind_blob64(pointer, index, bytes, UInt64(bytes.count), copy)
      case .uuid(let id):
        code = unsafe withUnsafeBytes(of: (id.high.bigEndian, id.low.bigEndian)) {
          unsafe sqlite3_bind_blob64(pointer, index, $0.baseAddress, UInt64($0.count), copy)
        }
      }
      guard code == SQLITE_OK else { return code }
    }
    return SQLITE_OK
  }

  // The following methods bind one value at a time and need no array. SQLite copies each value. If
  // SQLite does not accept a value, the parameter would be NULL, so `step` then fails with the
  // reason.

  func bind(_ value: Int64?, at index: Int32) {
    guard let value else { return bindNothing(at: index) }
    note(unsafe sqlite3_bind_int64(pointer, index, value))
  }

  func bind(_ value: Double, at index: Int32) {
    note(unsafe sqlite3_bind_double(pointer, index, value))
  }

  func bind(_ text: String?, at index: Int32) {
    guard var text else { return bindNothing(at: index) }
    text.withUTF8 {
      let start = unsafe UnsafeRawPointer($0.baseAddress)?.assumingMemoryBound(to: CChar.self)
      note(
        unsafe sqlite3_bind_text64(
          pointer, index, start, UInt64($0.count), Self.copy, UInt8(SQLITE_UTF8)))
    }
  }

  /// Binds sixteen bytes, with the most significant byte first. SQLite's order of blobs is
  /// therefore the order of UUIDs.
  func bind(_ id: UUID128?, at index: Int32) {
    guard let id else { return bindNothing(at: index) }
    unsafe withUnsafeBytes(of: (id.high.bigEndian, id.low.bigEndian)) {
      note(
        unsafe sqlite3_bind_blob64(
          pointer, index, $0.baseAddress, UInt64($0.count), Self.copy))
    }
  }

  func bind(_ bytes: ArraySlice<UInt8>, at index: Int32) {
    unsafe bytes.withUnsafeBytes {
      note(
        unsafe sqlite3_bind_blob64(
          pointer, index, $0.baseAddress, UInt64($0.count), Self.copy))
    }
  }

  /// Binds thirty-two bytes: the words in order, each with its most significant byte first.
  func bind(_ words: SIMD4<UInt64>, at index: Int32) {
    let bytes = (
      words[0].bigEndian, words[1].bigEndian, words[2].bigEndian, words[3].bigEndian
    )
    unsafe withUnsafeBytes(of: bytes) {
      note(
        unsafe sqlite3_bind_blob64(
          pointer, index, $0.baseAddress, UInt64($0.count), Self.copy))
    }
  }

  func bindNothing(at index: Int32) {
    note(unsafe sqlite3_bind_null(pointer, index))
  }

  private func note(_ code: Int32) {
    if code != SQLITE_OK, failed == SQLITE_OK { failed = code }
  }

  /// Binds a text that SQLite reads in place instead of copying it, and steps once. The step must
  /// complete the statement. Afterward, the text is no longer bound.
  func step(lending text: String, at index: Int32) -> Int32 {
    var text = text
    return text.withUTF8 {
      let start = unsafe UnsafeRawPointer($0.baseAddress)?.assumingMemoryBound(to: CChar.self)
      // Without a destructor, SQLite keeps the address. After a failure, the caller's `reset` drops
      // it; another call of SQLite would replace the reason.
      note(
        unsafe sqlite3_bind_text64(
          pointer, index, start, UInt64($0.count), nil, UInt8(SQLITE_UTF8)))
      let code = step()
      guard code == SQLITE_DONE else { return code }
      unsafe sqlite3_reset(pointer)
      unsafe sqlite3_bind_null(pointer, index)
      return code
    }
  }

  func step() -> Int32 { failed == SQLITE_OK ? unsafe sqlite3_step(pointer) : failed }

  func reset() {
    failed = SQLITE_OK
    unsafe sqlite3_reset(pointer)
    unsafe sqlite3_clear_bindings(pointer)
  }

  var row: Row { Row(statement: self) }

  /// The number of parameters; for `?1` and the like the largest number.
  var parameterCount: Int { unsafe Int(sqlite3_bind_parameter_count(pointer)) }
}

/// The current row of a statement. Each getter checks the value and throws `.corrupt` if it has the
/// wrong type, because a damaged file may contain anything.
struct Row {
  let statement: Statement

  func optionalInteger(_ column: Int32) throws(StoreFailure) -> Int64? {
    switch type(of: column) {
    case SQLITE_NULL: nil
    case SQLITE_INTEGER: unsafe sqlite3_column_int64(statement.pointer, column)
    case _: throw garbage(column, expected: "an integer")
    }
  }

  func optionalReal(_ column: Int32) throws(StoreFailure) -> Double? {
    switch type(of: column) {
    case SQLITE_NULL: nil
    case SQLITE_FLOAT, SQLITE_INTEGER: unsafe sqlite3_column_double(statement.pointer, column)
    case _: throw garbage(column, expected: "a number")
    }
  }

  func integer(_ column: Int32) throws(StoreFailure) -> Int64 {
    guard let value = try optionalInteger(column) else {
      throw garbage(column, expected: "an integer")
    }
    return value
  }

  /// Returns a count or an offset, which is never negative.
  func unsigned(_ column: Int32) throws(StoreFailure) -> UInt64 {
    guard let value = UInt64(exactly: try integer(column)) else {
      throw garbage(column, expected: "a positive integer")
    }
    return value
  }

  func flag(_ column: Int32) throws(StoreFailure) -> Bool {
    switch try integer(column) {
    case 0: false
    case 1: true
    case _: throw garbage(column, expected: "0 or 1")
    }
  }

  func optionalText(_ column: Int32) throws(StoreFailure) -> String? {
    switch type(of: column) {
    case SQLITE_NULL: return nil
    case SQLITE_TEXT:
      guard let text = String(validating: bytes(column), as: UTF8.self) else {
        throw garbage(column, expected: "UTF-8")
      }
      return text
    case _: throw garbage(column, expected: "text")
    }
  }

  func text(_ column: Int32) throws(StoreFailure) -> String {
    guard let value = try optionalText(column) else { throw garbage(column, expected: "text") }
    return value
  }

  func optionalTime(_ column: Int32) throws(StoreFailure) -> Timestamp? {
    try optionalInteger(column).map { Timestamp(nanoseconds: $0) }
  }

  func time(_ column: Int32) throws(StoreFailure) -> Timestamp {
    Timestamp(nanoseconds: try integer(column))
  }

  func optionalUUID(_ column: Int32) throws(StoreFailure) -> UUID128? {
    switch type(of: column) {
    case SQLITE_NULL: return nil
    case SQLITE_BLOB:
      guard let start = unsafe sqlite3_column_blob(statement.pointer, column),
        unsafe sqlite3_column_bytes(statement.pointer, column) == 16
      else { throw garbage(column, expected: "16 bytes") }
      return unsafe UUID128(
        high: UInt64(bigEndian: start.loadUnaligned(as: UInt64.self)),
        low: UInt64(bigEndian: start.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
    case _: throw garbage(column, expected: "16 bytes")
    }
  }

  func optionalBlob(_ column: Int32) throws(StoreFailure) -> [UInt8]? {
    switch type(of: column) {
    case SQLITE_NULL: nil
    case SQLITE_BLOB: bytes(column)
    case _: throw garbage(column, expected: "bytes")
    }
  }

  func uuid(_ column: Int32) throws(StoreFailure) -> UUID128 {
    guard let value = try optionalUUID(column) else { throw garbage(column, expected: "16 bytes") }
    return value
  }

  private func type(of column: Int32) -> Int32 {
    unsafe sqlite3_column_type(statement.pointer, column)
  }

  private func bytes(_ column: Int32) -> [UInt8] {
    guard let start = unsafe sqlite3_column_blob(statement.pointer, column) else { return [] }
    let count = unsafe Int(sqlite3_column_bytes(statement.pointer, column))
    return unsafe [UInt8](UnsafeRawBufferPointer(start: start, count: count))
  }

  func garbage(_ column: Int32, expected: String) -> StoreFailure {
    let name = unsafe sqlite3_column_name(statement.pointer, column).map {
      unsafe String(cString: $0)
    }
    return .corrupt(
      detail: "The column \(name ?? "?") does not hold \(expected). The file was left as it is.")
  }
}
