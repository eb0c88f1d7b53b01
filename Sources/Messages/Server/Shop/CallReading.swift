import HoldfastCore
public import HoldfastMessageData

extension Call {
  /// Reads a request from its method, decoded path, decoded query, key header and body. `events` is
  /// true if its client understands edits and deletions.
  ///
  /// A request that cannot be served becomes `refused`, so that the rules still handle it.
  public static func read(
    method: String, path: String, query: [(name: String, value: String)], key: String?,
    events: Bool = false, body: [UInt8], limits: MessageLimits
  ) -> Call {
    do throws(ShopRefusal) {
      switch ShopRoute(path: path) {
      case .none:
        throw ShopRefusal(route: .unknown, status: 404, message: "no such route")
      case .send where method == "PUT":
        return .edit(try revision(body, key: key, limits))
      case .send:
        try require(["POST", "PUT"], method, .send)
        return .send(try draft(body, key: key, limits))
      case .message(let id):
        try require(["DELETE"], method, .delete)
        return .delete(id, shop: try shop(in: query, .delete))
      case .all(let shop):
        try require(readMethods, method, .all)
        try require([], in: query, .all)
        return .all(shop)
      case .paginated(let shop):
        try require(readMethods, method, .page)
        try require(PageQuery.parameterNames, in: query, .page)
        return .page(shop, try pageQuery(query, events: events), events: events)
      case .stream:
        try require(readMethods, method, .stream)
        throw ShopRefusal(route: .stream, status: 426, message: "this route requires a WebSocket")
      case .streamHealth:
        try require(readMethods, method, .streamHealth)
        return .streamHealth
      }
    } catch {
      return .refused(error)
    }
  }

  /// The methods of routes that read. A response to HEAD omits the body (RFC 9110 section 9.3.2).
  private static let readMethods = ["GET", "HEAD"]

  private static func require(
    _ allowed: [String], _ method: String, _ route: ShopCallRoute
  ) throws(ShopRefusal) {
    guard !allowed.contains(method) else { return }
    let names = allowed.joined(separator: ", ")
    throw ShopRefusal(route: route, status: 405, message: "this route takes \(names)", allow: names)
  }

  /// Throws an error if the query has an unknown parameter.
  private static func require(
    _ known: [String], in query: [(name: String, value: String)], _ route: ShopCallRoute
  ) throws(ShopRefusal) {
    guard let other = query.first(where: { !known.contains($0.name) && $0.name != "token" })
    else { return }
    let names = known.isEmpty ? "none" : known.joined(separator: ", ")
    throw ShopRefusal(
      route: route, status: 400,
      message: "unknown parameter \(other.name); this route knows \(names)")
  }

  private static func draft(
    _ body: [UInt8], key: String?, _ limits: MessageLimits
  ) throws(ShopRefusal) -> Draft {
    let new: NewMessage
    do {
      new = try NewMessage.decode(body, limits: limits)
    } catch {
      throw ShopRefusal(error, on: .send)
    }
    let key = try read(key, on: .send)
    return Draft(shop: new.shop, content: new.content, key: key)
  }

  private static func revision(
    _ body: [UInt8], key: String?, _ limits: MessageLimits
  ) throws(ShopRefusal) -> Revision {
    let edit: MessageEdit
    do {
      edit = try MessageEdit.decode(body, limits: limits)
    } catch {
      throw ShopRefusal(error, on: .edit)
    }
    let key = try read(key, on: .edit)
    return Revision(id: edit.id, text: edit.text, key: key, shop: edit.shop)
  }

  /// Returns the shop that a query names; `nil` if it names none. Other parameters are ignored.
  private static func shop(
    in query: [(name: String, value: String)], _ route: ShopCallRoute
  ) throws(ShopRefusal) -> ShopID? {
    guard let named = query.last(where: { $0.name == "shop_id" }) else { return nil }
    guard let shop = ShopID(named.value) else {
      throw ShopRefusal(route: route, status: 400, message: "shop_id: not an id")
    }
    return shop
  }

  private static func read(
    _ key: String?, on route: ShopCallRoute
  ) throws(ShopRefusal) -> UUID128? {
    guard let text = key else { return nil }
    guard let key = UUID128(text) else {
      throw ShopRefusal(route: route, status: 400, message: "Idempotency-Key: not a UUID")
    }
    return key
  }

  private static func pageQuery(
    _ query: [(name: String, value: String)], events: Bool
  ) throws(ShopRefusal) -> PageQuery {
    do {
      return try PageQuery(parameters: query.filter { $0.name != "token" }, events: events)
    } catch {
      throw ShopRefusal(route: .page, status: 400, message: error.detail)
    }
  }
}

extension ShopRefusal {
  /// Creates the refusal of a post or an edit whose body is not a message.
  fileprivate init(_ error: MessageError, on route: ShopCallRoute) {
    let status: Int
    let message: String
    switch error {
    case .malformed(let detail): (status, message) = (400, "malformed: \(detail)")
    case .missing(let field): (status, message) = (400, "\(field): missing")
    case .wrongType(let field): (status, message) = (400, "\(field): wrong type")
    case .badIdentifier(let field): (status, message) = (400, "\(field): not an id")
    case .badDate(let field): (status, message) = (400, "\(field): not a time")
    case .wrongShop: (status, message) = (400, "shop_id: another shop")
    case .frameTooLong(let bytes): (status, message) = (413, "too long: \(bytes) bytes")
    case .textTooLong(let characters):
      (status, message) = (413, "message: too long, \(characters) characters")
    }
    self.init(route: route, status: status, message: message)
  }
}
