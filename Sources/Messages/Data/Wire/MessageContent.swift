public import HoldfastCore
import HoldfastJSON

/// What the author of a message decides: its text, and the message to which it replies.
///
/// It is the same value wherever a message is: in an outbox, in a request, in the log of the server
/// and on a screen. Its members on the wire are read and written in this file only.
public struct MessageContent: Sendable, Hashable, Codable {
  /// The text. A decoded text has at most `MessageLimits.maxCharacters` Unicode scalars.
  public var text: String
  /// The message to which this message replies.
  public var parent: MessageID?

  /// Creates a content without validation.
  public init(_ text: String, parent: MessageID? = nil) {
    (self.text, self.parent) = (text, parent)
  }

  /// Returns whether a message that was posted with this content can have another content now.
  ///
  /// The original text of an edited message is unknown, as is the parent of a message whose parent
  /// was deleted.
  package func canBecome(_ other: MessageContent, byEdit isEdited: Bool) -> Bool {
    var past = other
    if isEdited { past.text = text }
    if other.parent == nil { past.parent = parent }
    return past == self
  }
}

extension MessageContent {
  /// A member of the content, with its name on the wire.
  enum Member: String, CaseIterable {
    case text = "message"
    case parent = "parent_id"

    /// Creates a member from its name; `nil` if the key has another name.
    init?(_ key: JSONString, in reader: JSONReader) {
      guard let member = Self.allCases.first(where: { reader.matches(key, $0.rawValue) })
      else { return nil }
      self = member
    }
  }

  /// The members that have been read so far. If one is repeated, the last value is used, but each
  /// value must be valid.
  struct Reader {
    private var text: String?
    private var parent: MessageID?

    mutating func read(
      _ member: Member, from reader: inout JSONReader, _ limits: MessageLimits,
      noting fault: inout MessageError?
    ) throws(JSONError) {
      switch member {
      case .text:
        let isText = try reader.finds(.string, in: member.rawValue, noting: &fault)
        text = isText ? try reader.string() : nil
        if let text, let found = limits.fault(of: text) { fault.note(found) }
      case .parent:
        parent = try reader.identifier(member.rawValue, noting: &fault)
      }
    }

    /// The content, or `nil` if there is no text.
    var content: MessageContent? { text.map { MessageContent($0, parent: parent) } }
  }
}

extension JSONWriter {
  /// Writes the text of a content, which is the first of its members.
  mutating func text(of content: MessageContent) {
    member("message")
    string(content.text)
  }

  /// Writes the other members of a content.
  ///
  /// - Parameter omitsNull: Whether members without a value are omitted.
  mutating func attributes(of content: MessageContent, omitsNull: Bool) {
    if content.parent != nil || !omitsNull {
      member("parent_id")
      if let parent = content.parent { id(parent) } else { null() }
    }
  }
}
