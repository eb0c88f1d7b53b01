/// The paths that the server answers.
public enum ShopRoute: Sendable, Hashable {
  case send
  case all(ShopID)
  case paginated(ShopID)
  case stream(ShopID)
  case health
  case streamHealth
  case metrics

  /// Reads a percent-decoded path without its query; `nil` for a path that is no route.
  public init?(path: String) { return nil }

  public var path: String { "" }
}
