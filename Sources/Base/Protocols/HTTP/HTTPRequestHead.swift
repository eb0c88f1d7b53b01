/// The head of a request (RFC 9112 section 3).
public struct HTTPRequestHead: Equatable, Sendable {
  /// The method in its original case. It may be any token (RFC 9110 section 9.1).
  public var method: String
  /// The target in origin form, still percent-encoded. A target in absolute form is reduced to
  /// origin form.
  public var target: String
  /// The target before its query, still percent-encoded.
  public var path: String
  /// The percent-decoded segments of the path, split at `/`. Empty segments are kept, except for
  /// the first one.
  public var segments: [String]
  /// The percent-decoded query items in order, with `+` as a space.
  public var query: [HTTPQueryItem]
  /// The minor version: 1 for HTTP/1.1, 0 for HTTP/1.0.
  public var minorVersion: Int
  /// The header fields in order, with names in lower case.
  public var headers: [HTTPField]

  /// Creates a head. Throws an error with status 400 or 501 if a server cannot serve the target.
  public init(
    method: String, target: String, minorVersion: Int = 1, headers: [HTTPField]
  ) throws(HTTPError) {
    let fields = headers.map { HTTPField(name: $0.name.lowercased(), value: $0.value) }
    try self.init(
      method: method, target: Array(target.utf8)[...], minorVersion: minorVersion, fields: fields)
  }

  /// Creates a head from fields whose names are already in lower case.
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

  /// Replaces the Host field with the host of a target in absolute form (RFC 9112 section 3.2.2).
  private mutating func replaceHost(_ authority: String) {
    headers.removeAll { $0.name == "host" }
    headers.append(HTTPField(name: "host", value: authority))
  }

  /// Returns the values of all fields with the given name, which must be in lower case, in order.
  public func all(_ name: String) -> [String] {
    headers.filter { $0.name == name }.map(\.value)
  }

  /// Returns the value of the first field with the given name, which must be in lower case.
  public func first(_ name: String) -> String? {
    headers.first(name)
  }

  /// Returns the decoded value of the first query item with the given name.
  public func firstQuery(_ name: String) -> String? {
    query.first { $0.name == name }?.value
  }

  /// Whether the connection may be reused for another request (RFC 9112 section 9.3). This is never
  /// the case in HTTP/1.0.
  public var keepAlive: Bool {
    minorVersion >= 1 && !headers.tokens("connection").contains("close")
  }

  /// Whether the client waits for status 100 before it sends the body (RFC 9110 section 10.1.1).
  public var expectsContinue: Bool {
    minorVersion >= 1 && first("expect")?.lowercased() == "100-continue"
  }

  /// Whether this is a request to upgrade to a WebSocket, which the handshake then validates.
  public var asksForWebSocket: Bool {
    headers.tokens("upgrade").contains("websocket")
  }
}
