import LinkCore
public import LinkWire

/// The answer to a request about synced samples.
public struct SyncAnswer: Sendable, Hashable, Codable {
  /// The HTTP status code (RFC 9110 section 15).
  public var status: Int
  /// A JSON object, or the dashboard; empty for none.
  public var body: [UInt8]
  /// When to try again.
  public var retryAfter: Duration?
  /// The methods of the route; with 405.
  public var allow: String?
  /// Whether the answer tells which compressed bodies are taken (RFC 9110 section 12.5.3).
  public var tellsEncodings: Bool
  /// The fields about an upload.
  public var fields: [UploadField]
  /// The web page that may read the answer.
  public var origin: String?
  /// Whether it answers a browser that asks what a page may do.
  public var isPreflight = false
  /// Whether it is the dashboard.
  var isPage = false

  /// An answer from its parts.
  init(
    _ status: Int, _ body: [UInt8], retryAfter: Duration? = nil, allow: String? = nil,
    tellsEncodings: Bool = false, fields: [UploadField] = []
  ) {
    (self.status, self.body, self.retryAfter) = (status, body, retryAfter)
    (self.allow, self.tellsEncodings) = (allow, tellsEncodings)
    self.fields = fields
  }

  /// The dashboard.
  static var dashboard: SyncAnswer {
    var answer = SyncAnswer(200, WebPage.dashboard.bytes)
    answer.isPage = true
    return answer
  }

  /// A refusal: a few words that stay, and the reason of this one.
  static func error(
    _ status: Int, _ words: String, _ details: String? = nil, retryAfter: Duration? = nil,
    allow: String? = nil
  ) -> SyncAnswer {
    SyncAnswer(
      status, SyncReply.error(words, details: details), retryAfter: retryAfter, allow: allow)
  }

  /// The header fields, without the length.
  public var headers: [(String, String)] {
    if isPage { return WebPage.dashboard.headers }
    var fields = body.isEmpty ? [("Cache-Control", "no-store")] : HTTPFields.json
    fields += self.fields.map { ($0.name, $0.value) }
    fields += HTTPFields.of(status: status, retryAfter: retryAfter, allow: allow)
    if tellsEncodings { fields.append(("Accept-Encoding", "gzip")) }
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
  /// The page of `GET /health`: a person's steps, heart rate, sleep and workouts over days they
  /// choose.
  ///
  /// It needs nothing but the `/api/health` routes of its own server. The secret stays in the tab: it
  /// is sent as `Authorization` and forgotten when the tab closes.
  static let dashboard = WebPage(
    DashboardPage.text, sources: ["script-src 'unsafe-inline'", "connect-src 'self'"])
}
