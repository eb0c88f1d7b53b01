/// The information about an upload in the header fields of a request or an answer.
public struct UploadFields: Sendable, Hashable, Codable {
  /// The protocol of the fields.
  public var dialect: UploadDialect
  /// The offset in the upload: the number of bytes that the server has stored.
  public var offset: Int?
  /// The total number of bytes.
  public var length: Int?
  /// Whether the content completes the upload, or the upload is complete.
  public var isComplete: Bool?

  /// Creates fields.
  public init(
    _ dialect: UploadDialect, offset: Int? = nil, length: Int? = nil, isComplete: Bool? = nil
  ) {
    (self.dialect, self.offset) = (dialect, offset)
    (self.length, self.isComplete) = (length, isComplete)
  }

  /// Reads the fields of a message whose protocol is known. Invalid values are ignored, as the
  /// draft requires.
  public init(_ dialect: UploadDialect, field: (String) -> String?) {
    self.init(dialect)
    offset = field(UploadDialect.Name.offset).flatMap(StructuredItem.integer)
    length = field(UploadDialect.Name.length).flatMap(StructuredItem.integer)
    switch dialect {
    case .tus: break
    case .draft:
      isComplete =
        dialect.saysIncomplete
        ? field(UploadDialect.Name.incomplete).flatMap(StructuredItem.boolean).map { !$0 }
        : field(UploadDialect.Name.complete).flatMap(StructuredItem.boolean)
    }
  }

  /// Reads the fields of a request. Returns `nil` if the request does not name a supported
  /// protocol.
  public init?(request field: (String) -> String?) {
    guard let dialect = UploadDialect(field: field) else { return nil }
    self.init(dialect, field: field)
  }

  /// The header fields, including those that identify the protocol.
  public var fields: [UploadField] {
    var fields = dialect.fields
    if let offset { fields.append(UploadField(UploadDialect.Name.offset, "\(offset)")) }
    if let length { fields.append(UploadField(UploadDialect.Name.length, "\(length)")) }
    guard let isComplete, dialect != .tus else { return fields }
    fields.append(
      dialect.saysIncomplete
        ? UploadField(UploadDialect.Name.incomplete, isComplete ? "?0" : "?1")
        : UploadField(UploadDialect.Name.complete, isComplete ? "?1" : "?0"))
    return fields
  }
}

/// The protocol and the limits that a server offers for uploads.
public struct UploadOffer: Sendable, Hashable, Codable {
  /// The protocol that a client should use.
  public var dialect: UploadDialect
  /// The maximum size of an upload, in bytes.
  public var maxSize: Int?
  /// The maximum size of one request's content, in bytes.
  public var maxAppend: Int?

  /// Creates an offer.
  public init(_ dialect: UploadDialect, maxSize: Int? = nil, maxAppend: Int? = nil) {
    (self.dialect, self.maxSize, self.maxAppend) = (dialect, maxSize, maxAppend)
  }

  /// Reads the answer to OPTIONS. Returns `nil` if it offers no supported protocol.
  ///
  /// The draft is preferred to tus. If the server reports an interop version, that version is used.
  public init?(options field: (String) -> String?) {
    let types = Self.members(field("Accept-Patch")).map { $0.prefix { $0 != ";" } }
    let version = field(UploadDialect.Name.version).flatMap(StructuredItem.integer)
    let limits = Self.limits(field(UploadDialect.Name.limit) ?? "")
    if types.contains("application/partial-upload") || version != nil {
      let spoken = version ?? UploadDialect.versions.upperBound
      if UploadDialect.versions.contains(spoken) {
        self.init(.draft(spoken), maxSize: limits.size, maxAppend: limits.append)
        return
      }
    }
    guard Self.members(field("Tus-Version")).contains(UploadDialect.tusVersion),
      Self.members(field("Tus-Extension")).contains("creation")
    else { return nil }
    self.init(.tus, maxSize: field("Tus-Max-Size").flatMap(StructuredItem.integer))
  }

  private static func members(_ list: String?) -> [String] {
    (list ?? "").split(separator: ",").map { String(StructuredItem.trimmed($0)).lowercased() }
  }

  /// Parses `Upload-Limit`. Members that are unknown or not integers are ignored.
  private static func limits(_ text: String) -> (size: Int?, append: Int?) {
    var (size, append): (Int?, Int?)
    for member in members(text) {
      let parts = member.split(separator: "=", maxSplits: 1)
      guard parts.count == 2, let value = StructuredItem.integer(String(parts[1])) else {
        continue
      }
      switch parts[0] {
      case "max-size": size = value
      case "max-append-size": append = value
      case _: continue
      }
    }
    return (size, append)
  }

  /// Returns the fields of an answer to OPTIONS. They offer all supported protocols and state the
  /// limits.
  public static func options(maxSize: Int) -> [UploadField] {
    [
      UploadField("Accept-Patch", UploadDialect.current.mediaType),
      UploadField(UploadDialect.Name.version, "\(UploadDialect.versions.upperBound)"),
      limit(maxSize: maxSize),
      UploadField(UploadDialect.Name.tus, UploadDialect.tusVersion),
      UploadField("Tus-Version", UploadDialect.tusVersion),
      UploadField("Tus-Extension", "creation,termination"),
      UploadField("Tus-Max-Size", "\(maxSize)"),
    ]
  }

  /// Returns `Upload-Limit` with the maximum size and the number of seconds for which the upload is
  /// kept.
  public static func limit(maxSize: Int, seconds: Int64? = nil) -> UploadField {
    let age = seconds.map { ", max-age=\($0)" } ?? ""
    return UploadField(UploadDialect.Name.limit, "max-size=\(maxSize)\(age)")
  }
}
