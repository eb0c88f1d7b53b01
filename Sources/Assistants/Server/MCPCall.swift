public import HoldfastCore
import HoldfastRelayData

/// The route of an assistant's request.
public enum MCPRoute: String, Sendable, Hashable, Codable, CaseIterable {
  /// The Model Context Protocol over streamable HTTP.
  ///
  /// With a public URL, clients sign in with OAuth first.
  case mcp = "/mcp"
  /// The same with a login by word and code among the tools, where `/mcp` has OAuth.
  case code = "/mcp/code"
  /// The page on which a person signs in for a client of `/mcp/code` that can open it.
  case signIn = "/mcp/sign-in"
  /// The list of tools.
  ///
  /// This route and those below are the original app's plain endpoints (contract 1.7).
  case toolList = "/mcp/tools"
  case toolCall = "/mcp/call"
  case directLogin = "/api/direct-login"
  case healthMetrics = "/api/get_health_metrics"
  case logout = "/logout"

  /// The name of the route in metrics and logs.
  public var name: String {
    switch self {
    case .mcp: "mcp"
    case .code: "mcp_code"
    case .signIn: "mcp_sign_in"
    case .toolList: "mcp_tools"
    case .toolCall: "mcp_call"
    case .directLogin: "direct_login"
    case .healthMetrics: "health_metrics"
    case .logout: "logout"
    }
  }
}

/// An assistant's HTTP request, reduced to the parts that the rules use.
public struct MCPCall: Sendable, Hashable, Codable {
  /// An HTTP method that the server distinguishes.
  public enum Method: String, Sendable, Hashable, Codable, CaseIterable {
    case get = "GET"
    case post = "POST"
    case delete = "DELETE"
    /// A CORS preflight request of a browser (Fetch section 3.2.2).
    case options = "OPTIONS"
    /// Any other method.
    case other
  }

  /// The method of the request.
  public var method: Method
  /// The route of the request.
  public var route: MCPRoute
  /// The header fields that the rules use.
  public var fields: Fields
  /// The address of the client, for which the relay counts failed pairing attempts.
  public var address: String
  /// The decoded parameters of the query, in order.
  public var query: [Pair]
  /// The received body. It is empty if there is none.
  public var body: [UInt8]

  /// Creates a request from its parts.
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

  /// A query parameter.
  public struct Pair: Sendable, Hashable, Codable {
    /// The text before the `=`.
    public var name: String
    /// The text after the `=`.
    public var value: String

    /// Creates a parameter.
    public init(_ name: String, _ value: String) {
      self.name = name
      self.value = value
    }
  }

  /// The header fields that the rules use. Missing fields are `nil`.
  public struct Fields: Sendable, Hashable, Codable {
    /// `Host`.
    public var host: String?
    /// `Origin`, which browsers send (RFC 6454 section 7).
    public var origin: String?
    /// `Sec-Fetch-Site`, which browsers send and pages cannot change (Fetch Metadata section 2.3).
    public var site: String?
    /// `Accept`.
    public var accept: String?
    /// `Content-Type`.
    public var contentType: String?
    /// `Mcp-Session-Id`.
    public var session: String?
    /// The hash of `Mcp-Session-Id`, under which the session is stored.
    public var sessionHash: TokenHash?
    /// `MCP-Protocol-Version`.
    public var version: String?
    /// `Mcp-Method`, which repeats the method in the body (MCP 2026-07-28).
    public var rpcMethod: String?
    /// `Mcp-Name`, which repeats the tool's name in the body (MCP 2026-07-28).
    public var rpcName: String?
    /// The hash of the token in `Authorization: Bearer`.
    public var bearer: TokenHash?
    /// The access that the token grants at `/mcp`, if clients sign in with OAuth there.
    public var permission = OAuthPermission.missing
    /// `User-Agent`, from which the client's name is taken if the client sends no other name.
    public var userAgent: String?
    /// `openai-conversation-id`, with which the plain endpoints recognize a returning client.
    public var conversation: String?
    /// The hash of `openai-conversation-id`, under which the conversation is stored.
    public var conversationHash: TokenHash?

    /// Creates a value in which all fields are missing.
    public init() {}

    /// Returns whether a form may have been sent by a page of an origin.
    ///
    /// Programs and old browsers send neither field. A browser that names the origin `null` hides
    /// it, and a page of the same origin is then known by the other field.
    func isForm(of own: String) -> Bool {
      guard site == nil || site == "same-origin" || site == "none" else { return false }
      guard let origin else { return true }
      return origin.lowercased() == own || (origin == "null" && site == "same-origin")
    }

    /// The client's name, taken from the first product of `User-Agent` (RFC 9110 section 10.1.5).
    var client: AssistantName? {
      guard let product = userAgent?.split(separator: " ").first else { return nil }
      let parts = product.split(separator: "/", maxSplits: 1).map(String.init)
      return AssistantName(parts.first, version: parts.count == 2 ? parts[1] : nil)
    }
  }
}

extension MCPCall {
  /// The grant of a client that signed in with OAuth; `nil` for a client that logs in with a tool.
  var grant: TokenHash? {
    guard route == .mcp, case .granted(let grant) = fields.permission else { return nil }
    return grant
  }

  /// The instructions for the client. A client that signed in needs no login.
  var provider: MCPProvider { grant == nil ? .phone : .signedIn }
}

/// A response whose complete body is known.
public struct MCPReply: Sendable, Hashable, Codable {
  /// The HTTP status code (RFC 9110 section 15).
  public var status: Int
  /// The JSON body. It is empty if there is none.
  public var body: [UInt8]
  /// `Mcp-Session-Id`, if this response starts a session.
  public var session: MCPSessionID?
  /// The methods that the route accepts, for status 405.
  public var allow: String?
  /// The origin of the web page that may read the answer (Fetch section 3.2.3).
  public var origin: String?
  /// A Boolean value that indicates whether the body is a page for a browser, and not JSON.
  public var isPage = false
  /// A Boolean value that indicates whether this is the response to a CORS preflight request.
  public var isPreflight = false
  /// `WWW-Authenticate`, for a client that must sign in (RFC 9110 section 11.6.1).
  public var challenge: String?
  /// The time after which the client may retry.
  ///
  /// It is sent in whole seconds, rounded up (RFC 9110 section 10.2.3).
  public var retryAfter: Duration?

  /// Creates a response from its parts.
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

/// A secret session identifier: 128 random bits as 32 hexadecimal digits.
public struct MCPSessionID: Sendable, Hashable, Codable, CustomStringConvertible {
  /// The text of the identifier. It is secret.
  public let text: String

  /// Creates an identifier from 16 bytes of a secure random number generator.
  public init(random bytes: [UInt8]) {
    let digits = Array("0123456789abcdef")
    text = String(bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
  }

  /// A description without the secret.
  public var description: String { "a session" }
}
