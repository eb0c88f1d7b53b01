public import HoldfastCore
import HoldfastJSON
public import HoldfastMessageData

/// The number of a request to the operator's backend. Numbers are unique in each run.
public struct HookTicket: NumberedID {
  /// The number. A newer request has a greater number.
  public var number: UInt64

  /// Creates a ticket with a number.
  public init(_ number: UInt64) {
    self.number = number
  }
}

/// The client of a question, as far as it is known.
public struct HookClient: Sendable, Hashable, Codable {
  /// The ID of its connection, as in the log.
  public var connection: ConnectionID
  /// The name of the route, as in the log.
  public var route: String
  /// The user that its token names.
  public var user: String?
  /// The shop that it names.
  public var shop: String?
  /// The address, which a trusted proxy may have reported.
  public var address: String?

  /// Creates a client from what is known about it.
  public init(
    _ connection: ConnectionID, route: String, user: String? = nil, shop: String? = nil,
    address: String? = nil
  ) {
    (self.connection, self.route, self.user) = (connection, route, user)
    (self.shop, self.address) = (shop, address)
  }
}

/// A text that a user wants to store.
public struct HookPost: Sendable, Hashable, Codable {
  /// The ID that the message gets if it is stored, or the ID of the message to edit.
  public var id: UUID128
  /// The idempotency key. If a user sends the same key again, it identifies the same post.
  public var key: UUID128?
  /// Whether the text replaces that of a stored message.
  public var isEdit: Bool
  /// The author.
  public var user: String
  /// The shop; `nil` for an edit that names none.
  public var shop: String?
  /// The content.
  public var content: MessageContent

  /// Creates a post from its parts.
  public init(
    id: UUID128, key: UUID128?, isEdit: Bool = false, user: String, shop: String?,
    content: MessageContent
  ) {
    (self.id, self.key, self.isEdit, self.user) = (id, key, isEdit, user)
    (self.shop, self.content) = (shop, content)
  }

  /// Returns whether this is another attempt to send the same post.
  func isRepeat(of other: HookPost) -> Bool {
    var same = self
    same.id = isEdit ? id : other.id
    return key != nil && same == other
  }
}

/// A question to the operator's backend.
public struct HookQuestion: Sendable, Hashable, Codable {
  /// The action that a client requests.
  public enum Subject: Sendable, Hashable, Codable {
    /// A socket.
    case connect
    /// The storage of a text.
    case post(HookPost)
  }

  /// The posts of one author in one shop. They are asked about one after the other, and so keep
  /// their order.
  struct Lane: Hashable, Sendable {
    var user: String
    var shop: String?
  }

  /// The client.
  public var client: HookClient
  /// The requested action.
  public var subject: Subject
  /// The time at which its request arrived.
  public var at: Timestamp

  /// Creates a question from its parts.
  public init(_ subject: Subject, of client: HookClient, at: Timestamp) {
    (self.subject, self.client, self.at) = (subject, client, at)
  }

  var event: HookEvent {
    switch subject {
    case .connect: .connect
    case .post: .post
    }
  }

  var post: HookPost? {
    switch subject {
    case .connect: nil
    case .post(let post): post
    }
  }

  var user: String? { post?.user ?? client.user }

  /// The order that the question keeps, if any.
  var lane: Lane? { post.map { Lane(user: $0.user, shop: $0.shop) } }

  /// Returns whether the answer to another question also answers this one.
  func isRepeat(of other: HookQuestion) -> Bool {
    guard let post, let known = other.post else { return false }
    return post.isRepeat(of: known)
  }

  /// The body of the request, a JSON object.
  var body: [UInt8] {
    var writer = JSONWriter(capacity: 300 + (post?.content.text.utf8.count ?? 0))
    writer.object {
      $0.entry("event", event.rawValue)
      if let post { $0.members(of: post) } else { $0.members(of: client) }
      $0.entry("address", client.address)
      $0.entry("at", RFC3339.format(at))
    }
    return writer.bytes
  }
}

/// A report to the operator's backend that a socket has ended.
public struct HookNote: Sendable, Hashable, Codable {
  /// The client.
  public var client: HookClient
  /// The close code (RFC 6455 section 7.1.5); 1006 if no close frame was received.
  public var code: UInt16
  /// The time for which the socket was open.
  public var life: Duration
  /// The time of the end.
  public var at: Timestamp

  /// Creates a report from its parts.
  public init(_ client: HookClient, code: UInt16, life: Duration, at: Timestamp) {
    (self.client, self.code, self.life, self.at) = (client, code, life, at)
  }

  /// The body of the request, a JSON object.
  var body: [UInt8] {
    var writer = JSONWriter(capacity: 300)
    writer.object {
      $0.entry("event", HookEvent.disconnect.rawValue)
      $0.members(of: client)
      $0.entry("address", client.address)
      $0.entry("code", Int64(code))
      $0.entry("ms", life.nanoseconds / 1_000_000)
      $0.entry("at", RFC3339.format(at))
    }
    return writer.bytes
  }
}

extension JSONWriter {
  /// Writes what identifies a client. The ID is text, because many readers of JSON keep only 53 bits
  /// of a number.
  fileprivate mutating func members(of client: HookClient) {
    entry("id", String(client.connection.number))
    entry("route", client.route)
    entry("user", client.user)
    entry("shop", client.shop)
  }

  fileprivate mutating func members(of post: HookPost) {
    entry("id", post.id.description)
    entry("key", post.key?.description)
    entry("edit", post.isEdit)
    entry("user", post.user)
    entry("shop", post.shop)
    entry("parent", post.content.parent?.description)
    entry("text", post.content.text)
  }
}
