import LinkCore
import LinkWire

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

extension String {
  /// This text with controls, line breaks and direction marks escaped, so that it cannot
  /// control a terminal.
  var printable: String {
    guard unicodeScalars.contains(where: Self.isUnsafe) else { return self }
    return unicodeScalars.reduce(into: "") { result, scalar in
      switch scalar {
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      case "\t": result += "\\t"
      case _ where Self.isUnsafe(scalar):
        result += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
      case _: result.unicodeScalars.append(scalar)
      }
    }
  }

  private static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate:
      // Joiners are parts of words and emoji.
      scalar.value != 0x200D && scalar.value != 0x200C
    case _: false
    }
  }
}

extension Timestamp {
  /// The local time, such as `2026-11-20 07:08:09`.
  var local: String {
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

  /// ISO 8601 in UTC with exactly three decimals of the second, so that texts sort by time.
  var milliseconds: String {
    let second: Int64 = 1_000_000_000
    let fraction = (nanoseconds % second + second) % second
    let whole = RFC3339.format(Timestamp(nanoseconds: nanoseconds - fraction))
    let digits = String(fraction / 1_000_000 + 1_000).dropFirst()
    return "\(whole.dropLast()).\(digits)Z"
  }
}

extension Instant {
  /// Seconds from `now` until this instant, to the millisecond; 0 if it is over.
  func seconds(from now: Instant) -> Double {
    let nanoseconds = max(0, now.duration(to: self).nanoseconds)
    return Double((nanoseconds + 500_000) / 1_000_000) / 1_000
  }
}
