package import HoldfastJSON

/// The JSON object of an answer. The backend forwards it unchanged.
///
/// Its description contains no health data.
public struct HealthObject: Sendable, Hashable, Codable, CustomStringConvertible {
  /// The value of the member `success`.
  public var succeeded: Bool
  /// The JSON object itself.
  public var bytes: [UInt8]

  /// Creates an object without validation.
  public init(succeeded: Bool, bytes: [UInt8]) {
    self.succeeded = succeeded
    self.bytes = bytes
  }

  /// The kind and the length of the object, without its data.
  public var description: String {
    "\(succeeded ? "answer" : "error") of \(bytes.count) bytes"
  }
}

extension HealthObject {
  /// Returns an object that contains only the reason why there is no answer.
  public static func failure(_ reason: String) -> HealthObject {
    var writer = JSONWriter(capacity: reason.utf8.count + 60)
    writer.beginObject()
    writer.failure(reason)
    writer.endObject()
    return HealthObject(succeeded: false, bytes: writer.bytes)
  }

  /// The reason why there is no answer, cut to 1,000 characters, or `nil` if the object contains
  /// none.
  public var reason: String? {
    let fields = JSONFields(bytes, keeping: ["error_message"])
    return (try? fields.optionalString("error_message")).flatMap(\.self)?.bounded
  }

  /// The maximum size of an object, in bytes. The limit is Holdfast's own.
  public static let maxBytes = 8 << 20

  /// Creates an object from JSON. Throws an error if its member `success` is missing. Other members
  /// are not checked.
  package init(reading bytes: [UInt8]) throws(FieldFault) {
    let fields = JSONFields(bytes, keeping: ["success"])
    try fields.check()
    guard let succeeded = try fields.optionalBool("success") else {
      throw .missing(field: "success")
    }
    self.init(succeeded: succeeded, bytes: bytes)
  }
}

extension JSONWriter {
  /// Writes the two members that every error contains.
  package mutating func failure(_ reason: String) {
    entry("success", false)
    entry("error_message", reason)
  }
}

extension String {
  /// The first 1,000 characters of the string. This limit for human-readable texts from a peer is
  /// Holdfast's own.
  package var bounded: String {
    utf8.count <= 1_000 ? self : String(unicodeScalars.prefix(1_000))
  }
}
