/// The reason why an attempt failed or a link was lost, as precisely as the adapter can determine
/// it.
///
/// The same cases serve sockets, REST and radios. The details are human-readable. They never
/// contain a token, a query string, or a header that carries either.
public enum LinkFailure: Error, Sendable, Hashable, Codable {
  /// There is no path: the network is down, or there is no route to the host (ENETUNREACH,
  /// EHOSTUNREACH).
  case unreachable(detail: String)
  /// The host name could not be resolved.
  case dns(detail: String)
  /// The host refused the connection because the port is closed (ECONNREFUSED).
  case refused
  /// The time-out of a phase elapsed.
  case timeout(Phase)
  /// The TLS handshake failed or the certificate was rejected.
  case tls(TLSReason, detail: String)
  /// The connection was reset (ECONNRESET, EPIPE, ECONNABORTED).
  case reset
  /// The peer ended the stream without a close frame, or before the response was complete.
  case ended
  /// The peer closed the WebSocket with a code (RFC 6455 section 7.4), which is 1005 if it sent
  /// none.
  case closed(code: UInt16, reason: String)
  /// The server responded with a status other than success, to a request or to the upgrade.
  case http(status: Int, retryAfter: Duration?, detail: String)
  /// The peer violated the protocol, and this end closed the connection with the matching close
  /// code.
  case protocolError(detail: String)
  /// The proxy could not be reached or refused the connection.
  case proxy(detail: String)
  /// A login page of the network answers in place of the server.
  case captivePortal
  /// A local error, such as no free descriptors, no memory, or an invalid URL.
  case local(detail: String)

  /// The phase in which a time-out elapsed.
  public enum Phase: String, Sendable, Hashable, Codable, CaseIterable {
    case resolve, connect, tls, upgrade, establish, response, silence, pong, write
  }

  /// The reason why TLS failed. The presets for network services do not retry after it.
  public enum TLSReason: String, Sendable, Hashable, Codable, CaseIterable {
    case expired, notYetValid, wrongHost, selfSigned, unknownAuthority, revoked, version, handshake
    /// The peer responded, but not with TLS.
    case notSpoken
    case other
  }
}

extension LinkFailure {
  /// Whether the status shows that the server program did not respond itself: a redirect, or a
  /// success such as a web page.
  public var isElsewhere: Bool {
    if case .http(let status, _, _) = self { (200..<400).contains(status) } else { false }
  }
}

extension LinkFailure {
  /// Returns the same failure with `change` applied to each text that it contains.
  public func mapText(_ change: (String) -> String) -> LinkFailure {
    switch self {
    case .unreachable(let detail): .unreachable(detail: change(detail))
    case .dns(let detail): .dns(detail: change(detail))
    case .tls(let reason, let detail): .tls(reason, detail: change(detail))
    case .closed(let code, let reason): .closed(code: code, reason: change(reason))
    case .http(let status, let retryAfter, let detail):
      .http(status: status, retryAfter: retryAfter, detail: change(detail))
    case .protocolError(let detail): .protocolError(detail: change(detail))
    case .proxy(let detail): .proxy(detail: change(detail))
    case .local(let detail): .local(detail: change(detail))
    case .refused, .timeout, .reset, .ended, .captivePortal: self
    }
  }
}

/// The reason why a store did not carry out a request. No part of the request was written.
public enum StoreFailure: Error, Sendable, Hashable, Codable, CustomStringConvertible {
  /// The disk or a quota is full.
  case full(detail: String)
  /// The store is open elsewhere, also in this process, or the device is locked. A later attempt
  /// may succeed.
  case locked(detail: String)
  /// The file is not a database, or is damaged.
  case corrupt(detail: String)
  /// The store was written by a newer version of this software.
  case fromTheFuture(found: Int, supported: Int)
  /// The file cannot be read or written (permissions, a read-only disk).
  case denied(detail: String)
  /// Any other reason, such as a closed store or an invalid request.
  case other(detail: String)

  /// A human-readable description of the failure.
  public var description: String {
    switch self {
    case .full(let detail), .locked(let detail), .corrupt(let detail), .denied(let detail),
      .other(let detail):
      detail
    case .fromTheFuture(let found, let supported):
      "it has format \(found), and this program supports formats up to \(supported)"
    }
  }

  /// The failure of every call after the store was closed.
  package static let closed = StoreFailure.other(detail: "The store is closed.")

  /// The failure of every call between `suspend` and `resume`.
  package static let suspended = StoreFailure.locked(
    detail: "The store is suspended; use it after `resume`.")
}
