import LinkCore
import LinkWire

/// Header fields that the answers of all services share.
public enum HTTPFields {
  /// The fields of an answer in JSON that no cache keeps.
  public static let json = [("Content-Type", "application/json"), ("Cache-Control", "no-store")]

  /// The fields of a 426, which name the protocol that the route wants (RFC 9110 section 15.5.22).
  public static let upgradeRequired = [
    ("Upgrade", "websocket"), ("Sec-WebSocket-Version", "13"),
  ]

  /// The fields that a refusal needs: a 401 names its scheme (RFC 9110 section 11.6.1), a 405 the
  /// methods of the route, and one that is to be tried again says when.
  public static func of(
    status: Int, retryAfter: Duration?, allow: String? = nil
  ) -> [(String, String)] {
    var fields = status == 401 ? [("WWW-Authenticate", "Bearer")] : []
    if let allow { fields.append(("Allow", allow)) }
    if let retryAfter { fields.append(("Retry-After", String(retryAfter.retrySeconds))) }
    return fields
  }
}

extension Duration {
  /// The value of `Retry-After` (RFC 9110 section 10.2.3): whole seconds, rounded up, and at least
  /// one, since a client told to wait no time would come back at once.
  package var retrySeconds: Int64 {
    let (seconds, rest) = components
    return max(1, rest > 0 ? seconds + 1 : seconds)
  }
}

/// The answer to a request or upgrade that is not served, in a sentence for people.
public struct HTTPRefusal: Sendable, Hashable, Codable {
  /// The HTTP status code (RFC 9110 section 15).
  public var status: Int
  /// The reason, in a sentence for people.
  public var message: String
  /// When to try again; sent as whole seconds, rounded up (RFC 9110 section 10.2.3).
  public var retryAfter: Duration?
  /// The methods that the route knows; stated with 405 (RFC 9110 section 15.5.6).
  public var allow: String?

  /// A refusal from its parts.
  public init(
    _ status: Int, _ message: String, retryAfter: Duration? = nil, allow: String? = nil
  ) {
    self.status = status
    self.message = message
    self.retryAfter = retryAfter
    self.allow = allow
  }

  /// The header fields, without the length.
  public var headers: [(String, String)] {
    HTTPFields.json + HTTPFields.of(status: status, retryAfter: retryAfter, allow: allow)
  }

  /// The body.
  public var bytes: [UInt8] { Envelope.error(status: status, message: message) }
}
