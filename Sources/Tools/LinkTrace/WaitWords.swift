import HoldfastCore
import HoldfastLinkChecks

/// Functions that explain the wait before an attempt in words.
enum WaitWords {
  /// Returns the explanation of a wait in parentheses; empty if the wait needs none.
  static func explain<Feature>(
    _ status: LinkStatus, _ wait: Duration?, _ state: PhoneState<Feature>
  ) -> String {
    guard let wait, wait > .zero else { return "" }
    guard let parts = state.wait, parts.until == status.retryAt else {
      return PolicyWords.explain(wait, status, state.policy)
    }
    let words = [schedule(parts), spread(parts), rule(parts.rule)].compactMap(\.self)
    return words.isEmpty ? "" : " (\(words.joined(separator: ", ")))"
  }

  /// Returns the word of a rule in a trace.
  static func name(of rule: RetryWait.Rule) -> String {
    switch rule {
    case .schedule: "schedule"
    case .retryAfter: "retry-after"
    case .window: "window"
    case .breaker: "breaker"
    }
  }

  /// Returns the wait of a schedule, such as `base 4 s, jitter −20 %`.
  private static func schedule(_ parts: RetryWait) -> String? {
    guard let base = parts.base else { return nil }
    let text = "base \(length(base))"
    guard base > .zero, parts.drawn != base else {
      return parts.window == nil && parts.rule == .schedule ? nil : text
    }
    let percent = ((parts.drawn / base - 1) * 100).rounded()
    return text + ", jitter \(percent < 0 ? "−" : "+")\(Int(percent.magnitude)) %"
  }

  private static func spread(_ parts: RetryWait) -> String? {
    parts.window.map { "plus \(length(parts.spread)) of a spread of \(length($0))" }
  }

  private static func rule(_ rule: RetryWait.Rule) -> String? {
    switch rule {
    case .schedule: nil
    case .retryAfter: "the server asked for a pause"
    case .window(let window):
      "at most \(Sentence.count(window.attempts, "attempt")) in \(length(window.per))"
    case .breaker(let breaker):
      "a pause of \(length(breaker.pause)) after \(Sentence.count(breaker.failures, "failure"))"
    }
  }

  private static func length(_ time: Duration) -> String {
    time == .zero ? "0 s" : Sentence.length(time)
  }
}
