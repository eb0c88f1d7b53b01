/// A protocol in which an upload goes on where it was cut.
public enum UploadDialect: Sendable, Hashable, Codable {
  /// draft-ietf-httpbis-resumable-upload, by its interop version.
  case draft(Int)
  /// tus 1.0.0 with creation and termination.
  case tus

  /// The interop versions that are spoken here.
  public static let versions = 3...8
  /// The present draft.
  public static let current = UploadDialect.draft(8)
  /// The draft that iOS speaks since version 17 (draft-01).
  public static let iOS = UploadDialect.draft(3)
  /// The version of tus that is spoken here.
  public static let tusVersion = "1.0.0"

  /// Reads it from the fields of a request.
  public init?(field: (String) -> String?) {
    if let version = field(Name.version).flatMap(StructuredItem.integer) {
      guard Self.versions.contains(version) else { return nil }
      self = .draft(version)
    } else {
      guard field(Name.tus) == Self.tusVersion else { return nil }
      self = .tus
    }
  }

  /// The fields that name it.
  public var fields: [UploadField] {
    switch self {
    case .draft(let version): [UploadField(Name.version, "\(version)")]
    case .tus: [UploadField(Name.tus, Self.tusVersion)]
    }
  }

  /// The media type of what is appended.
  public var mediaType: String {
    switch self {
    case .draft: "application/partial-upload"
    case .tus: "application/offset+octet-stream"
    }
  }

  /// Whether what is appended must be of that type: not before interop version 6.
  public var demandsMediaType: Bool {
    switch self {
    case .draft(let version): version >= 6
    case .tus: true
    }
  }

  /// Draft-01 says whether an upload is incomplete, later ones whether it is complete.
  var saysIncomplete: Bool { self == .iOS }

  /// The names of header fields.
  enum Name {
    static let version = "Upload-Draft-Interop-Version"
    static let tus = "Tus-Resumable"
    static let complete = "Upload-Complete"
    static let incomplete = "Upload-Incomplete"
    static let offset = "Upload-Offset"
    static let length = "Upload-Length"
    static let limit = "Upload-Limit"
  }
}

/// A header field of an upload.
public struct UploadField: Sendable, Hashable, Codable {
  /// The name as it is written.
  public var name: String
  /// The value.
  public var value: String

  /// A field from its parts.
  public init(_ name: String, _ value: String) { (self.name, self.value) = (name, value) }
}

/// Items of structured fields (RFC 9651), without their parameters.
enum StructuredItem {
  /// Reads an integer of at least 0 with 15 digits at most; `nil` for anything else.
  static func integer(_ text: String) -> Int? {
    let digits = bare(text)
    guard digits.utf8.count <= 15,
      digits.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
    else { return nil }
    return Int(digits)
  }

  /// Reads a boolean; `nil` for anything else.
  static func boolean(_ text: String) -> Bool? {
    switch bare(text) {
    case "?1": true
    case "?0": false
    case _: nil
    }
  }

  private static func bare(_ text: String) -> Substring {
    let item = text.prefix { $0 != ";" }
    return trimmed(item)
  }

  /// Removes spaces and tabs at both ends.
  static func trimmed(_ text: Substring) -> Substring {
    var text = text
    while let first = text.first, first == " " || first == "\t" { text.removeFirst() }
    while let last = text.last, last == " " || last == "\t" { text.removeLast() }
    return text
  }
}
