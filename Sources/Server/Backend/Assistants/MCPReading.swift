import HoldfastAssistants
import HoldfastCore
import HoldfastProtocols
import HoldfastServerParts
import HoldfastServerSockets

extension BackendConfiguration {
  /// The assistants' policy, adapted to the configured host.
  var assistantsHere: MCPPolicy {
    var policy = assistants
    let host = host.lowercased()
    policy.originPolicy.isLocal =
      policy.originPolicy.isLocal && NetworkAddress.isLoopback(host: host)
    policy.originPolicy.ownName = host
    policy.publicURL = publicURL
    if let publicURL, policy.originPolicy.isLocal || !policy.originPolicy.hosts.isEmpty {
      policy.originPolicy.hosts.append(publicURL.authority)
    }
    return policy
  }
}

extension MCPCall {
  /// Creates a call from the parts of a request that the rules use.
  init(_ head: HTTPRequestHead, _ route: MCPRoute, body: [UInt8], address: String) {
    // A form is parsed like a query, because both have the same syntax (WHATWG URL section 5).
    let isForm = route == .directLogin || (route == .signIn && head.method == "POST")
    let pairs = isForm ? HTTPRequestHead.form(body) : head.query
    self.init(
      Method(rawValue: head.method) ?? .other, route, fields: Fields(head), address: address,
      query: pairs.map { Pair($0.name, $0.value) }, body: body)
  }
}

extension MCPCall.Fields {
  init(_ head: HTTPRequestHead) {
    self.init()
    host = head.first("host")
    origin = head.first("origin")
    site = head.first("sec-fetch-site")
    accept = head.first("accept")
    contentType = head.first("content-type")
    session = head.first("mcp-session-id")
    sessionHash = session.map(RelaySecrets.hash)
    version = head.first("mcp-protocol-version")
    rpcMethod = head.first("mcp-method")
    rpcName = head.first("mcp-name")
    bearer = head.bearer.map(RelaySecrets.hash)
    userAgent = head.first("user-agent")
    conversation = head.first("openai-conversation-id")
    // The names of conversations are chosen by clients, and those of sessions here.
    conversationHash = conversation.map { RelaySecrets.hash("conversation \($0)") }
  }
}

extension HTTPRequestHead {
  /// Returns the pairs of an `application/x-www-form-urlencoded` body. The result is empty if the
  /// body is not valid.
  static func form(_ body: [UInt8]) -> [HTTPQueryItem] {
    let target = "/?" + String(decoding: body, as: UTF8.self)
    return (try? HTTPRequestHead(method: "POST", target: target, headers: []))?.query ?? []
  }
}

extension MCPReply {
  /// The header fields of the reply.
  var headers: [(String, String)] {
    var fields = [("Cache-Control", "no-store")] + Self.headers(of: session)
    if isPage {
      fields += WebPage.formHeaders
    } else if !body.isEmpty {
      fields.append(("Content-Type", "application/json"))
    }
    fields += Self.headers(forPageOf: origin)
    if isPreflight { fields += Self.preflightHeaders }
    if let allow { fields.append(("Allow", allow)) }
    if let challenge { fields.append(("WWW-Authenticate", challenge)) }
    if let retryAfter { fields.append(("Retry-After", String(retryAfter.retrySeconds))) }
    return fields
  }

  /// Returns the header fields that let a web page read the response (Fetch section 3.2.3); empty
  /// if `origin` is `nil`.
  static func headers(forPageOf origin: String?) -> [(String, String)] {
    guard let origin else { return [] }
    return [
      ("Access-Control-Allow-Origin", origin), ("Vary", "Origin"),
      ("Access-Control-Expose-Headers", "Mcp-Session-Id, Retry-After, WWW-Authenticate"),
    ]
  }

  /// The header fields that let a web page send the request headers of MCP and the plain endpoints.
  private static let preflightHeaders = [
    ("Access-Control-Allow-Methods", "GET, POST, DELETE"),
    (
      "Access-Control-Allow-Headers",
      "Accept, Authorization, Content-Type, Last-Event-ID, Mcp-Method, Mcp-Name, "
        + "MCP-Protocol-Version, Mcp-Session-Id, openai-conversation-id"
    ),
    ("Access-Control-Max-Age", "600"),
  ]

  static func headers(of session: MCPSessionID?) -> [(String, String)] {
    session.map { [("Mcp-Session-Id", $0.text)] } ?? []
  }

  /// The header fields of an event stream. They keep intermediaries from buffering the stream.
  static let eventHeaders = [
    ("Content-Type", "text/event-stream"), ("Cache-Control", "no-cache, no-transform"),
    ("X-Accel-Buffering", "no"),
  ]
}

extension MCPRoute {
  /// Creates the route for a path.
  ///
  /// A trailing slash is ignored, because people and clients may add one to an address.
  init?(path: String) { self.init(rawValue: path.hasSuffix("/") ? String(path.dropLast()) : path) }
}

extension MCPServer.Bearer {
  var hash: TokenHash {
    switch self {
    case .hash(let hash): hash
    case .text(let token): RelaySecrets.hash(token)
    }
  }
}
