public import HoldfastCore
import HoldfastJSON

/// The body of `PUT /shops/messages`.
public struct MessageEdit: Sendable, Hashable {
  /// The message to edit.
  public var id: MessageID
  /// The new text: 1 to `MessageLimits.maxCharacters` Unicode scalars.
  public var text: String

  /// Creates an edit to send. The limits are checked when it is decoded.
  public init(id: MessageID, text: String) {
    self.id = id
    self.text = text
  }

  /// Returns the body.
  public func encode() -> [UInt8] {
    var writer = JSONWriter(capacity: text.utf8.count + 100)
    writer.beginObject()
    writer.key("message_id")
    writer.string(id.description)
    writer.key("message")
    writer.string(text)
    writer.endObject()
    return writer.bytes
  }

  /// Reads the body. Unknown members are ignored. If a member is repeated, the last one is used.
  ///
  /// An empty text counts as missing. Throws an error if a member is absent, has the wrong type or
  /// is out of bounds.
  public static func decode(
    _ body: [UInt8], limits: MessageLimits = MessageLimits()
  ) throws(MessageError) -> MessageEdit {
    let members = try JSONReader.read(body) { (reader) throws(JSONError) in
      var members: (id: Member, text: Member) = (.absent, .absent)
      try reader.beginObject()
      while let key = try reader.nextKey() {
        if reader.matches(key, "message_id") {
          members.id = try Member(from: &reader)
        } else if reader.matches(key, "message") {
          members.text = try Member(from: &reader)
        } else {
          try reader.skipValue()
        }
      }
      return members
    }
    guard let id = MessageID(try members.id.required("message_id")) else {
      throw .badIdentifier(field: "message_id")
    }
    let text = try members.text.required("message")
    if let fault = limits.fault(of: text) { throw fault }
    return MessageEdit(id: id, text: text)
  }
}
