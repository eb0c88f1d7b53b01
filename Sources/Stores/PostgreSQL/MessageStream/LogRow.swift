import HoldfastCore
import HoldfastMessageData

/// A row of the log: a message or what remains of it.
struct LogRow {
  enum Content {
    case message(ShopMessage)
    case deletion(ShopDeletion)
  }

  /// The offset of the newest edit or deletion.
  let changed: UInt64?
  let content: Content

  /// The columns in the order in which `init(_:from:shop:epoch:)` reads them, of the table `m`. A
  /// message whose parent was deleted has no parent.
  static let columns = """
    m."offset", m.changed, m.id, m.author, m.username, m.text, m.created_at, m.updated_at,
    m.is_edited, CASE WHEN m.parent IS NOT NULL AND is_orphan(m.shop, m.parent) THEN NULL
      ELSE m.parent END
    """

  init(
    _ row: Row, from first: Int = 0, shop: ShopID, epoch: String
  ) throws(StoreFailure) {
    func position(_ offset: UInt64) -> ShopPosition { ShopPosition(epoch: epoch, offset: offset) }
    let offset = try row.unsigned(first)
    changed = try row.optionalUnsigned(first + 1)
    let id = try row.uuid(first + 2)
    guard let text = try row.optionalText(first + 5) else {
      content = .deletion(
        ShopDeletion(
          id: id, shop: shop, position: position(offset), changed: position(changed ?? offset)))
      return
    }
    var message = ShopMessage(
      id: id, shop: shop, user: try row.text(first + 3),
      username: try row.optionalText(first + 4), text: text, createdAt: try row.time(first + 6),
      updatedAt: try row.optionalTime(first + 7), isEdited: try row.flag(first + 8),
      parent: try row.optionalUUID(first + 9), position: position(offset))
    message.changed = changed.map(position)
    content = .message(message)
  }

  /// The message, unless it was deleted.
  var message: ShopMessage? {
    guard case .message(let message) = content else { return nil }
    return message
  }

  /// The newest event of the message.
  var event: ShopEvent {
    switch content {
    case .deletion(let deletion): .deleted(deletion)
    case .message(let message): changed == nil ? .posted(message) : .edited(message)
    }
  }
}

/// The results of the function `append_log`.
enum LogCode: Int64 {
  case posted = 0
  case postedWithoutParent = 1
  case postedBefore = 2
  case edited = 3
  case editedBefore = 4
  case deleted = 5
  case deletedBefore = 6
  case unknown = 10
  case gone = 11
  case notTheAuthor = 12
  case tooLate = 13
  case keyUsedForAnother = 14
  case knownID = 20
}

extension LogRequest {
  var shop: ShopID {
    switch self {
    case .post(let entry): entry.message.shop
    case .edit(let edit): edit.shop
    case .delete(let deletion): deletion.shop
    }
  }

  /// The message that the request posts or changes.
  var id: MessageID {
    switch self {
    case .post(let entry): entry.message.id
    case .edit(let edit): edit.id
    case .delete(let deletion): deletion.id
    }
  }

  /// Returns the result of the request.
  ///
  /// - Parameter row: A row of `log_result`, without the messages of new posts, which the node knows.
  func result(
    _ row: Row, epoch: String
  ) throws(StoreFailure) -> Result<LogOutcome, StoreFailure> {
    guard let code = LogCode(rawValue: try row.integer(0)) else {
      throw row.garbage(0, expected: "a code of this version")
    }
    switch code {
    case .unknown: return .success(.refused(.unknown))
    case .gone: return .success(.refused(.deleted))
    case .notTheAuthor: return .success(.refused(.notTheAuthor))
    case .tooLate: return .success(.refused(.tooLate))
    case .keyUsedForAnother: return .success(.refused(.keyUsedForAnother))
    case .knownID: return .failure(.known(id))
    case .posted, .postedWithoutParent:
      guard case .post(let entry) = self else { break }
      var message = entry.message
      message.position = ShopPosition(epoch: epoch, offset: try row.unsigned(1))
      message.changed = nil
      if let time = try row.optionalTime(7) { message.createdAt = time }
      if code == .postedWithoutParent { message.parent = nil }
      return .success(.posted(message, isNew: true))
    case .postedBefore, .edited, .editedBefore, .deleted, .deletedBefore:
      return .success(try stored(code, row, epoch))
    }
    throw row.garbage(0, expected: "a code of this request")
  }

  private func stored(
    _ code: LogCode, _ row: Row, _ epoch: String
  ) throws(StoreFailure) -> LogOutcome {
    switch try LogRow(row, from: 1, shop: shop, epoch: epoch).content {
    case .deletion(let deletion):
      switch code {
      case .deleted: return .deleted(deletion, isNew: true)
      case .deletedBefore: return .deleted(deletion, isNew: false)
      case _: return .refused(.deleted)
      }
    case .message(let message):
      return code == .postedBefore
        ? .posted(message, isNew: false) : .edited(message, isNew: code == .edited)
    }
  }
}
