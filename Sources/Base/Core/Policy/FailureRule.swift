/// A class of failures. A policy has one failure action for each class.
public enum FailureClass: String, Sendable, Hashable, CaseIterable, Comparable {
  case unreachable, dns, refused, timeout, silent, tls, reset, ended, protocolError, proxy
  case captivePortal, local
  case badRequest, unauthorized, forbidden, notFound, tooManyRequests, unavailable
  case serverError, otherStatus
  case closedNormally, closedRestart, closedPolicy, closedUnauthorized, closedForbidden
  case closedReplaced, closedOther

  public static func < (left: FailureClass, right: FailureClass) -> Bool {
    left.rawValue < right.rawValue
  }
}

/// The failure action of a policy for a class of failures.
public enum FailureAction: String, Sendable, Hashable, CaseIterable {
  /// Retry by the schedule.
  case retry
  /// Retry by the schedule with jitter over the server's jitter window, since the server may have
  /// dropped all clients.
  case retryJittered
  /// Refresh the credentials once, then retry at once. After a second rejection the user must sign
  /// in.
  case refresh
  /// Go to standby. The next attempt follows a recovery of the server or a probe.
  case standby
  /// Go to standby. Once polls show that only the link is unavailable, only slow probes are made.
  ///
  /// If the failure has a retry-after, the link is retried after it instead, with jitter.
  case standbySlow
  /// End the link and show the reason to the user.
  case stop
}

extension LinkFailure {
  /// The class of this failure.
  public var failureClass: FailureClass {
    switch self {
    case .unreachable: .unreachable
    case .dns: .dns
    case .refused: .refused
    case .timeout(.silence), .timeout(.pong): .silent
    case .timeout(.resolve), .timeout(.connect), .timeout(.tls), .timeout(.upgrade),
      .timeout(.establish), .timeout(.response), .timeout(.write):
      .timeout
    case .tls: .tls
    case .reset: .reset
    case .ended: .ended
    case .closed(let code, _): Self.failureClass(ofClose: code)
    case .http(let status, _, _): Self.failureClass(ofStatus: status)
    case .protocolError: .protocolError
    case .proxy: .proxy
    case .captivePortal: .captivePortal
    case .local: .local
    }
  }

  /// Returns the class of a close code: by RFC 6455 section 7.4.1, by the IANA registry for 1012 to
  /// 1014, and by this package's backend for 44xx.
  private static func failureClass(ofClose code: UInt16) -> FailureClass {
    switch code {
    case 1000: .closedNormally
    case 1001, 1012, 1013: .closedRestart
    case 1008: .closedPolicy
    case 1002, 1003, 1007, 1009, 1010: .protocolError
    case 4401: .closedUnauthorized
    case 4403: .closedForbidden
    case 4409: .closedReplaced
    case _: .closedOther
    }
  }

  private static func failureClass(ofStatus status: Int) -> FailureClass {
    switch status {
    case 400: .badRequest
    case 401: .unauthorized
    case 403: .forbidden
    case 404, 410: .notFound
    case 429: .tooManyRequests
    case 503: .unavailable
    case 500...599: .serverError
    case _: .otherStatus
    }
  }

  /// The retry-after of the server.
  public var retryAfter: Duration? {
    switch self {
    case .http(_, let retryAfter, _): retryAfter
    case .unreachable, .dns, .refused, .timeout, .tls, .reset, .ended, .closed, .protocolError,
      .proxy, .captivePortal, .local:
      nil
    }
  }

  /// Whether the server could not be reached or could not serve, so that its next response
  /// indicates a recovery.
  public var meansServerUnreachable: Bool {
    switch failureClass {
    case .unreachable, .dns, .refused, .timeout, .silent, .reset, .ended, .proxy, .captivePortal,
      .local, .serverError, .unavailable, .closedRestart:
      true
    case .tls, .protocolError, .badRequest, .unauthorized, .forbidden, .notFound,
      .tooManyRequests, .otherStatus, .closedNormally, .closedPolicy,
      .closedUnauthorized, .closedForbidden, .closedReplaced,
      .closedOther:
      false
    }
  }
}
