public import HoldfastHealth
import HoldfastJSON

extension HealthPart {
  /// The maximum size of one frame of an answer in parts, in bytes. The limit is Holdfast's own.
  public static let maxFrameBytes = 200_000
  /// The maximum size of an answer in parts, in bytes. The limit is Holdfast's own.
  public static let maxObjectBytes = HealthObject.maxBytes
  /// The maximum number of bytes around the text in a frame: an escaped id, and the other members.
  private static let around = 6 * RelayRequestID.maxBytes + 200
  /// The maximum number of parts. It allows for parts of one byte each.
  private static let maxCount = maxObjectBytes

  static let names = ["kind", "index", "count", "text"]

  init(_ fields: JSONFields) throws(FieldFault) {
    guard let name = try fields.optionalString("kind") else { throw .missing(field: "kind") }
    guard let kind = HealthQuestion.Kind(\.object, name) else {
      throw .unknownValue(
        field: "kind", known: HealthQuestion.Kind.allCases.map(\.words.object))
    }
    let count = try fields.int("count", in: 1...Self.maxCount)
    self.init(
      kind: kind, index: try fields.int("index", in: 0...count - 1), count: count,
      text: try fields.string("text", atMost: Self.maxObjectBytes))
  }

  func writeMembers(to writer: inout JSONWriter) {
    writer.entry("kind", kind.words.object)
    writer.entry("index", index)
    writer.entry("count", count)
    writer.entry("text", text)
  }
}

extension PhoneMessage {
  /// Returns the answer, split into as many messages as are needed for frames of at most `limit`
  /// bytes.
  ///
  /// A limit below 1,024 is treated as 1,024, because every frame contains further members.
  public static func frames(
    answering kind: HealthQuestion.Kind, _ id: RelayRequestID, _ object: HealthObject,
    atMost limit: Int = HealthPart.maxFrameBytes
  ) -> [PhoneMessage] {
    let whole = answer(kind, id, object)
    guard whole.bytes.count > limit else { return [whole] }
    let texts = HealthPart.cut(object.bytes, atMost: limit)
    return texts.enumerated().map { index, text in
      .part(id, HealthPart(kind: kind, index: index, count: texts.count, text: text))
    }
  }
}

extension HealthPart {
  /// Splits the object's text into pieces that fit into frames of `limit` bytes after escaping.
  fileprivate static func cut(_ bytes: [UInt8], atMost limit: Int) -> [String] {
    let room = max(limit, 1_024) - around
    var pieces: [String] = []
    var start = 0
    var length = 0
    for (index, byte) in bytes.enumerated() {
      // JSON text contains control characters only as white space. These also take two bytes when
      // they are escaped.
      let cost = byte < 0x20 || byte == 0x22 || byte == 0x5C ? 2 : 1
      // A scalar has up to four bytes and must not be split, so there must be room for three more
      // bytes.
      if byte & 0xC0 != 0x80, length + cost + 3 > room {
        pieces.append(String(decoding: bytes[start..<index], as: UTF8.self))
        (start, length) = (index, 0)
      }
      length += cost
    }
    pieces.append(String(decoding: bytes[start...], as: UTF8.self))
    return pieces
  }
}

/// The assembly of one answer from its parts, in the order of their indexes.
///
/// It holds at most `HealthPart.maxObjectBytes`. A part that exceeds this limit is rejected.
package struct HealthAssembly: Sendable, Hashable, Codable {
  private var kind: HealthQuestion.Kind?
  private var count = 0
  private var next = 0
  private var bytes: [UInt8] = []

  /// Creates an empty assembly.
  package init() {}

  /// Whether all parts have arrived.
  package var isWhole: Bool { kind != nil && next == count }

  /// Adds a part. Returns the object once it is complete. Throws an error if the part does not
  /// follow the previous one.
  package mutating func take(
    _ part: HealthPart, of id: RelayRequestID
  ) throws(RelayWireError) -> HealthObject? {
    let isFirst = next == 0 && kind == nil
    guard part.index == next, isFirst || (part.kind == kind && part.count == count) else {
      throw RelayWireError(.outOfBounds(field: "index"), id: id, kind: part.kind)
    }
    let length = bytes.count + part.text.utf8.count
    guard length <= HealthPart.maxObjectBytes else {
      throw RelayWireError(.tooLong(bytes: length), id: id, kind: part.kind)
    }
    (kind, count) = (part.kind, part.count)
    next += 1
    bytes.append(contentsOf: part.text.utf8)
    guard next == count else { return nil }
    let whole = bytes
    return try RelayWireError.about(id, part.kind) { () throws(FieldFault) in
      try HealthObject(reading: whole)
    }
  }
}
