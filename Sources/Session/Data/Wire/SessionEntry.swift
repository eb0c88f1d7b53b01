public import HoldfastCore

/// The author of a message in a conversation.
public enum SessionRole: String, Sendable, Hashable, Codable, CaseIterable {
  case user, assistant, system
}

/// A message of a conversation.
public struct SessionEntry: Sendable, Hashable, Codable {
  /// The id, 1 to 128 bytes. It is the same in every response that contains the message.
  public var id: String
  public var role: SessionRole
  /// The text of the message.
  public var text: String
  /// The conversation's id, a lower-case UUID.
  public var conversation: String
  /// The time at which the server stored the message. It is only informative and never determines
  /// the order.
  public var timestamp: Timestamp?
  /// The position in the conversation: a sequence number from 1 (version 0.4), or an offset from 0
  /// (version 0.5).
  public var position: UInt64?

  public init(
    id: String, role: SessionRole, text: String, conversation: String,
    timestamp: Timestamp? = nil, position: UInt64? = nil
  ) {
    (self.id, self.role, self.text, self.conversation) = (id, role, text, conversation)
    (self.timestamp, self.position) = (timestamp, position)
  }
}

/// The position from which a client requests a conversation.
public enum SessionCursor: Sendable, Hashable, Codable {
  /// The position after a sequence number, or the beginning if the number is 0 (version 0.4).
  case sequence(UInt64)
  /// The position at an offset, in the file with this signature if the client has one (version
  /// 0.5).
  case offset(UInt64, signature: String?)
}

/// A window of a conversation. It is the answer to `subscribe`, and also the form of each later
/// live message.
public struct SessionHistory: Sendable, Hashable, Codable {
  /// The position of a window, in the form that the version defines.
  public enum Extent: Sendable, Hashable, Codable {
    /// The first and last sequence number of the window, and the number that follows (version 0.4).
    case sequence(first: UInt64?, last: UInt64?, next: UInt64)
    /// The offset after the window, the file's signature, and whether the file has replaced the one
    /// that the client read (version 0.5).
    case offset(next: UInt64, signature: String, isReplaced: Bool)
  }

  /// A range that the server cannot send.
  public struct Gap: Sendable, Hashable, Codable {
    /// The sequence number that the client requested.
    public var requested: UInt64
    /// The oldest sequence number on the server.
    public var oldest: UInt64
    /// The reason why the server cannot send the range.
    public var reason: Reason

    /// A reason why a server cannot send a range.
    public enum Reason: String, Sendable, Hashable, Codable, CaseIterable {
      /// Older messages were removed.
      case pruned
      /// The client's position is after the end of the server's conversation.
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
  /// The position of the window.
  public var extent: Extent
  /// Whether the window reaches the end of the conversation.
  public var isComplete: Bool
  /// The missing range before the window, if there is one.
  public var gap: Gap?

  public init(
    conversation: String, entries: [SessionEntry], extent: Extent, isComplete: Bool,
    gap: Gap? = nil
  ) {
    (self.conversation, self.entries, self.extent) = (conversation, entries, extent)
    (self.isComplete, self.gap) = (isComplete, gap)
  }
}
