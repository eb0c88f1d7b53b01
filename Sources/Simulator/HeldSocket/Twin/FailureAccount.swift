import LinkCore

/// What failures mean, told a second time.
enum FailureAccount {
  /// Close codes of RFC 6455 section 7.4.1, of the registry, and of our servers.
  private static let closes: [(UInt16, FailureClass)] = [
    (1_000, .closedNormally), (1_001, .closedRestart), (1_002, .protocolError),
    (1_003, .protocolError), (1_007, .protocolError), (1_008, .closedPolicy),
    (1_009, .protocolError), (1_010, .protocolError), (1_012, .closedRestart),
    (1_013, .closedRestart), (4_401, .closedUnauthorized), (4_403, .closedForbidden),
    (4_409, .closedReplaced),
  ]
  private static let answers: [(Int, FailureClass)] = [
    (400, .badRequest), (401, .unauthorized), (403, .forbidden), (404, .notFound),
    (410, .notFound), (429, .tooManyRequests), (503, .unavailable),
  ]
  /// A server that cannot be reached, or cannot serve.
  private static let unreachable: [FailureClass] = [
    .unreachable, .dns, .refused, .timeout, .silent, .reset, .ended, .proxy, .captivePortal, .local,
    .unavailable, .serverError, .closedRestart,
  ]

  static func row(_ failure: LinkFailure) -> FailureClass {
    switch failure {
    case .closed(let code, _): return closes.first { $0.0 == code }?.1 ?? .closedOther
    case .http(let status, _, _):
      let known = answers.first { $0.0 == status }?.1
      return known ?? (status / 100 == 5 ? .serverError : .otherStatus)
    case .timeout(let phase): return phase == .silence || phase == .pong ? .silent : .timeout
    case .unreachable: return .unreachable
    case .dns: return .dns
    case .refused: return .refused
    case .tls: return .tls
    case .reset: return .reset
    case .ended: return .ended
    case .protocolError: return .protocolError
    case .proxy: return .proxy
    case .captivePortal: return .captivePortal
    case .local: return .local
    }
  }

  static func meansUnreachable(_ failure: LinkFailure) -> Bool {
    unreachable.contains(row(failure))
  }

  static func wish(_ failure: LinkFailure) -> Duration? {
    if case .http(_, let wish, _) = failure { wish } else { nil }
  }

  /// Whether a login page may have ended a try.
  static func isSuspicious(_ failure: LinkFailure) -> Bool {
    switch failure {
    case .timeout, .tls, .reset, .ended, .protocolError, .captivePortal: true
    case .unreachable, .dns, .refused, .proxy, .local, .closed, .http: false
    }
  }

  /// The texts of a failure, for people.
  static func texts(_ failure: LinkFailure) -> [String] {
    switch failure {
    case .unreachable(let text), .dns(let text), .tls(_, let text), .closed(_, let text),
      .http(_, _, let text), .protocolError(let text), .proxy(let text), .local(let text):
      [text]
    case .refused, .timeout, .reset, .ended, .captivePortal: []
    }
  }

  /// What is wrong with the texts of a failure aside, as one word.
  static func frame(_ failure: LinkFailure) -> String {
    switch failure {
    case .tls(let reason, _): "tls \(reason.rawValue)"
    case .closed(let code, _): "closed \(code)"
    case .http(let status, let wish, _): "http \(status) \(wish ?? .seconds(-1))"
    case .timeout(let phase): "timeout \(phase.rawValue)"
    case .unreachable, .dns, .refused, .reset, .ended, .protocolError, .proxy, .captivePortal,
      .local:
      row(failure).rawValue
    }
  }

  static func isPage(_ type: String?) -> Bool {
    type.map { $0.lowercased().hasPrefix("text/html") } == true
  }

  static func isLoginPage(_ status: Int, _ type: String?) -> Bool {
    if [301, 302, 303, 307, 308, 511].contains(status) { return true }
    return status / 100 == 2 && isPage(type)
  }

  /// What is written of a host, in lower case and without brackets.
  static func isLoginPage(
    _ status: Int, _ type: String?, host: String?, asked: String
  ) -> Bool {
    guard isLoginPage(status, type) else { return false }
    // A redirect that names no host stays at the one that was asked.
    return status / 100 != 3 || (host ?? asked) != asked
  }

  static func traits(_ way: Reachability) -> PathTraits {
    if case .reachable(_, let traits) = way { traits } else { [] }
  }

  static func input(_ change: DeviceChange) -> HeldLink.Input {
    switch change {
    case .again: .want(.live)
    case .woke: .trigger(.woke)
    case .lifecycle(let lifecycle): .lifecycle(lifecycle)
    case .reachability(let way): .reachability(way)
    }
  }
}

/// A watch for login pages, told a second time (the diagram of `PortalWatch`).
struct FailurePortal {
  let policy: PortalPolicy?
  var isAsking = false
  var heldUntil: Instant?
  private var next: Instant?
  private var way: Reachability?

  init(_ policy: PortalPolicy?) { self.policy = policy }

  mutating func tryEnded(_ failure: LinkFailure, _ now: Instant) -> Duration? {
    guard let policy, let probe = policy.probe, FailureAccount.isSuspicious(failure) else {
      return nil
    }
    if isAsking || heldUntil != nil { return nil }
    if let next, now < next { return nil }
    isAsking = true
    next = Instant(nanoseconds: now.nanoseconds + policy.wait.nanoseconds)
    return probe
  }

  mutating func checked(_ isPortal: Bool, _ now: Instant) -> Bool {
    guard isAsking, let policy else { return false }
    isAsking = false
    if isPortal { heldUntil = Instant(nanoseconds: now.nanoseconds + policy.wait.nanoseconds) }
    return isPortal
  }

  mutating func note(_ reachability: Reachability) {
    (way, isAsking, heldUntil, next) = (reachability, false, nil, nil)
  }

  mutating func release() -> Reachability? {
    guard heldUntil != nil else { return nil }
    heldUntil = nil
    return way ?? .reachable(path: PathID(""), traits: [])
  }
}
