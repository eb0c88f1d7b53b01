public struct HTTPRequestHead: Equatable, Sendable {
  public var method = ""
  public var target = ""
  public var headers: [(String, String)] { [] }
}

public struct HTTPLimits: Sendable {
  public init() {}
}

public struct WebSocketLimits: Sendable, Equatable {
  public init() {}
}
