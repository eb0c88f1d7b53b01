import HoldfastCore
import HoldfastJSON

/// A namespace for the limits of members of the session protocol, in both directions.
///
/// The limits are Holdfast's own. They are far above the sizes that the original client and server
/// send.
enum SessionBounds {
  /// The maximum size of an id, in bytes.
  static let id = 128
  /// The maximum size of a machine-readable name, in bytes: a type, code, version or provider.
  static let name = 64
  /// The maximum size of a text of the protocol itself, in bytes. User texts are limited only by
  /// the maximum size of a message.
  static let note = 4_096
  /// The maximum number of entries in a window. `batch` is the maximum number of conversations in a
  /// batch.
  static let entries = 1_000
  static let batch = 100
  /// The range of numbers that every JSON library reads exactly: up to 2^53 - 1 (RFC 8259 section
  /// 6).
  static let number: ClosedRange<UInt64> = 0...(1 << 53) - 1
  /// The same range as far as `Int` has it, which has 32 bits on a watch.
  static let count = 0...Int(clamping: number.upperBound)
}

extension JSONFields {
  /// Reads an id of 1 to 128 bytes.
  func sessionID(_ name: String) throws(FieldFault) -> String {
    try string(name, atMost: SessionBounds.id)
  }

  /// Reads an id of 1 to 128 bytes. Returns `nil` if the id is absent or empty.
  func optionalSessionID(_ name: String) throws(FieldFault) -> String? {
    guard let text = try optionalString(name), !text.isEmpty else { return nil }
    guard text.utf8.count <= SessionBounds.id else { throw .outOfBounds(field: name) }
    return text
  }

  /// Reads a text of the protocol itself. Returns `nil` if the text is absent.
  func note(
    _ name: String, atMost limit: Int = SessionBounds.note
  ) throws(FieldFault) -> String? {
    guard let text = try optionalString(name) else { return nil }
    guard text.utf8.count <= limit else { throw .outOfBounds(field: name) }
    return text
  }

  func optionalNumber(_ name: String) throws(FieldFault) -> UInt64? {
    try optionalInt(name, in: SessionBounds.number)
  }

  func number(_ name: String) throws(FieldFault) -> UInt64 {
    try int(name, in: SessionBounds.number)
  }

  /// Reads a time as ISO 8601 text or as milliseconds since 1970. The original server sends both.
  func time(_ name: String) throws(FieldFault) -> Timestamp? {
    if let text = try? optionalString(name) {
      guard let time = RFC3339.parseISO8601(ArraySlice(text.utf8)) else {
        throw .badDate(field: name)
      }
      return time
    }
    let latest: Int64 = 9_000_000_000_000
    return try optionalInt(name, in: 0...latest).map { Timestamp(nanoseconds: $0 * 1_000_000) }
  }

  /// Reads the known features. Unknown features are ignored.
  func features() throws(FieldFault) -> Set<SessionFeature> {
    var features: Set<SessionFeature> = []
    for element in try elements("features", atMost: SessionBounds.batch) {
      var reader = JSONReader(element)
      guard let name = try? reader.string() else { throw .wrongType(field: "features") }
      if let feature = SessionFeature(rawValue: name) { features.insert(feature) }
    }
    return features
  }
}

extension JSONWriter {
  /// Returns the bytes of a message with a type and members.
  static func session(
    _ type: String, capacity: Int = 200, _ members: (inout JSONWriter) -> Void = { _ in }
  ) -> [UInt8] {
    var writer = JSONWriter(capacity: capacity)
    writer.beginObject()
    writer.entry("type", type)
    members(&writer)
    writer.endObject()
    return writer.bytes
  }

  /// Writes a member, unless its value is `nil`.
  mutating func some(_ name: String, _ text: String?) {
    if let text { entry(name, text) }
  }

  mutating func some(_ name: String, _ number: UInt64?) {
    if let number { entry(name, number) }
  }

  mutating func some(_ name: String, _ time: Timestamp?) {
    if let time { entry(name, RFC3339.format(time)) }
  }

  /// Writes the features in the order of their declaration, unless there are none.
  mutating func features(_ features: Set<SessionFeature>) {
    guard !features.isEmpty else { return }
    entry("features", SessionFeature.allCases.filter { features.contains($0) }.map(\.rawValue))
  }
}
