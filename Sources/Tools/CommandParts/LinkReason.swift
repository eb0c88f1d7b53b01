import HoldfastCommandKit
import HoldfastCore

/// The cause in a status or a failure, as a stable name for scripts.
///
/// People are shown the cause's description instead.
enum LinkReason {
  static func name(_ reason: LinkStatus.Reason) -> String {
    switch reason {
    case .blocked(.unreachable): "offline"
    case .blocked(.captivePortal): "captive-portal"
    case .blocked(.background): "background"
    case .failure(let failure), .exhausted(let failure): name(failure)
    case .signIn: "sign-in"
    case .ended(let reason): name(reason)
    case .debouncing: "settling"
    case .limited: "too-many-tries"
    }
  }

  static func name(_ failure: LinkFailure) -> String {
    switch failure {
    case .unreachable: "unreachable"
    case .dns: "dns"
    case .refused: "refused"
    case .timeout(.silence), .timeout(.pong): "silent"
    case .timeout: "timeout"
    case .tls(let reason, _): "tls-\(name(reason))"
    case .reset: "reset"
    case .ended: "ended"
    case .http(403, _, _), .closed(4403, _): "forbidden"
    case .closed(let code, _): "closed-\(code)"
    case .http(let status, _, _): "http-\(status)"
    case .protocolError: "protocol"
    case .proxy: "proxy"
    case .captivePortal: "captive-portal"
    case .local: "local"
    }
  }

  private static func name(_ reason: LinkFailure.TLSReason) -> String {
    switch reason {
    case .expired, .revoked, .version, .handshake, .other: reason.rawValue
    case .notYetValid: "not-yet-valid"
    case .wrongHost: "wrong-host"
    case .selfSigned: "self-signed"
    case .unknownAuthority: "unknown-authority"
    case .notSpoken: "not-spoken"
    }
  }

  private static func name(_ reason: HeldLink.CloseReason) -> String {
    switch reason {
    case .leaving: "realtime-off"
    case .background, .timeout, .silent, .idle, .rejected, .superseded: reason.rawValue
    case .networkChanged: "network-changed"
    }
  }

  /// Returns the detail of a reason for scripts, with at most 200 characters; `nil` if there is none.
  static func detail(_ reason: LinkStatus.Reason) -> String? {
    switch reason {
    case .failure(let failure), .exhausted(let failure):
      detail(failure).map { String($0.printable.prefix(200)) }
    case .limited: "more would load the server"
    case .blocked, .signIn, .ended, .debouncing: nil
    }
  }

  private static func detail(_ failure: LinkFailure) -> String? {
    switch failure {
    case .unreachable(let detail), .dns(let detail), .tls(_, let detail),
      .protocolError(let detail), .proxy(let detail), .local(let detail),
      .closed(_, let detail), .http(_, _, let detail):
      detail.isEmpty ? nil : detail
    case .timeout(let phase): phase.rawValue
    case .refused, .reset, .ended, .captivePortal: nil
    }
  }
}
