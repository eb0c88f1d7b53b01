import Glibc
package import HoldfastCore

extension Timestamp {
  /// The time in the local time zone, such as `2026-11-20 07:08:09`.
  package var local: String {
    var seconds = time_t(nanoseconds / 1_000_000_000)
    var parts = unsafe tm()
    guard unsafe localtime_r(&seconds, &parts) != nil else { return RFC3339.format(self) }
    let numbers = unsafe [
      parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
    ]
    let pieces = numbers.map { String(String($0 + 100).dropFirst()) }
    let year = unsafe parts.tm_year + 1900
    let date = "\(year)-\(pieces[0])-\(pieces[1])"
    return "\(date) \(pieces[2]):\(pieces[3]):\(pieces[4])"
  }

  /// The time in ISO 8601 and UTC with exactly three decimal places, so that sorting the texts
  /// sorts the times.
  package var milliseconds: String {
    let second: Int64 = 1_000_000_000
    let fraction = (nanoseconds % second + second) % second
    // Times in the first second of the representable range are rounded up.
    let whole = RFC3339.format(Timestamp(nanoseconds: max(nanoseconds, .min + second) - fraction))
    let digits = String(fraction / 1_000_000 + 1_000).dropFirst()
    return "\(whole.dropLast()).\(digits)Z"
  }
}

extension Instant {
  /// Returns the number of seconds from `now` until this instant, to the millisecond; 0 if it has
  /// passed.
  package func seconds(from now: Instant) -> Double {
    let nanoseconds = max(0, now.duration(to: self).nanoseconds)
    return Double((nanoseconds + 500_000) / 1_000_000) / 1_000
  }
}
