/// The head of a response (RFC 9112 section 4).
public struct HTTPResponseHead: Equatable, Sendable {
  /// The status code, 100 to 599.
  public var status: Int
  /// The reason phrase; may be empty.
  public var reason: String
  /// 1 for HTTP/1.1, 0 for HTTP/1.0.
  public var minorVersion: Int
  /// The header fields in order, names lowercased.
  public var headers: [HTTPField]

  /// A head from its parts.
  public init(status: Int, reason: String, minorVersion: Int = 1, headers: [HTTPField]) {
    self.status = status
    self.reason = reason
    self.minorVersion = minorVersion
    self.headers = headers.map { HTTPField(name: $0.name.lowercased(), value: $0.value) }
  }

  /// The value of the first field of that lowercased name.
  public func first(_ name: String) -> String? {
    headers.first(name)
  }

  /// The fields by name; the values of a repeated one are joined by a comma.
  public var fields: [String: String] {
    Dictionary(headers.map { ($0.name, $0.value) }, uniquingKeysWith: { "\($0), \($1)" })
  }
}
