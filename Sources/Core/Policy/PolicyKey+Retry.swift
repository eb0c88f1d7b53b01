extension PolicyKey {
  static let retryKeys: [PolicyKey] = [
    .schedule(
      "retry.first", "waits after failed tries of the first connection", { $1(&$0.retry.first) }),
    .schedule(
      "retry.reconnect", "waits before tries after an established link was lost",
      { $1(&$0.retry.reconnect) }),
    PolicyKey(
      name: "retry.windows", meaning: "tries allowed (such as 10/1m or 4/1s,10/1m)",
      range:
        "1 to 1000 tries within at most \(longestWindow.text), in at most \(mostWindows) windows"
    ) {
      $0.retry.windows.map { "\($0.attempts)/\($0.per.text)" }.joined(separator: ",")
    } write: { draft, text in
      let windows = text.split(separator: ",", omittingEmptySubsequences: false).map {
        window(of: $0)
      }
      guard !windows.contains(nil), windows.count <= mostWindows else { return false }
      draft.retry.windows = windows.compactMap { $0 }
      return true
    },
    PolicyKey(
      name: "retry.breaker", meaning: "a pause after many failures (such as 20/10m:5m, or off)",
      range: "1 to 1000 failures within at most \(longestWindow.text), a pause of "
        + Duration.written.text
    ) {
      guard let breaker = $0.retry.breaker else { return "off" }
      return "\(breaker.failures)/\(breaker.within.text):\(breaker.pause.text)"
    } write: { draft, text in
      guard text != "off" else {
        draft.retry.breaker = nil
        return true
      }
      let parts = text.split(separator: ":", omittingEmptySubsequences: false)
      guard parts.count == 2, let window = window(of: parts[0]),
        let pause = Duration(text: parts[1])
      else { return false }
      draft.retry.breaker = Breaker(
        failures: window.attempts, within: window.per, pause: pause)
      return true
    },
    .duration(
      "retry.stability", "a link that stood this long starts a new series when lost",
      { $1(&$0.retry.stability.after) }),
    PolicyKey(
      name: "retry.provenByData", meaning: "whether valid data proves a link at once (true, false)"
    ) {
      String($0.retry.stability.provenByData)
    } write: { draft, text in
      guard let value = Bool(text) else { return false }
      draft.retry.stability.provenByData = value
      return true
    },
    .duration(
      "retry.spread", "retries after a refusal or close by the server spread over this",
      { $1(&$0.retry.serverSpread) }),
    .duration(
      "retry.longestWish", "the longest Retry-After or drain window obeyed",
      { $1(&$0.retry.longestWish) }),
  ]

  /// The longest window: a phone that used it up makes no attempt for so long.
  private static let longestWindow = Duration.seconds(86_400)
  private static let mostWindows = 10

  private static func window(of text: some StringProtocol) -> AttemptWindow? {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, let attempts = WrittenNumber.count(parts[0]),
      let per = Duration(text: parts[1]), per <= longestWindow
    else { return nil }
    return AttemptWindow(attempts: attempts, per: per)
  }

  static let failureKeys: [PolicyKey] = FailureClass.allCases.map { row in
    PolicyKey(
      name: "failure.\(row.rawValue)",
      meaning:
        "what follows (one of \(Verdict.allCases.map { $0.rawValue }.joined(separator: ", ")))"
    ) {
      ($0.verdicts[row] ?? .retry).rawValue
    } write: { draft, text in
      guard let verdict = Verdict(rawValue: text) else { return false }
      draft.verdicts[row] = verdict
      return true
    }
  }
}
