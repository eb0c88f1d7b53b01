/// A protocol that allows an interrupted upload to resume.
public enum UploadDialect: Sendable, Hashable, Codable {
  /// The protocol of draft-ietf-httpbis-resumable-upload, with its interop version.
  case draft(Int)
  /// The tus protocol 1.0.0, with creation and termination.
  case tus

  /// The supported interop versions.
  public static let versions = 3...8
  /// The current draft.
  public static let current = UploadDialect.draft(8)
  /// The draft that iOS supports since version 17 (draft-01).
  public static let iOS = UploadDialect.draft(3)
  /// The supported version of tus.
  public static let tusVersion = "1.0.0"

  /// Reads the protocol from the header fields of a request. Returns `nil` if none is supported.
  public init?(field: (String) -> String?) {
    if let version = field(Name.version).flatMap(StructuredItem.integer) {
      guard Self.versions.contains(version) else { return nil }
      self = .draft(version)
    } else {
      guard field(Name.tus) == Self.tusVersion else { return nil }
      self = .tus
    }
  }

  /// The header fields that identify the protocol.
  public var fields: [UploadField] {
    switch self {
    case .draft(let version): [UploadField(Name.version, "\(version)")]
    case .tus: [UploadField(Name.tus, Self.tusVersion)]
    }
  }

  /// The media type of appended content.
  public var mediaType: String {
    switch self {
    case .draft: "application/partial-upload"
    case .tus: "application/offset+octet-stream"
    }
  }

  /// Whether appended content must have that media type. Interop versions below 6 do not require
  /// it.
  public var demandsMediaType: Bool {
    switch self {
    case .draft(let version): version >= 6
    case .tus: true
    }
  }

  /// Whether the protocol has a header field for incomplete uploads, as draft-01 does. Later drafts
  /// have one for complete uploads.
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
  /// The name, in the letter case in which it is sent.
  public var name: String
  /// The value of the field.
  public var value: String

  /// Creates a field.
  public init(_ name: String, _ value: String) { (self.name, self.value) = (name, value) }
}

/// A namespace for parsers of items in structured fields (RFC 9651). They ignore parameters.
enum StructuredItem {
  /// Parses a non-negative integer of at most 15 digits. Returns `nil` for anything else.
  static func integer(_ text: String) -> Int? {
    let digits = bare(text)
    guard digits.utf8.count <= 15,
      digits.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
    else { return nil }
    return Int(digits)
  }

  /// Parses a Boolean. Returns `nil` for anything else.
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

  /// Returns a text without the spaces and tabs at its ends.
  static func trimmed(_ text: Substring) -> Substring {
    var text = text
    while let first = text.first, first == " " || first == "\t" { text.removeFirst() }
    while let last = text.last, last == " " || last == "\t" { text.removeLast() }
    return text
  }
}
