import HoldfastCore
import HoldfastJSON
import HoldfastServerParts

/// A route of the sign-in with OAuth.
public enum OAuthRoute: String, Sendable, Hashable, Codable, CaseIterable {
  /// The metadata of the protected resource `/mcp` (RFC 9728 section 3.1).
  case resource = "/.well-known/oauth-protected-resource/mcp"
  /// The same for clients that look at the root.
  case rootResource = "/.well-known/oauth-protected-resource"
  /// The metadata of the authorization server (RFC 8414 section 3).
  case server = "/.well-known/oauth-authorization-server"
  /// The registration of clients (RFC 7591).
  case register = "/oauth/register"
  /// The page that asks for word and code.
  case authorize = "/oauth/authorize"
  case token = "/oauth/token"
  /// The end of a grant (RFC 7009).
  case revoke = "/oauth/revoke"

  /// The name of the route in metrics and logs.
  public var name: String {
    switch self {
    case .resource, .rootResource: "oauth_resource"
    case .server: "oauth_server"
    case .register: "oauth_register"
    case .authorize: "oauth_authorize"
    case .token: "oauth_token"
    case .revoke: "oauth_revoke"
    }
  }

  /// The methods that the route accepts, other than a preflight request of a browser.
  var methods: [MCPCall.Method] {
    switch self {
    case .resource, .rootResource, .server: [.get]
    case .authorize: [.get, .post]
    case .register, .token, .revoke: [.post]
    }
  }

  /// Whether web pages of any origin may read the answers. The sign-in page is for people.
  var isForPages: Bool { self != .authorize }
}

/// A request to a route of OAuth, reduced to the parts that the rules use.
public struct OAuthCall: Sendable, Hashable, Codable, CustomStringConvertible {
  /// The method of the request.
  public var method: MCPCall.Method
  /// The route of the request.
  public var route: OAuthRoute
  /// `Host`, `Origin` and `Content-Type`.
  public var fields: MCPCall.Fields
  /// Whether the request has an `Authorization` field.
  public var hasAuthorization = false
  /// The address of the client.
  public var address: String
  /// The decoded parameters of the query, or of the form if the method is POST.
  public var parameters: [MCPCall.Pair]
  /// The received body.
  public var body: [UInt8]
  /// The size of the received body in bytes, also if only its parameters are kept.
  public var bodyBytes: Int

  /// The names of the parameters that the routes use. Others are ignored (RFC 6749 section 3.1).
  static let names: Set<String> = [
    "response_type", "client_id", "redirect_uri", "code_challenge", "code_challenge_method",
    "scope", "state", "resource", "word", "code", "deny", "grant_type", "code_verifier",
    "refresh_token", "token",
  ]

  /// Whether the body is a form.
  var isForm: Bool {
    let type = fields.contentType?.split(separator: ";").first ?? ""
    return type.lowercased().filter { $0 != " " } == "application/x-www-form-urlencoded"
  }

  /// The request without what is no longer needed once its client is known.
  var withoutBody: OAuthCall {
    var call = self
    call.body = []
    call.parameters = parameters.filter { Self.names.contains($0.name) }
    return call
  }

  /// Creates a request from its parts.
  public init(
    _ method: MCPCall.Method, _ route: OAuthRoute, fields: MCPCall.Fields = MCPCall.Fields(),
    address: String = "", parameters: [MCPCall.Pair] = [], body: [UInt8] = []
  ) {
    self.method = method
    self.route = route
    self.fields = fields
    self.address = address
    self.parameters = parameters
    self.body = body
    bodyBytes = body.count
  }

  /// A description without the secrets of the request.
  public var description: String { "a request for \(route.name)" }
}

/// A response of a route of OAuth.
public struct OAuthReply: Sendable, Hashable, Codable, CustomStringConvertible {
  /// The HTTP status code.
  public var status: Int
  /// The header fields except the length, in order.
  package var fields: [OAuthField]
  /// The body. It is empty if there is none.
  public var body: [UInt8]

  init(_ status: Int, _ fields: [OAuthField], _ body: [UInt8] = []) {
    self.status = status
    self.fields = fields
    self.body = body
  }

  /// A description without the secrets of the response.
  public var description: String { "a response with status \(status)" }

  /// Returns a response in JSON that no cache stores.
  static func json(_ status: Int, _ body: [UInt8], retryAfter: Duration? = nil) -> OAuthReply {
    let retry = retryAfter.map { [OAuthField("Retry-After", String($0.retrySeconds))] } ?? []
    let fields = [
      OAuthField("Content-Type", "application/json"), OAuthField("Cache-Control", "no-store"),
      OAuthField("Pragma", "no-cache"),
    ]
    return OAuthReply(status, fields + retry, body)
  }

  /// The fields that let web pages of any origin read a response (Fetch section 3.2.3). No route of
  /// OAuth uses cookies.
  static let anyOrigin = [
    OAuthField("Access-Control-Allow-Origin", "*"),
    OAuthField("Access-Control-Expose-Headers", "Retry-After"),
  ]

  /// The response to a preflight request of a browser (Fetch section 3.2.2).
  static let preflight = OAuthReply(
    204,
    [
      OAuthField("Access-Control-Allow-Origin", "*"),
      OAuthField("Access-Control-Allow-Methods", "GET, POST"),
      OAuthField(
        "Access-Control-Allow-Headers", "Accept, Authorization, Content-Type, MCP-Protocol-Version"
      ),
      OAuthField("Access-Control-Max-Age", "600"), OAuthField("Cache-Control", "no-store"),
    ])
}

/// The parameters of a request, each of which may be given once (RFC 6749 section 3.1).
struct OAuthParameters: Sendable {
  private var values: [String: String] = [:]
  /// The values of `resource`, which may be given several times (RFC 8707 section 2).
  private(set) var resources: [String] = []
  /// The names that were given more than once.
  private(set) var repeated: Set<String> = []

  init(_ pairs: [MCPCall.Pair]) {
    for pair in pairs where !pair.value.isEmpty && OAuthCall.names.contains(pair.name) {
      if pair.name == "resource" {
        resources.append(pair.value)
      } else if values.updateValue(pair.value, forKey: pair.name) != nil {
        repeated.insert(pair.name)
      }
    }
  }

  /// Returns the value of a parameter, or `nil` if it is missing or empty.
  subscript(name: String) -> String? { values[name] }

  /// Throws an error if a parameter is given more than once.
  func checkRepeats() throws(OAuthFault) {
    guard let name = repeated.min() else { return }
    throw OAuthFault(.invalidRequest, "\(name) is given more than once")
  }

  /// Throws an error if a resource is another than the server's.
  func checkResource(_ url: PublicURL) throws(OAuthFault) {
    guard resources.allSatisfy({ $0 == url.resource || $0 == url.resource + "/" }) else {
      throw OAuthFault(.invalidTarget, "the only resource of this server is \(url.resource)")
    }
  }

  /// Returns the scopes that are asked for; all of them if none are named.
  func scopes() throws(OAuthFault) -> OAuthScopes {
    guard let text = self["scope"] else { return .healthRead }
    let scopes = OAuthScopes(text: text)
    guard !scopes.isEmpty else {
      throw OAuthFault(.invalidScope, "the only scope of this server is health:read")
    }
    return scopes
  }
}

extension PublicURL {
  /// The metadata of the protected resource (RFC 9728 section 2).
  var resourceMetadata: [UInt8] {
    var writer = JSONWriter(capacity: 400)
    writer.beginObject()
    writer.entry("resource", resource)
    writer.entry("authorization_servers", [description])
    writer.entry("scopes_supported", [OAuthScopes.healthRead.text])
    writer.entry("bearer_methods_supported", ["header"])
    writer.entry("resource_name", "Holdfast")
    writer.endObject()
    return writer.bytes
  }

  /// The metadata of the authorization server (RFC 8414 section 2).
  var serverMetadata: [UInt8] {
    var writer = JSONWriter(capacity: 900)
    writer.beginObject()
    writer.entry("issuer", description)
    writer.entry("authorization_endpoint", description + OAuthRoute.authorize.rawValue)
    writer.entry("token_endpoint", description + OAuthRoute.token.rawValue)
    writer.entry("registration_endpoint", description + OAuthRoute.register.rawValue)
    writer.entry("revocation_endpoint", description + OAuthRoute.revoke.rawValue)
    writer.entry("scopes_supported", [OAuthScopes.healthRead.text])
    writer.entry("response_types_supported", ["code"])
    writer.entry("response_modes_supported", ["query"])
    writer.entry("grant_types_supported", ["authorization_code", "refresh_token"])
    writer.entry("code_challenge_methods_supported", ["S256"])
    writer.entry("token_endpoint_auth_methods_supported", ["none"])
    writer.entry("revocation_endpoint_auth_methods_supported", ["none"])
    writer.entry("client_id_metadata_document_supported", true)
    writer.entry("authorization_response_iss_parameter_supported", true)
    writer.endObject()
    return writer.bytes
  }

  /// Returns the `WWW-Authenticate` field of a refusal (RFC 9728 section 5.1, RFC 6750 section 3);
  /// `nil` for a grant.
  func challenge(to permission: OAuthPermission) -> String? {
    let place = "resource_metadata=\"\(description)\(OAuthRoute.resource.rawValue)\""
    let scope = "scope=\"\(OAuthScopes.healthRead.text)\""
    return switch permission {
    case .missing: "Bearer \(place), \(scope)"
    case .invalid: "Bearer error=\"invalid_token\", \(place), \(scope)"
    case .insufficient: "Bearer error=\"insufficient_scope\", \(scope), \(place)"
    case .granted: nil
    }
  }
}
