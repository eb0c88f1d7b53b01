import HoldfastCore

/// Functions that describe the values of a policy in words.
enum PolicyWords {
  /// Returns the waits of a schedule, such as `after 0 s, 1 s and 2 s` or `after 1 s, then 2 times
  /// as long each time, at most 1 min, ±25 %`.
  static func of(_ schedule: Schedule) -> String {
    switch schedule {
    case .list(let waits): of(waits)
    case .exponential(let first, let factor, let cap, let jitter, _, let attempts):
      "after \(Sentence.length(first))" + growth(first, factor, cap)
        + (jitter > 0 ? ", ±\(Int((jitter * 100).rounded())) %" : "")
        + (attempts.map { ", \($0) \($0 == 1 ? "try" : "tries")" } ?? ", without end")
    }
  }

  /// Returns an explanation of the wait before a try, such as ` (drawn from 1.5 s to 2.5 s)`; empty
  /// if the reason in the status explains it, or if it follows from a list of waits.
  static func explain(_ wait: Duration, _ status: LinkStatus, _ policy: LinkPolicy) -> String {
    guard wait > .zero, status.attempt > 0 else { return "" }
    switch status.reason {
    case .failure, .exhausted: break
    case .blocked, .signIn, .ended, .debouncing, .limited, nil: return ""
    }
    // The status does not tell which of the schedules is used.
    let schedules = [policy.retry.reconnect, policy.retry.first]
    let bounds = schedules.compactMap { $0.bounds(before: status.attempt - 1) }
    guard let most = bounds.map(\.upperBound).max() else { return "" }
    // Times of a trace can be off by less than that.
    let slack = Duration.milliseconds(2)
    if wait > most + slack { return " (the policy's own wait is at most \(text(most)))" }
    let range = bounds.first { $0.lowerBound - slack <= wait && wait <= $0.upperBound + slack }
    guard let range, range.lowerBound < range.upperBound else { return "" }
    return " (drawn from \(text(range.lowerBound)) to \(text(range.upperBound)))"
  }

  private static func growth(_ first: Duration, _ factor: Int, _ cap: Duration) -> String {
    guard factor > 1, cap > first else { return " each" }
    let most = Sentence.length(cap)
    return ", then \(factor == 2 ? "twice" : "\(factor) times") as long each time, at most \(most)"
  }

  private static func of(_ waits: [Duration]) -> String {
    guard let last = waits.last else { return "no try" }
    let texts = waits.dropLast().map(text)
    return "after " + (texts.isEmpty ? "" : texts.joined(separator: ", ") + " and ") + text(last)
  }

  private static func text(_ wait: Duration) -> String {
    wait == .zero ? "0 s" : Sentence.length(wait)
  }
}
