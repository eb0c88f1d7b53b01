import HoldfastCore
package import HoldfastJSON

/// The reason why the parameters of a request are not a page query.
public struct QueryError: Error, Sendable, Hashable {
  /// A description of the error, with the name of the parameter.
  public var detail: String

  /// Creates an error with a description.
  public init(_ detail: String) {
    self.detail = detail
  }
}

extension PageQuery {
  /// The maximum number of messages on one page, as defined by the contract.
  public static let maxLimit = 100
  /// The number of messages on a page if the request has no `limit`, as defined by the contract.
  public static let defaultLimit = 20
  /// The maximum page number. It is Holdfast's own, and ensures that the page number times the
  /// limit cannot overflow.
  public static let maxPage = 1_000_000_000

  /// The names of all parameters of a query.
  public static let parameterNames = [
    "page", "limit", "since", "after", "before", "before_id", "after_id", "known",
  ]

  /// Whether a server understands the query only in a request with the field `Holdfast-Events`.
  public var needsEvents: Bool {
    switch self {
    case .page, .since, .after, .before, .beforeID, .afterID: false
    case .changes, .newest: true
    }
  }

  /// The query parameters in a fixed order, without percent-encoding.
  public var parameters: [(name: String, value: String)] {
    switch self {
    case .page(let number, let limit):
      [("page", String(number)), ("limit", String(limit))]
    case .since(let time, let page, let limit):
      [("since", RFC3339.format(time)), ("page", String(page)), ("limit", String(limit))]
    case .after(let position, let limit), .changes(let position, let limit):
      [("after", position.description), ("limit", String(limit))]
    case .before(let position, let limit):
      [("before", position.description), ("limit", String(limit))]
    case .newest(let position, let limit):
      [("page", "1"), ("limit", String(limit)), ("known", position.description)]
    case .beforeID(let id, let limit):
      [("before_id", id.description), ("limit", String(limit))]
    case .afterID(let id, let limit):
      [("after_id", id.description), ("limit", String(limit))]
    }
  }

  /// Creates a query from percent-decoded parameters. Parameters with other names are ignored.
  ///
  /// Throws an error if a number, time, position or id is invalid, if a parameter is repeated, if
  /// more than one direction is given, or if `page` is combined with a position.
  ///
  /// - Parameter events: Whether the request has the field `Holdfast-Events`.
  public init(
    parameters: [(name: String, value: String)], events: Bool = false
  ) throws(QueryError) {
    let limit =
      try Self.number("limit", in: parameters, upTo: Self.maxLimit) ?? Self.defaultLimit
    let page = try Self.number("page", in: parameters, upTo: Self.maxPage)
    let known = try Self.position("known", in: parameters)
    if let query = try Self.byID(parameters, limit: limit) {
      guard known == nil else { throw QueryError("known goes with page 1 only") }
      self = query
      return
    }
    let since = try Self.value("since", in: parameters)
    let after = try Self.position("after", in: parameters)
    let before = try Self.position("before", in: parameters)
    guard known == nil || since == nil && after == nil && before == nil else {
      throw QueryError("known goes with page 1 only")
    }
    switch (since, after, before) {
    case (nil, nil, nil):
      self = try Self.numbered(page, limit: limit, known: known, events: events)
    case (let since?, nil, nil):
      guard let time = RFC3339.parse(since) else {
        throw QueryError("since is not an RFC 3339 time")
      }
      self = .since(time, page: page ?? 1, limit: limit)
    case (nil, let after?, nil):
      guard page == nil else { throw QueryError("page does not go with after") }
      self = events ? .changes(after: after, limit: limit) : .after(after, limit: limit)
    case (nil, nil, let before?):
      guard page == nil else { throw QueryError("page does not go with before") }
      self = .before(before, limit: limit)
    case (.some, .some, _), (.some, _, .some), (_, .some, .some):
      throw QueryError("only one of since, after and before may be given")
    }
  }

  private static func numbered(
    _ page: Int?, limit: Int, known: ShopPosition?, events: Bool
  ) throws(QueryError) -> PageQuery {
    guard let known else { return .page(number: page ?? 1, limit: limit) }
    guard events else { throw QueryError("known needs the field Holdfast-Events: 1") }
    guard page ?? 1 == 1 else { throw QueryError("known goes with page 1 only") }
    return .newest(knowing: known, limit: limit)
  }

  /// Returns a query by message id, or `nil` if there is no such parameter. `page` is ignored, as
  /// plain servers do.
  private static func byID(
    _ parameters: [(name: String, value: String)], limit: Int
  ) throws(QueryError) -> PageQuery? {
    let before = try id("before_id", in: parameters)
    let after = try id("after_id", in: parameters)
    guard before != nil || after != nil else { return nil }
    let others = parameters.contains { ["since", "after", "before"].contains($0.name) }
    guard !others, before == nil || after == nil else {
      throw QueryError("only one of since, after, before, before_id and after_id may be given")
    }
    return before.map { .beforeID($0, limit: limit) } ?? after.map { .afterID($0, limit: limit) }
  }

  private static func id(
    _ name: String, in parameters: [(name: String, value: String)]
  ) throws(QueryError) -> MessageID? {
    guard let text = try value(name, in: parameters) else { return nil }
    guard let id = MessageID(text) else { throw QueryError("\(name) is not a message id") }
    return id
  }

  private static func value(
    _ name: String, in parameters: [(name: String, value: String)]
  ) throws(QueryError) -> String? {
    var found: String?
    for parameter in parameters where parameter.name == name {
      guard found == nil else { throw QueryError("\(name) is given twice") }
      found = parameter.value
    }
    return found
  }

  private static func number(
    _ name: String, in parameters: [(name: String, value: String)], upTo limit: Int
  ) throws(QueryError) -> Int? {
    guard let text = try value(name, in: parameters) else { return nil }
    guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(text),
      (1...limit).contains(number)
    else { throw QueryError("\(name) is not a number from 1 to \(limit)") }
    return number
  }

  private static func position(
    _ name: String, in parameters: [(name: String, value: String)]
  ) throws(QueryError) -> ShopPosition? {
    guard let text = try value(name, in: parameters) else { return nil }
    guard let position = ShopPosition(text) else {
      throw QueryError("\(name) is not a position of the form epoch:offset")
    }
    return position
  }
}

extension ShopPosition {
  /// Parses `epoch:offset`. Returns `nil` for any text that `description` cannot produce.
  ///
  /// Also returns `nil` for offsets above `Int64.max`. Real offsets are smaller, and incrementing
  /// an offset must not overflow.
  public init?(_ text: some StringProtocol) { self.init(utf8: ArraySlice(text.utf8)) }

  /// Parses the same from UTF-8.
  package init?(utf8 text: ArraySlice<UInt8>) {
    guard let colon = text.firstIndex(of: UInt8(ascii: ":")) else { return nil }
    let (epoch, digits) = (text[..<colon], text[(colon + 1)...])
    // Nineteen digits fit into 64 bits.
    guard (1...64).contains(epoch.count), epoch.allSatisfy(Self.isAllowed),
      (1...19).contains(digits.count), digits.count == 1 || digits.first != UInt8(ascii: "0")
    else { return nil }
    var offset: UInt64 = 0
    for digit in digits {
      guard (0x30...0x39).contains(digit) else { return nil }
      offset = offset * 10 + UInt64(digit - 0x30)
    }
    guard offset <= Int64.max else { return nil }
    self.init(epoch: String(decoding: epoch, as: UTF8.self), offset: offset)
  }

  private static func isAllowed(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
      true
    case _: false
    }
  }
}

extension JSONReader {
  /// Returns whether the next value has this type. Any other value is skipped. Unless it is `null`,
  /// an error is noted.
  package mutating func finds(
    _ kind: Kind, in field: String, noting fault: inout MessageError?
  ) throws(JSONError) -> Bool {
    let found = try peek()
    if found == kind { return true }
    if found != .null { fault.note(.wrongType(field: field)) }
    try skipValue()
    return false
  }

  /// Reads the identifier of a message, or returns `nil` for null and for anything else.
  mutating func identifier(
    _ field: String, noting fault: inout MessageError?
  ) throws(JSONError) -> MessageID? {
    guard try finds(.string, in: field, noting: &fault) else { return nil }
    let id = UUID128(utf8: utf8(of: try scanString()))
    if id == nil { fault.note(.badIdentifier(field: field)) }
    return id
  }
}

extension MessageError? {
  /// Stores an error unless there is one already, since later errors may follow from the first.
  package mutating func note(_ fault: MessageError) {
    self = self ?? fault
  }
}
