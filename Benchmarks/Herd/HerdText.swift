import HoldfastCore

/// Formatting for numbers in tables and charts.
public enum HerdText {
  /// Formats a count with thousands separators: `1,234,567`.
  public static func number(_ count: Int) -> String {
    let digits = Array(String(count.magnitude))
    let grouped = digits.indices.map { index in
      let rest = digits.count - index
      return index > 0 && rest % 3 == 0 ? ",\(digits[index])" : "\(digits[index])"
    }
    return (count < 0 ? "-" : "") + grouped.joined()
  }

  /// Formats a duration in seconds: `31.2s`.
  public static func seconds(_ time: Duration) -> String {
    let tenths = (time.nanoseconds + 50_000_000) / 100_000_000
    return "\(tenths / 10).\(tenths % 10)s"
  }

  /// Formats a share as a percentage: `20.4%`.
  public static func share(_ part: Int, of whole: Int) -> String {
    let tenths = (part * 1000 + whole / 2) / max(1, whole)
    return "\(tenths / 10).\(tenths % 10)%"
  }

  /// Describes the server's capacity and its treatment of further clients.
  public static func door(_ door: Door) -> String {
    guard let capacity = door.capacity else { return "the server accepts all clients" }
    let others =
      switch door.whenFull {
      case .refuse: "answers the others 503 with Retry-After \(Door.busyRetry.text)"
      case .wait: "lets the others wait in a queue"
      }
    return "the server accepts \(number(capacity)) a second and \(others)"
  }

  /// Returns a round number of seconds per row, so that `length` seconds fit into at most `rows`
  /// rows.
  public static func step(for length: Int, rows: Int) -> Int {
    let scale = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1800]
    return scale.first { $0 * rows >= length } ?? (length + rows - 1) / rows
  }

  /// Returns the base-10 logarithm, accurate to a thousandth.
  ///
  /// This suffices for a chart, and the result is the same on every machine.
  static func log10(_ count: Int) -> Double {
    var whole = 0.0
    var rest = Double(count)
    while rest >= 10 {
      rest /= 10
      whole += 1
    }
    var part = 0.0
    var bit = 0.5
    while bit > 0.0005 {
      rest *= rest
      if rest >= 10 {
        rest /= 10
        part += bit
      }
      bit /= 2
    }
    return whole + part
  }
}
