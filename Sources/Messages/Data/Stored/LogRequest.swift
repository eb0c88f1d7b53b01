public import HoldfastCore

/// A message to append to a log.
public struct LogEntry: Sendable, Hashable, Codable {
  /// The message, to which the log assigns a position.
  public var message: ShopMessage
  /// The idempotency key, which identifies repetitions of the same post. Without a key, each append
  /// adds a message.
  public var key: UUID128?

  public init(message: ShopMessage, key: UUID128?) {
    self.message = message
    self.key = key
  }
}

/// The user who requests an edit or a deletion.
public struct LogActor: Sendable, Hashable, Codable {
  /// The user, as named by the claim `sub` of the token.
  public var user: String
  /// Whether the user may delete the messages of others in this shop.
  public var isAdmin: Bool

  public init(user: String, isAdmin: Bool = false) {
    self.user = user
    self.isAdmin = isAdmin
  }
}

/// A request to replace the text of a message. Only the author may do so.
public struct LogEdit: Sendable, Hashable, Codable {
  /// The message to edit.
  public var id: MessageID
  /// The room that contains the message.
  public var shop: ShopID
  /// The new text.
  public var text: String
  /// The time of the edit.
  public var at: Timestamp
  /// The user who edits.
  public var by: LogActor
  /// The idempotency key, which identifies repetitions of the same edit.
  public var key: UUID128?
  /// The time after its creation in which a message may be edited; `nil` for no limit.
  public var window: Duration?

  public init(
    id: MessageID, shop: ShopID, text: String, at: Timestamp, by: LogActor, key: UUID128? = nil,
    window: Duration? = nil
  ) {
    self.id = id
    self.shop = shop
    self.text = text
    self.at = at
    self.by = by
    self.key = key
    self.window = window
  }
}

/// A request to delete a message. Its author and the shop's admins may do so.
public struct LogDeletion: Sendable, Hashable, Codable {
  /// The message to delete.
  public var id: MessageID
  /// The room that contains the message.
  public var shop: ShopID
  /// The user who deletes.
  public var by: LogActor

  public init(id: MessageID, shop: ShopID, by: LogActor) {
    self.id = id
    self.shop = shop
    self.by = by
  }
}

/// A request to a log. Each request that changes the log is one event, with the next offset.
public enum LogRequest: Sendable, Hashable, Codable {
  case post(LogEntry)
  case edit(LogEdit)
  case delete(LogDeletion)
}

/// The result of a request that a log processed.
public enum LogOutcome: Sendable, Hashable, Codable {
  /// A message in its stored form. `isNew` is false if its idempotency key was already known.
  case posted(ShopMessage, isNew: Bool)
  /// The edited message. `isNew` is false if the edit was a repetition, or did not change the text.
  case edited(ShopMessage, isNew: Bool)
  /// The deleted message. `isNew` is false if it had already been deleted.
  case deleted(ShopDeletion, isNew: Bool)
  /// The log did not change.
  case refused(LogRefusal)

  /// The event that the request added to the log, or `nil` if there is none.
  public var event: ShopEvent? {
    switch self {
    case .posted(let message, isNew: true): .posted(message)
    case .edited(let message, isNew: true): .edited(message)
    case .deleted(let deletion, isNew: true): .deleted(deletion)
    case .posted, .edited, .deleted, .refused: nil
    }
  }
}

/// The reason why a log refuses a request.
public enum LogRefusal: String, Sendable, Hashable, Codable, CaseIterable {
  /// The shop has no message with this ID.
  case unknown
  /// The message was deleted. For a post: its idempotency key is that of a deleted message.
  case deleted
  /// The user is not the author of the message, and may not change it.
  case notTheAuthor
  /// The message is too old to be edited.
  case tooLate
  /// The idempotency key was used for another request.
  case keyUsedForAnother
}

/// The result of an append of one message.
public struct Appended: Sendable, Hashable {
  /// The message in its stored form, with its position.
  public var message: ShopMessage
  /// Whether the message was added. False if the idempotency key was already known.
  public var isNew: Bool

  public init(message: ShopMessage, isNew: Bool) {
    self.message = message
    self.isNew = isNew
  }
}

extension Result where Success == LogOutcome, Failure == StoreFailure {
  /// The same result of a post. A refusal becomes a failure.
  public var appended: Result<Appended, StoreFailure> {
    switch self {
    case .success(.posted(let message, let isNew)):
      .success(Appended(message: message, isNew: isNew))
    case .success(.refused(.deleted)):
      .failure(.other(detail: "The message with this key was deleted."))
    case .success: .failure(.other(detail: "The key was used for another request."))
    case .failure(let failure): .failure(failure)
    }
  }
}

extension ShopMessage {
  /// Returns the message after an edit. The times of edits increase, even if the clock was set back.
  package func edited(to text: String, at time: Timestamp, changed: ShopPosition) -> ShopMessage {
    var message = self
    let earlier = updatedAt ?? createdAt
    let next = Timestamp(nanoseconds: earlier.nanoseconds &+ 1_000)
    message.updatedAt = time > earlier ? time : max(next, earlier)
    (message.text, message.isEdited, message.changed) = (text, true, changed)
    return message
  }

  /// Returns whether an edit comes too late.
  package func isTooOld(for edit: LogEdit) -> Bool {
    edit.window.map { createdAt.advanced(by: $0) < edit.at } ?? false
  }
}

/// The limits of the changes on the newest page: 1,000 messages and deletions, and 512 KiB.
package struct ChangeBudget {
  private var entries = 1_000
  private var bytes = 524_288

  package init() {}

  /// Returns whether there is room for another change, and counts it. The first one always has room.
  package mutating func take(_ change: ShopEvent) -> Bool {
    let size =
      switch change {
      case .posted(let message), .edited(let message): message.footprint
      case .deleted: 256
      }
    let isFirst = entries == 1_000
    guard entries > 0, isFirst || size <= bytes else { return false }
    (entries, bytes) = (entries - 1, bytes - size)
    return true
  }
}

extension Page {
  /// Adds an event to the lists of a page of changes.
  package mutating func add(_ event: ShopEvent) {
    switch event {
    case .posted(let message), .edited(let message): messages.append(message)
    case .deleted(let deletion): deleted.append(deletion)
    }
  }

  /// Returns the page of changes with up to `limit` events of those given in order.
  package static func changes(
    _ events: [ShopEvent], after position: ShopPosition, limit: Int, head: ShopPosition
  ) -> Page {
    let limit = max(0, limit)
    var page = Page(messages: [], hasNext: events.count > limit, head: head)
    for event in events.prefix(limit) { page.add(event) }
    page.through = page.hasNext ? events.prefix(limit).last?.position ?? position : head
    return page
  }

  /// Adds to the newest page the changes of earlier messages, as many of them as have room.
  package mutating func addChanges(_ events: [ShopEvent], after position: ShopPosition) {
    var budget = ChangeBudget()
    changesThrough = head
    var last = position
    for event in events {
      guard budget.take(event) else {
        changesThrough = last
        return
      }
      if case .deleted(let deletion) = event {
        deleted.append(deletion)
      } else if case .edited(let message) = event {
        changes.append(message)
      }
      last = event.position ?? last
    }
  }
}
