import HoldfastSessionData

/// The names under which the server keeps the clients and conversations of users.
///
/// A client of a user chooses ids as any other does. The server puts the user before them, so the
/// names of one user can never mean what belongs to another user or to clients with the key.
package enum SessionNames {
  /// The first character of a name with a user: the unit separator.
  private static let mark: UInt8 = 0x1F

  /// Returns the server's name for an id that a client sent; `nil` stands for clients with the key.
  static func inner(_ id: String, of user: String?) -> String {
    // Ids of clients with the key are unchanged, unless they look like a name with a user.
    guard user != nil || isMarked(id) else { return id }
    let user = user ?? ""
    return "\u{1F}\(user.utf8.count):\(user)\(id)"
  }

  /// Splits a name of the server into the user, which is `nil` for clients with the key, and the id
  /// that the client sent.
  package static func split(_ name: String) -> (user: String?, id: String) {
    guard isMarked(name) else { return (nil, name) }
    let bytes = Array(name.utf8.dropFirst())
    guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")),
      let count = Int(String(decoding: bytes[..<colon], as: UTF8.self)),
      count >= 0, count <= bytes.count - colon - 1
    else { return (nil, name) }
    let rest = bytes[(colon + 1)...]
    let text = String(decoding: rest.prefix(count), as: UTF8.self)
    let id = String(decoding: rest.dropFirst(count), as: UTF8.self)
    let user = text.isEmpty ? nil : text
    return inner(id, of: user) == name ? (user, id) : (nil, name)
  }

  /// Returns the id that the client sent.
  static func outer(_ name: String) -> String { isMarked(name) ? split(name).id : name }

  static func isMarked(_ name: String) -> Bool { name.utf8.first == mark }
}

extension SessionClientMessage {
  /// The message with the server's names in place of the client's ids.
  func named(for user: String?) -> SessionClientMessage {
    func name(_ id: String) -> String { SessionNames.inner(id, of: user) }
    func named(_ subscription: SessionSubscription) -> SessionSubscription {
      SessionSubscription(
        conversation: name(subscription.conversation), cursor: subscription.cursor)
    }
    switch self {
    case .prompt(var prompt):
      prompt.conversation = name(prompt.conversation)
      return .prompt(prompt)
    case .subscribe(let subscription): return .subscribe(named(subscription))
    case .subscribeBatch(let all): return .subscribeBatch(all.map(named))
    case .unsubscribe(let id): return .unsubscribe(conversation: name(id))
    case .killSession(let id): return .killSession(conversation: name(id))
    case .connect(var connect):
      connect.session = name(connect.session)
      return .connect(connect)
    case .ping, .messageAck, .setMaxMessageSize, .disconnect, .unknown: return self
    }
  }
}

extension SessionServerMessage {
  /// The message with the client's ids in place of the server's names.
  var unnamed: SessionServerMessage {
    switch self {
    case .connected(var connected):
      connected.session = SessionNames.outer(connected.session)
      return .connected(connected)
    case .response(var response):
      response.conversation = response.conversation.map(SessionNames.outer)
      return .response(response)
    case .responsePart(let conversation, let key, let index, let text):
      return .responsePart(
        conversation: SessionNames.outer(conversation), idempotencyKey: key, index: index,
        text: text)
    case .error(var error):
      error.conversation = error.conversation.map(SessionNames.outer)
      return .error(error)
    case .replay(let id, let entry, let number):
      return .replay(id: id, entry.unnamed, number: number)
    case .turnComplete(let conversation, let isAborted):
      return .turnComplete(conversation: SessionNames.outer(conversation), isAborted: isAborted)
    case .history(let history): return .history(history.unnamed)
    case .historyBatch(let all): return .historyBatch(all.map(\.unnamed))
    case .sessionKilled(let conversation):
      return .sessionKilled(conversation: SessionNames.outer(conversation))
    case .hello, .pong, .ack, .authError, .heartbeat, .draining, .unknown: return self
    }
  }
}

extension SessionEntry {
  fileprivate var unnamed: SessionEntry {
    guard SessionNames.isMarked(conversation) else { return self }
    var entry = self
    entry.conversation = SessionNames.outer(conversation)
    return entry
  }
}

extension SessionHistory {
  fileprivate var unnamed: SessionHistory {
    guard SessionNames.isMarked(conversation) else { return self }
    var history = self
    history.conversation = SessionNames.outer(conversation)
    history.entries = entries.map(\.unnamed)
    return history
  }
}
