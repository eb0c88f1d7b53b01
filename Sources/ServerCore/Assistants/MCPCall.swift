public import LinkStorage
import LinkWire

/// Where an assistant's request goes.
public enum MCPRoute: String, Sendable, Hashable, Codable, CaseIterable {
  /// The Model Context Protocol over streamable HTTP.
  case mcp = "/mcp"
  /// The rest are the original's plain endpoints (contract 1.7).
  case toolList = "/mcp/tools"
  case toolCall = "/mcp/call"
  case directLogin = "/api/direct-login"
  case healthMetrics = "/api/get_health_metrics"
  case logout = "/logout"

  /// Its name in metrics and logs.
  public var word: String {
    switch self {
    case .mcp: "mcp"
    case .toolList: "mcp_tools"
    case .toolCall: "mcp_call"
    case .directLogin: "direct_login"
    case .healthMetrics: "health_metrics"
    case .logout: "logout"
    }
  }
}

/// One HTTP request of an assistant: what of it the rules look at.
public struct MCPCall: Sendable, Hashable, Codable {
  /// The methods that mean something here.
  public enum Method: String, Sendable, Hashable, Codable, CaseIterable {
    case get = "GET"
    case post = "POST"
    case delete = "DELETE"
    /// A browser asks what a page of another origin may do (Fetch section 3.2.2).
    case options = "OPTIONS"
    /// Any other.
    case other
  }

  /// What is to be done.
  public var method: Method
  /// Where it goes.
  public var route: MCPRoute
  /// The fields that matter.
  public var fields: Fields
  /// The address it came from, as the relay counts wrong pairs by.
  public var address: String
  /// The decoded pairs of the query, in order.
  public var query: [Pair]
  /// As it came; empty for none.
  public var body: [UInt8]

  /// A request from its parts.
  public init(
    _ method: Method, _ route: MCPRoute, fields: Fields = Fields(), address: String = "",
    query: [Pair] = [], body: [UInt8] = []
  ) {
    self.method = method
    self.route = route
    self.fields = fields
    self.address = address
    self.query = query
    self.body = body
  }

  /// A name and its value.
  public struct Pair: Sendable, Hashable, Codable {
    /// What stands before the `=`.
    public var name: String
    /// What stands behind it.
    public var value: String

    /// A pair as given.
    public init(_ name: String, _ value: String) {
      self.name = name
      self.value = value
    }
  }

  /// The header fields that matter; `nil` for those that are not there.
  public struct Fields: Sendable, Hashable, Codable {
    /// `Host`.
    public var host: String?
    /// `Origin`, which browsers send (RFC 6454 section 7).
    public var origin: String?
    /// `Accept`.
    public var accept: String?
    /// `Content-Type`.
    public var contentType: String?
    /// `Mcp-Session-Id`.
    public var session: String?
    /// `MCP-Protocol-Version`.
    public var version: String?
    /// `Mcp-Method`, which repeats the body's (MCP 2026-07-28).
    public var rpcMethod: String?
    /// `Mcp-Name`, which repeats the tool's (MCP 2026-07-28).
    public var rpcName: String?
    /// The hash of the token in `Authorization: Bearer`.
    public var bearer: TokenHash?
    /// `User-Agent`: the name of a client that does not say one otherwise.
    public var userAgent: String?
    /// `openai-conversation-id`, by which the plain endpoints know who comes again.
    public var conversation: String?

    /// No fields.
    public init() {}

    /// The client by its `User-Agent`: the first product and its version (RFC 9110 section 10.1.5).
    var client: AssistantName? {
      guard let product = userAgent?.split(separator: " ").first else { return nil }
      let parts = product.split(separator: "/", maxSplits: 1).map(String.init)
      return AssistantName(parts.first, version: parts.count == 2 ? parts[1] : nil)
    }
  }
}

/// An answer whose whole body is known.
public struct MCPReply: Sendable, Hashable, Codable {
  /// The HTTP status code (RFC 9110 section 15).
  public var status: Int
  /// JSON; empty for none.
  public var body: [UInt8]
  /// `Mcp-Session-Id`, when this answer begins a session.
  public var session: MCPSessionID?
  /// The methods that the route knows; with 405.
  public var allow: String?
  /// The origin of the web page that may read the answer (Fetch section 3.2.3).
  public var origin: String?
  /// Whether it answers a browser's question before the request itself.
  public var isPreflight = false
  /// When to come again; sent as whole seconds, rounded up (RFC 9110 section 10.2.3).
  public var retryAfter: Duration?

  /// An answer from its parts.
  public init(
    _ status: Int, _ body: [UInt8] = [], session: MCPSessionID? = nil, allow: String? = nil,
    retryAfter: Duration? = nil
  ) {
    self.status = status
    self.body = body
    self.session = session
    self.allow = allow
    self.retryAfter = retryAfter
  }
}

/// Names a session to its client and to nobody else: 128 random bits, as 32 hexadecimal digits.
public struct MCPSessionID: Sendable, Hashable, Codable, CustomStringConvertible {
  /// A secret.
  public let text: String

  /// A new name from the bytes of a secure generator, 16 of them.
  public init(random bytes: [UInt8]) {
    let digits = Array("0123456789abcdef")
    text = String(bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
  }

  /// Without the secret.
  public var description: String { "a session" }
}
