public import HoldfastCore
public import HoldfastIdentity
import HoldfastJSON
public import HoldfastMessageData
public import HoldfastMessageServer
public import HoldfastServerParts

/// A request of an operator, parsed and checked without the state of the server.
public enum AdminCall: Sendable, Hashable {
  /// A request for the open connections of this node.
  case connections(AdminFilter, AdminPage)
  /// A request to close one connection.
  case disconnect(ConnectionID, AdminClosing)
  /// A request to close all connections of a user at this node.
  case disconnectUser(String, AdminClosing)
  /// A request to post a message in the name of a user.
  case publish(AdminPost)
  /// A request for the users who have a socket of a shop open at this node.
  case presence(ShopID, AdminPage)
  /// A request to erase all data of a user.
  case erase(String)
  /// A request for the erasures.
  case jobs(AdminPage)
  /// A request for one erasure.
  case job(UUID128)
  /// A request for the phones that the relay knows.
  case phones(AdminPage)
  /// A request to drain and then stop this process.
  case drain

  /// The name of the call in logs and metrics.
  public var name: String {
    switch self {
    case .connections: "connections"
    case .disconnect: "disconnect"
    case .disconnectUser: "disconnect_user"
    case .publish: "publish"
    case .presence: "presence"
    case .erase: "erase"
    case .jobs: "jobs"
    case .job: "job"
    case .phones: "phones"
    case .drain: "drain"
    }
  }

  /// The maximum length of the name of a user, in bytes, as in tokens.
  public static let maxUserBytes = Claims.maxUserBytes
}

/// The connections that a request selects. A property that is `nil` selects all.
public struct AdminFilter: Sendable, Hashable {
  /// The user who owns the connections.
  public var user: String?
  /// The shop that the connections belong to.
  public var shop: ShopID?
  /// The kind of the connections.
  public var kind: AdminConnection.Kind?

  /// Creates a filter, which selects all connections by default.
  public init(user: String? = nil, shop: ShopID? = nil, kind: AdminConnection.Kind? = nil) {
    (self.user, self.shop, self.kind) = (user, shop, kind)
  }

  /// Returns whether the filter selects a connection.
  public func selects(_ connection: AdminConnection) -> Bool {
    (user == nil || user == connection.user) && (shop == nil || shop?.text == connection.shop)
      && (kind == nil || kind == connection.kind)
  }
}

/// A part of a list.
public struct AdminPage: Sendable, Hashable {
  /// The bounds of `limit`.
  public static let limits = 1...1_000
  /// The limit of a request that names none.
  public static let usual = 100

  /// The maximum number of elements.
  public var limit: Int
  /// The name of the element after which the page begins; `nil` for the first page.
  public var after: String?

  /// Creates a page, which is the first one by default.
  public init(limit: Int = usual, after: String? = nil) {
    (self.limit, self.after) = (limit, after)
  }

  /// Returns the elements of the page, and the value of `after` for the next page; `nil` if this is
  /// the last one.
  ///
  /// - Parameters:
  ///   - sorted: All elements, in the order of their names.
  ///   - name: A function that returns the name of an element.
  ///   - isAfter: A function that returns whether an element follows a name.
  func cut<Element>(
    _ sorted: [Element], name: (Element) -> String, isAfter: (Element, String) -> Bool
  ) -> (elements: [Element], next: String?) {
    let rest = after.map { after in sorted.drop { !isAfter($0, after) } } ?? sorted[...]
    let elements = Array(rest.prefix(limit))
    return (elements, rest.count > limit ? elements.last.map(name) : nil)
  }
}

/// The close codes that an operator may choose. They differ in what clients do next.
public enum AdminClosing: UInt16, Sendable, Hashable, CaseIterable {
  /// The client comes back after a moment.
  case restart = 1012
  /// The client asks for a new token, which the user may no longer get.
  case unauthorized = 4401
  /// The client stays away.
  case forbidden = 4403

  /// The close frame.
  public var closure: Closure {
    switch self {
    case .restart: Closure(rawValue, "closed by an operator")
    case .unauthorized: Closure(rawValue, "signed out by an operator")
    case .forbidden: Closure(rawValue, "removed by an operator")
    }
  }
}

/// A message that an operator posts in the name of a user.
public struct AdminPost: Sendable, Hashable {
  /// The room of the message.
  public var shop: ShopID
  /// The user who is shown as the author.
  public var author: String
  /// The author's name as others see it.
  public var name: String
  /// The content of the message.
  public var content: MessageContent
  /// The key under which repetitions of the request are the same message.
  public var key: UUID128

  /// Creates a post from its parts.
  public init(
    shop: ShopID, author: String, name: String, content: MessageContent, key: UUID128
  ) {
    (self.shop, self.author, self.name) = (shop, author, name)
    (self.content, self.key) = (content, key)
  }

  /// Returns the post as a client's request, with the rules and limits of clients.
  public func call(_ limits: MessageLimits) -> Call {
    Call.read(
      method: "POST", path: ShopRoute.send.path, query: [], key: key.description,
      body: NewMessage(shop: shop, content: content).encode(), limits: limits)
  }

  /// Returns claims that allow the post.
  public func claims(until end: Timestamp) -> Claims {
    Claims(user: author, name: name, shops: [shop], expiresAt: end)
  }
}

extension AdminCall {
  /// Reads a request from its method, the decoded segments of its path, its decoded query and its
  /// body.
  ///
  /// - Throws: The refusal of a request that cannot be carried out.
  public static func read(
    method: String, path segments: [String], query: [(name: String, value: String)],
    body: [UInt8]
  ) throws(HTTPRefusal) -> AdminCall {
    let reading = AdminReading(method: method, query: query, body: body)
    let path = Array(segments.dropFirst())
    guard segments.first == "admin" else { throw .noRoute }
    switch (path.first, path.count) {
    case ("connections", 1): return try reading.connections()
    case ("connections", 2): return try reading.disconnect(path[1])
    case ("users", 2): return try reading.erase(path[1])
    case ("users", 3) where path[2] == "disconnect": return try reading.disconnectUser(path[1])
    case ("shops", 3) where path[2] == "messages": return try reading.publish(path[1])
    case ("shops", 3) where path[2] == "presence": return try reading.presence(path[1])
    case ("jobs", 1): return .jobs(try reading.list())
    case ("jobs", 2): return try reading.job(path[1])
    case ("phones", 1): return .phones(try reading.list())
    case ("drain", 1): return try reading.drain()
    case _: throw .noRoute
    }
  }
}

/// The parts of a request that the path does not determine.
private struct AdminReading {
  var method: String
  var query: [(name: String, value: String)]
  var body: [UInt8]

  func require(_ allowed: [String]) throws(HTTPRefusal) {
    guard !allowed.contains(method) else { return }
    let names = allowed.joined(separator: ", ")
    throw HTTPRefusal(405, "this route takes \(names)", allow: names)
  }

  /// Throws an error if the query has an unknown parameter, or one of them twice.
  func require(parameters known: [String]) throws(HTTPRefusal) {
    let names = known.isEmpty ? "none" : known.joined(separator: ", ")
    for (index, item) in query.enumerated() {
      guard known.contains(item.name) else {
        throw HTTPRefusal(
          400, "unknown parameter \(item.name); this route knows \(names)")
      }
      guard !query[..<index].contains(where: { $0.name == item.name }) else {
        throw HTTPRefusal(400, "\(item.name): given twice; give it once")
      }
    }
  }

  func value(_ name: String) -> String? { query.first { $0.name == name }?.value }

  static func user(_ text: String) throws(HTTPRefusal) -> String {
    guard (1...AdminCall.maxUserBytes).contains(text.utf8.count) else {
      throw HTTPRefusal(400, "a user has 1 to \(AdminCall.maxUserBytes) bytes; use its whole id")
    }
    return text
  }

  static func shop(_ text: String) throws(HTTPRefusal) -> ShopID {
    guard let shop = ShopID(text) else {
      throw HTTPRefusal(400, "the shop is not an id; use its id as in tokens")
    }
    return shop
  }

  static func key(_ text: String, _ what: String) throws(HTTPRefusal) -> UUID128 {
    guard let key = UUID128(text) else {
      throw HTTPRefusal(400, "\(what) is not a UUID; write its 36 characters")
    }
    return key
  }

  func page() throws(HTTPRefusal) -> AdminPage {
    var page = AdminPage(after: value("after"))
    if let text = value("limit") {
      guard let limit = Int(text), AdminPage.limits.contains(limit) else {
        throw HTTPRefusal(400, "limit: not a whole number from 1 to 1000; use one of these")
      }
      page.limit = limit
    }
    return page
  }

  func list() throws(HTTPRefusal) -> AdminPage {
    try require(["GET", "HEAD"])
    try require(parameters: ["limit", "after"])
    return try page()
  }

  func connections() throws(HTTPRefusal) -> AdminCall {
    try require(["GET", "HEAD"])
    try require(parameters: ["user", "shop", "kind", "limit", "after"])
    var filter = AdminFilter()
    if let user = value("user") { filter.user = try Self.user(user) }
    if let shop = value("shop") { filter.shop = try Self.shop(shop) }
    if let text = value("kind") {
      guard let kind = AdminConnection.Kind(rawValue: text) else {
        let names = AdminConnection.Kind.allCases.map(\.rawValue).joined(separator: ", ")
        throw HTTPRefusal(400, "kind: unknown; use one of \(names)")
      }
      filter.kind = kind
    }
    let page = try page()
    guard page.after.map({ UInt64($0) != nil }) ?? true else {
      throw HTTPRefusal(400, "after: not a connection; use the next of the page before")
    }
    return .connections(filter, page)
  }

  private func closing() throws(HTTPRefusal) -> AdminClosing {
    try require(parameters: ["code"])
    guard let text = value("code") else { return .unauthorized }
    guard let closing = UInt16(text).flatMap({ AdminClosing(rawValue: $0) }) else {
      let codes = AdminClosing.allCases.map { String($0.rawValue) }.joined(separator: ", ")
      throw HTTPRefusal(400, "code: unknown; use one of \(codes)")
    }
    return closing
  }

  func disconnect(_ id: String) throws(HTTPRefusal) -> AdminCall {
    try require(["DELETE"])
    guard let number = UInt64(id) else {
      throw HTTPRefusal(400, "the connection is not a number; use an id of /admin/connections")
    }
    return .disconnect(ConnectionID(number), try closing())
  }

  func disconnectUser(_ name: String) throws(HTTPRefusal) -> AdminCall {
    try require(["POST"])
    return .disconnectUser(try Self.user(name), try closing())
  }

  func erase(_ name: String) throws(HTTPRefusal) -> AdminCall {
    try require(["DELETE"])
    try require(parameters: [])
    return .erase(try Self.user(name))
  }

  func job(_ id: String) throws(HTTPRefusal) -> AdminCall {
    try require(["GET", "HEAD"])
    try require(parameters: [])
    return .job(try Self.key(id, "the job"))
  }

  func presence(_ name: String) throws(HTTPRefusal) -> AdminCall {
    .presence(try Self.shop(name), try list())
  }

  func drain() throws(HTTPRefusal) -> AdminCall {
    try require(["POST"])
    try require(parameters: [])
    return .drain
  }

  func publish(_ name: String) throws(HTTPRefusal) -> AdminCall {
    try require(["POST"])
    try require(parameters: [])
    let shop = try Self.shop(name)
    let fields = JSONFields(body, keeping: ["as", "name", "text", "parent", "idempotency_key"])
    do throws(FieldFault) {
      try fields.check()
      let author = try fields.string("as", atMost: AdminCall.maxUserBytes)
      guard IdentityProvider.isUser(author) else {
        throw FieldFault.malformed(detail: "as contains a control character")
      }
      let shown = try fields.optionalString("name") ?? author
      guard shown.utf8.count <= AdminCall.maxUserBytes else {
        throw FieldFault.outOfBounds(field: "name")
      }
      let key = try fields.string("idempotency_key", atMost: 36)
      let parent = try fields.optionalString("parent")
      guard let text = try fields.optionalString("text") else {
        throw FieldFault.missing(field: "text")
      }
      return .publish(
        AdminPost(
          shop: shop, author: author, name: shown,
          content: MessageContent(
            text, parent: try parent.map { text throws(FieldFault) in try uuid(text, "parent") }),
          key: try uuid(key, "idempotency_key")))
    } catch {
      throw HTTPRefusal(
        400,
        "\(error); send {\"as\":USER,\"text\":TEXT,\"idempotency_key\":UUID} as JSON")
    }
  }

  private func uuid(_ text: String, _ field: String) throws(FieldFault) -> UUID128 {
    guard let id = UUID128(text) else { throw .malformed(detail: "\(field) is not a UUID") }
    return id
  }
}

extension HTTPRefusal: Error {}

extension HTTPRefusal {
  /// The refusal of an unknown path.
  fileprivate static let noRoute = HTTPRefusal(404, "no such route; see docs/administration.md")
}
