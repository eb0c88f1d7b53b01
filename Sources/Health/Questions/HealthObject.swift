package import LinkJSON

/// An answer's object as it travels: the backend carries it without understanding it.
///
/// Its description shows none of the health data.
public struct HealthObject: Sendable, Hashable, Codable, CustomStringConvertible {
  /// Its member `success`.
  public var succeeded: Bool
  /// The JSON object itself.
  public var bytes: [UInt8]

  /// An object; nothing is checked.
  public init(succeeded: Bool, bytes: [UInt8]) {
    self.succeeded = succeeded
    self.bytes = bytes
  }

  /// Without the data.
  public var description: String {
    "\(succeeded ? "answer" : "error") of \(bytes.count) bytes"
  }
}

extension HealthObject {
  /// An object that says only that and why there is no answer.
  public static func failure(_ reason: String) -> HealthObject {
    var writer = JSONWriter(capacity: reason.utf8.count + 60)
    writer.beginObject()
    writer.failure(reason)
    writer.endObject()
    return HealthObject(succeeded: false, bytes: writer.bytes)
  }

  /// Why there is no answer, if the object says so; at most 1,000 characters of it.
  public var reason: String? {
    let fields = JSONFields(bytes, keeping: ["error_message"])
    return (try? fields.optionalString("error_message")).flatMap(\.self)?.bounded
  }

  /// The longest object in bytes; the bound is ours.
  public static let maxBytes = 8 << 20

  /// Takes an object; only its member `success` is looked at. Throws if that says nothing.
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
  /// Writes the two members of every error.
  package mutating func failure(_ reason: String) {
    key("success")
    bool(false)
    key("error_message")
    string(reason)
  }
}

extension String {
  /// Its first 1,000 characters: what a peer says to people has a bound, and it is ours.
  package var bounded: String {
    utf8.count <= 1_000 ? self : String(unicodeScalars.prefix(1_000))
  }
}
