/// Why an attempt failed or a link was lost, told apart as far as the adapter can see.
///
/// One taxonomy for sockets, REST and, later, radios. Details are for people; they never hold a
/// token, a query string or a header that carries one.
public enum LinkFailure: Error, Sendable, Hashable, Codable {
  /// No path: the network is down, or no route to the host (ENETUNREACH, EHOSTUNREACH).
  case unreachable(detail: String)
  /// The name does not resolve.
  case dns(detail: String)
  /// The host answered that the port is closed (ECONNREFUSED).
  case refused
  /// Nothing came in time.
  case timeout(Phase)
  /// The TLS handshake failed or the certificate was refused.
  case tls(TLSReason, detail: String)
  /// The connection was reset (ECONNRESET, EPIPE, ECONNABORTED).
  case reset
  /// The peer ended the stream without a close frame or before the answer was whole.
  case ended
  /// The peer closed the WebSocket with a code (RFC 6455 section 7.4; 1005 when it named none).
  case closed(code: UInt16, reason: String)
  /// The server answered with an HTTP status that is not success (or refused the upgrade with it).
  case http(status: Int, retryAfter: Duration?, detail: String)
  /// The peer broke the protocol; we closed with the code that says how.
  case protocolError(detail: String)
  /// The proxy could not be reached or refused.
  case proxy(detail: String)
  /// Something between us and the server answers in its place (a login page).
  case captivePortal
  /// This device could not do its part (no descriptors, no memory, a bad URL).
  case local(detail: String)

  /// What was being waited for when time ran out.
  public enum Phase: String, Sendable, Hashable, Codable, CaseIterable {
    case resolve, connect, tls, upgrade, establish, response, silence, pong, write
  }

  /// Why TLS was refused; each ends the trying, none is retried.
  public enum TLSReason: String, Sendable, Hashable, Codable, CaseIterable {
    case expired, notYetValid, wrongHost, selfSigned, unknownAuthority, revoked, version, handshake
    /// The peer answers, and not with TLS.
    case notSpoken
    case other
  }
}

extension LinkFailure {
  /// Whether something else than the server's program answered: a redirect, or a page for people.
  public var isElsewhere: Bool {
    if case .http(let status, _, _) = self { (200..<400).contains(status) } else { false }
  }
}

extension LinkFailure {
  /// The same failure with each text that stands in it changed.
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

/// The reason why a store did not carry out a request. Nothing of the request was written.
public enum StoreFailure: Error, Sendable, Hashable, Codable, CustomStringConvertible {
  /// The disk or a quota is full.
  case full(detail: String)
  /// Another process holds the store, or the device is locked. A later try may succeed.
  case locked(detail: String)
  /// The file is not a database, or is damaged.
  case corrupt(detail: String)
  /// Written by a newer version of this software.
  case fromTheFuture(found: Int, supported: Int)
  /// The file cannot be read or written (permissions, a read-only disk).
  case denied(detail: String)
  /// Any other reason: a closed store, a request that is not valid.
  case other(detail: String)

  /// The failure in words for people.
  public var description: String {
    switch self {
    case .full(let detail), .locked(let detail), .corrupt(let detail), .denied(let detail),
      .other(let detail):
      detail
    case .fromTheFuture(let found, let supported):
      "it has format \(found), and this program knows up to \(supported)"
    }
  }

  /// The failure of every call after a store was closed.
  package static let closed = StoreFailure.other(detail: "The store is closed.")

  /// The failure of every call between `suspend` and `resume`.
  package static let suspended = StoreFailure.locked(
    detail: "The store is suspended; use it after `resume`.")
}
