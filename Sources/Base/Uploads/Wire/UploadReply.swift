/// A server's answer to an upload request.
public struct UploadReply: Sendable, Hashable {
  /// The HTTP status code.
  public var status: Int
  /// The information in the header fields.
  public var fields: UploadFields
  /// The URL of the upload, or `nil` if it is missing or on another server.
  public var url: String?
  /// Whether the body is empty or confirms that the batch was stored.
  public var isSuccess: Bool

  /// The maximum size of an upload's URL, in bytes. The limit is Holdfast's own. Real URLs are far
  /// shorter.
  public static let mostURLBytes = 2_048

  /// Creates an answer.
  public init(
    _ status: Int, _ fields: UploadFields, url: String? = nil, isSuccess: Bool = true
  ) {
    (self.status, self.fields, self.url) = (status, fields, url)
    self.isSuccess = isSuccess
  }

  /// Reads the header fields of an answer.
  ///
  /// - Parameters:
  ///   - server: The URL of the request. URLs on other servers are not followed, because those
  ///     servers must not receive the secret.
  ///   - isSuccess: Whether the body is empty or confirms that the payload was stored.
  public init(
    _ status: Int, _ dialect: UploadDialect, of server: String, isSuccess: Bool = true,
    field: (String) -> String?
  ) {
    self.init(
      status, UploadFields(dialect, field: field),
      url: field("Location").flatMap { Self.resolve($0, at: server) },
      isSuccess: isSuccess)
  }

  /// Returns whether the same request may succeed later or with another secret.
  public static func isTransient(_ status: Int) -> Bool {
    switch status {
    case 401, 408, 425, 429: true
    case 501: false
    case 500..<600: true
    case _: false
    }
  }

  /// Returns whether an answer to one batch says that no batch is accepted at present.
  ///
  /// The request came too early, too slowly or too often, or a gateway failed. Other errors of a
  /// server may concern only one batch.
  package static func concernsAllBatches(_ status: Int) -> Bool {
    [408, 425, 429, 502, 503, 504].contains(status)
  }

  /// Returns the path and the query of an absolute URL. Anything else is returned as it is.
  package static func path(of url: String) -> String {
    let parts = url.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
    return parts.count > 3 && parts[1].isEmpty ? "/\(parts[3])" : url
  }

  /// Returns the absolute URL of a location, or `nil` if it is not on the same server.
  ///
  /// - Parameters:
  ///   - location: An absolute URL, or a path and a query.
  ///   - url: Any URL on the server.
  package static func resolve(_ location: String, at url: String) -> String? {
    guard location.utf8.count <= mostURLBytes,
      location.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\\") })
    else { return nil }
    let parts = url.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
    guard parts.count > 2, parts[0].hasSuffix(":"), parts[1].isEmpty else { return nil }
    let origin = "\(parts[0])//\(parts[2])"
    if location.hasPrefix("//") { return nil }
    if location.hasPrefix("/") { return origin + location }
    guard location.hasPrefix(origin + "/") else { return nil }
    return location
  }
}
