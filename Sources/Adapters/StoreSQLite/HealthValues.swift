import CSQLite
import LinkWire

extension SQLValue {
  /// Sixteen bytes, highest first.
  static func key(_ key: HealthSampleKey) -> SQLValue {
    .uuid(UUID128(high: key.high, low: key.low))
  }

  static func real(_ value: Double?) -> SQLValue { value.map { .real($0) } ?? .null }
}

/// Binding one value at a time, without an array for each of millions of rows. SQLite copies what
/// it is given; places are those of the statement, so that no call can fail but for want of memory,
/// which `step` then reports.
extension Statement {
  func bind(_ value: Int64, at place: Int32) {
    unsafe sqlite3_bind_int64(pointer, place, value)
  }

  func bind(_ value: Double, at place: Int32) {
    unsafe sqlite3_bind_double(pointer, place, value)
  }

  func bindNothing(at place: Int32) {
    unsafe sqlite3_bind_null(pointer, place)
  }

  func bind(_ key: HealthSampleKey, at place: Int32) {
    let copy = unsafe unsafeBitCast(-1, to: sqlite3_destructor_type.self)
    unsafe withUnsafeBytes(of: (key.high.bigEndian, key.low.bigEndian)) {
      _ = unsafe sqlite3_bind_blob64(pointer, place, $0.baseAddress, UInt64($0.count), copy)
    }
  }
}

extension Row {
  func key(_ column: Int32) throws(StoreFailure) -> HealthSampleKey {
    let bytes = try uuid(column)
    return HealthSampleKey(high: bytes.high, low: bytes.low)
  }
}
