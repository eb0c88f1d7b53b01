/// The answer of a server to a request of an upload.
public struct UploadReply: Sendable, Hashable {
  /// The HTTP status code.
  public var status: Int
  /// What its fields say.
  public var fields: UploadFields
  /// The URL of the upload, if it is one of the same server.
  public var url: String?
  /// Whether its body does not say that the batch was not stored.
  public var isSuccess: Bool

  /// The longest URL of an upload that is accepted, in bytes; ours: such URLs are far shorter.
  public static let mostURLBytes = 2_048

  /// An answer from its parts.
  public init(
    _ status: Int, _ fields: UploadFields, url: String? = nil, isSuccess: Bool = true
  ) {
    (self.status, self.fields, self.url) = (status, fields, url)
    self.isSuccess = isSuccess
  }

  /// Reads the fields of an answer.
  ///
  /// - Parameters:
  ///   - server: The URL that was asked for; uploads of other servers are not followed, since the
  ///     secret is not for them.
  ///   - body: The body of the answer.
  public init(
    _ status: Int, _ dialect: UploadDialect, of server: String, body: [UInt8] = [],
    field: (String) -> String?
  ) {
    self.init(
      status, UploadFields(dialect, field: field),
      url: field("Location").flatMap { Self.resolve($0, at: server) },
      isSuccess: SyncReply.isSuccess(body))
  }

  /// Returns the absolute URL of a location; `nil` if it is not one of the same server.
  static func resolve(_ location: String, at url: String) -> String? {
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
