import HoldfastCore
import HoldfastPages
import HoldfastServerParts
public import HoldfastUploads

/// The response to a request about synced samples.
public struct SyncAnswer: Sendable, Hashable, Codable {
  /// The HTTP status code (RFC 9110 section 15).
  public var status: Int
  /// The body: a JSON object, the dashboard, or empty.
  public var body: [UInt8]
  /// The time after which the client may retry.
  public var retryAfter: Duration?
  /// The methods that the route accepts, for status 405.
  public var allow: String?
  /// The value of `WWW-Authenticate` for status 401, if the request has a token.
  var challenge: String?
  /// Whether the response lists the accepted encodings (RFC 9110 section 12.5.3).
  public var listsEncodings: Bool
  /// The header fields about an upload.
  public var fields: [UploadField]
  /// The origin of the web page that may read the response.
  public var origin: String?
  /// A Boolean value that indicates whether the response answers a CORS preflight request.
  public var isPreflight = false
  /// Whether the body is the dashboard.
  var isPage = false

  /// Creates a response from its parts.
  init(
    _ status: Int, _ body: [UInt8], retryAfter: Duration? = nil, allow: String? = nil,
    listsEncodings: Bool = false, fields: [UploadField] = []
  ) {
    (self.status, self.body, self.retryAfter) = (status, body, retryAfter)
    (self.allow, self.listsEncodings) = (allow, listsEncodings)
    self.fields = fields
  }

  /// The response with the dashboard.
  static var dashboard: SyncAnswer {
    var answer = SyncAnswer(200, WebPage.dashboard.bytes)
    answer.isPage = true
    return answer
  }

  /// Returns an error response with a constant short text and, optionally, details of this error.
  static func error(
    _ status: Int, _ text: String, _ details: String? = nil, retryAfter: Duration? = nil,
    allow: String? = nil
  ) -> SyncAnswer {
    SyncAnswer(
      status, SyncReply.error(text, details: details), retryAfter: retryAfter, allow: allow)
  }

  /// Returns the refusal of a request because of its token.
  static func refusal(_ fault: CredentialFault) -> SyncAnswer {
    let text = fault.status == 401 ? "Unauthorized" : "Try again later"
    var answer = error(fault.status, text, fault.detail, retryAfter: fault.retryAfter)
    answer.challenge = fault.challenge
    return answer
  }

  /// All header fields except the length.
  public var headers: [(String, String)] {
    if isPage { return WebPage.dashboard.headers }
    var fields = body.isEmpty ? [("Cache-Control", "no-store")] : HTTPFields.json
    fields += self.fields.map { ($0.name, $0.value) }
    fields += HTTPFields.of(
      status: status, retryAfter: retryAfter, allow: allow, challenge: challenge)
    if listsEncodings { fields.append(("Accept-Encoding", "gzip")) }
    guard let origin else { return fields }
    fields += [
      ("Access-Control-Allow-Origin", origin), ("Vary", "Origin"),
      ("Access-Control-Expose-Headers", "Retry-After"),
    ]
    guard isPreflight else { return fields }
    return fields + [
      ("Access-Control-Allow-Methods", "GET, POST"),
      ("Access-Control-Allow-Headers", "Authorization, Content-Type, Content-Encoding"),
      ("Access-Control-Max-Age", "600"),
    ]
  }
}

extension WebPage {
  /// The page of `GET /health`, with a person's steps, heart rate, sleep and workouts.
  ///
  /// The page uses only the `/api/health` routes of its own server. The browser tab stores the
  /// secret until it is closed, and sends it as `Authorization`.
  static let dashboard = WebPage(
    .dashboard, sources: ["script-src 'unsafe-inline'", "connect-src 'self'"])
}
