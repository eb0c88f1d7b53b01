import HoldfastCore

/// A parameter of a statement, in PostgreSQL's binary form.
///
/// Texts are sent as `bytea`, so that they may contain U+0000 and are compared by their bytes.
struct Parameter {
  /// The object identifier of the type (`pg_type.oid`).
  let type: UInt32
  /// The bytes of the value; `nil` for NULL.
  let bytes: [UInt8]?

  private enum OID {
    static let bool: UInt32 = 16
    static let bytea: UInt32 = 17
    static let int8: UInt32 = 20
    static let int4: UInt32 = 23
    static let float8: UInt32 = 701
    static let uuid: UInt32 = 2950
    static let boolArray: UInt32 = 1000
    static let byteaArray: UInt32 = 1001
    static let int4Array: UInt32 = 1007
    static let int8Array: UInt32 = 1016
    static let float8Array: UInt32 = 1022
    static let uuidArray: UInt32 = 2951
  }

  private init<T>(_ type: UInt32, _ value: T?, _ write: (inout [UInt8], T) -> Void) {
    self.type = type
    bytes = value.map {
      var bytes: [UInt8] = []
      write(&bytes, $0)
      return bytes
    }
  }

  static func flag(_ value: Bool?) -> Parameter {
    Parameter(OID.bool, value) { $0.append($1 ? 1 : 0) }
  }

  static func integer(_ value: Int64?) -> Parameter {
    Parameter(OID.int8, value) { $0.append(bigEndian: $1) }
  }

  static func small(_ value: Int32?) -> Parameter {
    Parameter(OID.int4, value) { $0.append(bigEndian: $1) }
  }

  static func time(_ value: Timestamp?) -> Parameter { integer(value?.nanoseconds) }

  static func text(_ value: String?) -> Parameter {
    Parameter(OID.bytea, value) { $0.append(contentsOf: $1.utf8) }
  }

  static func blob(_ value: [UInt8]?) -> Parameter {
    Parameter(OID.bytea, value) { $0.append(contentsOf: $1) }
  }

  static func uuid(_ value: UUID128?) -> Parameter {
    Parameter(OID.uuid, value) { $0.append($1) }
  }

  // MARK: - Arrays

  /// Creates an array (the format of `array_send`): one dimension, whose index begins with 1.
  private init<T>(
    _ type: UInt32, of element: UInt32, _ values: [T?], _ write: (inout [UInt8], T) -> Void
  ) {
    self.type = type
    var bytes: [UInt8] = []
    bytes.append(bigEndian: Int32(values.isEmpty ? 0 : 1))
    bytes.append(bigEndian: Int32(values.contains { $0 == nil } ? 1 : 0))
    bytes.append(bigEndian: Int32(bitPattern: element))
    if !values.isEmpty {
      bytes.append(bigEndian: Int32(values.count))
      bytes.append(bigEndian: Int32(1))
    }
    for value in values {
      let start = bytes.count
      bytes.append(bigEndian: Int32(-1))
      guard let value else { continue }
      write(&bytes, value)
      let count = UInt32(bytes.count - start - 4)
      for index in 0..<4 {
        bytes[start + index] = UInt8(truncatingIfNeeded: count >> UInt32(24 - index * 8))
      }
    }
    self.bytes = bytes
  }

  static func flags(_ values: [Bool?]) -> Parameter {
    Parameter(OID.boolArray, of: OID.bool, values) { $0.append($1 ? 1 : 0) }
  }

  static func integers(_ values: [Int64?]) -> Parameter {
    Parameter(OID.int8Array, of: OID.int8, values) { $0.append(bigEndian: $1) }
  }

  static func smalls(_ values: [Int32?]) -> Parameter {
    Parameter(OID.int4Array, of: OID.int4, values) { $0.append(bigEndian: $1) }
  }

  static func reals(_ values: [Double?]) -> Parameter {
    Parameter(OID.float8Array, of: OID.float8, values) {
      $0.append(bigEndian: Int64(bitPattern: $1.bitPattern))
    }
  }

  static func texts(_ values: [String?]) -> Parameter {
    Parameter(OID.byteaArray, of: OID.bytea, values) { $0.append(contentsOf: $1.utf8) }
  }

  static func blobs(_ values: [ArraySlice<UInt8>?]) -> Parameter {
    Parameter(OID.byteaArray, of: OID.bytea, values) { $0.append(contentsOf: $1) }
  }

  static func uuids(_ values: [UUID128?]) -> Parameter {
    Parameter(OID.uuidArray, of: OID.uuid, values) { $0.append($1) }
  }
}

extension [UInt8] {
  fileprivate mutating func append<T: FixedWidthInteger>(bigEndian value: T) {
    var shift = T.bitWidth
    while shift > 0 {
      shift -= 8
      append(UInt8(truncatingIfNeeded: value >> T(shift)))
    }
  }

  fileprivate mutating func append(_ id: UUID128) {
    append(bigEndian: id.high)
    append(bigEndian: id.low)
  }
}

/// A row of a result, in PostgreSQL's binary form.
///
/// Each getter throws `.corrupt` if the value has another type, because somebody may have changed
/// the tables.
struct Row {
  let columns: [ArraySlice<UInt8>?]

  private func number(_ column: Int, bytes: Int) throws(StoreFailure) -> UInt64? {
    guard let value = columns[column] else { return nil }
    guard value.count == bytes else { throw garbage(column, expected: "\(bytes) bytes") }
    return value.reduce(0) { $0 << 8 | UInt64($1) }
  }

  func optionalInteger(_ column: Int) throws(StoreFailure) -> Int64? {
    try number(column, bytes: 8).map { Int64(bitPattern: $0) }
  }

  func integer(_ column: Int) throws(StoreFailure) -> Int64 {
    guard let value = try optionalInteger(column) else {
      throw garbage(column, expected: "an integer")
    }
    return value
  }

  func small(_ column: Int) throws(StoreFailure) -> Int32 {
    guard let value = try number(column, bytes: 4) else {
      throw garbage(column, expected: "an integer")
    }
    return Int32(bitPattern: UInt32(value))
  }

  /// Returns a count or an offset, which is never negative.
  func unsigned(_ column: Int) throws(StoreFailure) -> UInt64 {
    guard let value = try optionalUnsigned(column) else {
      throw garbage(column, expected: "a positive integer")
    }
    return value
  }

  func optionalUnsigned(_ column: Int) throws(StoreFailure) -> UInt64? {
    guard let value = try optionalInteger(column) else { return nil }
    guard value >= 0 else { throw garbage(column, expected: "a positive integer") }
    return UInt64(value)
  }

  func optionalReal(_ column: Int) throws(StoreFailure) -> Double? {
    try number(column, bytes: 8).map { Double(bitPattern: $0) }
  }

  func flag(_ column: Int) throws(StoreFailure) -> Bool {
    guard let value = try number(column, bytes: 1) else {
      throw garbage(column, expected: "a truth value")
    }
    return value != 0
  }

  func optionalBlob(_ column: Int) throws(StoreFailure) -> [UInt8]? {
    columns[column].map(Array.init)
  }

  func optionalText(_ column: Int) throws(StoreFailure) -> String? {
    guard let bytes = columns[column] else { return nil }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw garbage(column, expected: "UTF-8")
    }
    return text
  }

  func text(_ column: Int) throws(StoreFailure) -> String {
    guard let text = try optionalText(column) else { throw garbage(column, expected: "text") }
    return text
  }

  func optionalTime(_ column: Int) throws(StoreFailure) -> Timestamp? {
    try optionalInteger(column).map { Timestamp(nanoseconds: $0) }
  }

  func time(_ column: Int) throws(StoreFailure) -> Timestamp {
    Timestamp(nanoseconds: try integer(column))
  }

  func optionalUUID(_ column: Int) throws(StoreFailure) -> UUID128? {
    guard let bytes = columns[column] else { return nil }
    guard bytes.count == 16 else { throw garbage(column, expected: "16 bytes") }
    return UUID128(bytes: bytes)
  }

  func uuid(_ column: Int) throws(StoreFailure) -> UUID128 {
    guard let value = try optionalUUID(column) else { throw garbage(column, expected: "a UUID") }
    return value
  }

  /// Returns the elements of an array of integers (the format of `array_send`) without NULL.
  func integers(_ column: Int) throws(StoreFailure) -> [Int64] {
    guard let bytes = columns[column] else { return [] }
    func number(_ start: Int, _ count: Int) -> UInt64 {
      bytes[start..<start + count].reduce(0) { $0 << 8 | UInt64($1) }
    }
    guard bytes.count >= 12 else { throw garbage(column, expected: "an array") }
    guard bytes.count > 12 else { return [] }
    let (first, left) = (bytes.startIndex + 20, bytes.count - 20)
    guard left >= 0, left % 12 == 0 else { throw garbage(column, expected: "an array") }
    return (0..<left / 12).map { Int64(bitPattern: number(first + $0 * 12 + 4, 8)) }
  }

  func garbage(_ column: Int, expected: String) -> StoreFailure {
    .corrupt(
      detail: "Column \(column + 1) of a row in the database is not \(expected). Nothing was "
        + "changed; restore the database from a backup.")
  }
}
