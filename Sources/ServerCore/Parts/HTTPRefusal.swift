import LinkCore
import LinkWire

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
