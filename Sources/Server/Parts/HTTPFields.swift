import HoldfastCore
import HoldfastJSON

/// Header fields that the responses of all services share.
public enum HTTPFields {
  /// The fields of a JSON response that no cache stores.
  public static let json = [("Content-Type", "application/json"), ("Cache-Control", "no-store")]

  /// The fields of a 426 response. They name the protocol that the route requires (RFC 9110 section
  /// 15.5.22).
  public static let upgradeRequired = [
    ("Upgrade", "websocket"), ("Sec-WebSocket-Version", "13"),
  ]

  /// The scheme of tokens (RFC 6750 section 2.1), as the challenge to a request without one.
  package static let bearer = "Bearer"

  /// Returns the fields that a refusal requires.
  ///
  /// A 401 response names its scheme (RFC 9110 section 11.6.1), and a 405 response lists the
  /// methods of the route. If the request may be retried, the response states when.
  ///
  /// - Parameter challenge: The value of `WWW-Authenticate`; `nil` for that of a request without a
  ///   token.
  public static func of(
    status: Int, retryAfter: Duration?, allow: String? = nil, challenge: String? = nil
  ) -> [(String, String)] {
    var fields = status == 401 ? [("WWW-Authenticate", challenge ?? bearer)] : []
    if let allow { fields.append(("Allow", allow)) }
    if let retryAfter { fields.append(("Retry-After", String(retryAfter.retrySeconds))) }
    return fields
  }
}

extension Duration {
  /// The value of `Retry-After` (RFC 9110 section 10.2.3): whole seconds, rounded up.
  ///
  /// The value is at least one, because a client would retry immediately after a value of zero.
  package var retrySeconds: Int64 {
    let (seconds, rest) = components
    return max(1, rest > 0 ? seconds + 1 : seconds)
  }
}

/// The response to a request or upgrade that is refused, with a human-readable message.
public struct HTTPRefusal: Sendable, Hashable, Codable {
  /// The HTTP status code (RFC 9110 section 15).
  public var status: Int
  /// The reason, in one human-readable sentence.
  public var message: String
  /// The time after which the client may retry.
  ///
  /// It is sent in whole seconds, rounded up (RFC 9110 section 10.2.3).
  public var retryAfter: Duration?
  /// The methods that the route accepts, for status 405 (RFC 9110 section 15.5.6).
  public var allow: String?
  /// The value of `WWW-Authenticate` for status 401, if the request has a token.
  public var challenge: String?

  /// Creates a refusal from its parts.
  public init(
    _ status: Int, _ message: String, retryAfter: Duration? = nil, allow: String? = nil
  ) {
    self.status = status
    self.message = message
    self.retryAfter = retryAfter
    self.allow = allow
  }

  /// Creates the refusal of a request because of its credential.
  public init(_ fault: CredentialFault) {
    self.init(fault.status, fault.detail, retryAfter: fault.retryAfter)
    challenge = fault.challenge
  }

  /// All header fields except the length.
  public var headers: [(String, String)] {
    HTTPFields.json
      + HTTPFields.of(
        status: status, retryAfter: retryAfter, allow: allow, challenge: challenge)
  }

  /// The encoded body.
  public var bytes: [UInt8] { Envelope.error(status: status, message: message) }
}
