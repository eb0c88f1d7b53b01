/// Why the parameters of a request are no page query.
public struct QueryError: Error, Sendable, Hashable {
  /// Names the parameter and what is wrong with it.
  public var detail: String

  public init(_ detail: String) {
    self.detail = detail
  }
}

extension PageQuery {
  /// The query parameters in a fixed order, not percent-encoded.
  public var parameters: [(name: String, value: String)] { [] }

  public init(parameters: [(name: String, value: String)]) throws(QueryError) {
    throw QueryError("")
  }
}
