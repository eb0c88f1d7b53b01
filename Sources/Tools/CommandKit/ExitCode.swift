public import HoldfastCore

/// The exit status of a command. Scripts depend on these numbers.
public enum ExitCode: Int32, Sendable, Hashable, CaseIterable {
  /// Success.
  case done = 0
  /// A failure that has no specific code.
  case failed = 1
  /// An invalid command line.
  case usage = 2
  /// A missing token, or a token that the server rejects.
  case signInNeeded = 3
  /// A user whom the server does not admit.
  case forbidden = 4
  /// A TLS failure or an unusable certificate.
  case security = 5
  /// An unreachable server.
  case unreachable = 6

  /// The description in help texts.
  public var meaning: String {
    switch self {
    case .done: "success"
    case .failed: "failure"
    case .usage: "invalid command line"
    case .signInNeeded: "sign-in needed: no token, or one that the server rejects"
    case .forbidden: "forbidden: the token does not allow it"
    case .security: "security: TLS failed, or a certificate is unusable"
    case .unreachable: "the server cannot be reached"
    }
  }

  /// Creates the exit status for a link's failure.
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

/// The reason why a command failed: a line of text for people, and an exit status for scripts.
public struct CommandFailure: Error, Sendable, Hashable {
  /// The exit status.
  public var code: ExitCode
  /// The cause.
  public var cause: String
  /// The suggested remedy; empty if none is known.
  public var remedy: String

  /// Creates a failure. Neither the cause nor the remedy ends with a period.
  public init(_ code: ExitCode, _ cause: String, remedy: String = "") {
    self.code = code
    self.cause = cause
    self.remedy = remedy
  }

  /// The cause and the remedy on one line.
  ///
  /// Line breaks become spaces, and characters that could control a terminal are escaped.
  public var line: String {
    let whole = remedy.isEmpty ? cause : "\(cause); \(remedy)"
    return whole.split(whereSeparator: \.isNewline).joined(separator: " ").printable
  }
}
