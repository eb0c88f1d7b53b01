public import LinkCore

/// The author of an entry of a conversation.
public enum SessionRole: String, Sendable, Hashable, Codable, CaseIterable {
  case user, assistant, system
}

/// One message of a conversation.
public struct SessionEntry: Sendable, Hashable, Codable {
  /// Its id: 1 to 128 bytes, the same wherever the message comes from.
  public var id: String
  public var role: SessionRole
  /// What was said.
  public var text: String
  /// The conversation's id, a lower-case UUID.
  public var conversation: String
  /// When the server stored it; a hint for people, never for order.
  public var timestamp: Timestamp?
  /// Its place in the conversation: a sequence number from 1 (0.4), or an offset from 0 (0.5).
  public var place: UInt64?

  public init(
    id: String, role: SessionRole, text: String, conversation: String,
    timestamp: Timestamp? = nil, place: UInt64? = nil
  ) {
    (self.id, self.role, self.text, self.conversation) = (id, role, text, conversation)
    (self.timestamp, self.place) = (timestamp, place)
  }
}

/// From where on a client asks for a conversation.
public enum SessionCursor: Sendable, Hashable, Codable {
  /// Behind this sequence number; 0 for all (0.4).
  case sequence(UInt64)
  /// From this offset on, of the file with this signature, if one was seen (0.5).
  case offset(UInt64, signature: String?)
}

/// A window of a conversation: the answer to `subscribe`, and each message that follows it live.
public struct SessionHistory: Sendable, Hashable, Codable {
  /// What a version says of the window's place.
  public enum Place: Sendable, Hashable, Codable {
    /// The first and last sequence number of the window, and the one that comes next (0.4).
    case sequence(first: UInt64?, last: UInt64?, next: UInt64)
    /// The offset behind the window, the file's signature, and whether it is another file than the
    /// one the client saw (0.5).
    case offset(next: UInt64, signature: String, isReplaced: Bool)
  }

  /// A span that the server cannot send.
  public struct Gap: Sendable, Hashable, Codable {
    /// The sequence number that the client named.
    public var requested: UInt64
    /// The oldest one that the server has.
    public var oldest: UInt64
    /// Why it cannot.
    public var reason: Reason

    /// Why a server cannot send a span.
    public enum Reason: String, Sendable, Hashable, Codable, CaseIterable {
      /// Older messages were removed.
      case pruned
      /// The client names a place that the server has not reached.
      case clientAhead = "client_ahead"
    }

    public init(requested: UInt64, oldest: UInt64, reason: Reason) {
      (self.requested, self.oldest, self.reason) = (requested, oldest, reason)
    }
  }

  /// The conversation's id.
  public var conversation: String
  /// The messages of the window, in order.
  public var entries: [SessionEntry]
  /// Where the window stands.
  public var place: Place
  /// Whether the window reaches the end of the conversation.
  public var isComplete: Bool
  /// What is missing before it.
  public var gap: Gap?

  public init(
    conversation: String, entries: [SessionEntry], place: Place, isComplete: Bool,
    gap: Gap? = nil
  ) {
    (self.conversation, self.entries, self.place) = (conversation, entries, place)
    (self.isComplete, self.gap) = (isComplete, gap)
  }
}
