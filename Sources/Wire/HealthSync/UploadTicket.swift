import LinkCore
public import LinkJSON

/// What a phone keeps of an upload that a server knows, so that the next process goes on with it.
public struct UploadTicket: Sendable, Hashable, Codable {
  /// The protocol that it was begun in.
  public var dialect: UploadDialect
  /// The URL of the upload at the server.
  public var url: String
  /// How many bytes are to be sent.
  public var size: Int
  /// Whether the bytes are compressed.
  public var isGzip: Bool
  /// The sum of the bytes: others than these do not continue the upload.
  public var sum: UInt64

  /// The longest URL that is kept, in bytes; ours: URLs of uploads have far less.
  public static let mostURLBytes = 2_048

  /// A ticket from its parts.
  public init(
    _ dialect: UploadDialect, url: String, size: Int, isGzip: Bool, sum: UInt64
  ) {
    (self.dialect, self.url, self.size) = (dialect, url, size)
    (self.isGzip, self.sum) = (isGzip, sum)
  }

  /// A ticket for these bytes.
  public init(_ dialect: UploadDialect, url: String, of bytes: [UInt8], isGzip: Bool) {
    self.init(dialect, url: url, size: bytes.count, isGzip: isGzip, sum: FNV1a.hash(bytes))
  }

  /// Whether it continues the upload of these bytes.
  public func isFor(_ bytes: [UInt8], isGzip: Bool) -> Bool {
    size == bytes.count && self.isGzip == isGzip && sum == FNV1a.hash(bytes)
  }

  /// The content of its file.
  public var bytes: [UInt8] {
    var writer = JSONWriter(capacity: 200)
    writer.object {
      $0.entry("protocol", dialect.word)
      $0.entry("url", url)
      $0.entry("size", size)
      $0.entry("gzip", isGzip)
      $0.entry("sum", String(sum, radix: 16))
    }
    return writer.bytes
  }

  /// Reads the content of its file.
  public static func read(_ bytes: [UInt8]) throws(FieldFault) -> UploadTicket {
    let fields = JSONFields(bytes, keeping: ["protocol", "url", "size", "gzip", "sum"])
    try fields.check()
    guard let dialect = UploadDialect(word: try fields.string("protocol", atMost: 8)) else {
      throw .missing(field: "protocol")
    }
    guard let sum = UInt64(try fields.string("sum", atMost: 16), radix: 16) else {
      throw .missing(field: "sum")
    }
    guard let isGzip = try fields.optionalBool("gzip") else { throw .missing(field: "gzip") }
    return UploadTicket(
      dialect, url: try fields.string("url", atMost: mostURLBytes),
      size: try fields.int("size", in: 0...(1 << 40)), isGzip: isGzip, sum: sum)
  }
}

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
    guard location.utf8.count <= UploadTicket.mostURLBytes,
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
