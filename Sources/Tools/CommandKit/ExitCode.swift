public import LinkCore

/// What a command's exit status says; scripts depend on these numbers.
public enum ExitCode: Int32, Sendable, Hashable, CaseIterable {
  /// Everything asked for was done.
  case done = 0
  /// It was not, for a reason that has no number of its own.
  case failed = 1
  /// The command line is wrong.
  case usage = 2
  /// The server wants a token, or another one.
  case signInNeeded = 3
  /// The server knows the user and refuses.
  case forbidden = 4
  /// TLS failed or a certificate cannot be used.
  case security = 5
  /// The server cannot be reached.
  case unreachable = 6

  /// One line for the table in every help text.
  public var meaning: String {
    switch self {
    case .done: "done"
    case .failed: "failed"
    case .usage: "wrong usage"
    case .signInNeeded: "sign-in needed: no token, or one that the server does not take"
    case .forbidden: "forbidden: the token does not allow it"
    case .security: "security: TLS failed, or a certificate cannot be used"
    case .unreachable: "the server cannot be reached"
    }
  }

  /// The status of a command that ends because of `failure`.
  public init(_ failure: LinkFailure) {
    switch failure.failureClass {
    case .tls: self = .security
    case .unauthorized, .closedUnauthorized: self = .signInNeeded
    case .forbidden, .closedForbidden: self = .forbidden
    case .unreachable, .dns, .refused, .timeout, .silent, .reset, .ended, .proxy, .captivePortal,
      .unavailable, .closedRestart:
      self = .unreachable
    case .protocolError, .local, .badRequest, .notFound, .tooManyRequests, .serverError,
      .otherStatus, .closedNormally, .closedPolicy, .closedReplaced,
      .closedOther:
      self = .failed
    }
  }
}
