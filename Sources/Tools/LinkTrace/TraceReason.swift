import HoldfastCore

/// The words that say in a trace why an attempt ended or why a link is not connected.
///
/// The page has a title for each word; see `Web/picture/reasons.js`. Close codes and statuses are
/// written as `close 1012` and `HTTP 503`.
public enum TraceReason: String, Sendable, Hashable, CaseIterable {
  case background, ended, idle, killed, leaving, local, offline, protocolError = "protocol"
  case proxy, refused, rejected, reset, settling, silent, superseded, tls = "TLS"
  case loginPage = "login page"
  case networkChanged = "network changed"
  case noAnswer = "no answer"
  case noPong = "no pong"
  case noRoute = "no route"
  case rateLimit = "rate limit"
  case signIn = "sign in"
  case unknownName = "unknown name"

  /// Returns the word for the reason in a status.
  static func word(for reason: LinkStatus.Reason) -> String {
    switch reason {
    case .blocked(.unreachable): offline.rawValue
    case .blocked(.captivePortal): loginPage.rawValue
    case .blocked(.background): background.rawValue
    case .failure(let failure), .exhausted(let failure): word(for: failure)
    case .signIn: signIn.rawValue
    case .ended(let reason): word(for: reason).rawValue
    case .debouncing: settling.rawValue
    case .limited: rateLimit.rawValue
    }
  }

  /// Returns the word for the reason for which this side closed a connection.
  static func word(for reason: HeldLink.CloseReason) -> TraceReason {
    switch reason {
    case .leaving: leaving
    case .background: background
    case .networkChanged: networkChanged
    case .timeout: noAnswer
    case .silent: silent
    case .idle: idle
    case .rejected: rejected
    case .superseded: superseded
    }
  }

  /// Returns the word for a failure.
  static func word(for failure: LinkFailure) -> String {
    switch failure {
    case .closed(let code, _): "close \(code)"
    case .http(let status, _, _): "HTTP \(status)"
    case .unreachable: noRoute.rawValue
    case .dns: unknownName.rawValue
    case .refused: refused.rawValue
    case .timeout(.pong): noPong.rawValue
    case .timeout(.silence): silent.rawValue
    case .timeout: noAnswer.rawValue
    case .tls: tls.rawValue
    case .reset: reset.rawValue
    case .ended: ended.rawValue
    case .protocolError: protocolError.rawValue
    case .proxy: proxy.rawValue
    case .captivePortal: loginPage.rawValue
    case .local: local.rawValue
    }
  }
}
