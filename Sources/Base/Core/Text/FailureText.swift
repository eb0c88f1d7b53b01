// The texts of failures and statuses, which an app can show. Embedded Swift compiles this file too,
// so that no text may depend on reflection.

extension LinkFailure: CustomStringConvertible {
  /// A description of the failure and its details, such as `the connection was reset`.
  public var description: String {
    switch self {
    case .unreachable(let detail): "the server is unreachable".followed(by: detail)
    case .dns(let detail): "the host name could not be resolved".followed(by: detail)
    case .refused: "the connection was refused"
    case .timeout(let phase): phase.description
    case .tls(let reason, let detail): reason.description.followed(by: detail)
    case .reset: "the connection was reset"
    case .ended: "the connection ended unexpectedly"
    case .closed(1005, let reason):
      "the server closed the connection without a code".followed(by: reason)
    case .closed(let code, let reason):
      ("the server closed the connection with code \(code)" + Self.name(ofClose: code).bracketed)
        .followed(by: reason)
    case .http(let status, let retryAfter, let detail):
      Self.answer(status, detail)
        + (retryAfter.map { "; it asks to be tried again after \($0.text)" } ?? "")
    case .protocolError(let detail): "the protocol was violated".followed(by: detail)
    case .proxy(let detail): "the proxy made no connection".followed(by: detail)
    case .captivePortal: "a login page of the network answered instead of the server"
    case .local(let detail): detail.isEmpty ? "an error of this device" : detail
    }
  }

  private static func answer(_ status: Int, _ detail: String) -> String {
    // The failure of a link whose user must sign in. It has a status, which no server answered.
    if status == 401, detail.equals(LinkStatus.Reason.signInText) { return detail }
    let name = Self.name(ofStatus: status)
    // The reason phrase of a response is often the status's name.
    let repeatsName = name.map { detail.equals($0) } ?? false
    return ("the server answered \(status)" + name.bracketed)
      .followed(by: repeatsName ? "" : detail)
  }

  /// Returns the name of a close code: of RFC 6455 section 7.4.1, of the IANA registry for 1012 to
  /// 1014, and of this package's backend for 44xx.
  private static func name(ofClose code: UInt16) -> String? {
    switch code {
    case 1000: "normal closure"
    case 1001: "going away"
    case 1002: "protocol error"
    case 1003: "unsupported data"
    case 1006: "abnormal closure"
    case 1007: "invalid payload"
    case 1008: "policy violation"
    case 1009: "message too big"
    case 1010: "missing extension"
    case 1011: "internal error"
    case 1012: "service restart"
    case 1013: "try again later"
    case 1014: "bad gateway"
    case 4401: "unauthorized"
    case 4403: "forbidden"
    case 4409: "replaced"
    case _: nil
    }
  }

  /// Returns the name of a status (RFC 9110 section 15, RFC 6585).
  private static func name(ofStatus status: Int) -> String? {
    switch status {
    case 200: "ok"
    case 301: "moved permanently"
    case 302: "found"
    case 307: "temporary redirect"
    case 308: "permanent redirect"
    case 400: "bad request"
    case 401: "unauthorized"
    case 403: "forbidden"
    case 404: "not found"
    case 405: "method not allowed"
    case 408: "request timeout"
    case 409: "conflict"
    case 410: "gone"
    case 413: "content too large"
    case 422: "unprocessable content"
    case 426: "upgrade required"
    case 429: "too many requests"
    case 500: "internal server error"
    case 502: "bad gateway"
    case 503: "service unavailable"
    case 504: "gateway timeout"
    case 507: "insufficient storage"
    case _: nil
    }
  }
}

extension LinkFailure.Phase: CustomStringConvertible {
  /// A description of the time-out, such as `a ping was not answered in time`.
  public var description: String {
    switch self {
    case .resolve: "the host name was not resolved in time"
    case .connect: "no connection was made in time"
    case .tls: "the TLS handshake was not completed in time"
    case .upgrade: "the WebSocket handshake was not completed in time"
    case .establish: "the connection was not confirmed in time"
    case .response: "there was no answer in time"
    case .silence: "nothing was received for too long"
    case .pong: "a ping was not answered in time"
    case .write: "nothing could be sent in time"
    }
  }
}

extension LinkFailure.TLSReason: CustomStringConvertible {
  /// A description of the problem, such as `the certificate has expired`.
  public var description: String {
    switch self {
    case .expired: "the certificate has expired"
    case .notYetValid: "the certificate is not valid yet"
    case .wrongHost: "the certificate is for another host"
    case .selfSigned: "the certificate is self-signed"
    case .unknownAuthority: "the certificate is from an unknown authority"
    case .revoked: "the certificate was revoked"
    case .version: "the server supports no common version of TLS"
    case .handshake: "the TLS handshake failed"
    case .notSpoken: "the server does not speak TLS on this port"
    case .other: "TLS failed"
    }
  }
}

extension BlockedReason: CustomStringConvertible {
  /// A description of the obstacle, such as `this device is offline`.
  public var description: String {
    switch self {
    case .unreachable: "this device is offline"
    case .captivePortal: "the network shows a login page"
    case .background: "the app is in the background"
    }
  }
}

extension HeldLink.CloseReason: CustomStringConvertible {
  /// A description of why this side closed the connection, such as `the network changed`.
  public var description: String {
    switch self {
    case .leaving: "the connection is switched off"
    case .background: "the app is in the background"
    case .networkChanged: "the network changed"
    case .timeout: "the connection was not made in time"
    case .silent: "nothing was received for too long"
    case .idle: "the connection was not used"
    case .rejected: "this device rejected the connection"
    case .superseded: "another connection replaced it"
    }
  }
}

extension LinkStatus.Reason: CustomStringConvertible {
  static var signInText: String { "the user must sign in" }

  /// A description of why the link is not connected.
  public var description: String {
    switch self {
    case .blocked(let reason): reason.description
    case .failure(let failure): failure.description
    case .signIn: Self.signInText
    case .exhausted(let failure): "no attempt succeeded: " + failure.description
    case .ended(let reason): reason.description
    case .debouncing: "waiting until the network is stable"
    case .limited: "too many attempts in a short time"
    }
  }
}

extension LinkStatus: CustomStringConvertible {
  /// The phase, the attempt and the reason, such as
  /// `reconnecting, attempt 3 of 10: the connection was reset`.
  public var description: String {
    var text = phase.description
    if mode == .polling { text += ", polling" }
    // In the phase `connecting`, only the first attempt is made.
    if attempt > 0, phase != .connecting {
      text += ", attempt \(attempt)" + (maxAttempts.map { " of \($0)" } ?? "")
    }
    return text + (reason.map { ": " + $0.description } ?? "")
  }
}

extension LinkStatus: CustomDebugStringConvertible {
  /// The description, and the fields that it leaves out.
  public var debugDescription: String {
    description + (retryAt.map { ", retry at \($0.nanoseconds) ns" } ?? "")
      + (quality.map { ", quality " + $0.rawValue } ?? "")
  }
}

extension LinkStatus.Phase: CustomStringConvertible {
  /// The phase in lower-case words.
  public var description: String {
    switch self {
    case .disconnected: "disconnected"
    case .held: "waiting"
    case .connecting: "connecting"
    case .connected: "connected"
    case .reconnecting: "reconnecting"
    case .standby: "standby"
    case .failed: "failed"
    }
  }
}

extension String {
  /// Returns the text, a colon and the detail. An empty detail is left out.
  fileprivate func followed(by detail: String) -> String {
    detail.isEmpty ? self : self + ": " + detail
  }

  /// Returns whether two texts are the same, regardless of the case of ASCII letters.
  fileprivate func equals(_ other: String) -> Bool {
    utf8.elementsEqual(other.utf8) { $0 | 0x20 == $1 | 0x20 }
  }
}

extension String? {
  /// The text in brackets behind a space; empty for `nil`.
  fileprivate var bracketed: String { map { " (" + $0 + ")" } ?? "" }
}
