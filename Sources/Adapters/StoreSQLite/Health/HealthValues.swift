import LinkCore
import LinkHealth

extension SQLValue {
  /// Sixteen bytes, highest first.
  static func key(_ key: HealthSampleKey) -> SQLValue {
    .uuid(UUID128(high: key.high, low: key.low))
  }

  static func real(_ value: Double?) -> SQLValue { value.map { .real($0) } ?? .null }
}

extension Statement {
  func bind(_ key: HealthSampleKey, at place: Int32) {
    bind(UUID128(high: key.high, low: key.low), at: place)
  }
}

extension Row {
  func key(_ column: Int32) throws(StoreFailure) -> HealthSampleKey {
    let bytes = try uuid(column)
    return HealthSampleKey(high: bytes.high, low: bytes.low)
  }
}
