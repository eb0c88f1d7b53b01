import CCurl

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Reads a `Retry-After` field (RFC 9110 section 10.2.3): seconds or an HTTP-date.
enum RetryAfter {
  /// Nil when absent or senseless; never negative.
  ///
  /// A date counts from the answer's own `Date`, so that a wrong clock here does no harm; without
  /// one it counts from `now`, in seconds since 1970.
  static func duration(_ value: String?, date: String?, now: Int) -> Duration? {
    guard let value else { return nil }
    if !value.isEmpty,
      value.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
    {
      // A number too large for 64 bits means as little as none.
      return Int64(value).map { .seconds($0) }
    }
    guard let then = seconds(value) else { return nil }
    return .seconds(max(0, then - (date.flatMap(seconds) ?? now)))
  }

  private static func seconds(_ date: String) -> Int? {
    let seconds = unsafe curl_getdate(date, nil)
    return seconds == -1 ? nil : seconds
  }

  /// Seconds since 1970 by this device's clock.
  static var now: Int { time(nil) }
}
