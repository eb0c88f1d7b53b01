/// The head of a request (RFC 9112 section 3).
public struct HTTPRequestHead: Equatable, Sendable {
  /// The method, case kept; any token (RFC 9110 section 9.1).
  public var method: String
  /// The target in origin form, still percent-encoded; an absolute form is reduced to it.
  public var target: String
  /// The target up to its query, still percent-encoded.
  public var path: String
  /// The path split at `/`, each segment percent-decoded; empty segments are kept but the first.
  public var segments: [String]
  /// The query in order, percent-decoded, `+` read as a space.
  public var query: [HTTPQueryItem]
  /// 1 for HTTP/1.1, 0 for HTTP/1.0.
  public var minorVersion: Int
  /// The header fields in order, names lowercased.
  public var headers: [HTTPField]

  /// A head from its parts; throws 400 or 501 when the target is not one a server can serve.
  public init(
    method: String, target: String, minorVersion: Int = 1, headers: [HTTPField]
  ) throws(HTTPError) {
    let fields = headers.map { HTTPField(name: $0.name.lowercased(), value: $0.value) }
    try self.init(
      method: method, target: Array(target.utf8)[...], minorVersion: minorVersion, fields: fields)
  }

  /// A head from parts whose field names are lowercased already.
  init(
    method: String, target: ArraySlice<UInt8>, minorVersion: Int, fields: [HTTPField]
  ) throws(HTTPError) {
    let parsed = try RequestTarget(target, method: method)
    self.method = method
    self.target = parsed.origin
    self.path = parsed.path
    self.segments = parsed.segments
    self.query = parsed.query
    self.minorVersion = minorVersion
    headers = fields
    if let authority = parsed.authority { replaceHost(authority) }
  }

  /// The host of an absolute form goes before the Host field (RFC 9112 section 3.2.2).
  private mutating func replaceHost(_ authority: String) {
    headers.removeAll { $0.name == "host" }
    headers.append(HTTPField(name: "host", value: authority))
  }

  /// The values of all fields of that lowercased name, in order.
  public func all(_ name: String) -> [String] {
    headers.filter { $0.name == name }.map(\.value)
  }

  /// The value of the first field of that lowercased name.
  public func first(_ name: String) -> String? {
    headers.first(name)
  }

  /// The decoded value of the first query item of that name.
  public func firstQuery(_ name: String) -> String? {
    query.first { $0.name == name }?.value
  }

  /// Whether the connection may carry another request (RFC 9112 section 9.3); never in HTTP/1.0.
  public var keepAlive: Bool {
    minorVersion >= 1 && !headers.tokens("connection").contains("close")
  }

  /// Whether the client waits for 100 before it sends the body (RFC 9110 section 10.1.1).
  public var expectsContinue: Bool {
    minorVersion >= 1 && first("expect")?.lowercased() == "100-continue"
  }

  /// Whether this asks to become a WebSocket; the handshake decides whether it may.
  public var asksForWebSocket: Bool {
    headers.tokens("upgrade").contains("websocket")
  }
}
