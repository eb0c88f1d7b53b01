public import LinkCore

/// A filter that counts a repeated notice instead of printing it again.
public struct Repeats: Sendable {
  /// How often the count of a notice that keeps repeating is printed.
  public static let pause = Duration.seconds(600)

  private var notice = ""
  private var count = 0
  private var since = Instant.zero

  public init() {}

  /// Returns the lines to print for one update; before other lines, the count of those omitted.
  public mutating func lines(
    _ lines: [String], isNotice: Bool, at now: Instant
  ) -> [String] {
    guard let first = lines.first else { return [] }
    if isNotice, first == notice {
      count += 1
      guard since.duration(to: now) >= Self.pause else { return [] }
      since = now
      return counted()
    }
    let before = counted()
    notice = isNotice ? first : ""
    since = now
    return before + lines
  }

  /// Returns the count of the lines omitted so far, and resets it.
  public mutating func counted() -> [String] {
    defer { count = 0 }
    return count == 0
      ? [] : ["-- the last notice came \(count) more \(count == 1 ? "time" : "times")"]
  }
}
