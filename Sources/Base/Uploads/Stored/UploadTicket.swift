import HoldfastCore
public import HoldfastJSON

/// The stored state of an upload that was begun on a server. The next process uses it to resume the
/// upload.
public struct UploadTicket: Sendable, Hashable, Codable {
  /// The protocol of the upload.
  public var dialect: UploadDialect
  /// The path and the query of the upload's URL. Files of earlier versions contain the whole URL.
  public var url: String
  /// The size of the payload in bytes.
  public var size: Int
  /// Whether the payload is compressed with gzip.
  public var isGzip: Bool
  /// The checksum of the payload. A payload with a different checksum must not continue the upload.
  public var sum: UInt64

  /// Returns the URL of the upload on a server; `nil` if it was begun on another one, which must not
  /// receive the secret.
  ///
  /// - Parameter endpoint: Any URL on the server.
  package func url(at endpoint: String) -> String? { UploadReply.resolve(url, at: endpoint) }

  /// The maximum length of a stored URL, in bytes.
  public static let mostURLBytes = UploadReply.mostURLBytes

  /// Creates a ticket.
  public init(
    _ dialect: UploadDialect, url: String, size: Int, isGzip: Bool, sum: UInt64
  ) {
    (self.dialect, self.url, self.size) = (dialect, url, size)
    (self.isGzip, self.sum) = (isGzip, sum)
  }

  /// Creates a ticket for a payload.
  public init(_ dialect: UploadDialect, url: String, of bytes: [UInt8], isGzip: Bool) {
    self.init(dialect, url: url, size: bytes.count, isGzip: isGzip, sum: FNV1a.hash(bytes))
  }

  /// Returns whether the ticket belongs to the upload of this payload.
  public func isFor(_ bytes: [UInt8], isGzip: Bool) -> Bool {
    size == bytes.count && self.isGzip == isGzip && sum == FNV1a.hash(bytes)
  }

  /// The encoded ticket, which is the content of its file.
  public var bytes: [UInt8] {
    var writer = JSONWriter(capacity: 200)
    writer.object {
      $0.entry("protocol", dialect.name)
      $0.entry("url", url)
      $0.entry("size", size)
      $0.entry("gzip", isGzip)
      $0.entry("sum", String(sum, radix: 16))
    }
    return writer.bytes
  }

  /// Decodes the content of a ticket's file.
  public static func read(_ bytes: [UInt8]) throws(FieldFault) -> UploadTicket {
    let fields = JSONFields(bytes, keeping: ["protocol", "url", "size", "gzip", "sum"])
    try fields.check()
    guard let dialect = UploadDialect(name: try fields.string("protocol", atMost: 8)) else {
      throw .missing(field: "protocol")
    }
    guard let sum = UInt64(try fields.string("sum", atMost: 16), radix: 16) else {
      throw .missing(field: "sum")
    }
    guard let isGzip = try fields.optionalBool("gzip") else { throw .missing(field: "gzip") }
    return UploadTicket(
      dialect, url: try fields.string("url", atMost: mostURLBytes),
      size: try fields.int("size", in: 0...Int(clamping: Int64(1) << 40)), isGzip: isGzip, sum: sum)
  }
}

extension UploadDialect {
  /// The name of the protocol in a ticket.
  fileprivate var name: String {
    switch self {
    case .draft(let version): "\(version)"
    case .tus: "tus"
    }
  }

  fileprivate init?(name: String) {
    if name == "tus" {
      self = .tus
    } else {
      guard let version = Int(name), Self.versions.contains(version), "\(version)" == name else {
        return nil
      }
      self = .draft(version)
    }
  }
}
