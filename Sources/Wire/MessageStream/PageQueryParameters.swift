import LinkCore

/// Why the parameters of a request are no page query.
public struct QueryError: Error, Sendable, Hashable {
  /// Names the parameter and what is wrong with it.
  public var detail: String

  /// An error that says `detail`.
  public init(_ detail: String) {
    self.detail = detail
  }
}

extension PageQuery {
  /// Most messages of one page (the contract's).
  public static let maxLimit = 100
  /// Messages of a page when the request does not say (the contract's).
  public static let defaultLimit = 20
  /// The last page that can be asked for; ours, so that page times limit cannot overflow.
  public static let maxPage = 1_000_000_000

  /// Every name that a query may have.
  public static let parameterNames = ["page", "limit", "since", "after", "before"]

  /// The query parameters in a fixed order, not percent-encoded.
  public var parameters: [(name: String, value: String)] {
    switch self {
    case .page(let number, let limit):
      [("page", String(number)), ("limit", String(limit))]
    case .since(let time, let page, let limit):
      [("since", RFC3339.format(time)), ("page", String(page)), ("limit", String(limit))]
    case .after(let position, let limit):
      [("after", position.description), ("limit", String(limit))]
    case .before(let position, let limit):
      [("before", position.description), ("limit", String(limit))]
    }
  }

  /// Reads percent-decoded parameters; those of other names are ignored.
  ///
  /// Throws for a value that is no number or out of bounds, no time, no position; for a parameter
  /// given twice; for two of `since`, `after`, `before`; and for `page` beside a position.
  public init(parameters: [(name: String, value: String)]) throws(QueryError) {
    let limit =
      try Self.number("limit", in: parameters, upTo: Self.maxLimit) ?? Self.defaultLimit
    let page = try Self.number("page", in: parameters, upTo: Self.maxPage)
    let since = try Self.value("since", in: parameters)
    let after = try Self.position("after", in: parameters)
    let before = try Self.position("before", in: parameters)
    switch (since, after, before) {
    case (nil, nil, nil):
      self = .page(number: page ?? 1, limit: limit)
    case (let since?, nil, nil):
      guard let time = RFC3339.parse(since) else {
        throw QueryError("since is no RFC 3339 time")
      }
      self = .since(time, page: page ?? 1, limit: limit)
    case (nil, let after?, nil):
      guard page == nil else { throw QueryError("page does not go with after") }
      self = .after(after, limit: limit)
    case (nil, nil, let before?):
      guard page == nil else { throw QueryError("page does not go with before") }
      self = .before(before, limit: limit)
    case (.some, .some, _), (.some, _, .some), (_, .some, .some):
      throw QueryError("only one of since, after and before may be given")
    }
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
    else { throw QueryError("\(name) is no number from 1 to \(limit)") }
    return number
  }

  private static func position(
    _ name: String, in parameters: [(name: String, value: String)]
  ) throws(QueryError) -> Position? {
    guard let text = try value(name, in: parameters) else { return nil }
    guard let position = Position(text) else {
      throw QueryError("\(name) is no position of the form epoch:offset")
    }
    return position
  }
}
