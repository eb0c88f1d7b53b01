public import LinkCore

/// Counts a notice that comes again and again, instead of letting it fill the screen.
public struct Repeats: Sendable {
  /// A notice that goes on is counted out this often.
  public static let pause = Duration.seconds(600)

  private var notice = ""
  private var count = 0
  private var since = Instant.zero

  public init() {}

  /// The lines to print for those of one update; before other lines the count of what was left out.
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

  /// What was left out so far.
  public mutating func counted() -> [String] {
    defer { count = 0 }
    return count == 0 ? [] : ["-- \(count) more \(count == 1 ? "time" : "times")"]
  }
}
