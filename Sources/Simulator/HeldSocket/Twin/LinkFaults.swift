import LinkCore

/// A table of failures, told a second time: what each is for a policy, and what it tells of a
/// server.
enum LinkFaults {
  private static let closes: [(codes: [UInt16], row: FailureClass)] = [
    ([1000], .closedNormally), ([1001, 1012, 1013], .closedRestart), ([1008], .closedPolicy),
    ([1002, 1003, 1007, 1009, 1010], .protocolError), ([4401], .closedUnauthorized),
    ([4403], .closedForbidden), ([4409], .closedReplaced),
  ]

  private static let answers: [(codes: [Int], row: FailureClass)] = [
    ([400], .badRequest), ([401], .unauthorized), ([403], .forbidden), ([404, 410], .notFound),
    ([429], .tooManyRequests), ([503], .unavailable), (Array(500...599), .serverError),
  ]

  /// What counts as an outage: the next answer of the server is news.
  private static let outages: [FailureClass] = [
    .unreachable, .dns, .refused, .timeout, .silent, .reset, .ended, .proxy, .captivePortal,
    .local, .serverError, .unavailable, .closedRestart,
  ]

  /// The row of a policy's table for a failure.
  static func row(_ failure: LinkFailure) -> FailureClass {
    switch failure {
    case .unreachable: return .unreachable
    case .dns: return .dns
    case .refused: return .refused
    case .timeout(let phase): return phase == .silence || phase == .pong ? .silent : .timeout
    case .tls: return .tls
    case .reset: return .reset
    case .ended: return .ended
    case .closed(let code, _):
      return closes.first { $0.codes.contains(code) }?.row ?? .closedOther
    case .http(let status, _, _):
      return answers.first { $0.codes.contains(status) }?.row ?? .otherStatus
    case .protocolError: return .protocolError
    case .proxy: return .proxy
    case .captivePortal: return .captivePortal
    case .local: return .local
    }
  }

  static func isOutage(_ failure: LinkFailure) -> Bool { outages.contains(row(failure)) }

  /// How long a server wants to be left alone.
  static func wish(_ failure: LinkFailure?) -> Duration? {
    guard case .http(_, let wish, _)? = failure else { return nil }
    return wish
  }

  /// As much of a wish as is obeyed.
  static func obeyed(_ wish: Duration?, _ policy: RetryPolicy) -> Duration? {
    guard let wish else { return nil }
    if wish < .zero { return .zero }
    return wish > policy.longestWish ? policy.longestWish : wish
  }

  static func verdict(_ failure: LinkFailure, _ policy: LinkPolicy) -> Verdict {
    let verdict = policy.verdicts[row(failure)] ?? .retry
    // A server that names a time still offers the link.
    if verdict == .standbySlow, wish(failure) != nil { return .retrySpread }
    return verdict
  }
}
