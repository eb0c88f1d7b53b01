import LinkCore
import LinkWire

/// What the ends of a message stream write, told a second time (seed 001 and `docs/seeds/001.md`).
enum StreamScribe {
  /// A message, its members in the order of the contract.
  static func tree(_ message: Message) -> SessionTree {
    var members = [
      SessionBranch(name: "id", value: .text(message.id.description)),
      SessionBranch(name: "shop_id", value: .text(message.shop.text)),
      SessionBranch(name: "user_id", value: .text(message.user)),
      SessionBranch(name: "username", value: .text(message.username ?? "")),
      SessionBranch(name: "message", value: .text(message.text)),
      SessionBranch(name: "created_at", value: .text(RFC3339.format(message.createdAt))),
      SessionBranch(name: "updated_at", value: text(message.updatedAt.map(RFC3339.format))),
      SessionBranch(name: "is_edited", value: .flag(message.isEdited)),
      SessionBranch(name: "parent_id", value: text(message.parent?.description)),
    ]
    if let place = message.position {
      members.append(SessionBranch(name: "position", value: .text(words(place))))
    }
    return .object(members)
  }

  private static func text(_ text: String?) -> SessionTree { text.map { .text($0) } ?? .null }

  private static func words(_ place: Position) -> String { place.epoch + ":\(place.offset)" }

  /// The envelope of an answer.
  static func envelope(_ status: Int, _ note: String, _ data: SessionTree) -> SessionTree {
    .object([
      SessionBranch(name: "status", value: .number("\(status)")),
      SessionBranch(name: "message", value: .text(note)),
      SessionBranch(name: "data", value: data),
    ])
  }

  /// A page of so many messages in all.
  static func tree(_ page: Page, _ query: PageQuery, total: UInt64) -> SessionTree {
    var (number, limit) = (1, 1)
    switch query {
    case .page(let asked, let size): (number, limit) = (asked, size)
    case .since(_, let asked, let size): (number, limit) = (asked, size)
    case .after(_, let size), .before(_, let size): limit = size
    }
    // Pages are counted by laying them out.
    var (pages, laid) = (UInt64(0), UInt64(0))
    while laid < total {
      laid += UInt64(limit)
      pages += 1
    }
    var members = [
      SessionBranch(name: "messages", value: .list(page.messages.map { tree($0) })),
      SessionBranch(
        name: "pagination",
        value: .object([
          SessionBranch(name: "page", value: .number("\(number)")),
          SessionBranch(name: "limit", value: .number("\(limit)")),
          SessionBranch(name: "total_pages", value: .number("\(pages == 0 ? 1 : pages)")),
          SessionBranch(name: "has_next", value: .flag(page.hasNext)),
          SessionBranch(name: "has_prev", value: .flag(number != 1)),
        ])),
    ]
    if let head = page.head {
      members.append(SessionBranch(name: "head", value: .text(words(head))))
    }
    if page.head != nil || page.recovered == false {
      members.append(SessionBranch(name: "recovered", value: .flag(page.recovered)))
    }
    return envelope(200, "", .object(members))
  }

  /// The body of a post.
  static func tree(_ new: NewMessage) -> SessionTree {
    var members = [
      SessionBranch(name: "shop_id", value: .text(new.shop.text)),
      SessionBranch(name: "message", value: .text(new.text)),
    ]
    if let parent = new.parent {
      members.append(SessionBranch(name: "parent_id", value: .text(parent.description)))
    }
    return .object(members)
  }

  /// The notice before a drain.
  static func draining(milliseconds: Int) -> SessionTree {
    .object([
      SessionBranch(name: "type", value: .text("draining")),
      SessionBranch(name: "within_ms", value: .number("\(max(0, milliseconds))")),
    ])
  }

  /// The parameters of a query.
  static func parameters(_ query: PageQuery) -> [String] {
    switch query {
    case .page(let number, let limit): ["page=\(number)", "limit=\(limit)"]
    case .since(let time, let page, let limit):
      ["since=\(RFC3339.format(time))", "page=\(page)", "limit=\(limit)"]
    case .after(let place, let limit): ["after=\(words(place))", "limit=\(limit)"]
    case .before(let place, let limit): ["before=\(words(place))", "limit=\(limit)"]
    }
  }

  /// A path of the server.
  static func path(_ route: ShopRoute) -> String {
    let base = "/api/v1/auth/shops"
    return switch route {
    case .send: base + "/messages"
    case .all(let shop): base + "/" + shop.text + "/messages"
    case .paginated(let shop): base + "/" + shop.text + "/messages/paginated"
    case .stream(let shop): base + "/" + shop.text + "/messages/stream"
    case .streamHealth: "/api/v1/health/websocket"
    }
  }
}
