#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A parser for the `Retry-After` field (RFC 9110 section 10.2.3): seconds or an HTTP-date.
package enum RetryAfter {
  /// Returns the delay that a field requests; `nil` if the field is absent or malformed. The delay
  /// is never negative.
  ///
  /// A date is relative to the `Date` of the same response, so that the delay does not depend on
  /// this device's clock. If there is no `Date`, it is relative to `now`, in seconds since 1970.
  package static func duration(_ value: String?, date: String?, now: Int) -> Duration? {
    guard let value else { return nil }
    if !value.isEmpty,
      value.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
    {
      // A number that exceeds 64 bits is treated as a missing field.
      return Int64(value).map { .seconds($0) }
    }
    guard let then = HTTPDate.seconds(value) else { return nil }
    return .seconds(max(0, then - (date.flatMap(HTTPDate.seconds) ?? now)))
  }

  /// The number of seconds since 1970 according to this device's clock.
  package static var now: Int { Int(Date().timeIntervalSince1970) }
}
